"""Serves the HTTP API of a dialect from cassettes: translates a prompt to a provider's request, and
the recorded answer to the dialect.

This is a proxy between a client of the dialect and Gemini; a cassette replaces Gemini. A proxy has
to store parts of a conversation, above all the signatures. Each session is stored with the answered
messages as its key, and the next turn begins with a copy of the session. Therefore a client can
repeat or change a turn, and conversations do not mix.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final
from urllib.parse import urlsplit

from harness.dialects.dialect import Dialect, Payload
from harness.pipeline.replay import trace
from harness.pipeline.request import DEFAULT_PROVIDER, ask, request_translator
from harness.providers import PROVIDERS, declared_tools
from harness.stream.exchange import Exchange
from harness.stream.generation import TranslationError
from harness.stream.json_codec import decode_json
from harness.stream.session import Session

from .connection import HttpRequest
from .google import estimate_tokens
from .options import Options
from .response import MADE, ServedAnswer, faulty, made_answer, phrase_of

MAX_CONVERSATIONS: Final = 1000
"""The maximum number of answered turns with a stored session; the oldest is removed first."""

_STREAM: Final = "streamGenerateContent?alt=sse"


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


class DialectProxy:
    """Answers the requests to a dialect's API. ``look`` finds the exchange. Prompts are translated
    to requests of ``provider``. ``missed`` is called with a message for each request without an
    answer.
    """

    def __init__(
        self,
        dialect: Dialect,
        look: Look,
        options: Options,
        provider: str | None,
        missed: Callable[[str], None],
    ) -> None:
        assert dialect.api is not None, "the options name only dialects with an API"
        self._dialect = dialect
        self._api = dialect.api
        self._look = look
        self._missed = missed
        self._options = options
        self._provider = options.provider or provider or DEFAULT_PROVIDER
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()

    def answer(self, request: HttpRequest) -> ServedAnswer | None:
        """Return the answer; None if the request is not for this API."""
        path = urlsplit(request.url).path
        paths = (self._api.path, self._api.count_path)
        if request.method != "POST" or not path.endswith(paths):
            return None
        if path.endswith(self._api.count_path):
            return made_answer(200, {"input_tokens": estimate_tokens(request.body)})
        try:
            prompt = decode_json(request.body)
        except ValueError as error:
            return self._error_answer(400, f"the body is not JSON: {error}")
        session = self._recall(prompt)
        try:
            wanted = ask(
                request_translator(self._dialect.name), prompt, self._provider, {}, session
            )
            body = json.dumps(wanted.body).encode()
        except TranslationError as error:
            return self._error_answer(400, str(error))
        streamed = self._api.is_streamed(prompt)
        exchange = self._find(wanted.model or "", body, streamed)
        if isinstance(exchange, ProxyRefusal):
            if exchange.status == 404:
                self._missed(exchange.message)
            return self._error_answer(exchange.status, exchange.shown or exchange.message)
        turns = list(self._replay(exchange, body, session))
        self._remember(prompt, session)
        return replace(self._written(turns, exchange, streamed), exchange=exchange)

    def _find(self, model: str, body: bytes, streamed: bool) -> Exchange | ProxyRefusal:
        """Return the exchange in the requested mode, streamed or not, else in the other mode,
        because a proxy may call Gemini in either mode.
        """
        provider = PROVIDERS[self._provider]
        assert provider.endpoint is not None, "only providers with requests are accepted"
        refusals: list[ProxyRefusal] = []
        for mode in (streamed, not streamed):
            method = _STREAM if mode else "generateContent"
            path = provider.endpoint.generate.format(model=model, method=method)
            sent = _in_mode(body, mode) if provider.streams_by_body and mode != streamed else body
            exchange = self._look(HttpRequest("POST", f"http://localhost{path}", sent))
            if isinstance(exchange, Exchange):
                return exchange
            refusals.append(exchange)
        return refusals[0]

    def _written(
        self,
        turns: Sequence[tuple[float | None, list[Payload]]],
        exchange: Exchange,
        streamed: bool,
    ) -> ServedAnswer:
        payloads = [payload for _, some in turns for payload in some]
        failure = self._api.failure(payloads)
        if failure is not None and (exchange.status >= 300 or not streamed):
            return self._error_answer(*failure, note="replayed")
        if not streamed:
            return made_answer(200, self._api.whole(payloads), note="replayed")
        reads, end = faulty(
            [(at_ms, b"".join(map(self._api.event, some))) for at_ms, some in turns if some],
            "complete",
            self._options,
        )
        headers = [
            ("Content-Type", "text/event-stream; charset=utf-8"),
            ("Cache-Control", "no-cache"),
            (MADE, "replayed"),
        ]
        return ServedAnswer(200, phrase_of(200), headers, reads, end)

    def _replay(
        self, exchange: Exchange, request_body: bytes, session: Session
    ) -> Iterator[tuple[float | None, list[Payload]]]:
        """Yield the payloads of each frame, with the time of the read that completed it. The last
        item has the payloads of the end, without a time.
        """
        session.streamed, session.at_ms = True, None
        translator = self._dialect.translator(declared_tools(request_body), session)
        for frame, events in trace(exchange, provider=exchange.provider or self._provider):
            if frame is not None and frame.at_ms is not None:
                session.at_ms = frame.at_ms
            yield (
                None if frame is None else frame.at_ms,
                [payload for event in events for payload in translator.feed(event)],
            )
        yield None, translator.close()

    def _error_answer(self, status: int, message: str, note: str = "not recorded") -> ServedAnswer:
        return made_answer(status, self._api.error(status, message), note=note)

    def _recall(self, prompt: Any) -> Session:
        """Return a copy of the session of the longest answered prefix of this conversation, else a
        new session.
        """
        turns = self._api.turns(prompt)
        for place in range(len(turns) - 1, 0, -1):
            of_model, _ = turns[place]
            if of_model and (session := self._sessions.get(_key(turns[:place]))):
                return deepcopy(session)
        return Session()

    def _remember(self, prompt: Any, session: Session) -> None:
        key = _key(self._api.turns(prompt))
        self._sessions[key] = session
        self._sessions.move_to_end(key)
        if len(self._sessions) > MAX_CONVERSATIONS:
            self._sessions.popitem(last=False)


def _key(turns: Sequence[tuple[bool, Any]]) -> bytes:
    """Return a hash of a conversation's content."""
    text = json.dumps([content for _, content in turns], sort_keys=True)
    return blake2b(text.encode(), digest_size=16).digest()


def _in_mode(body: bytes, streamed: bool) -> bytes:
    """Return the request in the given mode, for a wire on which the body selects the mode (streamed
    or not).
    """
    sent = {**decode_json(body), "stream": streamed}
    if not streamed:
        del sent["stream"]
        sent.pop("stream_options", None)
    return json.dumps(sent).encode()
