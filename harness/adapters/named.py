"""A user's adapters, which lines of configuration and arguments of commands name.

    shop: facts = shop:replay
    litellm: facts = serve: shims:litellm
    ai-sdk: facts = serve: node shim.mjs
    proxy: facts = gateway anthropic: http://127.0.0.1:4000
    agent: openai-chat = agent:chunks
    mine: anthropic = mypackage.adapter:replay

A line begins with the adapter's name. After a colon follows ``facts``, the word of a public wire
that the adapter writes, or the event model whose expectations apply to its payloads. Without a
colon, the adapter has its own event model, which has the adapter's name. The target follows ``=``.
A command also accepts the target alone, or after the word of a wire and ``=``.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from harness.facts import Skipped, Transcript
from harness.pipeline.replay import choose_provider
from harness.stream.exchange import Exchange
from harness.stream.printable import plural
from harness.stream.websocket import SWITCHED

from .adapter import (
    FACTS,
    FUNCTION,
    PROGRAM,
    Adapter,
    AdapterError,
    AdapterMissing,
    Output,
    RunOptions,
)
from .asked import Asked, FailingService, FaultReaction, Reaction, SentRequest
from .at import MODEL, Question, question_words
from .function import FunctionAsker, InProcess
from .gateway import GATEWAY_WIRES, Gateway, upstream_address
from .neutral_words import with_addresses
from .offers import (
    SESSIONS,
    SHARED,
    Offers,
    fault_reaction_of,
    first_request,
    offers_at,
    played_session,
    reaction_of,
    second_body,
    transcript_of,
)
from .own import ADAPTERS, user_adapter
from .process import TimedOut, Unusable
from .program import Program
from .reply import Reply, ReplyLevel
from .wires import WIRES, read_reply
from .worker import worker_program

if TYPE_CHECKING:
    from harness.server import Offer

TIMEOUT_S: Final = 30.0
MORE_LIMITS: Final = 2
"""The number of time limits that a session gets besides one for each message of the client."""

AdapterKind = Literal["function", "served function", "run", "serve", "gateway"]

_LINE: Final = re.compile(
    r"(?P<name>[a-z0-9]+(?:-[a-z0-9]+)*)\s*(?::\s*(?P<dialect>[a-z0-9-]+)\s*)?=\s*(?P<target>\S.*)"
)
_FUNCTION: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_PATH: Final = re.compile(
    r"(?:\./)?(?P<module>[A-Za-z_][\w/]*)(?P<suffix>\.py)?(?:[:.](?P<function>[A-Za-z_]\w*))?"
)
_USUAL: Final = ("replay", "run", "chunks", "events")
"""The names of functions that do not distinguish an adapter. Its module does."""
_GATEWAY: Final = re.compile(r"gateway\s+(?P<wire>[a-z-]+):\s*(?P<url>https?://\S+)")
_TARGETS: Final = (
    "module:function, serve: module:function, serve: COMMAND, run: COMMAND or"
    f" gateway WIRE: URL (WIRE: {', '.join(GATEWAY_WIRES)})"
)
_SHAPE: Final = (
    "NAME = TARGET, NAME: facts = TARGET, NAME: WIRE = TARGET (WIRE:"
    f" {', '.join(WIRES)}) or NAME: DIALECT = TARGET; a name is lower-case words"
    f" joined by -; a target is {_TARGETS}"
)


@dataclass(frozen=True, slots=True)
class NamedAdapter:
    """One line of configuration. ``dialect`` is `FACTS`, the word of a wire that the adapter
    writes, or the event model whose expectations apply to the adapter.
    """

    name: str
    dialect: str
    target: str

    def __str__(self) -> str:
        return f"{self.name}: {self.dialect} = {self.target}"

    @property
    def by_facts(self) -> bool:
        """Whether the adapter is judged only by its facts."""
        return self.dialect == FACTS or self.dialect in WIRES


class Asker(Protocol):
    """A target that replies to each question within the time limit."""

    @property
    def version(self) -> str: ...
    @property
    def providers(self) -> Sequence[str]: ...
    @property
    def converses(self) -> bool: ...
    @property
    def asks_thoughts(self) -> bool: ...
    def ask(self, question: Question, timeout: float) -> Reply: ...
    def close(self) -> None: ...


def read_line(line: str) -> NamedAdapter:
    """Read one line of configuration. Raises `AdapterError`."""
    match = _LINE.fullmatch(line.strip())
    if match is None:
        raise AdapterError(f"{line.strip()!r} names no adapter; expected {_SHAPE}")
    named = NamedAdapter(match["name"], match["dialect"] or match["name"], match["target"].strip())
    if named.name == FACTS:
        raise AdapterError(f"adapter {FACTS}: the name is reserved; write `NAME: {FACTS} = …`")
    if named.name in WIRES:
        raise AdapterError(
            f"adapter {named.name}: the name is the word of a wire; write `NAME: {named.name} = …`"
            " with another name"
        )
    kind, _ = _read_target(named.target) or (None, None)
    if kind is None:
        raise AdapterError(
            f"adapter {named.name}: {named.target!r} is not a target{_near_target(named.target)};"
            f" expected {_SHAPE}"
        )
    if kind == "gateway" and named.dialect in WIRES:
        raise AdapterError(
            f"adapter {named.name}: the target of a gateway names the wire; write"
            f" `{named.name}: {FACTS} = {named.target}`"
        )
    return named


def read_argument(text: str, configured: Mapping[str, NamedAdapter]) -> NamedAdapter:
    """Return the adapter that an argument of a command names. The argument is the name of a
    configured adapter, a line as in the configuration, ``WIRE = TARGET``, ``NAME = TARGET``, or a
    target alone. In the last two cases, the adapter is judged by the facts that it states. Raises
    `AdapterError`.
    """
    if text in configured:
        return configured[text]
    if _read_target(text) is not None:
        return NamedAdapter(_name_of(text), FACTS, text)
    before, equals, target = (part.strip() for part in text.partition("="))
    if equals and before in WIRES:
        return read_line(f"{_name_of(target)}: {before} = {target}")
    if equals:
        named, has_level = read_line(text), ":" in before
        return named if has_level else replace(named, dialect=FACTS)
    if text in WIRES:
        raise AdapterError(
            f"{text!r} is the word of a wire, not an adapter; write '{text} = TARGET' for an"
            f" adapter that writes this wire; a target is {_TARGETS}"
        )
    known = ", ".join([*ADAPTERS, *configured])
    raise AdapterError(
        f"{text!r} names no adapter{_near_target(text)}; expected one of {known}, or a target:"
        f" {_TARGETS}"
    )


def _near_target(text: str) -> str:
    """Return a hint to ``module:function`` for the path of a module, or for a function after a
    dot; else "".
    """
    match = _PATH.fullmatch(text)
    if match is None or not (match["suffix"] or match["function"]):
        return ""
    module = match["module"].replace("/", ".")
    return f" (did you mean {module}:{match['function'] or 'replay'}?)"


def adapter_of_target(
    target: str,
    folder: Path,
    configured: Mapping[str, NamedAdapter],
    *,
    timeout: float = TIMEOUT_S,
    guest: bool = False,
) -> Adapter:
    """Return the adapter that an argument of a command names: one of our dialects, or an adapter as
    for `read_argument`. Raises `AdapterError`.
    """
    if target in ADAPTERS:
        return ADAPTERS[target]
    named = read_argument(target, configured)
    return make_adapter(named, folder, timeout=timeout, guest=guest)


def make_adapter(
    named: NamedAdapter, folder: Path, *, timeout: float = TIMEOUT_S, guest: bool = False
) -> Adapter:
    """Return the adapter of one line. Programs run in ``folder``, and modules are imported from
    there. ``timeout`` is the time limit of a separate process for one exchange, in seconds; its
    start may take as long, and at least a minute.

    A function runs in this process, like a test; as a ``guest`` it runs in a separate process,
    which can always be stopped. It is imported now. A program is started by its first run. Raises
    `AdapterError` if the module or function does not exist. A run raises it if the adapter hangs,
    writes too much, ends its process, returns values that are not events, or sends no request to
    its address.
    """
    wire = named.dialect if named.dialect in WIRES else ""
    level: ReplyLevel = "wire" if wire else "facts" if named.by_facts else "payloads"
    parsed = _read_target(named.target)
    if parsed is None:
        raise AdapterError(f"{named.target!r} is not a target; expected {_TARGETS}")
    kind, rest = parsed
    try:
        asker, offers = _asker(kind, rest, level, folder, timeout=timeout, guest=guest)
    except AdapterError as error:
        raise AdapterError(f"adapter {named.name}: {error}") from error.__cause__
    run = _Run(named.name, level, asker, offers, timeout, wire)
    effort = FUNCTION if kind == "function" else PROGRAM
    adapter = replace(
        user_adapter(named.name, FACTS if wire else named.dialect, run.output, effort),
        version=lambda: asker.version,
        providers=lambda: asker.providers,
        close=asker.close,
    )
    if offers is None:
        return adapter
    ordered = not isinstance(asker, Gateway) or asker.ordered
    second_request = run.second_request if asker.converses else None
    ask_failing = None if level == "payloads" else run.ask_failing
    return replace(
        adapter,
        second_request=second_request,
        ordered=ordered,
        ask=run.ask,
        ask_failing=ask_failing,
    )


_NO_SESSIONS: Final = "a session of the Live API; it is asked of `serve:` adapters that state facts"


@dataclass(frozen=True, slots=True)
class _Run:
    """One adapter, which is run on one exchange after the other."""

    name: str
    level: ReplyLevel
    asker: Asker
    offers: Offers | None
    """None if the adapter reads the exchange itself."""
    timeout: float
    wire: str = ""
    """The wire that it writes, or ""."""
    other_wires: dict[tuple[str | None, str], str] = field(default_factory=dict)
    """The exchanges, as provider and model, for which a gateway sends its request to another wire.
    The value is the reason.
    """

    def output(self, exchange: Exchange, options: RunOptions) -> Output:
        """Return the output of one run. Raises `AdapterError`."""
        reply = Reply()
        request = None if self.offers is None else SentRequest()
        wire = exchange.provider, exchange.model or MODEL
        try:
            with _named(self.name):
                if reason := self._not_for(exchange):
                    raise Skipped(reason)
                if exchange.status == SWITCHED and self.level != "payloads":
                    return self._session(exchange, options)
                with self._offer(exchange, attempts=options.attempts) as offer:
                    question = Question(exchange, options, offer.base_url if offer else "")
                    reply = self._reply(question)
                    request = first_request(offer)
                    if self.wire:
                        read_reply(reply, self.wire)
                    transcript = replace(
                        transcript_of(reply, offer),
                        log=reply.log,
                        doubles=reply.doubles,
                        asks_thoughts=self.asker.asks_thoughts,
                    )
            if transcript.skipped and isinstance(self.asker, Gateway) and not reply.skipped:
                self.other_wires[wire] = transcript.skipped
        except Skipped as skipped:
            transcript = Transcript(skipped=str(skipped))
        if self.level != "payloads":
            output = Output.of_transcript(transcript)
            return replace(output, exception=reply.exception, request=request)
        if transcript.skipped:
            raise AdapterMissing(f"adapter {self.name} skips this exchange: {transcript.skipped}")
        if raised := transcript.raised:
            lines = "" if reply.exception or not raised.traceback else f"\n{raised.traceback}"
            raise AdapterError(f"the adapter raised {raised.sentence}{lines}") from reply.exception
        return Output([entry.native for entry in transcript.entries], request=request)

    def _session(self, exchange: Exchange, options: RunOptions) -> Output:
        """Return the output of one session. Raises `AdapterError` and `Skipped`."""
        if unread := _unread_wire(Question(exchange, options), self.asker.providers):
            raise Skipped(unread)
        with SESSIONS.offer_session(exchange, self.timeout) as (offer, certificate):
            question = Question(exchange, options, offer.base_url, certificate=certificate)
            reply, late = Reply(), False
            try:
                reply = self.asker.ask(question, self.timeout * (MORE_LIMITS + offer.turns))
            except TimedOut:
                late = True
            if reply.skipped:
                raise Skipped(reply.skipped)
            played = played_session(offer, reply, late)
        transcript = Transcript(
            tuple(reply.entries),
            reply.raised,
            log=reply.log,
            doubles=reply.doubles,
            asks_thoughts=self.asker.asks_thoughts,
        )
        output = Output.of_transcript(transcript)
        return replace(output, exception=reply.exception, played=played)

    def _reply(self, question: Question) -> Reply:
        """Return the reply to a question that the adapter can be asked. A program is started."""
        if unread := _unread_wire(question, self.asker.providers):
            return Reply(skipped=unread)
        if question.turn == 2 and not self.asker.converses:
            return Reply(skipped="it has no second turn")
        return self.asker.ask(question, self.timeout)

    def _not_for(self, exchange: Exchange) -> str:
        """Return the reason why the adapter is not run on an exchange, or ""."""
        has_sessions = self.level == "facts" and self.offers is SHARED
        if exchange.status == SWITCHED and self.level != "payloads" and not has_sessions:
            return _NO_SESSIONS
        return self.other_wires.get((exchange.provider, exchange.model or MODEL), "")

    def second_request(self, exchange: Exchange, options: RunOptions) -> bytes | str:
        """Return the body of the second request, or the reason why there is no request."""
        try:
            if reason := self._not_for(exchange):
                return reason
            if exchange.status == SWITCHED:
                return "a session has no second turn"
            with _named(self.name), self._offer(exchange, final=True) as offer:
                assert offer is not None  # only adapters at a served address have a second turn
                question = Question(exchange, options, offer.base_url, turn=2)
                return second_body(self._reply(question), offer)
        except Skipped as skipped:
            return str(skipped)

    def ask(self, asked: Asked) -> Reaction:
        """Return the reaction to a question. Raises `AdapterError`."""
        assert self.offers is not None  # only adapters at a served address are asked
        blank = Exchange(
            None, 200, {}, (), "complete", provider=asked.provider, streamed=asked.streamed
        )
        if asked.exchange and not self.asker.converses:
            return Reaction(skipped="the adapter sends one request only")
        try:
            with (
                _named(self.name),
                self._offer(asked.exchange, final=True)
                if asked.exchange
                else self.offers.serve(lambda server: server.offer_question()) as offer,
            ):
                assert offer is not None  # see above
                question = Question(
                    asked.exchange or blank,
                    RunOptions(provider=asked.provider),
                    offer.base_url,
                    turn=asked.turns,
                    prompt=with_addresses(asked.prompt, offer.base_url),
                    words=question_words(asked, offer.base_url),
                )
                try:
                    reply = self._reply(question)
                except Unusable as error:
                    number = sum(request.generates for request in offer.requests)
                    sent = f"it sent {plural(number, 'request')} before that"
                    raise AdapterError(f"{error}; {sent}", error.group) from error
                reaction = reaction_of(reply, offer)
                return replace(reaction, asks_thoughts=self.asker.asks_thoughts)
        except Skipped as skipped:
            return Reaction(skipped=str(skipped))

    def ask_failing(self, service: FailingService) -> FaultReaction:
        """Return the reaction to a service that fails. Raises `AdapterError`."""
        assert self.offers is not None  # only adapters at a served address are asked
        exchange, late, reply = service.exchange, "", Reply()
        options = RunOptions(provider=exchange.provider)
        try:
            fault = service.fault, service.times
            with (
                _named(self.name),
                self.offers.serve(lambda server: server.offer_fault(exchange, *fault)) as offer,
            ):
                question = Question(exchange, options, offer.base_url, cancel=service.cancel)
                try:
                    reply = self._reply(question)
                except TimedOut as error:
                    late = str(error)
                if self.wire:
                    read_reply(reply, self.wire)
                return fault_reaction_of(reply, offer, service, late)
        except Skipped as skipped:
            return FaultReaction((), Transcript(skipped=str(skipped)))

    def _offer(
        self,
        exchange: Exchange,
        *,
        final: bool = False,
        attempts: Callable[[], Sequence[Exchange]] = tuple,
    ) -> AbstractContextManager[Offer | None]:
        if self.offers is None:
            return nullcontext()
        again = attempts()
        return self.offers.serve(lambda server: server.offer(exchange, final=final, attempts=again))


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Put the name of an adapter before the message of an `AdapterError`."""
    try:
        yield
    except AdapterError as error:
        raise AdapterError(f"adapter {name}: {error}", error.group) from error.__cause__


def _unread_wire(question: Question, providers: Collection[str]) -> str:
    """Return the reason to skip a question of a wire that an adapter does not read, or ""."""
    chosen = choose_provider(question.exchange, question.options.provider)
    # a case may name the provider gemini for a cassette of code-assist
    for wire in (chosen, question.exchange.provider or chosen):
        if wire not in providers:
            return f"another wire; it reads {', '.join(providers)}"
    return ""


def _asker(
    kind: AdapterKind,
    rest: Any,
    level: ReplyLevel,
    folder: Path,
    *,
    timeout: float,
    guest: bool,
) -> tuple[Asker, Offers | None]:
    offers = None if kind in ("function", "run") else SHARED
    match kind:
        case "gateway":
            return Gateway(*rest), offers_at(*upstream_address())
        case "run" | "serve":
            return Program(rest, level, folder, timeout=timeout, served=kind == "serve"), offers
    served = kind == "served function"
    if guest:
        return worker_program(rest, level, folder, timeout=timeout, served=served), offers
    function = FunctionAsker(rest, level, folder, served=served)
    return InProcess(function), offers


def _read_target(target: str) -> tuple[AdapterKind, Any] | None:
    """Return the kind of a target and the rest of it: ``run: node "my shim.js"`` → ``("run",
    ["node", "my shim.js"])``. None for a text that is not a target. Raises `AdapterError`.
    """
    if _FUNCTION.fullmatch(target):
        return "function", target
    if match := _GATEWAY.fullmatch(target):
        if match["wire"] not in GATEWAY_WIRES:
            raise AdapterError(
                f"{target!r}: unknown wire {match['wire']}; expected {', '.join(GATEWAY_WIRES)}"
            )
        return "gateway", (match["wire"], match["url"])
    kind, colon, rest = target.partition(":")
    if kind not in ("run", "serve") or not colon or not rest.startswith((" ", "\t")):
        return None
    if kind == "serve" and _FUNCTION.fullmatch(rest.strip()):
        return "served function", rest.strip()
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise AdapterError(f"{target!r} can't be read as a command: {error}") from None
    program: AdapterKind = "run" if kind == "run" else "serve"
    return (program, words) if words else None


def check_target(target: str) -> None:
    """Raise `AdapterError` if every run of a target would fail: its program does not exist, its
    gateway can't be reached, or the address of the harness for gateways is in use.
    """
    kind, rest = _read_target(target) or ("function", target)
    if kind == "gateway":
        offers_at(*upstream_address()).start()
        Gateway(*rest).check()
    elif kind in ("run", "serve") and shutil.which(rest[0]) is None and not Path(rest[0]).exists():
        raise AdapterError(f"the program {rest[0]} does not exist, or can't be run")


def _name_of(target: str) -> str:
    """Return the name for a target without a name: the last word of its function, file or
    address.
    """
    kind, rest = _read_target(target) or ("function", target)
    match kind:
        case "gateway":
            text = f"{rest[0]} gateway"
        case "run" | "serve":
            text = Path(next((word for word in reversed(rest) if word[0] != "-"), rest[0])).stem
        case _:
            module, _, function = rest.partition(":")
            text = module.rpartition(".")[2] if function in _USUAL else function
    return "-".join(re.findall("[a-z0-9]+", text.lower())) or "adapter"
