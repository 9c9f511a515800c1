"""Converts the body of a message to a block of text and back, byte for byte.

Lines of the body are lines of the text. The most frequent line end is written once (``crlf``);
lines with another end are listed by number (``crlf; lf 9-15``). A line that a YAML literal block
can't contain is escaped (``\\u2028``, a backslash doubled), and its number is listed. A long body
is converted in windows, because its lines as Python objects would need many times its size in
memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import chain, islice, pairwise
from typing import Final, NamedTuple

_EOLS: Final = {"lf": b"\n", "crlf": b"\r\n", "cr": b"\r"}
_END: Final = {
    "lf": re.compile(rb"(?<!\r)\n"),
    "crlf": re.compile(rb"\r\n"),
    "cr": re.compile(rb"\r(?!\n)"),
}
_ANY_END: Final = re.compile(rb"[\r\n]")
# A literal block can't hold control characters except tab, the line breaks and the byte order mark
# of libyaml, and noncharacters.
_UNHOLDABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_UNHOLDABLE_IN_LINE: Final = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]"
    rb"|\xef(?:\xbb\xbf|\xbf[\xbe\xbf])"
)
"""The same characters in UTF-8, without the carriage return."""
_HOLDABLE_ASCII: Final = bytes(n for n in range(128) if not _UNHOLDABLE.match(chr(n))) + b"\r"
_TO_ESCAPE: Final = re.compile(_UNHOLDABLE.pattern[:-1] + r"\\]")
# The escapes of LF and CR are refused: a line end is written as a line end.
_ESCAPE: Final = re.compile(r"\\(?:u(?!000[ad])([0-9a-f]{4})|(\\))")
# A window ends neither inside a UTF-8 character nor between CR and LF.
_CUT: Final = re.compile(rb"[^\r\n](?![\x80-\xbf])")
_EXCEPTION: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")

Span = tuple[int, int]
"""The start and the end of a range of bytes."""


class Layout(NamedTuple):
    """The layout of the text of a body."""

    eol: str
    """The line ends."""
    escaped: list[int]
    """The numbers of escaped lines, from 1."""
    spans: list[Span]
    """The bytes of these lines, each with the line end before it."""


class BodyTextError(ValueError):
    """A block that is not a valid text of a body. ``field`` is the faulty field: ``string``,
    ``eol`` or ``escaped``.
    """

    def __init__(self, field: str, fact: str) -> None:
        super().__init__(fact)
        self.field = field


WINDOW: Final = 1 << 20
"""The size in bytes of a window of a long body."""


def layout(body: bytes) -> Layout:
    """Choose the layout of a body's text; raises UnicodeDecodeError for a body that is not
    UTF-8.
    """
    numbers: list[int] = []
    spans: list[Span] = []
    number, counted, reached = 1, 0, 0
    for start, stop in _windows(body, 0, len(body)):
        if _is_holdable(body[start:stop]):
            continue
        while hit := _UNHOLDABLE_IN_LINE.search(body, max(start, reached), stop):
            place = hit.start()
            line = 1 + max(body.rfind(end, reached, place) for end in (b"\n", b"\r"))
            number += count_ends(body, counted, line)
            before = 2 if body[line - 2 : line] == b"\r\n" else min(line, 1)
            end = _ANY_END.search(body, place)
            counted, reached = line, end.start() if end else len(body)
            numbers.append(number)
            spans.append((line - before, reached))
    return Layout(_name_ends(body), numbers, spans)


def texts(body: bytes, layout: Layout) -> Iterator[tuple[bytes, bool]]:
    """Yield the text of a body in windows, each with a flag: whether the window is escaped."""
    reached = 0
    for start, stop in (*layout.spans, (len(body), len(body))):
        for window in _windows(body, reached, start):
            yield _with_line_feeds(body[slice(*window)]), False
        for window in _windows(body, start, stop):
            text = _with_line_feeds(body[slice(*window)]).decode()
            yield _TO_ESCAPE.sub(_escape, text).encode(), True
        reached = stop


def text_to_body(string: bytes, eol: str, escaped: list[int]) -> bytes:
    """Return the body of a text in UTF-8; the inverse of `layout` and `texts`. Raises
    `BodyTextError` for a text that these do not produce.
    """
    if eol in _EOLS and not escaped:
        return string if eol == "lf" else string.replace(b"\n", _EOLS[eol])
    text = _unescaped(string, escaped) if escaped else string
    return b"".join(with_ends([text], eol, text.count(b"\n")))


def with_ends(texts: Iterable[bytes], eol: str, count: int) -> Iterator[bytes]:
    """Yield the texts; their ``count`` line feeds are replaced with the line ends of the body.

    Raises `BodyTextError` if the ends do not fit this number of lines.
    """
    usual, others = _read_ends(eol, count)
    number = 0
    wanted, end = next(others, (count + 1, b""))
    for text in texts:
        lines, left = BytesIO(text), text.count(b"\n")
        while wanted - number <= left:
            yield b"".join(islice(lines, wanted - number))[:-1].replace(b"\n", usual)
            yield end
            left -= wanted - number
            number = wanted
            wanted, end = next(others, (count + 1, b""))
        yield lines.read().replace(b"\n", usual)
        number += left


def unescape(text: bytes) -> bytes:
    """Return a line, or a part of a line, without escapes. Raises `BodyTextError`."""
    line = text.decode()
    if "\\" in _ESCAPE.sub("", line):
        raise BodyTextError(
            "string",
            r"an escaped line has a backslash that is neither `\\` nor an escape such as `\u2028`"
            " (lower-case hexadecimal)",
        )
    return _ESCAPE.sub(lambda match: "\\" if match[2] else chr(int(match[1], 16)), line).encode()


def escape_unprintable(text: str) -> str:
    """Escape only the characters that YAML can't contain, for quoted scalars and comments."""
    return _UNHOLDABLE.sub(_escape, text)


def count_ends(body: bytes, start: int, stop: int) -> int:
    """Return the number of line ends between two places. Neither place is inside a line end."""
    returns = body.count(b"\r", start, stop)
    pairs = body.count(b"\r\n", start, stop) if returns else 0
    return body.count(b"\n", start, stop) + returns - pairs


def last_window(body: bytes) -> bytes:
    """Return the end of a long body, of about a window."""
    *_, (start, stop) = _windows(body, 0, len(body))
    return body[start:stop]


def _windows(body: bytes, start: int, stop: int) -> Iterator[Span]:
    """Yield the places of pieces of a body. Only the last piece may end with a line end, and no
    piece ends inside a character.
    """
    while start < stop:
        cut = _CUT.search(body, start + WINDOW, stop)
        yield start, cut.end() if cut else stop
        start = cut.end() if cut else stop


def _is_holdable(part: bytes) -> bool:
    """Return whether a literal block can contain a part of a body with any line ends. Raises
    UnicodeDecodeError for a part that is not UTF-8.
    """
    others = part.translate(None, _HOLDABLE_ASCII)  # ten times as fast as the pattern
    if part.isascii():
        return not others
    part.decode()  # the removal of characters may join the bytes around them to a new character
    return not _UNHOLDABLE.search(others.decode())


def _with_line_feeds(part: bytes) -> bytes:
    return part.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in part else part


def _escape(match: re.Match[str]) -> str:
    return "\\\\" if match[0] == "\\" else f"\\u{ord(match[0]):04x}"


def _unescaped(string: bytes, escaped: list[int]) -> bytes:
    lines, count = BytesIO(string), string.count(b"\n") + 1
    parts: list[bytes] = []
    reached = 0
    for number in sorted(set(escaped)):
        if not 1 <= number <= count:
            raise BodyTextError(
                "escaped", f"line {number} is listed as escaped, but the body has {count} lines"
            )
        parts += islice(lines, number - 1 - reached)
        parts.append(unescape(next(lines, b"")))
        reached = number
    return b"".join([*parts, lines.read()])


def _name_ends(body: bytes) -> str:
    """Return ``crlf; lf 9-15 17``: the most frequent line end, then the lines with another end. The
    last line has no end.
    """
    pairs = body.count(b"\r\n")
    counts = {"lf": body.count(b"\n") - pairs, "crlf": pairs, "cr": body.count(b"\r") - pairs}
    usual = max(counts, key=counts.__getitem__)
    others = [name for name, number in counts.items() if number and name != usual]
    lines = (f"{name} {' '.join(_ranges(_lines_with(body, _END[name])))}" for name in others)
    return "; ".join([usual, *lines])


def _lines_with(body: bytes, end: re.Pattern[bytes]) -> Iterator[int]:
    """Yield the numbers, from 1, of the lines that end with ``end``."""
    number = counted = 0
    for match in end.finditer(body):
        number += count_ends(body, counted, match.end())
        counted = match.end()
        yield number


def _ranges(numbers: Iterable[int]) -> Iterator[str]:
    """Return numbers as ranges: 9, 10, 11, 17 → ``9-11``, ``17``."""
    low = high = -1
    for number in chain(numbers, (0,)):
        if number == high + 1:
            high = number
            continue
        if high > 0:
            yield str(low) if low == high else f"{low}-{high}"
        low = high = number


def _read_ends(text: str, count: int) -> tuple[bytes, Iterator[tuple[int, bytes]]]:
    """Return the most frequent line end, and for every other line end the numbers of its lines, in
    order.
    """
    first, *others = (part.split() for part in text.split(";"))
    if len(first) != 1 or first[0] not in _EOLS:
        raise BodyTextError(
            "eol",
            f"`{text}` is not a line end; known ones are {', '.join(_EOLS)}, with exceptions such"
            " as `crlf; lf 9-15`",
        )
    ranges: list[tuple[int, int, bytes]] = []
    for name, *spans in (other or [""] for other in others):
        for span in spans or [""]:
            match = _EXCEPTION.fullmatch(span)
            low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
            if name not in _EOLS or not 1 <= low <= high <= count:
                raise BodyTextError(
                    "eol",
                    f"`{name} {span}` is not a range of lines of the text; give lines 1 to {count}",
                )
            ranges.append((low, high, _EOLS[name]))
    ranges.sort()
    for (_, high, _), (low, _, _) in pairwise(ranges):
        if low <= high:
            raise BodyTextError("eol", f"line {low} has two ends; list each line once")
    return _EOLS[first[0]], (
        (number, end) for low, high, end in ranges for number in range(low, high + 1)
    )
