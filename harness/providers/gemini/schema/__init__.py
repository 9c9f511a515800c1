"""Converts JSON Schema into the ``Schema`` of the Gemini API, for tools and structured answers."""

from .convert import to_gemini_schema

__all__ = ["to_gemini_schema"]
