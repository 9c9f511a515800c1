"""Serves the HTTP API of a dialect from cassettes: translates a prompt to a provider's request, and
the recorded answer to the dialect.

This is a proxy between a client of the API and Gemini; a cassette replaces Gemini. A proxy has to
store parts of a conversation, above all the signatures. Each answer and its session are stored with
the answered turns as their key, and the next turn begins with a copy of the session. Therefore a
client can repeat or change a turn, and conversations do not mix.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from harness.dialects.dialect import AnswerWriter, Dialect, HttpApi, Payload
from harness.pipeline.replay import trace
from harness.providers import PROVIDERS, Provider, declared_tools
from harness.stream.exchange import Exchange
from harness.stream.generation import GenerateRequest, TranslationError
from harness.stream.json_codec import decode_json
from harness.stream.session import Session

from .connection import HttpRequest
from .google import error_answer, estimate_tokens
from .options import Options
from .response import MADE, ServedAnswer, faulty, made_answer, phrase_of

MAX_CONVERSATIONS: Final = 1000
"""The maximum number of answered turns with a stored session; the oldest is removed first."""

_STREAM: Final = "streamGenerateContent?alt=sse"
_NO_PROVIDER: Final = "No served exchange shows its provider; name it with --provider."


@dataclass(frozen=True, slots=True)
class ProxyRefusal:
    """The reason why no exchange is replayed: an HTTP status and a message. ``shown``: the message
    for the client, if the client may not see the whole message.
    """

    status: int
    message: str
    shown: str = ""


Look = Callable[[HttpRequest], Exchange | ProxyRefusal]
"""Gemini request → the exchange that answers it, or the refusal."""


@dataclass(frozen=True, slots=True)
class _Answered:
    """An answer of the proxy."""

    session: Session
    """The session after it."""
    payloads: Sequence[Payload]


class DialectProxy:
    """Answers the requests to one of a dialect's APIs. ``look`` finds the exchange. Prompts are
    translated to requests of ``provider``. ``missed`` is called with a message for each request
    without an answer.
    """

    def __init__(
        self,
        dialect: Dialect,
        api: HttpApi,
        look: Look,
        options: Options,
        provider: str | None,
        missed: Callable[[str], None],
    ) -> None:
        self._dialect = dialect
        self._api = api
        self._look = look
        self._missed = missed
        self._options = options
        self._provider = PROVIDERS.get(options.provider or provider or "")
        self._answered: OrderedDict[bytes, _Answered] = OrderedDict()
        self._conversations: OrderedDict[str, Any] = OrderedDict()

    def answer(self, request: HttpRequest) -> ServedAnswer | None:
        """Return the answer; None if the request is not for this API."""
        path = urlsplit(request.url).path
        if request.method != "POST":
            return None
        if self._api.count_path and path.endswith(self._api.count_path):
            return made_answer(200, {"input_tokens": estimate_tokens(request.body)})
        if not path.endswith(self._api.path):
            return None
        if (provider := self._provider) is None:
            return error_answer(request, 404, _NO_PROVIDER)
        try:
            body = decode_json(request.body)
        except ValueError as error:
            return error_answer(request, 400, f"the body is not JSON: {error}")
        try:
            body = self._api.resume(body, self._conversations)
            *before, key = _keys(self._api.turns(body))
            session, answers = self._recall(body, before)
            prompt = self._api.translate(body, answers, session)
            wanted = provider.request(prompt, session)
        except TranslationError as error:
            return error_answer(request, 400, str(error))
        sent = json.dumps(wanted.body).encode()
        streamed = self._api.is_streamed(body)
        exchange = self._find(provider, wanted, streamed)
        if isinstance(exchange, ProxyRefusal):
            if exchange.status == 404:
                self._missed(exchange.message)
            return error_answer(request, exchange.status, exchange.shown or exchange.message)
        turns = list(self._replay(exchange, provider, sent, session))
        payloads = [payload for _, some in turns for payload in some]
        _keep(self._answered, key, _Answered(session, payloads))
        if failure := self._api.failure(payloads):
            if exchange.status >= 300 or not streamed:
                answer = error_answer(request, *failure, note="replayed")
                return replace(answer, exchange=exchange)
        else:
            self._store(body, payloads, key)
        writer = self._api.writer(body, key.hex())
        written = (
            self._streamed(turns, writer)
            if streamed
            else made_answer(200, writer.whole(payloads), note="replayed")
        )
        return replace(written, exchange=exchange)

    def _store(self, body: Any, payloads: Sequence[Payload], key: bytes) -> None:
        """Keep the conversation for the requests that continue it by the id of its answer."""
        whole = self._api.writer(body, key.hex()).whole(payloads)
        if stored := self._api.store(body, whole):
            _keep(self._conversations, *stored)

    def _find(
        self, provider: Provider, wanted: GenerateRequest, streamed: bool
    ) -> Exchange | ProxyRefusal:
        """Return the exchange in the requested mode, streamed or not, else in the other mode,
        because a proxy may call Gemini in either mode.
        """
        assert provider.endpoint is not None, "only providers with requests are accepted"
        generate = provider.endpoint.path(wanted.body)
        refusals: list[ProxyRefusal] = []
        for mode in (streamed, not streamed):
            method = _STREAM if mode else "generateContent"
            path = generate.format(model=wanted.model or "", method=method)
            other = provider.streams_by_body and mode != streamed
            sent = _in_mode(wanted.body, mode) if other else wanted.body
            body = json.dumps(sent).encode()
            exchange = self._look(HttpRequest("POST", f"http://localhost{path}", body))
            if isinstance(exchange, Exchange):
                return exchange
            refusals.append(exchange)
        return refusals[0]

    def _streamed(
        self, turns: Sequence[tuple[float | None, list[Payload]]], writer: AnswerWriter
    ) -> ServedAnswer:
        written = ((at_ms, b"".join(map(writer.event, some))) for at_ms, some in turns)
        reads, end = faulty([read for read in written if read[1]], "complete", self._options)
        headers = [
            ("Content-Type", "text/event-stream; charset=utf-8"),
            ("Cache-Control", "no-cache"),
            (MADE, "replayed"),
        ]
        return ServedAnswer(200, phrase_of(200), headers, reads, end)

    def _replay(
        self, exchange: Exchange, provider: Provider, request_body: bytes, session: Session
    ) -> Iterator[tuple[float | None, list[Payload]]]:
        """Yield the payloads of each frame, with the time of the read that completed it. The last
        item has the payloads of the end, without a time.
        """
        session.streamed, session.at_ms = True, None
        tools = declared_tools(provider.read_request(request_body))
        translator = self._dialect.translator(tools, session)
        for frame, events in trace(exchange, provider=exchange.provider or provider.name):
            if frame is not None and frame.at_ms is not None:
                session.at_ms = frame.at_ms
            yield (
                None if frame is None else frame.at_ms,
                [payload for event in events for payload in translator.feed(event)],
            )
        yield None, translator.close()

    def _recall(
        self, body: Any, before: Sequence[bytes]
    ) -> tuple[Session, dict[int, Sequence[Payload]]]:
        """Return a copy of the session of the longest answered part of this conversation, else a
        new session; and the answers that its turns repeat. ``before``: the key of the turns before
        each turn.
        """
        answers: dict[int, Sequence[Payload]] = {}
        session = None
        turns = zip(self._api.turns(body), before, strict=True)
        for place, ((of_model, _), key) in enumerate(turns):
            if place and of_model and (known := self._answered.get(key)):
                answers[place], session = known.payloads, known.session
        return deepcopy(session) if session else Session(), answers


_Value = TypeVar("_Value")


def _keep(entries: OrderedDict[Any, _Value], key: Any, value: _Value) -> None:
    """Add an entry as the newest; beyond `MAX_CONVERSATIONS`, drop the oldest."""
    entries[key] = value
    entries.move_to_end(key)
    if len(entries) > MAX_CONVERSATIONS:
        entries.popitem(last=False)


def _keys(turns: Sequence[tuple[bool, Any]]) -> list[bytes]:
    """Return the key of the turns before each turn, then that of all turns. A key is a hash."""
    digest = blake2b(digest_size=16)
    keys = [digest.digest()]
    for _, content in turns:
        digest.update(json.dumps(content, sort_keys=True).encode() + b"\n")
        keys.append(digest.digest())
    return keys


def _in_mode(body: Mapping[str, Any], streamed: bool) -> dict[str, Any]:
    """Return the request in the given mode, for a wire on which the body selects the mode (streamed
    or not).
    """
    sent = {**body, "stream": streamed}
    if not streamed:
        del sent["stream"]
        sent.pop("stream_options", None)
    return sent
