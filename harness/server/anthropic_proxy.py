"""The Anthropic Messages API over cassettes of Gemini: a prompt is translated to a Gemini request,
and the recorded answer back.

This is a proxy between an Anthropic client and Gemini, with a cassette in Gemini's place. A proxy
has to remember parts of a conversation, above all the signatures. Here a session is stored under
the messages that it has answered, and the next turn begins with a copy of it. Therefore a turn can
be repeated or changed, and conversations do not mix.
Source: https://docs.anthropic.com/en/api/messages and
https://docs.anthropic.com/en/docs/build-with-claude/streaming.
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final
from urllib.parse import urlsplit

from harness.dialects import DIALECTS
from harness.pipeline.replay import DEFAULT_PROVIDER, trace
from harness.pipeline.request import ask, wrap
from harness.providers import PROVIDERS, declared_tools
from harness.stream.exchange import Exchange
from harness.stream.generation import TranslationError
from harness.stream.json_codec import decode_json
from harness.stream.session import Session

from .connection import HttpRequest
from .google import estimate_tokens
from .options import Options
from .response import MADE, Answer, faulty, made_answer, phrase_of

MAX_CONVERSATIONS: Final = 1000
"""The number of answered turns that are remembered; the oldest is removed first."""

STATUSES: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "overloaded_error": 529,
}
"""Kind of error → HTTP status: https://docs.anthropic.com/en/api/errors."""

_KINDS: Final = {status: kind for kind, status in STATUSES.items()} | {503: "overloaded_error"}
_STREAM: Final = "streamGenerateContent?alt=sse"
_DIALECT: Final = "anthropic"

Payload = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Nothing is replayed: the HTTP status, and the message of the API. ``shown``: the message for
    a client that may not see all of it.
    """

    status: int
    message: str
    shown: str = ""


Look = Callable[[HttpRequest], Exchange | Refusal]
"""Gemini request → the exchange that answers it."""


class Messages:
    """Answers ``POST /v1/messages``. ``look`` finds the exchange; prompts become requests of
    ``provider``; ``missed`` is called with a message for each request that nothing answers.
    """

    def __init__(
        self, look: Look, options: Options, provider: str | None, missed: Callable[[str], None]
    ) -> None:
        self._look = look
        self._missed = missed
        self._options = options
        self._provider = options.provider or provider or DEFAULT_PROVIDER
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()

    def answer(self, request: HttpRequest) -> Answer | None:
        """The answer; None for a request that is not of the Messages API."""
        path = urlsplit(request.url).path
        if request.method != "POST" or not path.endswith(
            ("/v1/messages", "/v1/messages/count_tokens")
        ):
            return None
        if path.endswith("count_tokens"):
            return made_answer(200, {"input_tokens": estimate_tokens(request.body)})
        try:
            prompt = decode_json(request.body)
        except ValueError as error:
            return _error_answer("invalid_request_error", f"the body is not JSON: {error}")
        session = self._recall(prompt)
        try:
            wanted = ask(prompt, dialect=_DIALECT, options=None, session=session)
            body = json.dumps(wrap(wanted, self._provider, session)).encode()
        except TranslationError as error:
            return _error_answer("invalid_request_error", str(error))
        streamed = prompt.get("stream") is True
        exchange = self._find(wanted.model or "", body, streamed)
        if isinstance(exchange, Refusal):
            if exchange.status == 404:
                self._missed(exchange.message)
            return _error_answer(
                _KINDS.get(exchange.status, "api_error"), exchange.shown or exchange.message
            )
        turns = list(_replay(exchange, exchange.provider or self._provider, body, session))
        self._remember(prompt, session)
        return replace(self._written(turns, exchange, streamed), exchange=exchange)

    def _find(self, model: str, body: bytes, streamed: bool) -> Exchange | Refusal:
        """The exchange of the requested mode, streamed or not, else of the other mode: a proxy may
        ask Gemini in either.
        """
        endpoint = PROVIDERS[self._provider].endpoint
        assert endpoint is not None, "only providers with requests are accepted"
        methods = [_STREAM, "generateContent"] if streamed else ["generateContent", _STREAM]
        refusals: list[Refusal] = []
        for method in methods:
            path = endpoint.generate.format(model=model, method=method)
            exchange = self._look(HttpRequest("POST", f"http://localhost{path}", body))
            if isinstance(exchange, Exchange):
                return exchange
            refusals.append(exchange)
        return refusals[0]

    def _written(
        self,
        turns: Sequence[tuple[float | None, list[Payload]]],
        exchange: Exchange,
        streamed: bool,
    ) -> Answer:
        payloads = [payload for _, some in turns for payload in some]
        failure = next(
            (payload["error"] for payload in payloads if payload["type"] == "error"), None
        )
        if failure is not None and (exchange.status >= 300 or not streamed):
            return _error_answer(failure["type"], failure["message"], note="replayed")
        if not streamed:
            return made_answer(200, _whole(payloads), note="replayed")
        reads, end = faulty(
            [(at_ms, b"".join(map(_event, some))) for at_ms, some in turns if some],
            "complete",
            self._options,
        )
        headers = [
            ("Content-Type", "text/event-stream; charset=utf-8"),
            ("Cache-Control", "no-cache"),
            (MADE, "replayed"),
        ]
        return Answer(200, phrase_of(200), headers, reads, end)

    def _recall(self, prompt: Any) -> Session:
        """A copy of the session after the longest beginning of this conversation that was answered
        here, else a new session.
        """
        messages = _messages(prompt)
        for place in range(len(messages) - 1, 0, -1):
            if messages[place].get("role") == "assistant" and (
                session := self._sessions.get(_key(messages[:place]))
            ):
                return deepcopy(session)
        return Session(ids=_Ids())

    def _remember(self, prompt: Any, session: Session) -> None:
        key = _key(_messages(prompt))
        self._sessions[key] = session
        self._sessions.move_to_end(key)
        if len(self._sessions) > MAX_CONVERSATIONS:
            self._sessions.popitem(last=False)


class _Ids:
    """Makes counted ids; the copy of a session has its own count."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def __call__(self, prefix: str) -> str:
        self._counts[prefix] += 1
        return f"{prefix}_{self._counts[prefix]}"


def _replay(
    exchange: Exchange, provider: str, request_body: bytes, session: Session
) -> Iterator[tuple[float | None, list[Payload]]]:
    """The payloads of each frame, with the time of the read that completed it; last the payloads at
    the end, without a time.
    """
    session.streamed, session.at_ms = True, None
    translator = DIALECTS[_DIALECT].translator(declared_tools(request_body), session)
    for frame, events in trace(exchange, provider=provider):
        if frame is not None and frame.at_ms is not None:
            session.at_ms = frame.at_ms
        yield (
            None if frame is None else frame.at_ms,
            [payload for event in events for payload in translator.feed(event)],
        )
    yield None, translator.close()


def _event(payload: Payload) -> bytes:
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return f"event: {payload['type']}\ndata: {text}\n\n".encode("utf-8", "backslashreplace")


def _whole(payloads: Sequence[Payload]) -> Payload:
    """The message that the payloads of a stream make up."""
    requests = DIALECTS[_DIALECT].request
    assert requests is not None  # the dialect has requests
    history = requests.follow_up({"messages": []}, payloads, "")["messages"]
    message: Payload = {}
    for payload in payloads:
        match payload:
            case {"type": "message_start", "message": start}:
                message = {**start, "content": history[0]["content"] if history else []}
            case {"type": "message_delta", "delta": delta, "usage": usage}:
                message |= {**delta, "usage": {**message.get("usage", {}), **usage}}
    return message


def _error_answer(kind: str, message: str, note: str = "not recorded") -> Answer:
    return made_answer(
        STATUSES.get(kind, 500),
        {"type": "error", "error": {"type": kind, "message": message}},
        note=note,
    )


def _messages(prompt: Any) -> list[Mapping[str, Any]]:
    messages = prompt.get("messages") if isinstance(prompt, Mapping) else None
    return (
        [message for message in messages if isinstance(message, Mapping)]
        if isinstance(messages, list)
        else []
    )


def _key(messages: Sequence[Mapping[str, Any]]) -> bytes:
    """A hash of a conversation's content. Cache markers do not count, nor whether a single text is
    a string or a list.
    """
    return blake2b(
        json.dumps([_plain(message) for message in messages], sort_keys=True).encode(),
        digest_size=16,
    ).digest()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        plain = {name: _plain(inner) for name, inner in value.items() if name != "cache_control"}
        if "role" in plain and isinstance(plain.get("content"), str):
            plain["content"] = [{"type": "text", "text": plain["content"]}]
        return plain
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
