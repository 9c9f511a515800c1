"""Reads and writes the lines of a crash journal: a recording as JSON lines that are appended while
it runs.

A cassette stores line ends and read lengths beside a body, so it can be written only when the body
is complete. A journal can be read even if it is cut anywhere. After the head, each line is one fact
about one exchange, in chronological order. A body is a string with a character for each byte. An
exchange without an `Ended` line was `cut`. A last line without a line end is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from harness.stream.events import End
from harness.stream.exchange import Cassette, CassetteError, Exchange, Origin, Request

FORMAT: Final = 1
"""The version of the lines; newer versions are refused."""


class Started(NamedTuple):
    """Exchange ``number`` began. The output of a program has no request."""

    number: int
    request: Request | None


class Arrived(NamedTuple):
    """Bytes of the body arrived."""

    number: int
    at_ms: float | None
    """Milliseconds since the exchange began."""
    data: bytes
    continues: bool = False
    """Whether the bytes are the rest of the read before them."""


class _Line(
    msgspec.Struct,
    tag_field="line",
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename={"number": "exchange", "reason_phrase": "reason"},
):
    number: int


class Answered(_Line, tag="answered"):
    """Status and headers arrived."""

    status: int
    reason_phrase: str
    headers: dict[str, list[str]]


class Ended(_Line, tag="ended"):
    """The exchange ended."""

    end: End


JournalFact = Started | Answered | Arrived | Ended


class _Started(_Line, tag="asked"):
    method: str | None = None
    url: str = ""
    headers: dict[str, list[str]] = {}
    body: str = ""


class _Read(_Line, tag="read"):
    at: float | None = None
    body: str = ""
    rest: bool = False


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    harness_unfinished: int
    origin: Origin


_BEGINS: Final = b'{"harness_unfinished":'
_LINES: Final = msgspec.json.Decoder(_Started | Answered | _Read | Ended)
_ENCODE: Final = msgspec.json.Encoder().encode


def encode_head(origin: Origin) -> bytes:
    """Return the first line of a journal."""
    return _ENCODE(_Head(FORMAT, origin)) + b"\n"


def encode_fact(fact: JournalFact) -> bytes:
    """Return the line of a fact."""
    return _ENCODE(_line_of(fact)) + b"\n"


def _line_of(fact: JournalFact) -> _Line:
    match fact:
        case Started(number, None):
            return _Started(number)
        case Started(number, Request() as request):
            body = request.body.decode("latin-1")
            return _Started(number, request.method, request.url, request.headers, body)
        case Arrived(number, at_ms, data, continues):
            at = None if at_ms is None else round(at_ms, 3)
            return _Read(number, at, data.decode("latin-1"), continues)
        case Answered() | Ended():
            return fact
    raise TypeError(f"{fact!r} is not a fact of a journal")


def is_journal(data: bytes) -> bool:
    """Return whether a file is a journal, according to its first bytes."""
    return data.startswith(_BEGINS)


@dataclass(slots=True)
class _Draft:
    request: Request | None
    answer: Answered | None = None
    reads: list[tuple[float | None, bytes]] = field(default_factory=list)
    end: End = "cut"


def read_journal(data: bytes, name: str = "journal") -> Cassette:
    """Return the exchanges with an answer, in start order.

    Raises `CassetteError` for lines of another format; its message begins with ``name``.
    """
    head, *lines = data.split(b"\n")
    origin = _read_head(head, name)
    drafts: dict[int, _Draft] = {}
    # The last item is empty or an incomplete line.
    for number, line in enumerate(lines[:-1], 2):
        try:
            _apply(_LINES.decode(line), drafts)
        except (msgspec.DecodeError, UnicodeEncodeError, KeyError) as error:
            raise CassetteError(f"{name}:{number}: not a line of a journal: {error}") from None
    exchanges = tuple(
        Exchange(
            draft.request,
            draft.answer.status,
            draft.answer.headers,
            tuple(draft.reads),
            draft.end,
            draft.answer.reason_phrase,
        )
        for _, draft in sorted(drafts.items())
        if draft.answer is not None
    )
    return Cassette(exchanges, origin)


def _read_head(line: bytes, name: str) -> Origin:
    try:
        head = msgspec.json.decode(line, type=_Head)
    except msgspec.DecodeError as error:
        raise CassetteError(
            f"{name}:1: not the first line of a journal: {error}; nothing in this file can be read,"
            " delete it"
        ) from None
    if head.harness_unfinished > FORMAT:
        raise CassetteError(
            f"{name}:1: format {head.harness_unfinished} is newer than {FORMAT}, which this version"
            " reads; upgrade gemini-conformance"
        )
    return head.origin


def _apply(line: _Started | Answered | _Read | Ended, drafts: dict[int, _Draft]) -> None:
    """Add one line to the drafts. Raises KeyError for an exchange without a `Started` line."""
    match line:
        case _Started(method=None):
            drafts[line.number] = _Draft(None)
        case _Started(method=str(method)):
            body = line.body.encode("latin-1")
            drafts[line.number] = _Draft(Request(method, line.url, line.headers, body))
        case Answered():
            drafts[line.number].answer = line
        case _Read():
            reads, data = drafts[line.number].reads, line.body.encode("latin-1")
            if line.rest and reads:
                data = reads.pop()[1] + data
            reads.append((line.at, data))
        case Ended():
            drafts[line.number].end = line.end
