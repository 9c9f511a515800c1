"""The patterns of ``$re``, matched by RE2 in time that is linear in the text.

Specs are not trusted, and Python's own engine backtracks: a pattern of ten characters can run for
years. RE2 does not backtrack, so only the size of the compiled pattern and the size of the text
need a limit. It lacks look-around and back-references.
"""

from __future__ import annotations

import re
from typing import Final

MAX_PATTERN: Final = 500
"""Characters of a pattern."""
MAX_PROGRAM: Final = 2_000
"""Instructions of a compiled pattern."""
MAX_SUBJECT: Final = 100_000
"""The maximum length of a text for a pattern; a match takes about a second at most."""
MAX_MEMORY: Final = 1 << 20
"""Bytes for a compiled pattern and its states."""

_LACKING: Final = {
    "(?=": "look-ahead",
    "(?!": "look-ahead",
    "(?<=": "look-behind",
    "(?<!": "look-behind",
    "(?>": "atomic group",
    "(?(": "condition",
    "(?P": "back-reference",
    "(?#": "comment",
    "++": "possessive repeat",
    "*+": "possessive repeat",
    "?+": "possessive repeat",
}
"""Constructs of Python's patterns that RE2 does not have, by the text that RE2 complains about."""

_NUMBERED_REFERENCE: Final = re.compile(r"\\[1-9]")


class PatternError(ValueError):
    """RE2 does not accept the pattern, or it is too large; the message names the construct and the
    reason.
    """


class Pattern:
    """A compiled pattern. Raises `PatternError` if ``source`` is not a pattern."""

    def __init__(self, source: str) -> None:
        import re2  # imported with the first pattern, because most runs have none

        if len(source) > MAX_PATTERN:
            raise PatternError(
                f"the pattern has {len(source):,} characters; at most {MAX_PATTERN} are allowed"
            )
        options = re2.Options()
        options.log_errors, options.never_capture, options.max_mem = False, True, MAX_MEMORY
        try:
            self._regex = re2.compile(_encoded(source), options)
        except re2.error as error:
            raise PatternError(_reason(error.args[0].decode("utf-8", "replace"))) from None
        if self._regex.programsize > MAX_PROGRAM:
            raise PatternError(
                f"the pattern is too large: {self._regex.programsize:,} instructions, at most"
                f" {MAX_PROGRAM:,} are allowed; use smaller repeats"
            )

    def steps(self, subject: str) -> int:
        """Return the most steps that a match with this text can take."""
        return int(self._regex.programsize) * len(subject)

    def refuses(self, subject: str) -> str:
        """Return the reason why this text is not tried, or ``""``."""
        if len(subject) <= MAX_SUBJECT:
            return ""
        return (
            f"a text of {len(subject):,} characters is too long for $re (at most {MAX_SUBJECT:,})"
        )

    def fits(self, subject: str) -> bool:
        """Return whether the whole text matches; ask `refuses` first."""
        return self._regex.fullmatch(_encoded(subject)) is not None


def _encoded(text: str) -> bytes:
    """Return the text in UTF-8, with U+FFFD for each lone half of a surrogate pair."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _reason(message: str) -> str:
    """Return our message for an error of RE2."""
    _, _, construct = message.partition(": ")
    name = _LACKING.get(construct)
    if _NUMBERED_REFERENCE.fullmatch(construct):
        name = "back-reference"
    if name is None:
        return f"not a valid regular expression: {message}"
    return f"RE2, which matches $re, has no {name} {construct}; write the pattern without it"
