"""The interface of a dialect: everything that the pipeline, the laws, the mutations and the report
need to know about an event model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from harness.facts import DeclaredLoss, Facts
from harness.stream.events import Event
from harness.stream.generation import ToolOutcome
from harness.stream.prompt import Prompt
from harness.stream.session import Session, Tool

Payload = dict[str, Any]
"""One item of a dialect's stream, as plain JSON data."""


class Translator(Protocol):
    """Translates canonical events into payloads; one instance for each stream."""

    def feed(self, event: Event) -> list[Payload]:
        """The payloads that this event completes, perhaps none."""

    def close(self) -> list[Payload]:
        """The last payloads, when the stream has ended. Called once, also after an `Incomplete`."""


def type_of(payload: Payload) -> str:
    """The ``type`` of a payload, which is its label in most grammars."""
    return str(payload["type"])


@dataclass(frozen=True, slots=True)
class RequestTranslator:
    """The request half of an event model.

    ``translate(prompt, options, session)`` makes the neutral prompt of the event model's own. For a
    faulty one it raises `TranslationError` and no other exception. ``session`` is the session of
    the replays of earlier answers. ``follow_up(prompt, payloads, then)`` is what an application
    does next: the prompt with the answer that ``payloads`` are appended to it, and after that the
    outcomes of its calls, in call order, or the user's next text. It changes neither argument.
    ``opening_prompt`` is a minimal prompt, with which the laws begin a conversation. ``sent_back``
    names the kinds of parts of an answer that keep their signature in the follow-up: ``call``,
    ``text``, ``thought``, ``other``; without ``call`` the dialect has no place for calls. ``wire``:
    the only wire (`harness.providers.Provider.wire`) over which the event model is sent; None: any.
    """

    translate: Callable[[Any, Mapping[str, Any], Session], Prompt]
    follow_up: Callable[[Any, Sequence[Payload], Sequence[ToolOutcome] | str], Any]
    opening_prompt: Any
    sent_back: frozenset[str]
    wire: str | None = None


Change = Callable[[Any], bool]
"""Changes payloads, or the body of a request, in place; returns whether it found something to
change.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a value in payloads whose ``key`` has the value ``type``: ``path`` has the keys
    and indexes of the value.
    """

    type: str
    path: tuple[str | int, ...]
    key: str = "type"

    def fits(self, payload: Payload) -> bool:
        """Whether a payload is of the type."""
        return bool(payload.get(self.key) == self.type)

    def find(self, payloads: Iterable[Payload]) -> Iterator[tuple[Any, Any]]:
        """(holder, key) of every value at this place, in order."""
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
    """The places in payloads that the operators of `harness.proving.mutation` change.

    ``texts``: the pieces of answer text. ``calls(payloads)`` gives the calls. ``stop_reason``: its
    place, and two reasons. The first replaces the present reason; if that is the same, the second
    does. ``count``: a token count. ``error``: the message of an error. None: the event model has no
    such thing.

    ``own`` maps the name of an operator to this dialect's function for it, if a place is not
    enough, or to None if the dialect cannot have the fault. ``unsent`` names the operators on
    requests that find nothing in any request of this dialect.
    """

    texts: Place
    calls: Callable[[list[Payload]], Iterator[CallPlace]] | None
    stop_reason: tuple[Place, str, str] | None
    count: Place | None
    error: Place | None
    own: Mapping[str, Change | None] = field(default_factory=dict)
    unsent: frozenset[str] = frozenset()


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


class ContextError(ValueError):
    """A client can't use the ``context`` of a case; the message has the reason."""


class ServedCassette(Protocol):
    """A cassette that is served while a client of a dialect runs."""

    @property
    def base_url(self) -> str:
        """The address of the server; the client may send requests only to it."""

    def summary(self) -> Payload:
        """``{"asked": n}``, the number of recorded requests that were sent so far, and
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
    """A client or program of a dialect, which is judged as a separate adapter.

    ``name`` is its key under ``expect``. It needs ``module``, which the ``extra`` of the package
    installs. ``target``, ``module:function``, is imported when a case needs it: a function of the
    case's ``context`` and a `ServedCassette` that returns payloads and raises `ContextError`.
    """

    name: str
    module: str
    extra: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpApi:
    """The HTTP API of an event model, which `harness serve` offers in front of recorded answers.

    ``path`` is the end of the path of a POST request that generates, ``count_path`` of a POST
    request that counts tokens. ``is_streamed(prompt)``: the client asks for a stream.
    ``event(payload)`` is a payload as bytes of a stream; ``whole(payloads)`` is the answer that is
    not streamed. ``failure(payloads)`` is the HTTP status and the message of the error in them, or
    None; ``error(status, message)`` the body of an error. ``turns(prompt)`` gives each message of a
    conversation: whether the model wrote it, and its content as JSON that is equal for equal
    messages.
    """

    path: str
    count_path: str
    is_streamed: Callable[[Any], bool]
    event: Callable[[Payload], bytes]
    whole: Callable[[Sequence[Payload]], Payload]
    failure: Callable[[Sequence[Payload]], tuple[int, str] | None]
    error: Callable[[int, str], Payload]
    turns: Callable[[Any], Sequence[tuple[bool, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One event model.

    ``translator(tools, session)`` makes the translator of one stream. ``losses`` are the declared
    losses, each with its meaning. ``order`` is the grammar of the stream, a table
    state → label → next state, from ``fresh``; ``label`` names a payload for it; ``final`` are the
    states in which a whole stream may end. ``request`` is None if the event model has no requests.
    ``facts(payloads, session)`` reads the neutral account of an answer. ``mutations`` has the
    places that the mutation operators change. ``client`` is the client or program of the dialect
    that is judged while it runs, or None. ``api`` is the HTTP API that a proxy offers to its
    clients, or None.

    Every field must be given; otherwise a `TypeError` names the dialect and the missing fields.
    """

    name: str
    title: str
    translator: Callable[[Sequence[Tool], Session], Translator]
    request: RequestTranslator | None
    facts: Callable[[Sequence[Payload], Session], Facts]
    losses: tuple[DeclaredLoss, ...]
    order: Mapping[str, Mapping[str, str]]
    label: Callable[[Payload], str]
    final: frozenset[str]
    mutations: Mutations
    client: ClientAdapter | None
    api: HttpApi | None

    def __new__(cls, **given: Any) -> Dialect:
        """Refuse a dialect that lacks a field, by its name."""
        if lacking := [field.name for field in fields(cls) if field.name not in given]:
            raise TypeError(
                f"the dialect {given.get('name', 'without a name')} lacks {', '.join(lacking)}:"
                " every field of Dialect must be given, as None if it allows that; see"
                " docs/add-a-dialect.md"
            )
        return object.__new__(cls)
