"""Recognizes placeholders: the words that other recorders write in place of a credential."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from .encodings import unescape

MAX_LENGTH: Final = 100
_MARKS: Final = (
    "redacted|filtered|scrubbed|sanitized|masked|mask|hidden|removed|omitted|replaced|obfuscated"
    "|dummy|fake|mocked|mock|placeholder|example|sample|invalid|testing|test|foobar|insert|changeme"
    "|your|none|null|undefined|x{3,}"
)
"""A placeholder has one of these."""
_OTHERS: Final = (
    "access|account|anthropic|api|auth|basic|bearer|client|cookie|credentials?|for|gcp|gemini"
    "|goes|google|groq|header|here|id|key|mistral|my|not|openai|openrouter|password|project|real"
    "|secret|service|session|sk|the|this|tokens?|user|value|valid|vertex|ai"
)
"""The other words of placeholders."""
_WORDS: Final = re.compile(rf"(?:[\W_]|[0-9]{{1,12}}(?![0-9])|{_MARKS}|{_OTHERS})*+")
_MARK: Final = re.compile(_MARKS)
_TEMPLATE: Final = re.compile(
    r"(?:[a-z]+ )?\W?"
    r"(?:<[\w .:-]{1,60}>|\{+[\w .:-]{1,60}\}+|\[[a-z _:-]{1,60}\]|%+[a-z_]{1,60}%+)\W?"
)
_EMPTY: Final = re.compile(r"(?:[a-z]+ )?[\W_x0]*")


def is_placeholder(value: bytes) -> bool:
    """Whether a value consists only of a placeholder's words, or of signs, or has the form of the
    name in a template, such as ``<filtered>``. An authentication scheme may be before it.
    """
    return len(value) <= MAX_LENGTH and _is_placeholder(value)


@lru_cache(1024)
def _is_placeholder(value: bytes) -> bool:
    text = unescape(value).decode("utf-8", "replace").strip().lower()
    if _EMPTY.fullmatch(text) or _TEMPLATE.fullmatch(text):
        return True
    return bool(_MARK.search(text) and _WORDS.fullmatch(text))
