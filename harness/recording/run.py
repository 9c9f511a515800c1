"""Runs a recording: sends requests until the recording is complete or a limit is reached.

The next request may depend on the last answer. So a generator can produce the requests, and each
answer is sent into it. A refused answer (`policy`) is not recorded, and the request is sent again
after the wait that the provider requests. An invalid key, an exhausted daily quota, or a wait that
is too long ends the run immediately.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from harness.cassettes import Cassette, Exchange
from harness.cassettes.load import load
from harness.pipeline.replay import ReplayError, check_known
from harness.providers import PROVIDERS, with_provider
from harness.stream.events import End
from harness.stream.printable import plural

from .cassette import use_cassette
from .endpoints import check_base_url
from .policy import (
    RecordingRefused,
    Refusal,
    beginning,
    breakage_of,
    errors_of,
    events_of,
    incompleteness,
    is_allowed,
    not_of_model,
    refusal_of,
    status_of,
)
from .settings import Driver, GenerateAsk, Limits, Settings
from .tape import InFlightExchange, Tape

RETRIED: Final = frozenset({429, 500, 502, 503, 504, 529})
LONGEST_WAIT_S: Final = 300.0
"""A longer wait than this ends the run."""


@dataclass(slots=True)
class Spent:
    """The cost of a run so far. Recordings that share one object share their limits."""

    requests: int = 0
    output_tokens: int = 0

    def check(self, limits: Limits) -> None:
        """Raise `RecordingRefused` if a limit is reached."""
        for unit, used, limit in (
            ("request", self.requests, limits.requests),
            ("output token", self.output_tokens, limits.output_tokens),
        ):
            if used >= limit:
                raise RecordingRefused(
                    f"this run has used {plural(used, unit)}, and {limit} is the limit; raise the"
                    " limit, or record less"
                )


class Progress(Protocol):
    """Receives the progress of a recording."""

    def asked(self, requests: int, output_tokens: int) -> None: ...
    def waiting(self, seconds: float, why: str) -> None: ...


Asks = Iterable[GenerateAsk] | Generator[GenerateAsk, Exchange, None]


def record_requests(
    provider: str,
    asks: Asks,
    path: Path,
    *,
    settings: Settings | None = None,
    limits: Limits | None = None,
    spent: Spent | None = None,
    allow_status: Collection[int] = (),
    allow_end: Collection[End] = (),
    allow_incomplete: bool = False,
    before: Sequence[Exchange] | None = (),
    sleep: Callable[[float], None] = time.sleep,
    progress: Progress | None = None,
) -> Cassette:
    """Send each of ``asks`` to ``provider`` and save the exchanges, in order, as the cassette at
    ``path``. Returns the saved cassette.

    ``asks`` may be a generator; each answering exchange is sent into it. ``spent``: the cost of the
    run so far; the cost of this recording is added, so that ``limits`` apply to the whole run.

    An answer with a status from 400 on, a failed program, a broken answer, and anything that is not
    the complete answer of a model are refused, unless ``allow_status`` has the status
    (`status_of`), ``allow_end`` has the end, ``allow_incomplete`` is set, or the exchange at the
    same place in ``before``, the old recording, has the same fault. ``before=None`` is for a
    comparison: it keeps every answer of a model, and errors that `policy.REFUSED` does not list.

    Raises `RecordingRefused` for an answer that is not kept and for a limit, `CassetteError` for a
    file that can't be written, `MissingLibrary` and `ReplayError` for a provider that can't be
    called. The file changes only if the recording is complete.
    """
    check_known("provider", provider, [name for name in PROVIDERS if PROVIDERS[name].driver])
    settings, limits, spent = settings or Settings(), limits or Limits(), spent or Spent()
    check_base_url(provider, settings.base_url)
    # This allows the statuses and ends of all exchanges of the old file; `_Run` compares place by
    # place.
    statuses = {*allow_status, *map(status_of, before or ())}
    ends = {*allow_end, *(exchange.end for exchange in before or ())}
    keys = [settings.api_key] if settings.api_key else []
    with use_cassette(
        path,
        mode="rewrite",
        allow_status=statuses,
        allow_end=ends,
        allow_incomplete=True,  # `_Run` checks the answers
        keys=keys,
        whole=True,
    ) as tape:
        tape.silence_s = settings.silence_s
        tape.answer_bytes, tape.answer_s = settings.answer_bytes, settings.answer_s
        spent.check(limits)
        make_driver: Callable[[Tape, Settings], Driver] = resolve_name(PROVIDERS[provider].driver)
        with closing(make_driver(tape, settings)) as driver:
            _Run(
                tape,
                driver,
                provider,
                limits,
                spent,
                frozenset(allow_status),
                frozenset(allow_end),
                allow_incomplete,
                before,
                sleep,
                progress,
            ).send_all(asks)
    return load(path)


@dataclass(slots=True)
class _Run:
    """The arguments of `record_requests`, and the requests and tokens of this cassette."""

    tape: Tape
    driver: Driver
    provider: str
    limits: Limits
    spent: Spent
    allow_status: frozenset[int]
    allow_end: frozenset[End]
    allow_incomplete: bool
    before: Sequence[Exchange] | None
    sleep: Callable[[float], None]
    progress: Progress | None
    asked: int = 0
    """The number of the request that is sent now; attempts are not counted."""
    requests: int = 0
    output_tokens: int = 0

    def send_all(self, asks: Asks) -> None:
        turns: Generator[GenerateAsk, Any, None] = (
            asks if isinstance(asks, Generator) else (ask for ask in asks)
        )
        with suppress(StopIteration):
            ask = next(turns)
            while True:
                ask = turns.send(self._send(ask))

    def _send(self, ask: GenerateAsk) -> Exchange:
        """Return the answer to keep; retries while the provider's answer and the limits allow
        it.
        """
        self.asked += 1
        for attempt in range(1, self.limits.attempts + 1):
            self.spent.check(self.limits)
            first = len(self.tape.in_flight)
            self.requests += 1
            self.spent.requests += 1
            try:
                self.driver.ask(ask)
            except ReplayError:
                raise
            except Exception:  # a client may refuse an answer, which is recorded
                if len(self.tape.in_flight) == first:
                    raise
            sent = self.tape.in_flight[first:]
            for in_flight in sent:
                in_flight.finish()
            answered = [in_flight for in_flight in sent if in_flight.status is not None]
            if not answered:
                raise RecordingRefused(
                    f"request {self.asked} got no answer at all{_failure_of(sent)}; correct the"
                    " cause, then record again"
                )
            exchanges = [with_provider(in_flight.exchange()) for in_flight in answered]
            self._count(sum(map(output_tokens, exchanges)))
            replaced = self._replaced()
            allowed = {*self.allow_status, *map(status_of, replaced)}
            every = self.before is not None and not self.allow_incomplete
            refusal = refusal_of(exchanges[-1], allowed, every=every)
            if refusal is None:
                self._check_end(exchanges[-1], answered[-1], replaced)
                self._check_answer(exchanges[-1], allowed, replaced)
                return exchanges[-1]
            self._wait(refusal, exchanges[-1], attempt)
            for in_flight in answered:
                in_flight.dropped = True  # the request is sent again
        raise AssertionError("the last attempt returns or raises")

    def _count(self, tokens: int) -> None:
        self.output_tokens += tokens
        self.spent.output_tokens += tokens
        if self.progress:
            self.progress.asked(self.requests, self.output_tokens)

    def _replaced(self) -> Sequence[Exchange]:
        """Return the exchange of the old recording that the last answer replaces, if there is
        one.
        """
        place = len(self.tape.answered())
        return (self.before or ())[place - 1 : place]

    def _check_end(
        self, exchange: Exchange, in_flight: InFlightExchange, replaced: Sequence[Exchange]
    ) -> None:
        if breakage := breakage_of(exchange, {*self.allow_end, *(old.end for old in replaced)}):
            why = (
                f": {in_flight.failure}" if exchange.end == "aborted" and in_flight.failure else ""
            )
            raise RecordingRefused(
                f"the answer to request {self.asked} {breakage}{why}; a recording needs complete"
                " answers, so the cassette is not written; record again, or, if the case is about"
                f" it, allow this end: --allow-end {exchange.end}"
            )

    def _check_answer(
        self, exchange: Exchange, allowed: Collection[int], replaced: Sequence[Exchange]
    ) -> None:
        """Raise `RecordingRefused` for anything that is not the complete answer of a model. A
        comparison keeps incomplete answers, because it reports the differences.
        """
        ends = {*self.allow_end, *(old.end for old in replaced)}
        if self.allow_incomplete or is_allowed(exchange, allowed, ends):
            return
        fault_of = not_of_model if self.before is None else incompleteness
        fault = fault_of(exchange, self.provider)
        if fault and fault not in [fault_of(old, self.provider) for old in replaced]:
            shown = beginning(exchange, self.tape.mask)
            raise RecordingRefused(
                f"the answer to request {self.asked} {fault}: {shown}; the cassette is not"
                " written; correct the cause and record again, or, if the case is about it, allow"
                " it: --allow-incomplete",
                shown,
            )

    def _wait(self, refusal: Refusal, exchange: Exchange, attempt: int) -> None:
        seconds, final = _requested_wait(exchange, attempt)
        last = attempt == self.limits.attempts
        if refusal.code not in RETRIED or final or last:
            why = f" after {attempt} attempts" if last and attempt > 1 else ""
            raise RecordingRefused(
                f"request {self.asked} got {refusal.kind}{why} ({refusal.details});"
                " the cassette is not written; if the case is about it, allow the status"
                f" {refusal.code}: --allow-status {refusal.code}",
                refusal.quoted,
            )
        if self.progress:
            self.progress.waiting(seconds, f"{refusal.kind} ({refusal.code})")
        self.sleep(seconds)


def _failure_of(sent: Sequence[InFlightExchange]) -> str:
    """Return the host of the last request, and the reason of the failure."""
    for in_flight in reversed(sent):
        if in_flight.request:
            return f" from {urlsplit(in_flight.request.url).netloc}: {in_flight.failure}"
    return ""


def _requested_wait(exchange: Exchange, attempt: int) -> tuple[float, bool]:
    """Return seconds to wait before the next attempt, and whether waiting is useless.

    The seconds are from RetryInfo or Retry-After; without these, they double with each attempt.
    """
    errors = errors_of(exchange)
    requested = next(
        (error["retry_after"] for error in errors if error.get("retry_after") is not None), None
    )
    daily = any(
        "PerDay" in quota or "Daily" in quota
        for error in errors
        for quota in error.get("quotas", ())
    )
    exhausted = any("QUOTA_EXHAUSTED" in error.get("reasons", ()) for error in errors)
    seconds = 2.0 ** (attempt - 1) if requested is None else float(requested)
    return seconds, daily or exhausted or seconds > LONGEST_WAIT_S


def output_tokens(exchange: Exchange) -> int:
    """Return the output and thinking tokens that an answer reports; 0 if it reports none."""
    counts = [event for event in events_of(exchange) if event["kind"] == "usage"]
    return max(
        (int(event.get("output") or 0) + int(event.get("reasoning") or 0) for event in counts),
        default=0,
    )
