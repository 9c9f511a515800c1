"""An unfinished recording as lines of JSON: what a `.part` file holds, written as it happens and
readable wherever it stops.

A cassette says the ends of lines and the lengths of reads beside a body, so it can be written only
once the body is whole. Here every fact is a line of its own that is only ever appended: a head,
then what was asked, answered, read and ended, in the order in which it happened; ``exchange`` says
whose line it is. An exchange without its end was `cut`, and a last line that was cut itself says
nothing.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Final

import msgspec

from harness.stream.events import End
from harness.stream.exchange import Cassette, CassetteError, Exchange, Origin, Request

FORMAT: Final = 1
"""The version of these lines; a newer one is refused."""


class _Line(msgspec.Struct, tag_field="line", omit_defaults=True, forbid_unknown_fields=True):
    exchange: int


class _Asked(_Line, tag="asked"):
    """``method`` is absent where an answer has no request: a program's output."""

    method: str | None = None
    url: str = ""
    headers: dict[str, list[str]] = {}
    text: str = ""
    base64: str = ""


class _Answered(_Line, tag="answered", kw_only=True):
    status: int
    reason: str = ""
    headers: dict[str, list[str]] = {}


class _Read(_Line, tag="read"):
    at: float | None = None
    text: str = ""
    base64: str = ""


class _Ended(_Line, tag="ended", kw_only=True):
    end: End


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    harness_unfinished: int
    origin: Origin


_BEGINS: Final = b'{"harness_unfinished":'
_LINES: Final = msgspec.json.Decoder(_Asked | _Answered | _Read | _Ended)
_ENCODE: Final = msgspec.json.Encoder().encode


def head_line(origin: Origin) -> bytes:
    """The first line of a file."""
    return _ENCODE(_Head(FORMAT, origin)) + b"\n"


def asked_line(exchange: int, request: Request | None) -> bytes:
    """The exchange of this number began."""
    if request is None:
        return _ENCODE(_Asked(exchange)) + b"\n"
    text, coded = _as_text(request.body)
    return (
        _ENCODE(_Asked(exchange, request.method, request.url, request.headers, text, coded)) + b"\n"
    )


def answered_line(
    exchange: int, status: int, reason_phrase: str, headers: dict[str, list[str]]
) -> bytes:
    """Its status and headers came."""
    return (
        _ENCODE(_Answered(exchange, status=status, reason=reason_phrase, headers=headers)) + b"\n"
    )


def read_line(exchange: int, at: float | None, data: bytes) -> bytes:
    """Bytes of its body came, ``at`` milliseconds after it began."""
    text, coded = _as_text(data)
    return _ENCODE(_Read(exchange, None if at is None else round(at, 3), text, coded)) + b"\n"


def ended_line(exchange: int, end: End) -> bytes:
    """It ended."""
    return _ENCODE(_Ended(exchange, end=end)) + b"\n"


def is_unfinished(data: bytes) -> bool:
    """Whether a file is one of these: told by its first bytes."""
    return data.startswith(_BEGINS)


@dataclass(slots=True)
class _Draft:
    request: Request | None
    answer: _Answered | None = None
    reads: list[tuple[float | None, bytes]] = field(default_factory=list)
    end: End = "cut"


def read_unfinished(data: bytes, name: str = "unfinished recording") -> Cassette:
    """What had arrived, in start order; an exchange that had no answer yet is left out.

    Raises `CassetteError` for lines that are none of ours; ``name`` stands in its message.
    """
    head, *lines = data.split(b"\n")
    origin = _read_head(head, name)
    drafts: dict[int, _Draft] = {}
    for number, line in enumerate(
        lines[:-1], 2
    ):  # behind the last line's end stands nothing, or a line that was cut
        try:
            _take(_LINES.decode(line), drafts)
        except (msgspec.DecodeError, binascii.Error, KeyError) as error:
            raise CassetteError(
                f"{name}:{number}: no line of an unfinished recording: {error}"
            ) from None
    kept = (drafts[number] for number in sorted(drafts))
    return Cassette(
        tuple(
            Exchange(
                draft.request,
                draft.answer.status,
                draft.answer.headers,
                tuple(draft.reads),
                draft.end,
                draft.answer.reason,
            )
            for draft in kept
            if draft.answer is not None
        ),
        origin,
    )


def _read_head(line: bytes, name: str) -> Origin:
    try:
        head = msgspec.json.decode(line, type=_Head)
    except msgspec.DecodeError as error:
        raise CassetteError(
            f"{name}:1: no head of an unfinished recording: {error}; nothing in it can be read,"
            " delete it"
        ) from None
    if head.harness_unfinished > FORMAT:
        raise CassetteError(
            f"{name}:1: format {head.harness_unfinished} is newer than {FORMAT}, which this version"
            " reads; upgrade gemini-conformance"
        )
    return head.origin


def _take(line: _Asked | _Answered | _Read | _Ended, drafts: dict[int, _Draft]) -> None:
    """One line into what is known so far; KeyError for an exchange that never began."""
    match line:
        case _Asked(method=None):
            drafts[line.exchange] = _Draft(None)
        case _Asked(method=str(method)):
            drafts[line.exchange] = _Draft(Request(method, line.url, line.headers, _as_bytes(line)))
        case _Answered():
            drafts[line.exchange].answer = line
        case _Read():
            drafts[line.exchange].reads.append((line.at, _as_bytes(line)))
        case _Ended():
            drafts[line.exchange].end = line.end


def _as_text(data: bytes) -> tuple[str, str]:
    """Bytes as text, or where they are none as base64."""
    try:
        return data.decode(), ""
    except UnicodeDecodeError:
        return "", base64.b64encode(data).decode()


def _as_bytes(line: _Asked | _Read) -> bytes:
    return base64.b64decode(line.base64, validate=True) if line.base64 else line.text.encode()
