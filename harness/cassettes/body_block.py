"""Converts the body of a message to a block of text and back, byte for byte.

Lines of the body are lines of the text. The usual line end is named once (``crlf``), with
exceptions by line number (``crlf; lf 9-15``). A line that a YAML literal block can't hold is
escaped (``\\u2028``, a backslash doubled), and its number is listed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

_EOLS: Final = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}
_LINE: Final = re.compile(r"([^\r\n]*)(\r\n|\n|\r|\Z)")
# A literal block can't hold control characters except tab, the line breaks and the byte order mark
# of libyaml, and noncharacters.
_UNHOLDABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_HOLDABLE_ASCII: Final = bytes(n for n in range(128) if not _UNHOLDABLE.match(chr(n)))
_TO_ESCAPE: Final = re.compile(_UNHOLDABLE.pattern[:-1] + r"\\]")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-f]{4})|(\\))")
_CUT: Final = re.compile(rb"[^\r\n](?![\x80-\xbf])")
_EXCEPTION: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


class BodyText(NamedTuple):
    """``string``: the lines joined by ``\\n``. ``eol``: the line ends. ``escaped``: the numbers of
    escaped lines, from 1.
    """

    string: str
    eol: str
    escaped: list[int]


class BodyTextError(ValueError):
    """A block that is not the text of a body; ``field`` is the faulty field of `BodyText`."""

    def __init__(self, field: str, fact: str) -> None:
        super().__init__(fact)
        self.field = field


WINDOW: Final = 1 << 20
"""The bytes of a long body that are converted at once."""


def windows(body: bytes) -> Iterator[bytes]:
    """The pieces of a body; only the last may end with a line end, and none inside a character."""
    start = 0
    while start < len(body):
        cut = _CUT.search(body, start + WINDOW)
        stop = cut.end() if cut else len(body)
        yield body[start:stop]
        start = stop


def plain_line_end(body: bytes) -> str | None:
    """``lf`` or ``crlf`` for a body whose block needs neither escapes nor other line ends; else
    None.
    """
    crlf = body.count(b"\r\n")
    if body.count(b"\r") != crlf or (crlf and body.count(b"\n") != crlf):
        return None
    try:
        if not all(map(_is_holdable, windows(body))):
            return None
    except UnicodeDecodeError:
        return None
    return "crlf" if crlf else "lf"


def _is_holdable(part: bytes) -> bool:
    """Whether a literal block can hold a part of a body in which each ``\\r`` is of a line end.
    Raises UnicodeDecodeError for a part that is not UTF-8.
    """
    others = part.translate(None, _HOLDABLE_ASCII + b"\r")  # a tenth of the time of the pattern
    if part.isascii():
        return not others
    part.decode()  # characters may become whole when those between their bytes are removed
    return not _UNHOLDABLE.search(others.decode())


def body_to_text(body: bytes) -> BodyText:
    """The text of a body; raises UnicodeDecodeError for a body that is not UTF-8."""
    text = body.decode()
    lines: list[str] = []
    ends: list[str] = []
    for line in _LINE.finditer(text):
        lines.append(line[1])
        ends.append(line[2])
        if not line[2]:
            break
    escaped = [number for number, line in enumerate(lines, 1) if _UNHOLDABLE.search(line)]
    for number in escaped:
        lines[number - 1] = _TO_ESCAPE.sub(_escape, lines[number - 1])
    return BodyText("\n".join(lines), _name_ends(ends), escaped)


def text_to_body(string: str | bytes, eol: str, escaped: list[int]) -> bytes:
    """The body of the fields of a `BodyText`; ``string`` may be in UTF-8. Raises `BodyTextError`
    for a text that `body_to_text` does not make.
    """
    if eol in _EOLS and not escaped:
        data = string.encode() if isinstance(string, str) else string
        return data if eol == "lf" else data.replace(b"\n", _EOLS[eol].encode())
    lines = (string if isinstance(string, str) else string.decode()).split("\n")
    for number in escaped:
        if not 1 <= number <= len(lines):
            raise BodyTextError(
                "escaped",
                f"line {number} is listed as escaped, but the body has {len(lines)} lines",
            )
        lines[number - 1] = _unescape(lines[number - 1])
    ends = _read_ends(eol, len(lines))
    return "".join([line + end for line, end in zip(lines, ends, strict=True)]).encode()


def escape_unprintable(text: str) -> str:
    """Escapes only the characters that YAML can't hold: for quoted scalars and comments."""
    return _UNHOLDABLE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return "\\\\" if match[0] == "\\" else f"\\u{ord(match[0]):04x}"


def _unescape(line: str) -> str:
    if "\\" in _ESCAPE.sub("", line):
        raise BodyTextError(
            "string",
            r"an escaped line has a backslash that is neither `\\` nor an escape such as `\u2028`"
            " (lower-case hexadecimal)",
        )
    return _ESCAPE.sub(lambda match: "\\" if match[2] else chr(int(match[1], 16)), line)


def _name_ends(ends: list[str]) -> str:
    """``crlf; lf 9-15 17``: the usual line end, then the lines with another. The last line has
    no end.
    """
    counts = Counter(ends[:-1])
    if not counts:
        return "lf"
    usual = max(_EOLS.values(), key=lambda end: counts[end])
    parts: list[str] = []
    for name, end in _EOLS.items():
        if end == usual:
            parts.insert(0, name)
        elif counts[end]:
            numbers = [number for number, this in enumerate(ends, 1) if this == end]
            parts.append(f"{name} {' '.join(_spans(numbers))}")
    return "; ".join(parts)


def _spans(numbers: list[int]) -> list[str]:
    """``[9, 10, 11, 17]`` → ``["9-11", "17"]``."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return [str(low) if low == high else f"{low}-{high}" for low, high in spans]


def _read_ends(text: str, count: int) -> list[str]:
    first, *others = (part.split() for part in text.split(";"))
    if len(first) != 1 or first[0] not in _EOLS:
        raise BodyTextError(
            "eol",
            f"`{text}` is not a line end; known are {', '.join(_EOLS)}, with exceptions such as"
            " `crlf; lf 9-15`",
        )
    ends = [_EOLS[first[0]]] * (count - 1) + [""]
    for name, *spans in (other or [""] for other in others):
        for span in spans or [""]:
            match = _EXCEPTION.fullmatch(span)
            low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
            if name not in _EOLS or not 1 <= low <= high < count:
                raise BodyTextError(
                    "eol",
                    f"`{name} {span}` names no lines of the text; give lines 1 to {count - 1}",
                )
            ends[low - 1 : high] = [_EOLS[name]] * (high - low + 1)
    return ends
