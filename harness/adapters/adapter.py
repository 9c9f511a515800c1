"""The interface of every adapter: a dialect, the canonical events, a user's function, program or
client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct

from harness.dialects.dialect import RequestTranslator
from harness.facts import DeclaredLoss, Facts, Transcript, json_of_fact, merged_facts
from harness.pipeline.replay import Normalized, Trace
from harness.stream.exchange import Exchange
from harness.stream.session import Session

from .raised import place_of

if TYPE_CHECKING:
    from harness.specs import Case  # slow to import, and a guest does not need it

Layer = Literal["payloads", "events", "frames"]
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
    """The fields of a case that an adapter may need in addition to the exchange.

    ``provider`` and ``tool_code`` have the meaning that they have in `harness.replay`. If one is
    None, it is detected.
    """

    case: str = ""
    cassette: str = ""
    provider: str | None = None
    tool_code: bool | None = None
    context: Mapping[str, Any] = {}
    """The mapping in the case."""
    attempts: Callable[[], Sequence[Exchange]] = tuple
    """Finds the answers for an adapter that asks a served address again. It is slow, and most
    adapters are not served.
    """

    @classmethod
    def of(cls, case: Case) -> RunOptions:
        """The options of a case."""
        return cls(case.case, case.cassette, case.provider, case.tool_code, case.context)


@dataclass(frozen=True, slots=True)
class Output:
    """The result of one run.

    ``items``: the native events, as JSON data. ``session``: the data that the adapter keeps for the
    next request. ``trace``: frames and events, if the adapter is our own pipeline. ``transcript``:
    the native events with their facts, if the adapter states its facts itself. ``items`` are then
    the merged facts, as JSON data. ``exception``: the exception in the transcript, if it was raised
    in this process.
    """

    items: list[Any]
    session: Session = field(default_factory=Session)
    trace: Trace | None = None
    transcript: Transcript | None = None
    exception: BaseException | None = None

    @classmethod
    def of_transcript(cls, transcript: Transcript) -> Output:
        """The output of an adapter that states its facts."""
        return cls([json_of_fact(fact) for fact in merged_facts(transcript)], transcript=transcript)


@dataclass(frozen=True, slots=True)
class Grammar:
    """The legal order of native events: a table state → label → next state, from ``fresh``.

    ``label`` gives the name of an event in the table. A stream may end in the states of ``final``.
    """

    order: Mapping[str, Mapping[str, str]]
    label: Callable[[Any], str]
    final: frozenset[str]


@dataclass(frozen=True, slots=True)
class Effort:
    """The number of replays of one exchange that a law may ask of an adapter.

    ``tries``: the number of cuts and prefixes. ``damages``: the number of damaged forms.
    ``shrink``: the number of attempts to make a failing exchange smaller. ``bytewise``: whether the
    adapter is also fed byte by byte.
    """

    tries: int
    damages: int
    shrink: int
    bytewise: bool = True


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
    """A failure of an adapter that is known.

    ``pattern`` matches an aspect (``finish``), a law (``law-3``), a cassette, or a cassette
    followed by a space and an aspect or law. ``*`` and ``?`` are wildcards. ``link`` may be "".
    """

    pattern: str
    reason: str
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One adapter under test.

    ``name`` is the column of its cells. The expectations of the event model ``model`` apply to it.
    ``run(exchange, options)`` may raise any exception. ``facts(output)`` reads the facts of an
    answer; None if the meaning of the native events is unknown. ``losses``: the aspects that the
    project declares as lost. ``model_losses``: those that the event model has no place for.
    ``known_failing``: the known failures. ``grammar`` and ``request`` are None if the adapter has
    none. ``reference``, for a user's adapter: our own adapter of the same event model.
    ``of_normalized(normalized, options)``, for our own adapters: ``run`` for an exchange that is
    already normalized, so that several adapters can share it. ``version()`` gives the version of
    the library or program under test. It may start the program. ``second_request(exchange,
    options)`` gives the body of the request that the adapter sends after the answer, with the
    results of its calls, or the reason why there is no request. It raises `AdapterError`.
    ``close()`` ends the threads and processes of the adapter. A later run starts new ones.
    """

    name: str
    model: str
    run: Callable[[Exchange, RunOptions], Output]
    layer: Layer = "payloads"
    facts: Callable[[Output], Facts] | None = None
    grammar: Grammar | None = None
    request: RequestTranslator | None = None
    reference: Adapter | None = None
    losses: tuple[DeclaredLoss, ...] = ()
    model_losses: tuple[DeclaredLoss, ...] = ()
    known_failing: tuple[KnownFailure, ...] = ()
    effort: Effort = BRIEF
    options: RunOptions = field(default_factory=RunOptions)
    version: Callable[[], str] = lambda: UNKNOWN
    second_request: Callable[[Exchange, RunOptions], bytes | str] | None = None
    close: Callable[[], None] = lambda: None
    of_normalized: Callable[[Normalized, RunOptions], Output] | None = None

    @property
    def noun(self) -> str:
        """The name of one item of the output: ``payload``, ``event``, ``frame`` or ``fact``."""
        return "fact" if self.by_facts else self.layer.removesuffix("s")

    @property
    def by_facts(self) -> bool:
        """Whether the adapter is judged only by the facts that it states."""
        return self.model == FACTS

    def with_options(self, options: RunOptions) -> Adapter:
        """The same adapter, run with the options of a case."""
        reference = self.reference and replace(self.reference, options=options)
        return replace(self, options=options, reference=reference)

    def output(
        self,
        exchange: Exchange,
        normalize: Normalize | None = None,
        options: RunOptions | None = None,
    ) -> Output:
        """Run the adapter, by default with its own options. Our own adapters use the result of
        ``normalize``, if it is given. Raises `AdapterError` for every exception of the adapter.
        """
        options = options or self.options
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

    def items(self, exchange: Exchange) -> list[Any]:
        """The native events of a run; raises as `output` does."""
        return self.output(exchange).items

    def attempt(self, exchange: Exchange) -> Output | AdapterError:
        """The output of a run, or the error that it raised. Raises only `OutOfTime`."""
        try:
            return self.output(exchange)
        except OutOfTime:
            raise
        except AdapterError as error:
            return error

    def outcome(self, exchange: Exchange) -> list[Any]:
        """The native events, or one item with the error. That item is equal to no event. Raises
        only `OutOfTime`.
        """
        output = self.attempt(exchange)
        return output.items if isinstance(output, Output) else [{"fault": str(output)}]
