"""The interface of every adapter: a dialect, the canonical events, a user's function, program or
client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from harness.dialects.dialect import RequestTranslator
from harness.facts import DeclaredLoss, Fact, Transcript, json_of_fact, merged_facts
from harness.pipeline.replay import Layer, Normalized, Trace
from harness.stream.exchange import Exchange
from harness.stream.session import Session

from .asked import Asked, FailingService, FaultReaction, PlayedSession, Reaction, SentRequest
from .raised import place_of

if TYPE_CHECKING:
    from harness.specs.models import Case  # slow to import, and a guest does not need it

Normalize = Callable[[Exchange, str | None, bool | None], Normalized]
"""Normalizes an exchange as a provider, or returns the earlier result for the same exchange.
`Normalized` has this type.
"""

FACTS: Final = "facts"
"""The event model of adapters that state their facts themselves."""


class AdapterError(Exception):
    """An adapter can't be called, raised an exception, or broke a rule. The message describes the
    fault. Errors with the same ``group`` differ only in their values; without it, in nothing.
    """

    def __init__(self, message: str = "", group: str = "") -> None:
        super().__init__(message)
        self.group = group or message


class AdapterMissing(AdapterError):
    """The adapter skips this exchange, or a library is not installed. Its cells are not run. The
    message has the reason, or the library and the command that installs it.
    """


class OutOfTime(AdapterError):
    """The adapter has used the time that one law allows. It is not called again."""


class RunOptions(Struct, frozen=True):
    """The fields of a case that an adapter may need in addition to the exchange."""

    case: str = ""
    cassette: str = ""
    provider: str | None = None
    """As in `harness.replay`; None: it is detected."""
    tool_code: bool | None = None
    """As in `harness.replay`; None: it is detected."""
    context: Mapping[str, Any] = {}
    """The mapping in the case."""
    attempts: Callable[[], Sequence[Exchange]] = tuple
    """Finds the answers for an adapter that asks a served address again. It is slow, and most
    adapters are not served.
    """

    @classmethod
    def of(cls, case: Case) -> RunOptions:
        """Return the options of a case."""
        return cls(case.case, case.cassette, case.provider, case.tool_code, case.context)


NO_OPTIONS: Final = RunOptions()


@dataclass(frozen=True, slots=True)
class Output:
    """The result of one run."""

    items: list[Any]
    """The native events, as JSON data; the merged facts, if there is a ``transcript``."""
    session: Session = field(default_factory=Session)
    """The data that the adapter keeps for the next request."""
    trace: Trace | None = None
    """Frames and events, if the adapter is our own pipeline."""
    transcript: Transcript | None = None
    """The native events with their facts, if the adapter states its facts itself."""
    exception: BaseException | None = None
    """The exception in the transcript, if it was raised in this process."""
    request: SentRequest | None = None
    """The first request for an answer; None for an adapter that asks no server."""
    played: PlayedSession | None = None
    """The session; None for an answer."""

    @classmethod
    def of_transcript(cls, transcript: Transcript) -> Output:
        """Return the output of an adapter that states its facts."""
        return cls([json_of_fact(fact) for fact in merged_facts(transcript)], transcript=transcript)


@dataclass(frozen=True, slots=True)
class Grammar:
    """The legal order of native events."""

    order: Mapping[str, Mapping[str, str]]
    """A table state → label → next state, from ``fresh``."""
    label: Callable[[Any], str]
    """Gives the name of an event in the table."""
    final: frozenset[str]
    """The states in which a stream may end."""


@dataclass(frozen=True, slots=True)
class Effort:
    """The number of replays of one exchange that a law may ask of an adapter."""

    tries: int
    """The number of cuts and prefixes."""
    damages: int
    """The number of damaged forms."""
    shrink: int
    """The number of attempts to make a failing exchange smaller."""
    bytewise: bool = True
    """Whether the adapter is also fed byte by byte."""


THOROUGH: Final = Effort(512, 40, 4000)
"""The effort for the canonical events. The payloads of every dialect are made from them."""
BRIEF: Final = Effort(3, 8, 4000, bytewise=False)
"""The effort for the dialects. The canonical events, their input, are tested thoroughly."""
FUNCTION: Final = Effort(64, 24, 60)
PROGRAM: Final = Effort(6, 6, 60, bytewise=False)
"""The effort for a program or a client. Each replay costs more than a call of a function."""
UNKNOWN: Final = "unknown"
"""The version of an adapter that does not state its version."""


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """A failure of an adapter that is known."""

    pattern: str
    """Matches an aspect (``finish``), a law (``law-3``), a cassette, or a cassette followed by a
    space and an aspect or law. ``*`` and ``?`` are wildcards.
    """
    reason: str
    link: str = ""
    """May be ""."""
    expired: str = ""
    """The last day of the declaration, YYYY-MM-DD, if it is over: then the failure is red."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One adapter under test."""

    name: str
    """The column of its cells."""
    model: str
    """The event model whose expectations apply to the adapter."""
    run: Callable[[Exchange, RunOptions], Output]
    """Runs the adapter; may raise any exception."""
    layer: Layer = "payloads"
    facts: Callable[[Output], list[Fact]] | None = None
    """Reads all facts of an answer; None if the meaning of the native events is unknown."""
    grammar: Grammar | None = None
    """None if the adapter has none."""
    request: RequestTranslator | None = None
    """None if the adapter has none."""
    reference: Adapter | None = None
    """For a user's adapter: our own adapter of the same event model."""
    losses: tuple[DeclaredLoss, ...] = ()
    """The aspects that the project declares as lost."""
    model_losses: tuple[DeclaredLoss, ...] = ()
    """The aspects that the event model has no place for."""
    request_losses: tuple[DeclaredLoss, ...] = ()
    """The values that its requests lose or have at another place, as the event model declares."""
    known_failing: tuple[KnownFailure, ...] = ()
    """The known failures."""
    strict: bool = False
    """Whether a refused request is red too if the adapter was given what is refused."""
    effort: Effort = BRIEF
    version: Callable[[], str] = lambda: UNKNOWN
    """Gives the version of the library or program under test. It may start the program."""
    providers: Callable[[], Sequence[str]] = tuple
    """Gives the wires that a user's adapter reads. It may start the program."""
    second_request: Callable[[Exchange, RunOptions], bytes | str] | None = None
    """Gives the body of the request that the adapter sends after the answer, with the results of
    its calls, or the reason why there is no request. It raises `AdapterError`.
    """
    ordered: bool = True
    """Whether whoever sends the second request knows the order of text and calls in the answer: not
    over Chat Completions.
    """
    ask: Callable[[Asked], Reaction] | None = None
    """Asks a question about the request of the adapter. None if it sends no requests."""
    ask_failing: Callable[[FailingService], FaultReaction] | None = None
    """Asks a service that fails. None if the adapter sends no requests, or if the harness does not
    read its facts without an event model.
    """
    close: Callable[[], None] = lambda: None
    """Ends the threads and processes of the adapter. A later run starts new ones."""
    of_normalized: Callable[[Normalized, RunOptions], Output] | None = None
    """For our own adapters: ``run`` for an exchange that is already normalized, so that several
    adapters can share it.
    """

    @property
    def noun(self) -> str:
        """The name of one item of the output: ``payload``, ``event``, ``frame`` or ``fact``."""
        return "fact" if self.by_facts else self.layer.removesuffix("s")

    @property
    def by_facts(self) -> bool:
        """Whether the adapter is judged only by the facts that it states."""
        return self.model == FACTS

    def output(
        self,
        exchange: Exchange,
        options: RunOptions = NO_OPTIONS,
        normalize: Normalize | None = None,
    ) -> Output:
        """Run the adapter. Our own adapters use the result of ``normalize``, if it is given. Raises
        `AdapterError` for every exception of the adapter.
        """
        try:
            if normalize and self.of_normalized:
                normalized = normalize(exchange, options.provider, options.tool_code)
                return self.of_normalized(normalized, options)
            return self.run(exchange, options)
        except AdapterError:
            raise
        except (Exception, SystemExit) as error:
            raise AdapterError(
                f"the adapter raised {type(error).__name__} at {place_of(error)}: {error}"
            ) from error


@dataclass(frozen=True, slots=True)
class Subject:
    """An adapter with the options of its runs: what a law is asked of."""

    adapter: Adapter
    options: RunOptions = NO_OPTIONS

    def output(self, exchange: Exchange) -> Output:
        """Return the output of a run; raises as `Adapter.output` does."""
        return self.adapter.output(exchange, self.options)

    def items(self, exchange: Exchange) -> list[Any]:
        """Return the native events of a run; raises as `output` does."""
        return self.output(exchange).items

    def attempt(self, exchange: Exchange) -> Output | AdapterError:
        """Return the output of a run, or the error that it raised. Raises only `OutOfTime`."""
        try:
            return self.output(exchange)
        except OutOfTime:
            raise
        except AdapterError as error:
            return error

    def outcome(self, exchange: Exchange) -> list[Any]:
        """Return the native events, or one item with the error. That item is equal to no event.
        Raises only `OutOfTime`.
        """
        output = self.attempt(exchange)
        return output.items if isinstance(output, Output) else [{"fault": str(output)}]
