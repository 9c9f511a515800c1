"""The one notion of an adapter: a dialect, the canonical events, a user's function, program or
client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from msgspec import Struct

from harness.dialects.dialect import RequestTranslator
from harness.facts import DeclaredLoss, Facts, Transcript, json_of_fact, merged_facts
from harness.pipeline.replay import Normalized, Trace
from harness.specs import Case
from harness.stream.exchange import Exchange
from harness.stream.session import Session

from .raised import place_of

Layer = Literal["payloads", "events", "frames"]
Normalize = Callable[[Exchange, str | None, bool | None], Normalized]
"""Normalizes an exchange as a provider, or returns its result for the same exchange from before;
`Normalized` itself is one.
"""

FACTS: Final = "facts"
"""The event model of adapters that state their facts themselves."""


class AdapterError(Exception):
    """An adapter can't be called, raised an exception, or broke a rule; the message has
    the fault.
    """


class AdapterMissing(AdapterError):
    """The adapter can't be run for this exchange, so its cells are not run: it skips the exchange,
    or a library is not installed. The message names the reason or the library, with the command
    that installs it.
    """


class OutOfTime(AdapterError):
    """The adapter has used the time that one law allows, and is not called again."""


class RunOptions(Struct, frozen=True):
    """The facts of a case that an adapter may need beside the exchange.

    ``provider`` and ``tool_code``: as for `harness.replay`; None: as detected. ``context``: the
    case's own mapping.
    """

    case: str = ""
    cassette: str = ""
    provider: str | None = None
    tool_code: bool | None = None
    context: Mapping[str, Any] = {}

    @classmethod
    def of(cls, case: Case) -> RunOptions:
        """The options of a case."""
        return cls(case.case, case.cassette, case.provider, case.tool_code, case.context)


@dataclass(frozen=True, slots=True)
class Output:
    """The result of one run.

    ``items``: the native events, as JSON data. ``session``: the data that the adapter keeps for the
    next request. ``trace``: frames and events, if the adapter is our own pipeline. ``transcript``:
    the native events with their facts, where the adapter states its facts itself; ``items`` are
    then the facts, merged and as JSON. ``exception``: the exception in the transcript, if it was
    raised in this process.
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

    ``label`` names an event for the table. A stream may end in the states of ``final``.
    """

    order: Mapping[str, Mapping[str, str]]
    label: Callable[[Any], str]
    final: frozenset[str]


@dataclass(frozen=True, slots=True)
class Effort:
    """The number of replays of one exchange that a law may ask of an adapter.

    ``tries``: cuts and prefixes. ``damages``: damaged forms. ``shrink``: attempts to make a failing
    exchange smaller. ``bytewise``: whether the adapter is also fed byte by byte.
    """

    tries: int
    damages: int
    shrink: int
    bytewise: bool = True


THOROUGH: Final = Effort(512, 40, 4000)
"""For the canonical events, from which the payloads of every dialect are made."""
BRIEF: Final = Effort(3, 8, 4000, bytewise=False)
"""For the dialects, whose events are tested thoroughly."""
FUNCTION: Final = Effort(64, 24, 60)
PROGRAM: Final = Effort(6, 6, 60, bytewise=False)
"""For a program or a client, which costs more than a function for every replay."""
UNKNOWN: Final = "unknown"
"""The version of an adapter that states none."""


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """A failure of an adapter that is known.

    ``pattern``, with ``*`` and ``?``, matches an aspect (``finish``), a law (``law-3``), a
    cassette, or a cassette and one of them with a space between. ``link`` may be "".
    """

    pattern: str
    reason: str
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One adapter under test.

    ``name`` is the column of its cells, ``model`` the event model whose expectations apply to it.
    ``run(exchange, options)`` may raise anything. ``facts(output)`` reads the neutral account of an
    answer, and ``differences(wire, carried, interrupted)`` gives a sentence for each fact that is
    lost without being declared, or invented; both are None where the meaning of the native events
    is unknown. ``losses``: the aspects that the event model has no place for. ``known_failing``:
    the failures that are known. ``grammar`` and ``request`` are None where the adapter has none.
    ``reference``: our own adapter of the same event model, for a user's adapter.
    ``of_normalized(normalized, options)`` of our own adapters is ``run`` for an exchange that is
    already normalized, so that several adapters can share it. ``version()`` gives the version of
    the library or program under test; it may start the program. ``second_request(exchange,
    options)`` gives the body of the request that the adapter sends after the answer, with the
    results of its calls, or the reason why there is none. It raises `AdapterError`. ``close()``
    ends the threads and processes of the adapter; a later run starts new ones. ``prepare()`` starts
    what the first run would wait for.
    """

    name: str
    model: str
    run: Callable[[Exchange, RunOptions], Output]
    layer: Layer = "payloads"
    facts: Callable[[Output], Facts] | None = None
    differences: Callable[[Facts, Facts, bool], list[str]] | None = None
    grammar: Grammar | None = None
    request: RequestTranslator | None = None
    reference: Adapter | None = None
    losses: tuple[DeclaredLoss, ...] = ()
    known_failing: tuple[KnownFailure, ...] = ()
    effort: Effort = BRIEF
    options: RunOptions = field(default_factory=RunOptions)
    version: Callable[[], str] = lambda: UNKNOWN
    second_request: Callable[[Exchange, RunOptions], bytes | str] | None = None
    close: Callable[[], None] = lambda: None
    prepare: Callable[[], None] = lambda: None
    of_normalized: Callable[[Normalized, RunOptions], Output] | None = None

    @property
    def noun(self) -> str:
        """The name of one item of the output: ``payload``, ``event``, ``frame`` or ``fact``."""
        return "fact" if self.by_facts else self.layer.removesuffix("s")

    @property
    def by_facts(self) -> bool:
        """Whether it is judged only by the facts that it states."""
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
        """Run the adapter, by default with its own options. One of our adapters uses the result of
        ``normalize``, if given. Raises `AdapterError` for every exception that it raises.
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
        """The output of a run, or the error that it raised. Raises `OutOfTime` only."""
        try:
            return self.output(exchange)
        except OutOfTime:
            raise
        except AdapterError as error:
            return error

    def outcome(self, exchange: Exchange) -> list[Any]:
        """The native events, or one item with the error, which equals no event. Raises `OutOfTime`
        only.
        """
        output = self.attempt(exchange)
        return output.items if isinstance(output, Output) else [{"fault": str(output)}]
