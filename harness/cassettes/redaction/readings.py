"""Decodes a file's bytes in the ways that can reveal a secret; each result is a `Reading`.

The first reading is the bytes themselves. The second has no escapes of URLs, HTML, JSON and YAML.
The third also has no line breaks, escaped or not, because YAML, base64 and texts are wrapped. The
joined texts of a stream get the same two readings. The base64 in each of these is decoded.

Most texts contain no secret. So the positions of the bytes of a reading are calculated only if it
contains a secret. A reading is a copy, so a long file is read in windows, which overlap.
"""

from __future__ import annotations

import html
import re
import sys
from binascii import a2b_base64
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate, chain
from typing import Final

from .joins import joins

Span = tuple[int, int]
"""The start and the end of a range of bytes."""
Piece = tuple[int, int, int]
"""A piece of a reading: its start and length in the source, and its length in the reading."""

WINDOW: Final = 2 << 20
"""The size in bytes of a window of a long file."""
_BREAK: Final = re.compile(rb"[\x00\r\n][\x00\r\n \t]*+(?:#[ \t]*+)?")
_BREAKS: Final = b"\x00\r\n"
_AS_LINE_FEEDS: Final = bytes.maketrans(b"\0\r", b"\n\n")
_AFTER_BREAK: Final = re.compile(rb"\n[ \t#]")
_WRAPPED: Final = re.compile(
    rb"\n(?<=[0-9A-Za-z+/_-].)[\n \t]*+(?:#[\n \t]*+)*+[0-9A-Za-z+/_-]", re.DOTALL
)
"""A break that may be inside base64. Both patterns are for a text in which every break is a line
feed, because `re` finds one literal byte fastest.
"""
_PERCENT: Final = re.compile(rb"(%(?:25)*+[0-9a-fA-F]{2})")
_ENTITY: Final = re.compile(
    rb"(&(?:amp;)*+(?:amp|apos|gt|lt|quot|#0*+[0-9]{2,3}|#[xX]0*+[0-9a-fA-F]{2});)"
)
_BACKSLASH: Final = re.compile(
    rb"(\\\\*+(?:u[0-9a-fA-F]{4}(?:\\++u[0-9a-fA-F]{4})*+|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|[^\\])?)"
)
"""Each pattern begins with one literal byte, because `re` then needs a sixth of the time."""
_ESCAPES: Final = ((b"%", _PERCENT), (b"&", _ENTITY), (b"\\", _BACKSLASH))
_CONTROLS: Final = b"0abefnrtvNLP_"
_BASE64: Final = re.compile(rb"[0-9A-Za-z+/]{11,}")  # 11 characters encode 8 bytes
_WORD: Final = re.compile(b" (" + b"[^ ]" * 11 + b"[^ ]*)")
"""The same for a text in which all other characters are blanks; it takes a third of the time."""
_ENDS: Final = (b"CgAK", b"AAACgAK", b"AACgAK", b"ACgAK")
"""The padding that is added to a run of base64 before it is decoded; the index is the length of the
run modulo 4. The padding fills the last group of four characters. It decodes to a zero byte between
two line breaks, which marks the end of a secret that was cut.
"""
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_WORDS: Final = bytes(
    byte if _BASE64.fullmatch(bytes([byte]) * 11) else ord(" ")
    for byte in bytes(range(256)).translate(_STANDARD)
)


class Reading:
    """A text, and the places in the file from which it was decoded. A reading without a source is a
    window of the file.

    ``sources`` maps spans of the text to the spans of ``source`` from which they were decoded.
    """

    def __init__(
        self,
        text: bytes,
        source: Reading | None = None,
        sources: Callable[[list[Span]], Iterable[Span]] = iter,
        *,
        joined: bool = False,
        in_pieces: bool = False,
    ) -> None:
        self.text: Final = text
        self.joined: Final = joined
        """Whether lines were joined, so that a word may be from two unrelated lines."""
        self.in_pieces: Final[bool] = in_pieces or (source is not None and source.in_pieces)
        """Whether this is the text of a stream."""
        self.is_plain: Final = source is None
        self._source: Final = source
        self._sources: Final = sources

    def places(self, spans: Iterable[Span]) -> list[Span]:
        """Return the bytes of the file from which the bytes in ``spans`` were decoded, in order. An
        escape or a run of base64 is included as a whole. A span with bytes from several places
        becomes several spans. Bytes that another window has with more context are omitted.
        """
        ordered = merged(spans)
        if not ordered:
            return ordered
        sources = self._sources(ordered)
        return merged(sources) if self._source is None else self._source.places(sources)


def readings(data: bytes, window: int = sys.maxsize) -> Iterator[Reading]:
    """Yield all readings of ``data``; the first is ``data`` itself. Equal readings are omitted.

    Data longer than ``window`` is read in windows of that size, which overlap by an eighth of it. A
    secret that is longer than the overlap may be missed.
    """
    in_pieces = (_joined_texts(data, pieces, window) for pieces in joins(data))
    for source in chain(_windows(data, window), chain.from_iterable(in_pieces)):
        yield source
        unescaped = _unescaped(source)
        yield from _with_joined(unescaped, is_new=unescaped is not source)


def _windows(data: bytes, window: int) -> Iterator[Reading]:
    if len(data) <= window:
        yield Reading(data)
        return
    overlap = window // 8
    for start in range(0, len(data) - overlap, window - overlap):
        low = overlap // 4 if start else 0
        high = window - overlap + overlap // 4 if start + window < len(data) else window
        yield Reading(
            data[start : start + window], None, _within(low, high, partial(_shifted, start))
        )


def _joined_texts(data: bytes, pieces: Iterable[Span], window: int) -> Iterator[Reading]:
    """Yield the joined texts of a stream. In a long text, only the two ends can be part of a secret
    that continues in another text.
    """
    plain, overlap = Reading(data), window // 8
    spans: list[Span] = []
    size = low = 0
    for start, stop in pieces:
        is_long = stop - start > overlap
        spans.append((start, start + overlap if is_long else stop))
        size += spans[-1][1] - start
        if is_long or size >= window:
            if len(spans) > 1:
                yield _cut_out(plain, spans, low, size - overlap + overlap // 4)
            spans = [(stop - overlap, stop)] if is_long else _tail(spans, overlap)
            size, low = overlap, overlap // 4
    if len(spans) > 1:
        yield _cut_out(plain, spans, low, size)


def _tail(spans: list[Span], size: int) -> list[Span]:
    """Return the last spans, of at most ``size`` bytes in total; the first of them may be cut."""
    kept: list[Span] = []
    for start, stop in reversed(spans):
        kept.append((max(start, stop - size), stop))
        size -= stop - start
        if size <= 0:
            break
    return kept[::-1]


def _shifted(offset: int, spans: Iterable[Span]) -> Iterator[Span]:
    return ((start + offset, stop + offset) for start, stop in spans)


def _within(
    low: int, high: int, sources: Callable[[list[Span]], Iterable[Span]]
) -> Callable[[list[Span]], Iterable[Span]]:
    """Return ``sources`` of the spans that begin or end between ``low`` and ``high``."""

    def inside(spans: list[Span]) -> Iterable[Span]:
        kept = [span for span in spans if span[0] < high and span[1] > low]
        return sources(kept) if kept else ()

    return inside


def unescape(text: bytes) -> bytes:
    """Return ``text`` without escapes, also if it was escaped several times: a run of backslashes
    counts as one, and ``%2525`` as ``%25``. An escaped control character becomes a zero byte, which
    ends a word.
    """
    text = unquote(text)
    if b"&" in text:
        text = b"".join(_split(_ENTITY, text))
    return b"".join(_split(_BACKSLASH, text)) if b"\\" in text else text


def unquote(text: bytes) -> bytes:
    """Return ``text`` without the escapes of URLs, also if it was escaped several times."""
    return b"".join(_split(_PERCENT, text)) if b"%" in text else text


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order. Overlapping and adjacent spans are joined, empty spans are
    dropped.
    """
    joined: list[Span] = []
    for start, stop in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        elif start < stop:
            joined.append((start, stop))
    return joined


def _of_pieces(pieces: Callable[[], Iterable[Piece]], spans: list[Span]) -> Iterator[Span]:
    """Yield the sources of spans in a text that consists of ``pieces``."""
    waiting, place = iter(spans), 0
    start, stop = next(waiting)
    for source, size, length in pieces():
        end = place + length
        while start < end:
            whole = size != length
            yield (
                source if whole else source + max(start - place, 0),
                source + (size if whole else min(stop, end) - place),
            )
            if stop > end:
                break
            start, stop = next(waiting, (sys.maxsize, sys.maxsize))
        place = end


def _cut_out(source: Reading, spans: list[Span], low: int, high: int) -> Reading:
    def pieces() -> Iterator[Piece]:
        return ((start, stop - start, stop - start) for start, stop in spans)

    text = b"".join([source.text[start:stop] for start, stop in spans])
    sources = _within(low, high, partial(_of_pieces, pieces))
    return Reading(text, source, sources, in_pieces=True)


def _with_joined(reading: Reading, *, is_new: bool) -> Iterator[Reading]:
    """Yield the reading if it is new, the reading without line breaks, and the decoded base64 of
    both.
    """
    if is_new:
        yield reading
    runs = _runs(reading.text)
    yield _decoded(reading, runs)
    text = reading.text.translate(None, _BREAKS)
    if len(text) == len(reading.text):
        return
    lines = reading.text.translate(_AS_LINE_FEEDS)
    if _AFTER_BREAK.search(lines):
        text = b"".join(_BREAK.split(reading.text))
    joined = Reading(
        text,
        reading,
        partial(_of_pieces, lambda: _between(_BREAK, reading.text)),
        joined=True,
    )
    yield joined
    if not _WRAPPED.search(lines):
        return
    yield _decoded(joined, {run: None for run in _runs(joined.text) if run not in runs})


def _runs(text: bytes) -> dict[bytes, None]:
    """Return the distinct runs of base64 in a text."""
    return dict.fromkeys(_WORD.findall(b" " + text.translate(_WORDS)))


def _unescaped(source: Reading) -> Reading:
    for character, pattern in _ESCAPES:
        if character in source.text:
            source = _without(pattern, source)
    return source


def _without(pattern: re.Pattern[bytes], source: Reading) -> Reading:
    parts = _split(pattern, source.text)
    if len(parts) == 1:
        return source
    return Reading(
        b"".join(parts), source, partial(_of_pieces, lambda: _pieces(pattern, source.text))
    )


def _split(pattern: re.Pattern[bytes], text: bytes) -> list[bytes]:
    """Return the text between the escapes, and the characters of the escapes."""
    parts = pattern.split(text)
    parts[1::2] = map(_CHARACTERS.__getitem__, parts[1::2])
    return parts


def _pieces(pattern: re.Pattern[bytes], text: bytes) -> Iterator[Piece]:
    place = 0
    for part, plain in zip(pattern.split(text), _split(pattern, text), strict=True):
        yield place, len(part), len(plain)
        place += len(part)


class _Characters(dict[bytes, bytes]):
    """A cache: escape → its character in UTF-8. A text has few different escapes."""

    def __missing__(self, escape: bytes) -> bytes:
        character = _character(escape)
        if len(self) < 4096:
            self[escape] = character
        return character


_CHARACTERS: Final = _Characters()


def _character(escape: bytes) -> bytes:
    if escape[:1] == b"%":
        return bytes.fromhex(escape[-2:].decode())
    if escape[:1] == b"&":
        return (
            html.unescape("&" + escape.decode().rpartition("amp;")[2].lstrip("&")).encode() or b"&"
        )
    name = escape.lstrip(b"\\")
    if len(name) > 1 and name[:1] == b"u":
        code_units = bytes.fromhex(re.sub(rb"\\*+u", b"", name).decode())
        return _plain(code_units.decode("utf-16-be", "replace"))
    if len(name) > 1:
        number = int(name[1:], 16)
        return _plain(chr(number)) if number < 0x110000 else b""
    return b"\x00" if name and name in _CONTROLS else name


def _plain(text: str) -> bytes:
    return text.encode("utf-8", "replace").translate(_WITHOUT_CONTROLS)


_WITHOUT_CONTROLS: Final = bytes.maketrans(b"\t\n\r", b"\0\0\0")


def _between(separator: re.Pattern[bytes], text: bytes) -> Iterator[Piece]:
    start = 0
    for match in separator.finditer(text):
        yield start, match.start() - start, match.start() - start
        start = match.end()
    yield start, len(text) - start, len(text) - start


def _decoded(source: Reading, runs: dict[bytes, None]) -> Reading:
    """Return the decoded bytes of the base64 ``runs`` of ``source``, from each of their first four
    characters. Text before the base64 may look like base64, so the first group may begin at any of
    these. After these bytes, the same bytes without escapes.
    """
    decoded = [_decode(runs, first) for first in range(4)]
    plain = [(first, unescape(text)) for first, text in enumerate(decoded)]
    escaped = [(first, text) for first, text in plain if text != decoded[first]]

    def parts() -> Iterator[bytes]:
        """Yield the result for each run, in the order of the text."""
        yield from (_decode((run,), first) for first in range(4) for run in runs)
        yield from (unescape(_decode((run,), first)) for first, _ in escaped for run in runs)

    def sources(spans: list[Span]) -> Iterator[Span]:
        starts, numbered = list(accumulate(map(len, parts()), initial=0)), list(runs)
        shown = {
            numbered[part % len(numbered)]
            for start, stop in spans
            for part in range(bisect_right(starts, start) - 1, bisect_left(starts, stop))
        }
        for match in _BASE64.finditer(source.text.translate(_STANDARD)):
            if match[0] in shown:
                yield match.span()

    return Reading(b"".join([*decoded, *(text for _, text in escaped)]), source, sources)


def _decode(runs: Iterable[bytes], first: int) -> bytes:
    """Return the decoded bytes of runs without their first ``first`` characters, each with a line
    break after it.
    """
    ends = _ENDS[-first:] + _ENDS[:-first]
    return a2b_base64(b"".join([run[first:] + ends[len(run) & 3] for run in runs]))
