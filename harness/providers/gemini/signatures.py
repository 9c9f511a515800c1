"""One spelling of signatures and of other bytes in base64."""

from __future__ import annotations

import base64
import binascii
from typing import Final

DUMMY_SIGNATURES: Final = frozenset(
    {"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}
)
"""Placeholders, plain or as base64, which the API accepts:
https://ai.google.dev/gemini-api/docs/thought-signatures.
"""
_STANDARD: Final = str.maketrans("-_", "+/")


def plain_base64(text: str) -> str:
    """Return one base64 for the same bytes, from either alphabet, with or without padding. Other
    text stays as it is.
    """
    if text in DUMMY_SIGNATURES:
        return text
    bare = text.rstrip("=").translate(_STANDARD)
    try:
        data = binascii.a2b_base64(bare + "=" * (-len(bare) % 4), strict_mode=True)
    except (binascii.Error, ValueError):
        return text
    plain = data.decode("ascii", "replace") if len(data) < 50 else ""
    return plain if plain in DUMMY_SIGNATURES else base64.b64encode(data).decode()
