"""The pipeline: an exchange's reads → frames → events → payloads, and what `harness.replay` gives
of it.

Every stage is made anew for one exchange and fed read by read, as a live adapter would be; nothing
here looks at a whole body. What goes wrong in the stream is told by events of the stream; only what
the caller asked for wrongly raises.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, Literal, get_args

from msgspec import to_builtins

from harness.cassettes import Exchange
from harness.dialects import DIALECTS, Dialect, Payload
from harness.providers import (
    PROVIDERS,
    Answer,
    declared_tools,
    with_provider,
)
from harness.stream.decompression import Unpacker
from harness.stream.events import INTERRUPTED, Event, Unknown
from harness.stream.framing import MAX_FRAME, DocumentFramer, Frame, Framer, FramingError
from harness.stream.session import Session, Tool

Layer = Literal["payloads", "events", "frames"]
Cuts = Literal["recorded", "whole", "bytes"] | Sequence[int]
"""Where the body is cut into reads: as recorded, not at all, after every byte, or at the given
offsets.
"""

Step = tuple[Frame | None, list[Event]]
"""A frame with the events it gave; None for the end of the stream."""

DEFAULT_PROVIDER: Final = "gemini-api"


class ReplayError(ValueError):
    """The caller asked for something that can't be done; the message names what can."""


def replay(
    exchange: Exchange,
    *,
    provider: str | None = None,
    dialect: str = "unified-llm",
    layer: Layer = "payloads",
    cuts: Cuts = "recorded",
    session: Session | None = None,
    tools: Sequence[Tool] | None = None,
    tool_code: bool | None = None,
    max_frame: int = MAX_FRAME,
) -> list[dict[str, Any]]:
    """What a layer makes of a recorded answer, as plain JSON data.

    ``payloads``: the dialect's stream; a unary reply is a stream of one frame. ``events``:
    canonical events, ``{"kind": …}``. ``frames``: ``{"offset", "at_ms", "json"}`` or ``{"offset",
    "at_ms", "raw"}``, offsets in bytes of the body after content decoding.

    ``provider`` overrides the one that URL and body tell (`DEFAULT_PROVIDER` where they don't: then
    a warning says so). ``tools`` are the declared ones, by default those of the recorded request;
    ``tool_code`` says whether ``<tool_code>`` in text is a call, by default what the provider does.
    ``session`` is filled with what a later request must send back.

    Raises `ReplayError` for unknown names and for an exchange that does not generate; never for
    what is in the stream: of an answer without a request, whose body tells nothing, ``provider``
    says what it is.
    """
    check_known("layer", layer, get_args(Layer))
    if isinstance(cuts, str):
        check_known("cuts", cuts, ("recorded", "whole", "bytes"))
    exchange = _check_generates(exchange, provider)
    if provider is None and exchange.provider is None:
        warnings.warn(
            f"neither URL nor body tells the provider; replayed as {DEFAULT_PROVIDER}", stacklevel=2
        )
    if layer == "frames":
        return [plain_frame(frame) for frame in frames_of(exchange, cuts, max_frame, provider)]
    steps = trace(exchange, provider=provider, cuts=cuts, tool_code=tool_code, max_frame=max_frame)
    if layer == "events":
        return [to_builtins(event) for _, events in steps for event in events]
    check_known("dialect", dialect, DIALECTS)
    session = Session() if session is None else session
    return _translate(steps, exchange, DIALECTS[dialect], session, tools)


@dataclass(slots=True)
class Trace:
    """One replay of an exchange, with the output of every stage.

    ``steps``: each frame with the events it gave, then (None, the events of the end). ``reads``:
    for each frame, the index of the read that completed it. ``payloads``: empty without a dialect.
    ``made``: for each event, the number of payloads after it.
    """

    steps: list[Step] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)
    payloads: list[Payload] = field(default_factory=list)
    made: list[int] = field(default_factory=list)

    @property
    def frames(self) -> list[Frame]:
        """All frames, in order."""
        return [frame for frame, _ in self.steps if frame is not None]

    @property
    def events(self) -> list[Event]:
        """All events, in order."""
        return [event for _, events in self.steps for event in events]


def replay_layers(
    exchange: Exchange,
    *,
    provider: str | None = None,
    dialect: Dialect | None = None,
    session: Session | None = None,
    tool_code: bool | None = None,
) -> Trace:
    """One pass over an exchange that keeps what every stage gives; arguments and errors as in
    `replay`.
    """
    exchange = _check_generates(exchange, provider)
    result = Trace()
    steps = _kept(result, exchange, provider, tool_code)
    if dialect is None:
        for _ in steps:
            pass
    else:
        session = Session() if session is None else session
        result.payloads = _translate(steps, exchange, dialect, session, None, result.made)
    return result


def _kept(
    result: Trace, exchange: Exchange, provider: str | None, tool_code: bool | None
) -> Iterator[Step]:
    frames = _frames(exchange, provider, "recorded", MAX_FRAME)
    for step in _normalize(frames, exchange, provider, tool_code):
        result.steps.append(step)
        if step[0] is not None:
            result.reads.append(frames.read)
        yield step


def _translate(
    steps: Iterable[Step],
    exchange: Exchange,
    dialect: Dialect,
    session: Session,
    tools: Sequence[Tool] | None,
    made: list[int] | None = None,
) -> list[Payload]:
    """The payloads of all steps; the session's clock goes with the frames. ``made`` is filled with
    the number of payloads after each event.
    """
    if tools is None:
        tools = declared_tools(exchange.request.body) if exchange.request else []
    session.streamed, session.at_ms = bool(_identity(exchange).streamed), None
    translator = dialect.translator(tools, session)
    payloads: list[Payload] = []
    feed = translator.feed
    for frame, events in steps:
        if frame is not None and frame.at_ms is not None:
            session.at_ms = frame.at_ms
        for event in events:
            payloads += feed(event)
            if made is not None:
                made.append(len(payloads))
    return payloads + translator.close()


def trace(
    exchange: Exchange,
    *,
    provider: str | None = None,
    cuts: Cuts = "recorded",
    tool_code: bool | None = None,
    max_frame: int = MAX_FRAME,
) -> Iterator[Step]:
    """Each frame with the events it gave, then (None, the events of the end); arguments and errors
    as in `replay`.
    """
    exchange = _check_generates(exchange, provider)
    frames = _frames(exchange, provider, cuts, max_frame)
    return _normalize(frames, exchange, provider, tool_code)


def _normalize(
    frames: _Frames, exchange: Exchange, provider: str | None, tool_code: bool | None
) -> Iterator[Step]:
    chosen = PROVIDERS[choose_provider(exchange, provider)]
    normalizer = chosen.normalizer(
        Answer(
            status=exchange.status,
            headers={
                name.lower(): values[0] for name, values in exchange.headers.items() if values
            },
            model=_identity(exchange).model,
            tool_code=chosen.tool_code if tool_code is None else tool_code,
        )
    )
    end = exchange.end
    feed = normalizer.feed
    for completed in frames:
        for frame in completed:
            yield frame, feed(frame)
    if frames.fault and end not in INTERRUPTED:
        end = "cut"
    yield (
        None,
        [*([Unknown("frame", frames.fault)] if frames.fault else []), *normalizer.close(end)],
    )


def frames_of(
    exchange: Exchange,
    cuts: Cuts = "recorded",
    max_frame: int = MAX_FRAME,
    provider: str | None = None,
) -> list[Frame]:
    """The frames of an exchange; a body that can't be framed to its end gives a last raw frame that
    says why.
    """
    frames = _frames(exchange, provider, cuts, max_frame)
    whole = [frame for completed in frames for frame in completed]
    return (
        [*whole, Frame(sum(len(data) for _, data in exchange.reads), None, frames.fault)]
        if frames.fault
        else whole
    )


def _frames(exchange: Exchange, provider: str | None, cuts: Cuts, max_frame: int) -> _Frames:
    framer = PROVIDERS[choose_provider(exchange, provider)].framer(max_frame)
    return _Frames(exchange, cuts, framer, max_frame)


def choose_provider(exchange: Exchange, provider: str | None) -> str:
    """The name to replay as: asked for, told by URL and body, or the default."""
    chosen = provider or exchange.provider or DEFAULT_PROVIDER
    check_known("provider", chosen, PROVIDERS)
    return chosen


class _Frames:
    """The frames of an exchange, a list for each read. ``read`` is the index of the present read.
    ``fault`` says why the body could not be framed to its end, or is empty.
    """

    def __init__(self, exchange: Exchange, cuts: Cuts, framer: Framer, max_frame: int) -> None:
        self.exchange = exchange
        self.cuts = cuts
        self.framer = framer if 200 <= exchange.status < 300 else DocumentFramer(max_frame)
        self.fault = ""
        self.read = -1

    def __iter__(self) -> Iterator[list[Frame]]:
        encoding = self.exchange.header("content-encoding")
        unpacker = Unpacker(encoding) if encoding else None
        reads: Iterable[tuple[float | None, bytes]] = cut_reads(self.exchange.reads, self.cuts)
        framer, feed = self.framer, self.framer.feed
        try:
            for at_ms, data in (
                ((at, piece) for at, packed in reads for piece in unpacker.feed(packed))
                if unpacker
                else reads
            ):
                self.read += 1
                yield feed(data, at_ms)
            last = framer.close()
            for frame in last:  # the last read completed them
                if frame.at_ms is None and self.exchange.reads and self.cuts == "recorded":
                    frame.at_ms = self.exchange.reads[-1][0]
            yield last
            if unpacker and self.exchange.end not in INTERRUPTED:
                unpacker.close()
        except (FramingError, zlib.error) as error:
            self.fault = str(error)


def cut_reads(
    reads: Sequence[tuple[float | None, bytes]], cuts: Cuts
) -> Sequence[tuple[float | None, bytes]]:
    """The same bytes in other reads; times are kept only as recorded."""
    if cuts == "recorded":
        return reads
    body = b"".join(data for _, data in reads)
    if cuts == "whole":
        return [(None, body)]
    if cuts == "bytes":
        return [(None, body[index : index + 1]) for index in range(len(body))]
    places = [0, *sorted(int(cut) for cut in cuts if 0 < int(cut) < len(body)), len(body)]
    return [(None, body[start:stop]) for start, stop in pairwise(places)]


def _identity(exchange: Exchange) -> Exchange:
    """The exchange with ``streamed`` and ``model``: detected when its file was loaded, else now."""
    return exchange if exchange.streamed is not None else with_provider(exchange)


def plain_frame(frame: Frame) -> dict[str, Any]:
    """A frame as plain JSON data."""
    content = {"json": frame.json} if frame.raw is None else {"raw": frame.raw}
    return {"offset": frame.offset, "at_ms": frame.at_ms, **content}


def check_known(what: str, name: object, known: Mapping[str, object] | Sequence[str]) -> None:
    """Raises `ReplayError` for a name that is not among the known ones."""
    if name not in known:
        raise ReplayError(f"unknown {what} {name!r}; known are {', '.join(known)}")


def is_answer(exchange: Exchange, provider: str | None) -> bool:
    """Whether there is something to replay: URL or body say so or, of an answer without a request,
    the caller who names its provider.
    """
    return exchange.generates or (exchange.request is None and provider is not None)


def _check_generates(exchange: Exchange, provider: str | None) -> Exchange:
    """The exchange, told by URL and body if nobody has told it yet; raises `ReplayError` if it does
    not generate.
    """
    told = exchange if exchange.generates else with_provider(exchange)
    if not is_answer(told, provider):
        place = (
            f"{exchange.request.method} {exchange.request.url}"
            if exchange.request
            else "an answer without a request"
        )
        raise ReplayError(
            f"this exchange does not generate: {place}; only generateContent and"
            " streamGenerateContent can be replayed"
        )
    return told
