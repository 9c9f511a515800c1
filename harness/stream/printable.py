"""Makes foreign text safe to show: escapes invisible characters, shortens long values."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .json_codec import Json  # slow to import, and only a type here

# Unicode's control, format, surrogate, separator and space characters (Cc, Cf, Cs, Zl, Zp, Zs
# without the plain space) and the noncharacters, which XML forbids. The set is written out because
# Python versions differ in their Unicode version, and a report must not depend on it.
_INVISIBLE: Final = (
    "\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u1680\u180e\u2000-\u200f"
    "\u2028-\u202f\u205f-\u206f\u3000\ud800-\udfff\ufdd0-\ufdef\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e007f"
)
_IN_LINE: Final = re.compile(f"[\x00-\x1f{_INVISIBLE}]")
_IN_TEXT: Final = re.compile(f"[\x00-\x08\x0b-\x1f{_INVISIBLE}]")
_CONTROLS: Final = bytes([*range(0x09), *range(0x0B, 0x20), 0x7F])
"""What `_IN_TEXT` finds in ASCII."""
_SHORT_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str) -> str:
    """Return one line of text without characters that hide, move the cursor or change the text
    direction.

    They become JSON escapes (``\\u202e``), so JSON text stays JSON text with the same value.
    """
    return _IN_LINE.sub(_escape, text)


def printable_lines(text: str) -> str:
    """Return the text as `printable` does, but with its line feeds and tabs."""
    if text.isascii() and len(text.encode().translate(None, _CONTROLS)) == len(text):
        return text  # ten times faster than the pattern
    return _IN_TEXT.sub(_escape, text)


def shorten(text: str, limit: int) -> str:
    """Return ``text`` in at most ``limit`` characters; a shortened one ends in ``…``."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def excerpt(text: str, head: int, tail: int = 0) -> str:
    """Return the first ``head`` and last ``tail`` characters of a longer text, and its length."""
    if len(text) <= head + tail:
        return text
    end = f" … {text[-tail:]}" if tail else ""
    return f"{text[:head]} … ({len(text):,} characters){end}"


def listed(texts: Sequence[str], most: int, separator: str = ", ") -> str:
    """Return at most ``most`` texts in one, and the number of the others."""
    more = len(texts) - most
    return separator.join(texts[:most]) + (f" and {more:,} more" if more > 0 else "")


def plural(number: int, noun: str) -> str:
    """Return ``1 cell``, ``2,000 cells``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def short_json(value: Json, limit: int = 60) -> str:
    """Return a JSON value for a sentence: its text, printable, in at most ``limit`` characters."""
    return shorten(printable(json.dumps(value, ensure_ascii=False, default=repr)), limit)


def _escape(match: re.Match[str]) -> str:
    if short := _SHORT_ESCAPES.get(match[0]):
        return short
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
