"""The lines of ``harness show``: an overview of a stream, one line for each frame."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from harness.cassettes import Cassette, Exchange
from harness.stream import events as ev
from harness.stream.framing import Frame
from harness.stream.printable import plural, short_json

from .replay import trace

_COUNTED = (
    ev.Media,
    ev.Code,
    ev.CodeResult,
    ev.ServerCall,
    ev.ServerResult,
    ev.ToolResult,
)


def list_exchanges(cassette: Cassette, first: int = 1) -> Iterator[str]:
    """Yield the origin, and one line for each exchange: number, provider, status, reads and bytes,
    end, URL. ``first`` is the number of the first one.
    """
    origin = cassette.origin
    kind = f"{origin.kind} {origin.date}" if origin.date else f"{origin.kind}, date unknown"
    yield "  ".join(filter(None, (kind, origin.client, origin.source)))
    for number, exchange in enumerate(cassette.exchanges, first):
        request = exchange.request
        where = f"{request.method} {request.url}" if request else "(no request)"
        wire = (
            exchange.provider or "provider unknown" if exchange.generates else "does not generate"
        )
        size = f"{plural(len(exchange.reads), 'read')}, {len(exchange.body)} bytes"
        yield f"{number:>3}  {wire}  {exchange.status}  {size}  {exchange.end}  {where}"


def show_frames(exchange: Exchange, provider: str | None = None) -> Iterator[str]:
    """Yield one line for each frame: byte offset, time, and in the order of the frame texts, calls
    with their arguments, other parts, finish, usage, unknowns; then the number of signatures. Texts
    and arguments are shortened.
    """
    for frame, events in trace(exchange, provider=provider):
        if frame is not None or events:
            yield f"{_place(frame)}  {'  '.join(_facts(events))}".rstrip()


def _place(frame: Frame | None) -> str:
    if frame is None:
        return f"{'end':>8} {'':>9}"
    at = "-" if frame.at_ms is None else f"{frame.at_ms:.1f}ms"
    return f"{frame.offset:>8} {at:>9}"


def _facts(events: list[ev.Event]) -> Iterator[str]:
    signatures = sum(1 for event in events if getattr(event, "signature", None))
    for kind, run in groupby(events, type):
        parts = list(run)
        times = f"×{len(parts)}" if len(parts) > 1 else ""
        if issubclass(kind, ev.Text | ev.Reasoning):
            text = "".join(part.text for part in parts if isinstance(part, kind))
            yield f"{kind.__struct_config__.tag}{times} {short_json(text)}"
        elif issubclass(kind, _COUNTED):
            yield f"{kind.__struct_config__.tag}{times}"
        else:
            yield from filter(None, map(_fact, parts))
    if signatures:
        yield f"signature×{signatures}"


def _fact(event: ev.Event) -> str:
    """Return an event in words, "" if its part is not shown."""
    match event:
        case ev.Start(model=model, id=reply):
            return f"start {model or '-'} {reply or ''}".rstrip()
        case ev.CallStart(name=name, id=call_id):
            return f"call {name} {call_id or '(no id)'}"
        case ev.NamelessCall():
            return "call (no name)"
        case ev.CallPiece(path=path, value=value):
            return f"piece {path} {short_json(value)}" if path else "piece -"
        case ev.CallText(text=text):
            return f"arguments {short_json(text)}"
        case ev.CallEnd(arguments=arguments):
            return f"call end {short_json(arguments)}"
        case ev.CallInvalid(text=text):
            return f"call end {short_json(text)} (arguments are no JSON object)"
        case ev.BlockStart(type=block):
            return f"begin {block}"
        case ev.BlockEnd():
            return "end of block"
        case ev.Usage(input=given, output=out, reasoning=thought, total=total):
            return (
                f"usage in {_number(given)} out {_number(out)} thoughts {_number(thought)}"
                f" total {_number(total)}"
            )
        case ev.Finish(raw=raw):
            return f"finish {raw}"
        case ev.Blocked(reason=reason):
            return f"blocked {reason}"
        case ev.Mark(name="sent", raw=dict(message)):
            return f"sent {', '.join(message)}"
        case ev.Metadata(name=name, raw=raw) if (words := _transcript(raw)) is not None:
            return f"{name} {short_json(words)}"
        case ev.Notice(severity=severity, message=message):
            return f"notice {severity} {message}".rstrip()
        case ev.Annotation(name=name) | ev.Metadata(name=name) | ev.Mark(name=name):
            return name
        case ev.Error(code=code, status=status):
            return f"error {code or ''} {status or ''}".rstrip()
        case ev.Incomplete(end=end):
            return f"incomplete ({end})"
        case ev.Unknown(where=where):
            return f"unknown: {where}"
    return ""


def _transcript(raw: dict[str, Any]) -> str | None:
    """Return the text of a transcript of a session; None for another fact."""
    (value,) = raw.values() if len(raw) == 1 else (None,)
    return value.get("text") if isinstance(value, dict) else None


def _number(count: int | None) -> str:
    return "-" if count is None else str(count)
