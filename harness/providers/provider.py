"""The interface of a provider: everything that the pipeline, the laws and the server need to know
about a wire.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace as with_fields

from harness.facts import WireFacts
from harness.stream.decompression import unpack_before_fault
from harness.stream.events import INTERRUPTED, End, Event
from harness.stream.exchange import Exchange, Request
from harness.stream.framing import DocumentFramer, Frame, Framer, frame_by_content
from harness.stream.generation import GenerateRequest, TranslationError
from harness.stream.json_codec import Json, decode_object
from harness.stream.oddities import Oddities
from harness.stream.prompt import Opaque, Prompt, with_signatures, without_foreign
from harness.stream.session import Session

from .history import NO_PROMPT, HistoryRules
from .request_places import RequestPlaces
from .request_rules import RequestRules

SHAPE: Final = frozenset({"type", "role", "index", "object"})
"""The fields of the shape of many wires."""
GENERATE_CONTENT: Final = "generateContent"
"""The wire of the Gemini API, of Vertex AI, and of Code Assist in an envelope."""
EXIT_CODE: Final = "x-exit-code"
"""The header that holds the exit code of a program; no server sends it."""
PROGRAM: Final = "x-program"
"""The header that names the provider whose program ran. Without it, output that no
provider knows is that of the first program in the table.
"""
STATED: Final = "x-provider"
"""The header of an imported answer that holds the provider that the user named for it."""
STDERR: Final = "x-stderr"
"""The header that holds the stderr of a program, one line in each value."""
TIER: Final = "x-gemini-service-tier"
"""The header of Gemini's servers that names the service tier of an answer."""


class Answer(Struct, frozen=True):
    """The facts about an answer that are not in its frames."""

    status: int = 200
    """The HTTP status."""
    headers: Mapping[str, str] = {}
    """The headers of the response, names in lower case."""
    model: str | None = None
    """The requested model."""
    tool_code: bool = False
    """Whether ``<tool_code>`` in the answer's text is a call."""
    stderr: tuple[str, ...] = ()
    """The lines that a program wrote to stderr."""
    asked: bytes = b""
    """The body of the request."""

    @property
    def failed(self) -> bool:
        """Whether the status reports an error."""
        return self.status >= 300


def oddities_of(normalizer: Normalizer) -> Oddities:
    """Return the oddities that a normalizer has noted in ``oddities``; none if it notes none."""
    oddities: Oddities = getattr(normalizer, "oddities", None) or Oddities()
    return oddities


Step = tuple[Frame | None, list[Event]]
"""A frame with its events; None for the end of the stream."""


class Normalizer(Protocol):
    """Turns frames into canonical events; one instance for each answer. Never raises for the
    content of a frame.
    """

    def feed(self, frame: Frame) -> list[Event]:
        """Return the events that this frame completes, perhaps none."""

    def close(self, end: End = "complete") -> list[Event]:
        """Return the events that are still open when the answer has ended."""


class FactsReader(Protocol):
    """Reads the facts of an answer from its events; one instance for each answer."""

    def feed(self, frame: Frame, events: Iterable[Event]) -> None:
        """Read the events that this frame completes."""

    def close(self, events: Iterable[Event]) -> WireFacts:
        """Read the events of the end; returns the facts of the whole answer."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The result of detection."""

    provider: str | None
    """The name of the provider; None if it is not known."""
    generates: bool
    """Whether the answer is one of a model."""
    streamed: bool = False
    model: str | None = None
    """The requested model."""


@dataclass(frozen=True, slots=True)
class FirstMessages:
    """The beginning of a response body, for detection."""

    body: bytes
    messages: Sequence[dict[str, Any]]
    """The JSON objects among the first frames."""
    streamed: bool
    """Whether the body is more than one document."""
    has_request: bool
    """Whether the exchange has a recorded request, so that the body alone must not decide."""


def bearer(key: str) -> dict[str, str]:
    """Return the headers of a key that is a bearer token."""
    return {"authorization": f"Bearer {key}"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The addresses of a provider's API."""

    base_url: str
    """The public address, without a path."""
    variable: str
    """The environment variable that gives the provider's own clients another base URL."""
    generate: str
    """The path of a generate request, with the fields ``{model}`` and ``{method}``."""
    paths: re.Pattern[str] | None = None
    """Matches request paths that only this provider serves; None: it serves every path that no
    other provider claims.
    """
    regional: Callable[[str], str | None] = lambda _: None
    """Request path → base URL of the location that the path names, or None."""
    others: Mapping[str, str] = field(default_factory=dict)
    """A field of a body → the path of generate requests whose body has this field."""
    keys: tuple[str, ...] = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    """The environment variables of the key."""
    authorize: Callable[[str], dict[str, str]] = lambda key: {"x-goog-api-key": key}
    """Key → the headers that carry it."""
    limits: str = ""
    """The name of the headers with rate limits, with the fields ``{unit}`` (requests, tokens) and
    ``{value}`` (limit, remaining, reset); "" if the API sends none.
    """
    version: str = ""
    """The path that the value of ``variable`` has."""
    error: Callable[[int, str, Mapping[str, Any]], Any] | None = None
    """HTTP status, message and further fields → the body of an error that `harness serve` makes;
    None: Google's.
    """
    made: Callable[[str, int], Any] | None = None
    """Path and tokens → the body of an answer to a request that does not generate, for an estimate
    of its tokens; None: Google's.
    """
    final: Callable[[str, str, bool], bytes] | None = None
    """Path, model and whether it is streamed → the body of a short answer that ends a
    conversation.
    """

    def path(self, body: Mapping[str, Any]) -> str:
        """Return the path of a generate request with this body, with its fields."""
        paths = (path for name, path in self.others.items() if name in body)
        return next(paths, self.generate)


@dataclass(frozen=True, slots=True)
class Mirror:
    """An event model that is a wire's own. ``dialect``: its name. ``normal(messages)``: the message
    that the messages of the wire make, or that the payloads of the event model make, without what
    the event model declares as lost. Every value agrees with None.
    """

    dialect: str
    normal: Callable[[Iterable[Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Api:
    """One API of a provider."""

    name: str
    """Its name in questions."""
    field: str = ""
    """A field that only the bodies of its requests have; "" for the last API."""
    option: str = ""
    """The name of the options with which the writer writes its requests; "" if it needs none."""


Writer = Callable[[Prompt, Session], tuple[dict[str, Any], list[str]]]
"""Writes the body of a request, and the warnings of what is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One wire.

    A `TypeError` names the provider and a missing field.
    """

    name: str
    title: str
    normalizer: Callable[[Answer], Normalizer]
    """Makes a stage that turns the frames of one answer into events."""
    facts_reader: Callable[[Answer], FactsReader]
    """Makes a stage that reads the facts of one answer from its events."""
    url: re.Pattern[str] | None = None
    """Searched in the path of a URL; recognizes requests that generate. If it has a group
    ``method``, that begins with ``stream`` or ``Bidi`` for a streamed answer; else ``stream`` in
    the body or the query decides. If it has a group ``model``, that is the model; else the body
    names the model.
    """
    stored_url: re.Pattern[str] | None = None
    """Recognizes the GET requests that fetch a model's answer."""
    detect: Callable[[FirstMessages], Identity | None] = lambda messages: None
    """Recognizes a body; None for the body of another wire."""
    framer: Callable[[int], Framer] = frame_by_content
    """Makes a stage that cuts a body into messages of at most this many bytes."""
    write: Writer | None = None
    """Writes the body for this wire, and a warning for each part of the prompt that the wire cannot
    express. It raises `TranslationError` for a prompt that the wire refuses. None if no requests
    are sent.
    """
    reads_whole: bool = False
    """Whether ``read`` also reads settings, media, the choice and the structured answer."""
    apis: tuple[Api, ...] = ()
    """Its APIs; by default one with its name."""
    asked_model: str = ""
    """The model of the requests that questions ask for; "" for that of the question, which is one
    of Google's.
    """
    json_schema: Callable[[Any], Any] = lambda schema: schema
    """Returns a schema of a request as JSON Schema; by default unchanged."""
    places: RequestPlaces | None = None
    """The places in its requests that `harness check --prove` changes; it must be given if
    ``write`` is.
    """
    vendor: str = ""
    """The maker of the models' opaque values (signatures, encrypted thoughts), which are sent back
    only to the same vendor. By default the name.
    """
    wire: str = ""
    """The name of its API; ``generateContent`` also in the envelope of Code Assist. By default the
    name.
    """
    tool_code: bool = False
    """Whether its models are known to write calls as ``<tool_code>``."""
    program: bool = False
    """Whether the answer is the output of a program, not a response of a server."""
    read: Callable[[dict[str, Any]], Prompt] | None = None
    """Reads the prompt of a decoded request of this wire: its history, and the tools and thoughts
    that it asks for. None if no requests are read.
    """
    history: HistoryRules = HistoryRules()  # noqa: RUF009 -- it is immutable
    """The rules of this wire for an answer in the request that follows it."""
    endpoint: Endpoint | None = None
    """The addresses of the API, None for a program."""
    tags: tuple[str, ...] = ()
    """The tags that its normalizer searches for in text; it holds back a text that may begin a tag.
    """
    shape: frozenset[str] = SHAPE
    """The names of the fields of its messages whose values are no facts: they only say what a
    message is, or repeat another field. The value of any other field stands in an event.
    """
    framing: frozenset[str] = frozenset()
    """The variants of framing and of errors that this wire documents, or names itself."""
    variants: Callable[[Sequence[Frame], Oddities], list[str]] = lambda *_: []
    """Names the ways in which a body differs from the documented wire, by its frames and the
    oddities that its framer and its reader have noted; those of Gemini's messages and of every
    framing are known to `harness.judging`.
    """
    fault: Callable[[Request | None, Sequence[Frame]], str] = lambda request, frames: ""
    """Returns why the messages of a body are not one whole answer to its request, in words of the
    wire, or "".
    """
    mirror: Mirror | None = None
    """The event model that is this wire's own, or None."""
    driver: str = ""
    """``module:class`` of the `harness.recording.settings.Driver` with which answers are recorded,
    imported for the first recording; "" if none can be recorded.
    """
    variant_table: str = ""
    """``module:name`` of the spellings, and of the other variants, that laws and tests make of its
    answers, imported for the first one; "" for other line ends only.
    """
    spell_signature: Callable[[str], str] = str
    """Returns the one spelling of a signature in its requests."""
    drift: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Pattern of a path in its messages → the feature, and the severities of a field that is gone
    or new and of a new word, as in `harness.recording.drift.severity`.
    """
    refusals: RequestRules | None = None
    """The rules by which `harness serve` refuses requests. None for Gemini's wires, whose rules are
    in `harness.server`, and for a wire without rules.
    """

    def __post_init__(self) -> None:
        if (self.write is None) != (self.places is None):
            raise TypeError(f"the provider {self.name} needs write and places, or neither")
        object.__setattr__(self, "vendor", self.vendor or self.name)
        object.__setattr__(self, "wire", self.wire or self.name)
        object.__setattr__(self, "apis", self.apis or (Api(self.name),))

    def __new__(cls, **given: Any) -> Provider:
        """Refuse a provider that lacks a required field, by its name."""
        required = ("name", "title", "normalizer", "facts_reader")
        if lacking := [name for name in required if name not in given]:
            raise TypeError(
                f"the provider {given.get('name', 'without a name')} lacks {', '.join(lacking)};"
                " see docs/add-a-provider.md"
            )
        return object.__new__(cls)

    @property
    def streams_by_body(self) -> bool:
        """Whether the body of a request, and not its path, asks for a stream."""
        return self.endpoint is not None and "{method}" not in self.endpoint.generate

    def api_of(self, body: Json) -> Api:
        """Return the API of a decoded request."""
        has = body if isinstance(body, dict) else {}
        return next((api for api in self.apis if api.field in has), self.apis[-1])

    def writer(self) -> Writer:
        """Return the writer of requests; raises `TranslationError` if no requests are sent."""
        if self.write is None:
            way_out = "; its program takes the prompt on the command line" if self.program else ""
            raise TranslationError("", f"{self.name} accepts no requests{way_out}")
        return self.write

    def request(self, prompt: Prompt, session: Session) -> GenerateRequest:
        """Return the request for a prompt. Opaque values of other vendors are left out with a
        warning. Raises `TranslationError` if no requests are sent, if the prompt names another
        vendor, and for a prompt that the wire refuses.
        """
        write = self.writer()
        for vendor, place, words in prompt.addressed:
            if vendor != self.vendor:
                raise TranslationError(place, f"{words}; this is {self.vendor}")
        prompt, foreign = without_foreign(prompt, self.vendor)
        body, warnings = write(prompt, session)
        return GenerateRequest(body, prompt.model, (*prompt.warnings, *foreign, *warnings))

    def read_request(self, body: bytes) -> Prompt:
        """Return the prompt of a request; an empty one for a body that is not a JSON object."""
        request = decode_object(body) if self.read else None
        return NO_PROMPT if request is None else self.prompt_of(request)

    def prompt_of(self, request: dict[str, Any]) -> Prompt:
        """Return the prompt of a decoded request; an empty one if no requests are read."""
        return self.read(request) if self.read else NO_PROMPT

    def compared_prompt(self, request: dict[str, Any]) -> Prompt:
        """Return the prompt of a decoded request with its signatures in one spelling. Two requests
        that say the same have the same one.
        """
        spell = self.spell_signature

        def spelled(signature: Opaque) -> Opaque:
            return replace(signature, value=spell(signature.value))

        return with_signatures(self.prompt_of(request), spelled)

    def answer(self, exchange: Exchange, model: str | None, tool_code: bool | None) -> Answer:
        """Return the facts about an exchange that are not in its frames; ``tool_code`` None: the
        default of the provider.
        """
        given = reversed(exchange.headers.items())  # the first of two spellings is used
        headers = {name.lower(): values[0] for name, values in given if values}
        return Answer(
            status=exchange.status,
            headers=headers,
            model=model,
            tool_code=self.tool_code if tool_code is None else tool_code,
            stderr=_stderr_of(exchange) if STDERR in headers else (),
            asked=exchange.request.body if exchange.request else b"",
        )

    def facts(self, exchange: Exchange, tool_code: bool | None = None) -> WireFacts:
        """Return the facts of an exchange. A damaged compressed body ends at the damage, as a cut
        body does. A body that can't be unpacked at all is read unchanged.
        """
        body, fault = unpack_before_fault(exchange.body, exchange.header("content-encoding"))
        end = "cut" if fault and exchange.end not in INTERRUPTED else exchange.end
        return self.read_facts(body or exchange.body, self.answer(exchange, None, tool_code), end)

    def read_facts(self, body: bytes, answer: Answer, end: End) -> WireFacts:
        """Return the facts of a whole body, after content decoding."""
        return self.facts_of(self.steps(body, answer, end), answer)

    def steps(self, body: bytes, answer: Answer, end: End) -> Iterator[Step]:
        """Yield the frames of a whole body with their events, and the end."""
        # As events, a call in ``<tool_code>`` has no text any more.
        normalizer = self.normalizer(with_fields(answer, tool_code=False))
        # No message is longer than the body, so the framer raises no error.
        framer = (DocumentFramer if answer.failed else self.framer)(len(body))
        for frame in (*framer.feed(body), *framer.close()):
            yield frame, normalizer.feed(frame)
        yield None, normalizer.close(end)

    def facts_of(self, steps: Iterable[Step], answer: Answer) -> WireFacts:
        """Return the facts of an answer from its frames with their events."""
        reader = self.facts_reader(answer)
        last: Iterable[Event] = ()
        for frame, events in steps:
            if frame is None:
                last = events
            else:
                reader.feed(frame, events)
        return reader.close(last)


def _stderr_of(exchange: Exchange) -> tuple[str, ...]:
    lines = (values for name, values in exchange.headers.items() if name.lower() == STDERR)
    return tuple(chain.from_iterable(lines))
