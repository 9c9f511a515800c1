"""Schemas of arguments and answers: from JSON Schema, which everyone writes, to the ``Schema`` that
Gemini reads.
"""

from .convert import to_gemini_schema

__all__ = ["to_gemini_schema"]
