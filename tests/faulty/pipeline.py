"""Our pipeline with a fault in one of its stages.

A fault is a short function or class that changes the input or the output of a stage. The `Table` of
its dialect registers it under that stage. Its docstring describes the fault and its source. All
other stages are ours, so an adapter is red only for its fault. The faults use only public
interfaces: reads, frames, canonical events, `Translator.feed` and ``close``, payloads, the session.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from typing import Any, Generic, TypeVar

from msgspec import Struct, to_builtins

from harness import Exchange
from harness.adapters import Adapter
from harness.dialects import DIALECTS, Translator
from harness.pipeline.replay import choose_provider, cut_reads, frames_of
from harness.providers import PROVIDERS, Identity, declared_tools, detect_provider
from harness.providers.provider import Normalizer
from harness.stream.events import Event
from harness.stream.framing import Frame
from harness.stream.prompt import Maker
from harness.stream.session import Session, Tool
from tests.support.adapters import payloads_of

from .faults import Fault, file_fault
from .tool_code_reader import ToolCodeReader

Items = list[dict[str, Any]]
Json = Any
OfRead = Callable[[bytes], bytes]
OfFrame = Callable[[Frame], Frame | None]
OfEvents = Callable[[Iterator[Event]], Iterator[Event]]
OfPayloads = Callable[[Items], Items]
V = TypeVar("V")
MakeTranslator = Callable[[Sequence[Tool], Session], Translator]


@dataclass(frozen=True, slots=True)
class AnswerFault(Fault):
    """An adapter with a fault in reading answers; a stage that is None is ours. ``tool_code`` finds
    ``<tool_code>`` in the events instead of our provider.
    """

    read: OfRead | None = None
    frame: OfFrame | None = None
    tool_code: OfEvents | None = None
    events: OfEvents | None = None
    translator: MakeTranslator | None = None
    payloads: OfPayloads | None = None

    @property
    def spoils_events(self) -> bool:
        """Whether the canonical events differ from ours too."""
        return bool(self.read or self.frame or self.tool_code or self.events)

    @property
    def adapter(self) -> Adapter:
        """The fault as an adapter under test."""
        return payloads_of(self.replay, self.dialect)

    def replay(
        self,
        exchange: Exchange,
        *,
        provider: str | None = None,
        dialect: str = "",
        layer: str = "payloads",
        cuts: Any = "recorded",
        session: Session | None = None,
        tool_code: bool | None = None,
    ) -> Items:
        """The fault as a replay, for the laws."""
        session = session or Session()
        events = self._events(exchange, provider, cuts, tool_code, session)
        if layer == "events":
            return [to_builtins(event) for event in events]
        chosen = PROVIDERS[provider or exchange.provider or "gemini-api"]
        asked = exchange.request.body if exchange.request else b""
        tools = declared_tools(chosen.read_request(asked))
        translator = (self.translator or DIALECTS[self.dialect].translator)(tools, session)
        payloads = [
            payload for event in events for payload in translator.feed(event)
        ] + translator.close()
        return self.payloads(payloads) if self.payloads else payloads

    def _events(
        self,
        exchange: Exchange,
        provider: str | None,
        cuts: Any,
        tool_code: bool | None,
        session: Session,
    ) -> Iterator[Event]:
        provider = choose_provider(exchange, provider)
        tool_code = PROVIDERS[provider].tool_code if tool_code is None else tool_code
        find = self.tool_code if tool_code else None
        ours = bool(tool_code and find is None)
        session.streamed, session.at_ms = asked(exchange).streamed, None
        session.maker = Maker(PROVIDERS[provider].vendor, exchange.model)
        if self.read or self.frame or cuts != "recorded":
            normalizer = self.normalizer(exchange, provider, ours)
            events = self.events_at_their_time(exchange, provider, cuts, normalizer, session)
        else:
            events = at_their_time(our_events(exchange, provider, ours)(), session)
        events = find(events) if find else events
        return self.events(events) if self.events else events

    def events_at_their_time(
        self,
        exchange: Exchange,
        provider: str,
        cuts: Any,
        normalizer: Normalizer,
        session: Session,
    ) -> Iterator[Event]:
        """Lazy, so that the session's clock is at the frame of the current event."""
        for frame in self._frames(exchange, provider, cuts):
            session.at_ms = session.at_ms if frame.at_ms is None else frame.at_ms
            new = self.frame(frame) if self.frame else frame
            yield from normalizer.feed(new) if new is not None else ()
        yield from normalizer.close(exchange.end)

    def _frames(self, exchange: Exchange, provider: str, cuts: Any) -> list[Frame]:
        if self.read is not None:
            reads = cut_reads(exchange.reads, cuts)
            exchange, cuts = (
                replace(exchange, reads=tuple((at_ms, self.read(data)) for at_ms, data in reads)),
                "recorded",
            )
        return frames_of(exchange, cuts, provider=provider)

    def normalizer(self, exchange: Exchange, provider: str, tool_code: bool) -> Normalizer:
        chosen = PROVIDERS[provider]
        return chosen.normalizer(chosen.answer(exchange, asked(exchange).model, tool_code))


class kept_by_exchange(Generic[V]):
    """A function of an exchange that is called once for each exchange object."""

    def __init__(self, function: Callable[..., V]) -> None:
        self._function = function
        self._values: dict[tuple[Any, ...], tuple[Exchange, V]] = {}

    def __call__(self, exchange: Exchange, *more: Any) -> V:
        key = (id(exchange), *more)
        if key not in self._values:
            self._values[key] = exchange, self._function(exchange, *more)
        return self._values[key][1]


@kept_by_exchange
def asked(exchange: Exchange) -> Identity:
    """What the request tells about its answer, or the answer itself if there is no request."""
    request = exchange.request
    return (
        detect_provider(request.method, request.url, request.body, b"")
        if request
        else detect_provider("", "", b"", exchange.body)
    )


class _Events(pickle.Pickler):
    """Writes events, but keeps the objects whose classes are made at run time: the counts of a
    frame, which nobody changes.
    """

    def __init__(self, file: BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.kept: list[Struct] = []

    def persistent_id(self, obj: object) -> int | None:
        if type(obj).__name__ != "Counts" or not isinstance(obj, Struct):
            return None
        self.kept.append(obj)
        return len(self.kept) - 1


@kept_by_exchange
def our_events(
    exchange: Exchange, provider: str, tool_code: bool
) -> Callable[[], list[tuple[float | None, Event]]]:
    """The events that our provider reads, each with the session's clock. Each call gives a new copy,
    which a fault may change.
    """
    session = Session()
    fault = AnswerFault("unified-llm")
    normalizer = fault.normalizer(exchange, provider, tool_code)
    events = fault.events_at_their_time(exchange, provider, "recorded", normalizer, session)
    file = BytesIO()
    pickler = _Events(file)
    pickler.dump([(session.at_ms, event) for event in events])

    def copy() -> list[tuple[float | None, Event]]:
        unpickler = pickle.Unpickler(BytesIO(file.getvalue()))
        unpickler.persistent_load = pickler.kept.__getitem__  # type: ignore[method-assign]  # as the library documents it
        pairs: list[tuple[float | None, Event]] = unpickler.load()
        return pairs

    return copy


def at_their_time(pairs: list[tuple[float | None, Event]], session: Session) -> Iterator[Event]:
    """Lazy, so that the session's clock is at the frame of the current event."""
    for session.at_ms, event in pairs:
        yield event


class Wrapper:
    """Our translator of one stream; a subclass changes its events or its payloads."""

    def __init__(self, inner: Translator, tools: Sequence[Tool], session: Session) -> None:
        self.inner = inner
        self.tools = tools
        self.session = session

    def feed(self, event: Event) -> Items:
        return self.inner.feed(event)

    def close(self) -> Items:
        return self.inner.close()


F = TypeVar("F")
ANSWER_FAULTS: dict[str, AnswerFault] = {}


class Table:
    """Files the faults of one dialect; each decorator files a fault under its stage."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect

    def _file(self, fault: F, stage: str, spoiled: Any = None) -> F:
        stages: dict[str, Any] = {stage: spoiled or fault}
        file_fault(ANSWER_FAULTS, self.dialect, fault, partial(AnswerFault, **stages))
        return fault

    def read(self, fault: OfRead) -> OfRead:
        """The bytes of a read are changed."""
        return self._file(fault, "read")

    def frame(self, fault: OfFrame) -> OfFrame:
        """The fault changes a frame; None drops it."""
        return self._file(fault, "frame")

    def message(self, fault: Callable[[Json], None]) -> Callable[[Json], None]:
        """The response object of a frame, without its envelope, is changed in place."""

        def of_frame(frame: Frame) -> Frame:
            if isinstance(frame.json, dict):
                inner = frame.json.get("response")
                fault(
                    inner if isinstance(inner, dict) else frame.json
                )  # in the document of the Gemini CLI, the response is a string
            return frame

        return self._file(fault, "frame", of_frame)

    def tool_code(self, fault: Callable[[], ToolCodeReader]) -> Callable[[], ToolCodeReader]:
        """The fault finds ``<tool_code>`` instead of our provider."""
        return self._file(fault, "tool_code", lambda events: fault().read(events))

    def events(self, fault: OfEvents) -> OfEvents:
        """The fault changes the events."""
        return self._file(fault, "events")

    def event(self, fault: Callable[[Event], Event | None]) -> Callable[[Event], Event | None]:
        """The fault changes each event; None drops it."""
        return self._file(
            fault,
            "events",
            lambda events: (new for event in events if (new := fault(event)) is not None),
        )

    def wrapper(self, fault: type[Wrapper]) -> type[Wrapper]:
        """The fault wraps our translator."""

        def translator(tools: Sequence[Tool], session: Session) -> Translator:
            return fault(DIALECTS[self.dialect].translator(tools, session), tools, session)

        return self._file(fault, "translator", translator)

    def payloads(self, fault: OfPayloads) -> OfPayloads:
        """The fault changes the payloads."""
        return self._file(fault, "payloads")
