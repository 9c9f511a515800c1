"""Our own adapters: one for every dialect, one for the canonical events, one for the frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Final

from msgspec import to_builtins

from harness.dialects import DIALECTS, Dialect
from harness.pipeline.replay import Normalized, plain_frame
from harness.providers.plain_events import gather_events
from harness.providers.raw_facts import read_raw
from harness.stream.events import ORDER
from harness.stream.exchange import Exchange
from harness.stream.session import Session

from .adapter import FUNCTION, THOROUGH, Adapter, Effort, Grammar, Output, RunOptions
from .own_requests import ask_dialect

BOUNDLESS: Final = 1 << 62
"""The limit of a session that drops nothing. Data that a bounded session drops is not a loss."""


def dialect_adapter(dialect: Dialect) -> Adapter:
    """Return a dialect as an adapter: the pipeline from an exchange to its payloads."""

    def translated(normalized: Normalized, options: RunOptions) -> Output:
        session = Session(context=options.context, limit=BOUNDLESS)
        trace = normalized.translate(dialect, session)
        return Output(trace.payloads, session, trace)

    writer = dialect.request.writer if dialect.request else None
    return _with_model(
        Adapter(
            name=dialect.name,
            model=dialect.name,
            run=_run(translated),
            of_normalized=translated,
            request=dialect.request,
            ask=partial(ask_dialect, dialect),
            request_losses=writer.losses if writer else (),
            version=partial(version, "gemini-conformance"),
        ),
        dialect,
    )


def _run(
    of_normalized: Callable[[Normalized, RunOptions], Output],
) -> Callable[[Exchange, RunOptions], Output]:
    """Return the ``run`` of one of our adapters. It normalizes the exchange itself."""

    def run(exchange: Exchange, options: RunOptions) -> Output:
        return of_normalized(Normalized(exchange, options.provider, options.tool_code), options)

    return run


def user_adapter(
    name: str, model: str, run: Callable[[Exchange, RunOptions], Output], effort: Effort = FUNCTION
) -> Adapter:
    """Return a user's adapter. If ``model`` is a dialect, the facts, losses and grammar of that
    dialect apply to the adapter.
    """
    own = ADAPTERS.get(model)
    adapter = Adapter(name=name, model=model, run=run, effort=effort, reference=own)
    return _with_model(adapter, DIALECTS[model]) if own else adapter


def _with_model(adapter: Adapter, dialect: Dialect) -> Adapter:
    return replace(
        adapter,
        facts=lambda output: read_raw(dialect.facts(output.items, output.session)),
        model_losses=dialect.losses,
        grammar=Grammar(dialect.order, dialect.label, dialect.final),
    )


def _events(normalized: Normalized, _: RunOptions) -> Output:
    trace = normalized.trace
    return Output([to_builtins(event) for event in trace.events], Session(), trace)


def _frames(normalized: Normalized, _: RunOptions) -> Output:
    trace = normalized.trace
    return Output([plain_frame(frame) for frame in trace.frames], Session(), trace)


EVENTS: Final = Adapter(
    name="events",
    model="events",
    run=_run(_events),
    of_normalized=_events,
    layer="events",
    facts=lambda output: gather_events(output.items),
    grammar=Grammar(ORDER, lambda event: str(event["kind"]), frozenset(ORDER)),
    effort=THOROUGH,
)
"""The adapter for the canonical events, which every dialect translates."""

FRAMES: Final = Adapter(
    name="frames", model="frames", run=_run(_frames), of_normalized=_frames, layer="frames"
)
"""The adapter for the frames: the delimited messages of the wire."""


class _Adapters(Mapping[str, Adapter]):
    """Makes the adapter of a dialect when it is first used."""

    def __init__(self) -> None:
        self._made: dict[str, Adapter] = {}

    def __getitem__(self, name: str) -> Adapter:
        if name not in self._made:
            self._made[name] = dialect_adapter(DIALECTS[name])
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in DIALECTS

    def __iter__(self) -> Iterator[str]:
        return iter(DIALECTS)

    def __len__(self) -> int:
        return len(DIALECTS)


ADAPTERS: Final = _Adapters()
"""The adapters of the dialects by name."""
