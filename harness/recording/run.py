"""The recording engine: request after request is asked of a provider until a recording is whole, or
a limit says that it will not be.

What to ask next may depend on the last answer, so requests come from a generator that is sent each
answer. An answer that is refused (`refusing`) is asked for again after the wait that the provider
names, and left out of the recording; a key that is not valid, a quota of the day, or a wait that
nobody would sit through ends it at once.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from harness.cassettes import Cassette, Exchange
from harness.cassettes.load import load
from harness.pipeline.replay import ReplayError, replay
from harness.providers import with_provider
from harness.stream.events import End

from .cassette import Mode, Recording, use_cassette
from .drivers.gemini_cli import told_by_program
from .endpoints import check_address
from .policy import RecordingRefused, broken, errors_of, refused, status_of
from .tape import InFlightExchange

RETRIED: Final = frozenset({429, 500, 502, 503, 504, 529})
LONGEST_WAIT_S: Final = 300.0
"""A provider that wants a longer wait has no answer today."""
SILENCE_S: Final = 300.0
"""So long an answer may be silent: a model that thinks says nothing for minutes."""


@dataclass(frozen=True, slots=True)
class GenerateAsk:
    """One request: ``body`` is the JSON object that the provider is sent, for gemini-cli
    ``{"prompt": text}``.
    """

    body: Mapping[str, Any]
    model: str | None = None
    streamed: bool = True


@dataclass(frozen=True, slots=True)
class Settings:
    """Where and as whom to ask; what is None is told by the environment, as Google's own clients
    read it.

    ``timeout_s``: so many seconds without a byte, or a connection, end a request (None:
    `SILENCE_S`); a program has so many in all (None: `program.TIME_LIMIT_S`).
    """

    model: str | None = None
    api_key: str | None = field(default=None, repr=False)
    api_version: str | None = None
    base_url: str | None = None
    project: str | None = None
    location: str | None = None
    credentials: Any = field(default=None, repr=False)
    program: tuple[str, ...] = ("gemini",)
    arguments: tuple[str, ...] = ()
    timeout_s: float | None = None

    @property
    def silence_s(self) -> float:
        """So long an answer may be silent."""
        return self.timeout_s or SILENCE_S


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be spent: tries of one request; and of the whole run, requests with their tries,
    output and thinking tokens.
    """

    attempts: int = 4
    requests: int = 50
    output_tokens: int = 50_000


@dataclass(slots=True)
class Spent:
    """What a run has cost so far; recordings that share one share their limits."""

    requests: int = 0
    output_tokens: int = 0

    def check(self, limits: Limits) -> None:
        """Raises `RecordingRefused` if nothing more may be asked."""
        for what, used, most in (
            ("request", self.requests, limits.requests),
            ("output token", self.output_tokens, limits.output_tokens),
        ):
            if used >= most:
                shown = f"{used} {what}{'' if used == 1 else 's'}"
                raise RecordingRefused(
                    f"this run has used {shown}, and {most} is the limit; raise it, or ask for less"
                )


class Driver(Protocol):
    """Asks one provider; what passes is taken by the recording that it was made for."""

    def ask(self, ask: GenerateAsk) -> None:
        """Ask and read the whole answer. An error in the answer is no exception."""

    def close(self) -> None: ...


class Progress(Protocol):
    """Who is told how far it is."""

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
    mode: Mode = "rewrite",
    allow_status: Collection[int] = (),
    allow_end: Collection[End] = (),
    before: Sequence[Exchange] | None = (),
    sleep: Callable[[float], None] = time.sleep,
    progress: Progress | None = None,
) -> Cassette:
    """Ask ``provider`` for each of ``asks`` and keep the exchanges, in order, as the cassette at
    ``path``; returns it as it was saved.

    ``asks`` may be a generator: it is sent the exchange that answered. ``mode``: ``once`` asks only
    if there is no cassette yet. ``spent``: what other recordings of the same run have cost, counted
    on here, so that the ``limits`` are those of all of them. An answer of a status from 400 on is
    refused, a program that failed, and an answer that broke off, unless ``allow_status`` has its
    status (`status_of`) and ``allow_end`` its end, or the exchange at the same place of ``before``
    has it: those that are asked for anew. ``before=None`` keeps what `refusing.REFUSED` does not
    name, for a comparison. Raises `RecordingRefused` for an answer that is not to be kept and for a
    limit, `CassetteError` for what can't be written, `MissingLibrary` and `ReplayError` for a
    provider that can't be asked. Nothing but a whole recording changes the file.
    """
    keys = [settings.api_key] if settings and settings.api_key else []
    told = told_by_program(settings or Settings()) if provider == "gemini-cli" else None
    statuses = {
        *allow_status,
        *map(status_of, before or ()),
    }  # what stands where is seen when it comes
    ends = {*allow_end, *(one.end for one in before or ())}
    with use_cassette(
        path, mode=mode, allow_status=statuses, allow_end=ends, keys=keys, whole=True, told=told
    ) as tape:
        if isinstance(tape, Recording):
            tape.silence_s = (settings or Settings()).silence_s
            limits, spent = limits or Limits(), spent or Spent()
            spent.check(limits)
            driver = drive(provider, tape, settings or Settings())
            run = _Run(
                tape, driver, limits, spent, allow_status, allow_end, before, sleep, progress
            )
            try:
                run.all(asks)
            finally:
                driver.close()
    return load(path)


def drive(provider: str, tape: Recording, settings: Settings) -> Driver:
    """The driver of a provider; raises `ReplayError` for one that is not known, and for an address
    of no server.
    """
    check_address(provider, settings.base_url)
    match provider:
        case "gemini-api" | "vertex-ai":
            from .drivers.genai import GenaiDriver

            return GenaiDriver(tape, settings, vertex=provider == "vertex-ai")
        case "code-assist":
            from .drivers.code_assist import CodeAssistDriver

            return CodeAssistDriver(tape, settings)
        case "gemini-cli":
            from .drivers.gemini_cli import ProgramDriver

            return ProgramDriver(tape, settings)
    raise ReplayError(
        f"nobody knows how to ask {provider!r}; known are gemini-api, vertex-ai, code-assist,"
        " gemini-cli"
    )


class _Run:
    def __init__(
        self,
        tape: Recording,
        driver: Driver,
        limits: Limits,
        spent: Spent,
        allow_status: Collection[int],
        allow_end: Collection[End],
        before: Sequence[Exchange] | None,
        sleep: Callable[[float], None],
        progress: Progress | None,
    ) -> None:
        self.tape = tape
        self.driver = driver
        self.limits = limits
        self.spent = spent
        self.allow_status = allow_status
        self.allow_end = allow_end
        self.before = before
        self.sleep = sleep
        self.progress = progress
        self.requests = 0
        self.output_tokens = 0

    def all(self, asks: Asks) -> None:
        if not isinstance(asks, Generator):
            for ask in asks:
                self._one(ask)
            return
        try:
            ask = next(asks)
            while True:
                ask = asks.send(self._one(ask))
        except StopIteration:
            return

    def _one(self, ask: GenerateAsk) -> Exchange:
        """The answer to keep; tries again as long as the provider asks for it and the limits let
        it.
        """
        for attempt in range(1, self.limits.attempts + 1):
            self.spent.check(self.limits)
            before = len(self.tape.takes)
            self.requests += 1
            self.spent.requests += 1
            self.driver.ask(ask)
            for take in self.tape.takes[before:]:
                take.finish()
            takes = [take for take in self.tape.takes[before:] if take.status is not None]
            if not takes:
                raise RecordingRefused(
                    f"request {self.requests} got no answer at all{self._why(before)}; mend that,"
                    " then record again"
                )
            exchanges = [with_provider(take.exchange()) for take in takes]
            cost = sum(map(output_tokens, exchanges))
            self.output_tokens += cost
            self.spent.output_tokens += cost
            if self.progress:
                self.progress.asked(self.requests, self.output_tokens)
            anew = self._anew()
            allowed = {*self.allow_status, *map(status_of, anew)}
            found = refused(exchanges[-1], allowed, every=self.before is not None)
            if found is None:
                self._check_end(
                    exchanges[-1], takes[-1], {*self.allow_end, *(one.end for one in anew)}
                )
                return exchanges[-1]
            self._wait(found, exchanges[-1], attempt, takes)
        raise AssertionError("the last attempt returns or raises")

    def _why(self, before: int) -> str:
        """Whom the last request did not reach, and the reason that the system gives."""
        asked = [take for take in self.tape.takes[before:] if take.request]
        return "".join(
            f" from {urlsplit(take.request.url).netloc}: {take.failure}"
            for take in asked[-1:]
            if take.request
        )

    def _anew(self) -> Sequence[Exchange]:
        """The exchange that the last answer takes the place of, if there is one."""
        place = sum(take.status is not None and not take.dropped for take in self.tape.takes)
        return (self.before or ())[place - 1 : place]

    def _check_end(
        self, exchange: Exchange, take: InFlightExchange, allowed: Collection[End]
    ) -> None:
        if told := broken(exchange, allowed):
            why = f": {take.failure}" if exchange.end == "aborted" and take.failure else ""
            raise RecordingRefused(
                f"the answer to request {self.requests} {told}{why}; a recording holds whole"
                " answers, nothing is kept of this one; record again, or, if that is what it is"
                f" about, allow this end: --allow-end {exchange.end}"
            )

    def _wait(
        self,
        found: tuple[int, str, str],
        exchange: Exchange,
        attempt: int,
        takes: list[InFlightExchange],
    ) -> None:
        code, what, said = found
        seconds, final = _asked_wait(exchange, attempt)
        last = attempt == self.limits.attempts
        if code not in RETRIED or final or last:
            why = f" after {attempt} attempts" if last and attempt > 1 else ""
            message = (
                f"request {self.requests} was given {what}{why}"
                f" ({code}{': ' if said else ''}{said}); nothing is kept of this recording; if that"
                f" is what it is about, allow the status {code}"
            )
            raise RecordingRefused(message, said)
        for take in takes:
            take.drop()
        if self.progress:
            self.progress.waiting(seconds, f"{code} {what}")
        self.sleep(seconds)


def _asked_wait(exchange: Exchange, attempt: int) -> tuple[float, bool]:
    """Seconds to wait before the next attempt: what RetryInfo or Retry-After say, else twice as
    long each time; whether none will help.
    """
    errors = errors_of(exchange)
    told = next(
        (error["retry_after"] for error in errors if error.get("retry_after") is not None), None
    )
    daily = any(
        "PerDay" in quota or "Daily" in quota
        for error in errors
        for quota in error.get("quotas", ())
    )
    exhausted = any("QUOTA_EXHAUSTED" in error.get("reasons", ()) for error in errors)
    seconds = 2.0 ** (attempt - 1) if told is None else float(told)
    return seconds, daily or exhausted or seconds > LONGEST_WAIT_S


def output_tokens(exchange: Exchange) -> int:
    """The output and thinking tokens that an answer says it cost; 0 if it says nothing."""
    if not exchange.generates:
        return 0
    try:
        with warnings.catch_warnings(action="ignore"):
            events = replay(exchange, layer="events")
    except ReplayError:
        return 0
    counts = [event for event in events if event["kind"] == "usage"]
    return max(
        (int(event.get("output") or 0) + int(event.get("reasoning") or 0) for event in counts),
        default=0,
    )
