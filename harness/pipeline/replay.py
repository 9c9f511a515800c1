"""Replays a recorded answer: reads → frames → events → payloads.

Every exchange has separate stages. A stage is fed read by read, as in a live adapter. Nothing
here needs the whole body. Faults in the stream become events of the stream. Only a wrong argument
raises.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from itertools import chain, pairwise
from typing import Any, Final, Literal, get_args

from msgspec import Struct, to_builtins

from harness.dialects import DEFAULT_DIALECT, DIALECTS, Dialect, Payload, Translator
from harness.providers import (
    PROVIDERS,
    Answer,
    DeclaredTools,
    Normalizer,
    Provider,
    with_provider,
)
from harness.providers.provider import Step, oddities_of
from harness.stream.decompression import Unpacker
from harness.stream.events import INTERRUPTED, Event, Unknown
from harness.stream.exchange import Exchange
from harness.stream.framing import (
    MAX_FRAME,
    DocumentFramer,
    Frame,
    FramingError,
    frame_by_content,
)
from harness.stream.oddities import Oddities
from harness.stream.prompt import Maker
from harness.stream.session import Session, Tool

Layer = Literal["payloads", "events", "frames"]
_LAYERS: Final = get_args(Layer)
Cuts = Literal["recorded", "whole", "bytes"] | Sequence[int]
"""The places where the body is cut into reads: as recorded, none, after every byte, or the given
offsets.
"""


class ReplayError(ValueError):
    """A wrong argument; the message lists the valid values."""


def replay(
    exchange: Exchange,
    *,
    provider: str | None = None,
    dialect: str = DEFAULT_DIALECT,
    layer: Layer = "payloads",
    cuts: Cuts = "recorded",
    session: Session | None = None,
    tools: Sequence[Tool] | None = None,
    tool_code: bool | None = None,
    max_frame: int = MAX_FRAME,
) -> list[dict[str, Any]]:
    """Replay a recorded answer up to a layer; returns plain JSON data.

    ``payloads``: the dialect's stream; a unary reply is a stream of one frame. ``events``:
    canonical events, ``{"kind": …}``. ``frames``: ``{"offset", "at_ms", "json"}`` or ``{"offset",
    "at_ms", "raw"}``, offsets in bytes of the body after content decoding.

    ``provider`` is used instead of the detected provider. ``tools`` are the declared tools, by
    default those of the recorded request. ``tool_code``: whether ``<tool_code>`` in text becomes a
    call; the default depends on the provider. ``session`` receives the values that a later request
    must send back. ``max_frame`` limits the bytes of a message. The list of a million payloads
    takes 350 to 820 MB; use `replay_parts` for long answers.

    Raises `ReplayError` for unknown names, for an exchange that does not generate, and without
    ``provider`` if neither URL nor body shows the wire. Never raises for the content of the stream.
    """
    run = _Run.of(exchange, provider, cuts, tool_code, max_frame)
    return list(chain.from_iterable(run.parts(layer, dialect, session, tools)))


def replay_parts(
    exchange: Exchange, provider: str | None, dialect: str, layer: Layer, cuts: Cuts
) -> Iterator[list[dict[str, Any]]]:
    """Replay as `replay` does, but yield a list for each read, on demand and without the warning.
    The call checks the arguments.
    """
    return _Run.of(exchange, provider, cuts).parts(layer, dialect)


@dataclass(slots=True)
class Trace:
    """One replay of an exchange, with the output of every stage."""

    steps: list[Step] = field(default_factory=list)
    """Each frame with its events, then (None, the events of the end)."""
    reads: list[int] = field(default_factory=list)
    """For each frame, the index of the read that completed it."""
    fault: Frame | None = None
    """A last raw frame with the reason why the body could not be framed to its end, or None."""
    payloads: list[Payload] = field(default_factory=list)
    """Empty without a dialect."""
    made: list[int] = field(default_factory=list)
    """For each event, the number of payloads after it."""
    answer: Answer | None = None
    """What the normalizer knew of the answer beside its frames."""
    source: Sequence[object] = ()
    """The reads of the exchange that was replayed."""
    oddities: Oddities = field(default_factory=Oddities)
    """What the normalizer has noted."""

    @property
    def frames(self) -> list[Frame]:
        """All frames, in order, and the fault."""
        frames = [frame for frame, _ in self.steps if frame is not None]
        return [*frames, self.fault] if self.fault else frames

    @property
    def events(self) -> list[Event]:
        """All events, in order."""
        return [event for _, events in self.steps for event in events]


class Normalized:
    """The frames and events of one exchange, which every dialect can translate. Arguments and
    errors as in `replay`.
    """

    def __init__(self, exchange: Exchange, provider: str | None, tool_code: bool | None) -> None:
        self._run = _Run.of(exchange, provider, tool_code=tool_code)
        self.trace = self._run.trace()

    def translate(self, dialect: Dialect, session: Session) -> Trace:
        """Return the trace with the payloads of a dialect. Sets the session's clock to the time of
        each frame.
        """
        translator = self._run.translator(dialect, session, None)
        payloads: list[Payload] = []
        made: list[int] = []
        feed, note = translator.feed, made.append
        remember = session.note
        for frame, events in self.trace.steps:
            if frame is not None and frame.at_ms is not None:
                session.at_ms = frame.at_ms
            for event in events:
                remember(event)
                payloads += feed(event)
                note(len(payloads))
        payloads += translator.close()
        trace = self.trace
        return Trace(
            *(trace.steps, trace.reads, trace.fault, payloads, made, trace.answer, trace.source),
            oddities=trace.oddities,
        )


def trace(exchange: Exchange, provider: str | None = None) -> Iterator[Step]:
    """Return each frame with its events, then (None, the events of the end); arguments and errors
    as in `replay`.
    """
    return _Run.of(exchange, provider).steps()


def trace_of(exchange: Exchange, provider: Provider) -> Trace:
    """Return the frames and events of any exchange as an answer of a provider. A call in
    ``<tool_code>`` stays text.
    """
    return _Run(exchange, provider, tool_code=False).trace()


def frames_of(
    exchange: Exchange,
    cuts: Cuts = "recorded",
    max_frame: int = MAX_FRAME,
    provider: str | None = None,
) -> list[Frame]:
    """Return the frames of any exchange; the content of an unknown wire shows its framing. A body
    that cannot be framed to its end gives a last raw frame with the reason.
    """
    known = provider or exchange.provider
    if known is None:
        chosen = replace_fields(PROVIDERS["gemini-api"], framer=frame_by_content)
    else:
        chosen = PROVIDERS[choose_provider(exchange, known)]
    return _Run(exchange, chosen, cuts, max_frame=max_frame).frames()


def choose_provider(exchange: Exchange, provider: str | None) -> str:
    """Return the name of the provider to replay as: the given one, or the detected one. Raises
    `ReplayError` for an unknown name, and if neither is there.
    """
    chosen = provider or exchange.provider or with_provider(exchange).provider
    if chosen is None:
        raise ReplayError(
            "neither URL nor body shows the wire of this answer; name it with --provider"
            f" (provider=): {', '.join(PROVIDERS)}"
        )
    check_known("provider", chosen, PROVIDERS)
    return chosen


class _Run(Struct, frozen=True):
    """An exchange with all settings for its replay."""

    exchange: Exchange
    provider: Provider
    cuts: Cuts = "recorded"
    tool_code: bool | None = None
    max_frame: int = MAX_FRAME

    @classmethod
    def of(
        cls,
        exchange: Exchange,
        provider: str | None,
        cuts: Cuts = "recorded",
        tool_code: bool | None = None,
        max_frame: int = MAX_FRAME,
    ) -> _Run:
        """Detect the provider if it is not known yet; raises `ReplayError` for an exchange that
        does not generate.
        """
        if isinstance(cuts, str):
            check_known("cuts", cuts, ("recorded", "whole", "bytes"))
        exchange = _with_identity(exchange)
        if not is_answer(exchange, provider):
            place = (
                f"{exchange.request.method} {exchange.request.url}"
                if exchange.request
                else "an answer without a request"
            )
            raise ReplayError(
                f"this exchange does not generate: {place}; only the answers of a model can be"
                " replayed; if it is one, name its wire with --provider (provider=)"
            )
        if fault := exchange.coding_fault:
            raise ReplayError(fault)
        chosen = PROVIDERS[choose_provider(exchange, provider)]
        return cls(exchange, chosen, cuts, tool_code, max_frame)

    def parts(
        self,
        layer: Layer,
        dialect: str,
        session: Session | None = None,
        tools: Sequence[Tool] | None = None,
    ) -> Iterator[list[dict[str, Any]]]:
        """Return the output of a layer, as a list for each read, on demand. The call itself checks
        the arguments.
        """
        check_known("layer", layer, _LAYERS)
        if layer == "frames":
            return iter([[plain_frame(frame) for frame in self.frames()]])
        if layer == "events":
            return ([to_builtins(event) for event in events] for _, events in self.steps())
        check_known("dialect", dialect, DIALECTS)
        return self.payloads(DIALECTS[dialect], session, tools)

    def frames(self) -> list[Frame]:
        """Return all frames, and a last raw one for a body that cannot be framed to its end."""
        source = _Frames(self, self.answer())
        frames = [frame for completed in source for frame in completed]
        fault = source.last_frame()
        return [*frames, fault] if fault else frames

    def trace(self) -> Trace:
        """Return the frames and events, without payloads."""
        frames, normalizer, answer = self.stages()
        trace = Trace(answer=answer, source=self.exchange.reads)
        add, note = trace.steps.append, trace.reads.append
        feed = normalizer.feed  # this is the hot path
        for completed in frames:
            for frame in completed:
                add((frame, feed(frame)))
                note(frames.read)
        add((None, self.end(frames, normalizer)))
        trace.fault = frames.last_frame()
        trace.oddities = oddities_of(normalizer)
        return trace

    def steps(self) -> Iterator[Step]:
        """Yield each frame with its events, then (None, the events of the end)."""
        frames, normalizer, _ = self.stages()
        for completed in frames:
            for frame in completed:
                yield frame, normalizer.feed(frame)
        yield None, self.end(frames, normalizer)

    def payloads(
        self, dialect: Dialect, given: Session | None, tools: Sequence[Tool] | None
    ) -> Iterator[list[Payload]]:
        """Yield the payloads of each read, then those of the end; the session's clock follows the
        frames. Only a given session keeps the makers of opaque values.
        """
        session = Session() if given is None else given
        frames, normalizer, _ = self.stages()
        translator = self.translator(dialect, session, tools)
        read, translate = normalizer.feed, translator.feed
        remember = session.note
        for completed in frames:
            payloads: list[Payload] = []
            for frame in completed:
                if frame.at_ms is not None:
                    session.at_ms = frame.at_ms
                for event in read(frame):
                    if given is not None:
                        remember(event)
                    payloads += translate(event)
            yield payloads
        payloads = []
        for event in self.end(frames, normalizer):
            remember(event)
            payloads += translate(event)
        yield payloads + translator.close()

    def translator(
        self, dialect: Dialect, session: Session, tools: Sequence[Tool] | None
    ) -> Translator:
        """Return a stage of the dialect, and the session made ready for this answer."""
        request = self.exchange.request
        if tools is None:
            tools = DeclaredTools(self.provider, request.body) if request else ()
        session.streamed, session.at_ms = bool(self.exchange.streamed), None
        session.maker = Maker(self.provider.vendor, self.exchange.model)
        return dialect.translator(tools, session)

    def answer(self) -> Answer:
        """Return the facts about this answer that are not in its frames."""
        return self.provider.answer(self.exchange, self.exchange.model, self.tool_code)

    def stages(self) -> tuple[_Frames, Normalizer, Answer]:
        """Return the frames of this answer, a stage that reads them, and what it knows of the
        answer.
        """
        answer = self.answer()
        return _Frames(self, answer), self.provider.normalizer(answer), answer

    def end(self, frames: _Frames, normalizer: Normalizer) -> list[Event]:
        """Return the events of the end."""
        end = self.exchange.end
        if frames.fault and end not in INTERRUPTED:
            end = "cut"
        fault = [Unknown("frame", frames.fault)] if frames.fault else []
        return [*fault, *normalizer.close(end)]


class _Frames:
    """The frames of an exchange, a list for each read."""

    def __init__(self, run: _Run, answer: Answer) -> None:
        self.exchange = run.exchange
        self.encoding = answer.headers.get("content-encoding")
        self.cuts = run.cuts
        self.framer = (DocumentFramer if answer.failed else run.provider.framer)(run.max_frame)
        self.fault = ""
        """The reason why the body could not be framed to its end, or empty."""
        self.read = -1
        """The index of the present read."""

    def last_frame(self) -> Frame | None:
        """Return a raw frame with the fault, after all bytes; None without a fault."""
        if not self.fault:
            return None
        return Frame(sum(len(data) for _, data in self.exchange.reads), None, self.fault)

    def __iter__(self) -> Iterator[list[Frame]]:
        unpacker = Unpacker(self.encoding) if self.encoding else None
        reads: Iterable[tuple[float | None, bytes]] = cut_reads(self.exchange.reads, self.cuts)
        if unpacker:
            reads = ((at, piece) for at, packed in reads for piece in unpacker.feed(packed))
        framer = self.framer
        try:
            for at_ms, data in reads:
                self.read += 1
                if len(data) <= _LONG:
                    yield framer.feed(data, at_ms)
                else:
                    yield from (framer.feed(piece, at_ms) for piece in _pieces(data))
            last = self.framer.close()
            for frame in last:  # the last read completed these frames
                if frame.at_ms is None and self.exchange.reads and self.cuts == "recorded":
                    frame.at_ms = self.exchange.reads[-1][0]
            yield last
            if unpacker and self.exchange.end not in INTERRUPTED:
                unpacker.close()
        except FramingError as error:
            self.fault = str(error)
        except zlib.error as error:
            self.fault = str(error)
            yield self.framer.close()


_LONG: Final = 1 << 14
"""The maximum size of a piece. The objects of a longer piece live so long that the garbage
collector visits them repeatedly.
"""
_FAR: Final = 1 << 20
"""The limit of a piece."""
_END: Final = re.compile(rb"\n,?\r?\n|\},?\r?\n(?![\r\n])")
"""The end of an event; of an element of an array, or of a line of JSON."""


def _pieces(data: bytes) -> Iterator[bytes]:
    """Divide a long read, if possible after an event or an object, so that only few of its frames
    exist at a time.
    """
    start = 0
    while start < len(data):
        end = _END.search(data, start + _LONG, start + _FAR)
        stop = end.end() if end else start + _FAR
        yield data[start:stop]
        start = stop


def cut_reads(
    reads: Sequence[tuple[float | None, bytes]], cuts: Cuts
) -> Sequence[tuple[float | None, bytes]]:
    """Return the same bytes in other reads; times are kept only as recorded."""
    if cuts == "recorded":
        return reads
    body = b"".join(data for _, data in reads)
    if cuts == "whole":
        return [(None, body)]
    if cuts == "bytes":
        return [(None, body[index : index + 1]) for index in range(len(body))]
    places = [0, *sorted(int(cut) for cut in cuts if 0 < int(cut) < len(body)), len(body)]
    return [(None, body[start:stop]) for start, stop in pairwise(places)]


def plain_frame(frame: Frame) -> dict[str, Any]:
    """Return a frame as plain JSON data."""
    content = {"json": frame.json} if frame.raw is None else {"raw": frame.raw}
    return {"offset": frame.offset, "at_ms": frame.at_ms, **content}


def check_known(kind: str, name: object, known: Mapping[str, object] | Sequence[str]) -> None:
    """Raise `ReplayError`, with the nearest name, for an unknown name."""
    if name not in known:
        from harness.cassettes.validation import unknown  # imported late, for a fast start

        raise ReplayError(unknown(kind, str(name), list(known), "known ones"))


def is_answer(exchange: Exchange, provider: str | None) -> bool:
    """Return whether an exchange can be replayed: it generates, or it has no request and the caller
    names its provider.
    """
    return exchange.generates or (exchange.request is None and provider is not None)


def has_content(exchange: Exchange) -> bool:
    """Return whether an answer has a text, a call or other output of a model."""
    try:
        events = replay(exchange, layer="events")
    except ReplayError:
        return False
    return any(event["kind"] not in _WITHOUT_OUTPUT for event in events)


_WITHOUT_OUTPUT: Final = frozenset({"start", "metadata", "usage", "finish", "mark", "error"})
"""The kinds of the events of an answer without output."""


def _with_identity(exchange: Exchange) -> Exchange:
    """Return the exchange with the detected fields; fields that the caller has set stay."""
    if exchange.streamed is not None:
        return exchange
    detected = with_provider(exchange)
    if exchange.generates:
        return replace_fields(exchange, streamed=detected.streamed, model=detected.model)
    return detected
