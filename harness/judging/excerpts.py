"""The lines beside a red finding by facts: frames of the wire, native events or the request, and
facts, each around the place of the finding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal

from msgspec.structs import replace as with_fields

from harness.facts import (
    RUN,
    Call,
    Entry,
    Fact,
    Finding,
    Finish,
    Text,
    Thought,
    Transcript,
    Usage,
    json_of_fact,
)
from harness.facts.stated import plain_fact
from harness.stream.decompression import unpack_before_fault
from harness.stream.exchange import Exchange
from harness.stream.json_codec import Json
from harness.stream.printable import printable

from .reading import Reading
from .rows import LayerView
from .wire_variants import field_names

_EMPTY: Final[tuple[Json, ...]] = (None, "", [], {})
SHOWN: Final = 5
"""The maximum number of lines of an excerpt."""
WIDTH: Final = 240
"""The maximum number of characters of a line. A longer line is cut around the place in question."""
MIN_BEGINNING: Final = 3
"""The minimum number of characters at the beginning of a text that identify its line."""
_BLANK_LINES: Final = (b"\n\n", b"\r\n\r\n", b"\r\r")
FIRST: Final = 12
"""A line also has a value if it has its first characters."""

_LAST: Final[Mapping[str, type[Fact]]] = {"finish": Finish, "usage": Usage}
"""The aspects whose last fact is judged."""

Excerpts = dict[str, tuple[LayerView, ...]]


def excerpts_of_answer(
    findings: Iterable[Finding], reading: Reading, transcript: Transcript
) -> Excerpts:
    """Return, for each red finding, the frames of the answer, the native events, and the facts."""
    red = [finding for finding in findings if finding.red and finding.subject != RUN]
    if not red:
        return {}
    (wire, sent), native = _wire_lines(reading), native_lines(transcript)
    facts = _fact_lines(transcript.entries)
    at = _next_frame(wire, transcript)
    return {
        finding.subject: (
            _header_view(finding, reading.exchange)
            or _around(
                finding,
                "frames",
                wire,
                finding.place.wire,
                at if finding.is_exception else None,
                shown=sent,
            ),
            _around(
                finding, "native", native, finding.place.adapter, _event_of(finding, transcript)
            ),
            _around(finding, "facts", facts, finding.place.adapter),
        )
        for finding in red
    }


def excerpts_of_request(findings: Iterable[Finding], reading: Reading, request: Json) -> Excerpts:
    """Return, for each red finding of the second turn, the frames of the answer, and the values of
    the request that follows it.
    """
    red = [finding for finding in findings if finding.red and finding.subject != RUN]
    if not red:
        return {}
    (wire, answer), sent = _wire_lines(reading), _request_lines(request)
    lines = [line for _, line in sent]
    return {
        finding.subject: (
            _around(finding, "frames", wire, shown=answer),
            _around(
                finding,
                "requests",
                lines,
                finding.place.adapter,
                _of_content(sent, finding.place.content),
            ),
        )
        for finding in red
    }


def at_next_message(
    findings: Sequence[Finding], reading: Reading, transcript: Transcript
) -> list[Finding]:
    """Return the findings. Those of an exception in a stream have the type of the message of the
    wire after the last native event, where it was raised.
    """
    if not any(finding.is_exception for finding in findings):
        return [*findings]
    lines, _ = _wire_lines(reading)
    at = _next_frame(lines, transcript)
    if at is None:
        return [*findings]
    frames = [frame.json for frame in reading.frames]
    message = _kind_of(frames[at], frames[:at])
    return [
        with_fields(finding, place=with_fields(finding.place, message=message))
        if finding.is_exception
        else finding
        for finding in findings
    ]


def _next_frame(wire: Sequence[str], transcript: Transcript) -> int | None:
    """Return the frame after the last native event before an exception. It is counted from the last
    event with a text or call that a frame has.
    """
    if transcript.raised is None or not transcript.entries or not wire:
        return None
    frame, after, last = -1, 0, ""
    for entry in transcript.entries:
        after += 1
        for fact in entry.facts:
            text = fact.name if isinstance(fact, Call) else getattr(fact, "text", None)
            spelled = json.dumps(text, ensure_ascii=False)
            first = max(frame + (spelled == last), 0)
            at = next((at for at in range(first, len(wire)) if spelled in wire[at]), None)
            if text and at is not None:
                frame, after, last = at, 0, spelled
    return min(frame + after + 1, len(wire) - 1)


def _kind_of(message: Json, before: Sequence[Json]) -> str:
    """Return the type of a message with that of the object in it; without a type, the first field
    that no message before has.
    """
    if not isinstance(message, dict):
        return ""
    kind = message.get("type") or message.get("event_type")
    if not isinstance(kind, str):
        known = {name for earlier in before for name in field_names(earlier, ())}
        new = (name for name in field_names(message, ()) if name not in known)
        return next((f"the first with the field {name}" for name in new), "")
    inner = (item.get("type") for item in message.values() if isinstance(item, dict))
    return " ".join([kind, *(f"({word})" for word in inner if isinstance(word, str))])


def _header_view(finding: Finding, exchange: Exchange) -> LayerView | None:
    """Return the response header with the lost value of a finding, if no message has it."""
    value = finding.wire.get("first") if isinstance(finding.wire, dict) else None
    if not isinstance(value, str) or value.encode() in exchange.body:
        return None
    for name, values in exchange.headers.items():
        if value in values:
            return LayerView("frames", (printable(f"{name}: {value}"),), 0, 1, 0)
    return None


def _event_of(finding: Finding, transcript: Transcript) -> int | None:
    """Return the native event that a finding is about: that of the last finish reason or count, or
    of a call whose id is lost. That is the call of the finding, else the first one without an id.
    """
    stated = [(at, fact) for at, entry in enumerate(transcript.entries) for fact in entry.facts]
    if kind := _LAST.get(finding.subject):
        return next((at for at, fact in reversed(stated) if isinstance(fact, kind)), None)
    if finding.reason not in ("id-missing", "ids-missing"):
        return None
    calls = [(at, fact) for at, fact in stated if isinstance(fact, Call)]
    if number := finding.place.call:
        return calls[number - 1][0] if number <= len(calls) else None
    return next((at for at, call in calls if call.id is None), None)


def _of_content(sent: Sequence[tuple[int | None, str]], content: int | None) -> int | None:
    """Return the line of a content, step or message of a request."""
    if content is None:
        return None
    return next((at for at, (number, _) in enumerate(sent) if number == content), None)


def _wire_lines(reading: Reading) -> tuple[list[str], list[str]]:
    """Return the frames of an answer, one line each: their JSON, in which values are found, and
    their bytes with the line ends, which are shown.
    """
    frames, exchange = reading.frames, reading.exchange
    body, _ = unpack_before_fault(exchange.body, exchange.header("content-encoding"))
    starts = [0, *(frame.offset for frame in frames[1:]), len(body)]
    for number in range(1, len(frames)):
        before = body[starts[number - 1] : starts[number]]
        ends = [before.rfind(end) + len(end) for end in _BLANK_LINES if end in before]
        if ends:  # lines such as `event:` belong to the message after them
            starts[number] = starts[number - 1] + max(ends)
    sent = [
        printable(body[start:end].decode("utf-8", "backslashreplace"))
        for start, end in pairwise(starts)
    ]
    lines = [_line(frame.json) if frame.raw is None else printable(frame.raw) for frame in frames]
    return lines, sent[: len(lines)]


def _request_lines(request: Json) -> list[tuple[int | None, str]]:
    """Return the values of a request, one line each. An object in a list has its own line. Lists of
    objects are last, except the tools. A line of the conversation also has the number of its
    content.
    """
    lines: list[tuple[int | None, str]] = []
    items: list[tuple[int | None, str]] = []
    for name, value in request.items() if isinstance(request, dict) else ():
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            own = [
                (None if name == "tools" else index, f"{name}[{index}] {_line(item)}")
                for index, item in enumerate(value)
            ]
            (lines if name == "tools" else items).extend(own)
        elif isinstance(value, dict) and any(isinstance(item, list) for item in value.values()):
            items += [(number, f"{name}.{line}") for number, line in _request_lines(value)]
        else:
            lines.append((None, f"{name} {_line(value)}"))
    return lines + items


def native_lines(transcript: Transcript) -> list[str]:
    """Return the native events without their empty fields, one line each, and the exception that
    ended the run.
    """
    lines = [_line(_filled(entry.native) or entry.native) for entry in transcript.entries]
    if raised := transcript.raised:
        lines.append(printable(f"raised {raised.sentence}"))
    return lines


def _filled(value: Json) -> Json:
    """Return a value without members that are null or empty, in objects and lists of objects."""
    if isinstance(value, dict):
        members = {name: _filled(member) for name, member in value.items()}
        return {name: member for name, member in members.items() if member not in _EMPTY}
    return [_filled(item) for item in value] if isinstance(value, list) else value


def _fact_lines(entries: Sequence[Entry]) -> list[str]:
    """Return the facts of a transcript, one line each; consecutive pieces of text are joined."""
    facts: list[Text | Thought | Json] = []
    for fact in filter(None, (plain_fact(fact) for entry in entries for fact in entry.facts)):
        last = facts[-1] if facts else None
        if isinstance(fact, Text | Thought) and type(last) is type(fact):
            facts[-1] = type(fact)(last.text + fact.text)
        else:
            facts.append(fact)
    return [_line(json_of_fact(fact)) for fact in facts]


def _line(value: Json) -> str:
    """Return JSON data in one printable line."""
    return printable(json.dumps(value, ensure_ascii=False, default=repr))


def _around(
    finding: Finding,
    layer: Literal["frames", "native", "facts", "requests"],
    lines: Sequence[str],
    text: str = "",
    at: int | None = None,
    shown: Sequence[str] = (),
) -> LayerView:
    """Return the lines around the line with the longest beginning of ``text``. Without such a line,
    the lines around the line with most of the values of the finding, else around the line ``at``,
    or the last lines. ``shown``: the lines to show instead.
    """
    values = _searched(finding)
    spelled = json.dumps(text, ensure_ascii=False)[1:-1]
    scores = [_shared(line, spelled) for line in lines]
    if at is not None and (finding.subject in _LAST or finding.is_exception):
        scores = [int(number == at) for number in range(len(lines))]
    elif max(scores, default=0) < min(MIN_BEGINNING, len(spelled) or MIN_BEGINNING):
        scores = [
            sum(weight for value, weight in values.items() if value in line) for line in lines
        ]
    best = max(scores, default=0)
    first = scores.index(best) if best else at
    middle = len(lines) - 1 if first is None else first
    start = max(0, min(middle - SHOWN // 2, len(lines) - SHOWN))
    cut = tuple(_cut(line, values) for line in (shown or lines)[start : start + SHOWN])
    return LayerView(layer, cut, start, len(lines), first)


def _searched(finding: Finding) -> Mapping[str, int]:
    """Return the values of a finding in the spelling of JSON, with their lengths; the longest
    first.
    """
    found: dict[str, int] = {}
    for value in finding.values():
        spelled = json.dumps(value, ensure_ascii=False)[1:-1]
        for text in (spelled, spelled[:FIRST], json.dumps(value)[1:-1]):
            if len(text) > 1:
                found[text] = len(text)
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _shared(line: str, text: str) -> int:
    """Return the length of the longest beginning of a text that a line contains."""
    return next((size for size in range(len(text), 0, -1) if text[:size] in line), 0)


def _cut(line: str, values: Iterable[str]) -> str:
    """Return a line in about `WIDTH` characters, around the longest of these values. It always has
    its line end, once.
    """
    text = line
    while text.endswith(("\\r", "\\n")):
        text = text[:-2]
    if len(text) <= WIDTH:
        return line
    place = next((text.index(value) for value in values if value in text), 0)
    start = max(0, min(place - WIDTH // 3, len(text) - WIDTH))
    head, tail = "… " if start else "", " …" if start + WIDTH < len(text) else ""
    end = f" {line[len(text) :]}" if text != line else ""
    return f"{head}{text[start : start + WIDTH]}{tail} ({len(line):,} characters){end}"
