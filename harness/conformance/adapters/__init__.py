"""Adapters that call Gemini themselves, on Google's own SDK."""
