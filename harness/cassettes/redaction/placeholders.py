"""Recognizes placeholders: the words that other recorders write in place of a credential."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from .readings import unescape

REDACTED: Final = "REDACTED"
"""Our own placeholder."""
MAX_LENGTH: Final = 100
_MARKS: Final = (
    "redacted|filtered|blanked|scrubbed|sanitized|masked|mask|hidden|removed|omitted|replaced|obfuscated"
    "|dummy|fake|mocked|mock|placeholder|example|sample|invalid|testing|test|foobar|insert|changeme"
    "|your|none|null|undefined|x{3,}"
)
"""A placeholder has one of these."""
_OTHERS: Final = (
    "access|account|anthropic|api|auth|basic|bearer|client|cookie|credentials?|for|gcp|gemini|github"
    "|goes|google|goog|groq|header|here|id|key|mistral|my|not|openai|openrouter|password|pat|project|real"
    "|secret|service|session|set|sk|the|this|tokens?|user|value|valid|vertex|ai|x(?=-)"
)
"""The other words of placeholders."""
_NAME: Final = re.compile(rf"(?:[\W_]|(?i:{_OTHERS}))*+")
_WORDS: Final = re.compile(rf"(?:[\W_]|[0-9]{{1,12}}(?![0-9])|{_MARKS}|{_OTHERS})*+")
_MARK: Final = re.compile(_MARKS)
_TEMPLATE: Final = re.compile(
    r"\W?(?:<[\w .:-]{1,60}>|\{+[\w .:-]{1,60}\}+|\[[a-z _:-]{1,60}\]|%+[a-z_]{1,60}%+)\W?"
)
_MARKED: Final = re.compile(
    r"\W?(?:redacted|filtered|blanked|scrubbed)(?:[\W_]+[a-z]{1,12}){0,4}\W?"
)
_SCHEME: Final = re.compile(r"\A(?:basic|bearer|token) ", re.IGNORECASE)
_ATTRIBUTES: Final = ("path", "domain", "expires", "max-age", "samesite")
"""The parts of a cookie that are no value."""
_EMPTY: Final = re.compile(r"[\W_x0]*")


def is_placeholder(value: bytes) -> bool:
    """Return whether a value consists only of a placeholder's words, or of signs, or has the form
    of the name in a template, such as ``<filtered>``. An authentication scheme may be before it.
    """
    return len(value) <= MAX_LENGTH and _is_placeholder(value)


def is_placeholder_header(name: str, value: str) -> bool:
    """Return the same for a header with a credential. In a cookie, each value must be a
    placeholder.
    """
    if name.lower() in ("cookie", "set-cookie"):
        pairs = (pair.strip().partition("=") for pair in re.split("[;,]", value) if "=" in pair)
        values = [held for key, _, held in pairs if key.lower() not in _ATTRIBUTES]
        if values:
            return all(is_placeholder(held.encode()) for held in values)
    return is_placeholder(value.encode())


@lru_cache(1024)
def _is_placeholder(value: bytes) -> bool:
    text = unescape(value).decode("utf-8", "replace").strip()
    text = _SCHEME.sub("", text)
    if text.isupper() and _NAME.fullmatch(text):  # such as GEMINI_API_KEY
        return True
    text = text.lower()
    if _EMPTY.fullmatch(text) or _TEMPLATE.fullmatch(text) or _MARKED.fullmatch(text):
        return True
    return bool(_MARK.search(text) and _WORDS.fullmatch(text))
