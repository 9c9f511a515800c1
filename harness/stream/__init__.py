"""The types and functions that every layer shares: events, exchanges, sessions, generation
requests, JSON and framing.
"""
