"""The lines of ``harness show``: an overview of a stream, one line for each frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from harness.cassettes import Cassette, Exchange
from harness.cassettes.redaction.redactor import redact_url
from harness.stream import events as ev
from harness.stream.framing import Frame
from harness.stream.printable import plural

from .replay import trace

_COUNTED = (
    ev.Text,
    ev.Reasoning,
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
        where = f"{request.method} {redact_url(request.url)}" if request else "(no request)"
        wire = (
            exchange.provider or "provider unknown" if exchange.generates else "does not generate"
        )
        size = f"{plural(len(exchange.reads), 'read')}, {len(exchange.body)} bytes"
        yield f"{number:>3}  {wire}  {exchange.status}  {size}  {exchange.end}  {where}"


def show_frames(exchange: Exchange, provider: str | None = None) -> Iterator[str]:
    """Yield one line for each frame: byte offset, time, parts, calls, signatures, finish, usage,
    unknowns.
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
    counts = Counter(
        type(event).__struct_config__.tag for event in events if isinstance(event, _COUNTED)
    )
    for kind, count in counts.items():
        yield f"{kind}×{count}" if count > 1 else f"{kind}"
    signatures = sum(1 for event in events if getattr(event, "signature", None))
    for event in events:
        match event:
            case ev.Start(model=model, id=reply):
                yield f"start {model or '-'} {reply or ''}".rstrip()
            case ev.CallStart(name=name, id=call_id):
                yield f"call {name} {call_id or '(no id)'}"
            case ev.NamelessCall():
                yield "call (no name)"
            case ev.CallPiece(path=path):
                yield f"piece {path or '-'}"
            case ev.CallText(text=text):
                yield f"arguments {len(text)} characters"
            case ev.CallEnd():
                yield "call end"
            case ev.CallInvalid():
                yield "call end (arguments are no JSON object)"
            case ev.BlockStart(type=block):
                yield f"begin {block}"
            case ev.BlockEnd():
                yield "end of block"
            case ev.Usage(input=given, output=out, reasoning=thought, total=total):
                yield (
                    f"usage in {_number(given)} out {_number(out)} thoughts {_number(thought)}"
                    f" total {_number(total)}"
                )
            case ev.Finish(raw=raw):
                yield f"finish {raw}"
            case ev.Blocked(reason=reason):
                yield f"blocked {reason}"
            case ev.Annotation(name=name) | ev.Metadata(name=name) | ev.Mark(name=name):
                yield name
            case ev.Error(code=code, status=status):
                yield f"error {code or ''} {status or ''}".rstrip()
            case ev.Incomplete(end=end):
                yield f"incomplete ({end})"
            case ev.Unknown(where=where):
                yield f"unknown: {where}"
    if signatures:
        yield f"signature×{signatures}"


def _number(count: int | None) -> str:
    return "-" if count is None else str(count)
