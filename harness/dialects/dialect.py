"""The interface of a dialect: everything that the pipeline, the laws, the mutations and the report
need to know about an event model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Protocol

from harness.facts import DeclaredLoss, Fact
from harness.stream.events import Event
from harness.stream.generation import ToolOutcome
from harness.stream.prompt import Prompt
from harness.stream.session import Session, Tool

Payload = dict[str, Any]
"""One item of a dialect's stream, as plain JSON data."""


class Translator(Protocol):
    """Translates canonical events into payloads; one instance for each stream."""

    def feed(self, event: Event) -> list[Payload]:
        """Return the payloads that this event completes, perhaps none."""

    def close(self) -> list[Payload]:
        """Return the last payloads, when the stream has ended. Called once, also after an
        `Incomplete`.
        """


def type_of(payload: Payload) -> str:
    """Return the ``type`` of a payload, which is its label in most grammars."""
    return str(payload["type"])


SCHEMA_LOSSES: Final[Mapping[str, str]] = {
    "limits[closed]": "Gemini's Schema has no closed objects",
    "limits[enum]": "Gemini's Schema lists texts only; of other values it has at most a range",
    "schema[map]": "Gemini's Schema has no maps",
}
"""The losses of requests over generateContent whose schemas become Gemini's, with a warning."""


@dataclass(frozen=True, slots=True)
class PromptWriter:
    """Writes a neutral prompt as the event model's own, so that the dialect can be asked questions
    about its requests.
    """

    write: Callable[[Prompt], tuple[Any, Mapping[str, Any]]]
    """Returns the own prompt, and the options of the call. It raises `TranslationError` for a
    message of which the event model has no form.
    """
    says: frozenset[str]
    """The values of a neutral prompt that the event model has: ``system``, ``settings.top_p``, ….
    The others are not written.
    """
    losses: tuple[DeclaredLoss, ...] = ()
    """The values that its requests lose or have at another place, each with its meaning."""


@dataclass(frozen=True, slots=True)
class RequestTranslator:
    """The request half of an event model."""

    translate: Callable[[Any, Mapping[str, Any], Session], Prompt]
    """Called with the event model's own prompt, the options of the call and the session of the
    replays of earlier answers; makes the neutral prompt. For a faulty prompt it raises
    `TranslationError` and no other exception.
    """
    follow_up: Callable[[Any, Sequence[Payload], Sequence[ToolOutcome] | str], Any]
    """Called with a prompt, the payloads of its answer, and the outcomes of its calls, in call
    order, or the user's next text. Makes the next prompt of an application: the same prompt with
    both appended. It changes no argument.
    """
    opening_prompt: Any
    """A minimal prompt, with which the laws begin a conversation."""
    sent_back: frozenset[str]
    """The kinds of parts of an answer that keep their signature in the follow-up: ``call``,
    ``text``, ``thought``, ``other``. Without ``call`` the dialect has no place for calls.
    """
    wire: str | None = None
    """The only wire (`harness.providers.Provider.wire`) over which the event model is sent; None:
    any.
    """
    writer: PromptWriter | None = None
    """None if the dialect is asked no questions."""


OutputChange = Callable[[Any], bool]
"""Changes payloads, or the body of a request, in place; returns whether it found something to
change.
"""


@dataclass(frozen=True, slots=True)
class PayloadPlace:
    """The place of a value in payloads of one type."""

    type: str
    """The value of ``key`` in these payloads."""
    path: tuple[str | int, ...]
    """The keys and indexes of the value."""
    key: str = "type"

    def fits(self, payload: Payload) -> bool:
        """Return whether a payload is of the type."""
        return bool(payload.get(self.key) == self.type)

    def find(self, payloads: Iterable[Payload]) -> Iterator[tuple[Any, Any]]:
        """Yield (holder, key) of every value at this place, in order."""
        for payload in payloads:
            holder: Any = payload if self.fits(payload) else None
            for key in self.path[:-1]:
                holder = _item(holder, key)
            if _item(holder, self.path[-1]) is not None:
                yield holder, self.path[-1]


def _item(holder: Any, key: str | int) -> Any:
    if isinstance(holder, dict):
        return holder.get(key)
    at = key if isinstance(key, int) else -1
    return holder[at] if isinstance(holder, list) and 0 <= at < len(holder) else None


@dataclass(frozen=True, slots=True)
class CallPlace:
    """One call in a payload stream: the payloads that belong only to it, the object with its id,
    name and arguments, and their keys in that object. ``id`` is None if calls have no id.
    """

    payloads: list[Payload]
    holder: dict[str, Any]
    id: str | None
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutations:
    """The places in payloads that the operators of `harness.proving.mutation` change. None in a
    field: the event model has no such thing.
    """

    texts: PayloadPlace
    """The pieces of answer text."""
    calls: Callable[[list[Payload]], Iterator[CallPlace]] | None
    """Gives the calls in payloads."""
    stop_reason: tuple[PayloadPlace, str, str] | None
    """The place, and two reasons. The first replaces the present reason; if that is the same, the
    second does.
    """
    count: PayloadPlace | None
    """A token count."""
    error: PayloadPlace | None
    """The message of an error."""
    own: Mapping[str, OutputChange | None] = field(default_factory=dict)
    """The name of an operator → this dialect's function for it, if a place is not enough, or None
    if the dialect cannot have the fault.
    """
    unsent: frozenset[str] = frozenset()
    """The operators on requests that find nothing in any request of this dialect."""


def lose_argument(holder: Any, key: Any) -> bool:
    """Remove the last argument of a call, whose arguments are an object or the JSON text of one;
    returns whether there was one.
    """
    value = holder[key]
    try:
        arguments = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return False
    if not arguments or not isinstance(arguments, dict):
        return False
    arguments.popitem()
    holder[key] = json.dumps(arguments) if isinstance(value, str) else arguments
    return True


def lose_last(kind: str) -> OutputChange:
    """Return the change that removes the last payload of a type; it returns whether there was
    one.
    """

    def change(payloads: list[Payload]) -> bool:
        for at in reversed(range(len(payloads))):
            if payloads[at].get("type") == kind:
                del payloads[at]
                return True
        return False

    return change


class ContextError(ValueError):
    """A client can't use the ``context`` of a case; the message has the reason."""


class ServedCassette(Protocol):
    """A cassette that is served while a client of a dialect runs."""

    @property
    def base_url(self) -> str:
        """The address of the server; the client may send requests only to it."""

    def summary(self) -> Payload:
        """Return ``{"asked": n}``, the number of recorded requests that were sent so far, and
        ``"refused"``, the other requests to generate, if any.
        """

    def run_program(
        self, module: str, arguments: Sequence[str], environment: Mapping[str, str], folder: str
    ) -> tuple[bytes, int]:
        """Run a program in this process; returns stdout and exit code. ``module`` has the function
        ``main(arguments)``, which returns the exit code.
        """


@dataclass(frozen=True, slots=True)
class ClientAdapter:
    """A client or program of a dialect, which is judged as a separate adapter."""

    name: str
    """The key under ``expect``."""
    module: str
    """The module that it needs."""
    extra: str
    """The extra of the package that installs ``module``."""
    target: str
    """``module:function``, imported when a case needs it: a function of the case's ``context`` and
    a `ServedCassette` that returns payloads and raises `ContextError`.
    """


class AnswerWriter(Protocol):
    """Writes one answer on the wire of an `HttpApi`."""

    def event(self, payload: Payload) -> bytes:
        """Return the bytes of the stream for the next payload, perhaps none."""

    def whole(self, payloads: Sequence[Payload]) -> dict[str, Any]:
        """Return the body of an answer that is not streamed, from all its payloads."""


Answers = Mapping[int, Sequence[Payload]]
"""The index of a turn → the payloads of the answer that this turn repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpApi:
    """An HTTP API that `harness serve` offers in front of recorded answers. Its requests become
    prompts, and its answers are written from the payloads of an event model.
    """

    path: str
    """The end of the path of a POST request that generates."""
    translate: Callable[[Any, Answers, Session], Prompt]
    """The prompt of a request's body. It raises `TranslationError` and no other exception."""
    is_streamed: Callable[[Any], bool]
    """Whether the body of a request asks for a stream."""
    turns: Callable[[Any], Sequence[tuple[bool, Any]]]
    """Each turn of the conversation in a body: whether the model wrote it, and its content as JSON
    that is equal for equal turns.
    """
    writer: Callable[[Any, str], AnswerWriter]
    """The writer of the answer to a body. The text is different for each conversation."""
    failure: Callable[[Sequence[Payload]], tuple[int, str] | None]
    """The HTTP status and the message of the error in the payloads of an answer, or None."""
    resume: Callable[[Any, Mapping[str, Any]], Any] = lambda body, stored: body
    """The body with the conversation before it, if it continues one of the ``stored`` ones, by the
    id of an answer. It raises `TranslationError` for an id that is not there.
    """
    store: Callable[[Any, Mapping[str, Any]], tuple[str, Any] | None] = lambda body, answer: None
    """The id of a whole answer, and the conversation with it for `resume`; None: not stored."""
    count_path: str | None = None
    """The end of the path of a POST request that counts tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One event model. Every field must be given; otherwise a `TypeError` names the dialect and the
    missing fields.
    """

    name: str
    title: str
    translator: Callable[[Sequence[Tool], Session], Translator]
    """Makes the translator of one stream."""
    request: RequestTranslator | None
    """None if the event model has no requests."""
    facts: Callable[[Sequence[Payload], Session], Iterable[Fact]]
    """Reads all facts of an answer."""
    losses: tuple[DeclaredLoss, ...]
    """The declared losses, each with its meaning."""
    order: Mapping[str, Mapping[str, str]]
    """The grammar of the stream, a table state → label → next state, from ``fresh``."""
    label: Callable[[Payload], str]
    """Names a payload for the grammar."""
    final: frozenset[str]
    """The states in which a whole stream may end."""
    mutations: Mutations
    """The places that the mutation operators change."""
    client: ClientAdapter | None
    """The client or program of the dialect that is judged while it runs, or None."""
    apis: tuple[HttpApi, ...]
    """The HTTP APIs that a proxy offers to their clients."""

    def __new__(cls, **given: Any) -> Dialect:
        """Refuse a dialect that lacks a field, by its name."""
        if lacking := [field.name for field in fields(cls) if field.name not in given]:
            raise TypeError(
                f"the dialect {given.get('name', 'without a name')} lacks {', '.join(lacking)}:"
                " every field of Dialect must be given, as None if it allows that; see"
                " docs/add-a-dialect.md"
            )
        return object.__new__(cls)
