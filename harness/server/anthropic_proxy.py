"""The Anthropic Messages API over the same cassettes: a prompt becomes the Gemini request that it
means, the answer comes back translated.

It is what a proxy between an Anthropic client and Gemini does, with the cassette in Gemini's place.
What such a proxy remembers of a conversation (the signatures above all) is kept by the
conversation's text: a session belongs to the messages it has answered, and the next turn begins
with a copy of it. So a turn can be asked again or asked otherwise, and conversations don't meet.
Source: https://docs.anthropic.com/en/api/messages and
https://docs.anthropic.com/en/docs/build-with-claude/streaming.
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final
from urllib.parse import urlsplit

from harness.dialects import DIALECTS
from harness.pipeline.replay import DEFAULT_PROVIDER, trace
from harness.pipeline.request import ask, wrap
from harness.providers import declared_tools
from harness.stream.exchange import Exchange
from harness.stream.generation import TranslationError
from harness.stream.json_codec import decode_json
from harness.stream.session import Session

from .connection import HttpRequest
from .google import estimate_tokens
from .options import Manner
from .response import MADE, Answer, faulty, made_answer, phrase_of

MAX_CONVERSATIONS: Final = 1000
"""So many answered turns are remembered, the oldest goes first."""

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
_PATHS: Final = {
    "gemini-api": "/v1beta/models/{model}:{method}",
    "vertex-ai": "/v1beta1/publishers/google/models/{model}:{method}",
    "code-assist": "/v1internal:{method}",
}
_STREAM: Final = "streamGenerateContent?alt=sse"
_DIALECT: Final = "anthropic"

Payload = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing is replayed: an HTTP status and what the API says."""

    status: int
    message: str


Look = Callable[[HttpRequest], Exchange | Refusal]
"""Gives what a Gemini request is answered with."""


class Messages:
    """Answers ``POST /v1/messages``; ``look`` finds the exchange, ``provider`` is whose request the
    prompt becomes.
    """

    def __init__(
        self, look: Look, manner: Manner, provider: str | None, missed: Callable[[str], None]
    ) -> None:
        self._look = look
        self._missed = missed
        self._manner = manner
        self._provider = manner.provider or provider or DEFAULT_PROVIDER
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()

    def answer(self, asked: HttpRequest) -> Answer | None:
        """The answer; None if this is no request of the Messages API."""
        path = urlsplit(asked.url).path
        if asked.method != "POST" or not path.endswith(
            ("/v1/messages", "/v1/messages/count_tokens")
        ):
            return None
        if path.endswith("count_tokens"):
            return made_answer(200, {"input_tokens": estimate_tokens(asked.body)})
        try:
            prompt = decode_json(asked.body)
        except ValueError as error:
            return _error_answer("invalid_request_error", f"the body is not JSON: {error}")
        session = self._recall(prompt)
        try:
            request = ask(prompt, dialect=_DIALECT, options=None, session=session)
            body = json.dumps(wrap(request, self._provider, session)).encode()
        except TranslationError as error:
            return _error_answer("invalid_request_error", str(error))
        streamed = prompt.get("stream") is True
        found = self._find(request.model or "", body, streamed)
        if isinstance(found, Refusal):
            if found.status == 404:
                self._missed(found.message)
            return _error_answer(_KINDS.get(found.status, "api_error"), found.message)
        turns = list(_replay(found, found.provider or self._provider, body, session))
        self._remember(prompt, session)
        return self._written(turns, found, streamed)

    def _find(self, model: str, body: bytes, streamed: bool) -> Exchange | Refusal:
        """The exchange of the mode that was asked for, else of the other one: a proxy may ask
        Gemini either way.
        """
        methods = [_STREAM, "generateContent"] if streamed else ["generateContent", _STREAM]
        refusals: list[Refusal] = []
        for method in methods:
            path = _PATHS[self._provider].format(model=model, method=method)
            found = self._look(HttpRequest("POST", f"http://localhost{path}", body))
            if isinstance(found, Exchange):
                return found
            refusals.append(found)
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
            self._manner,
        )
        headers = [
            ("Content-Type", "text/event-stream; charset=utf-8"),
            ("Cache-Control", "no-cache"),
            (MADE, "replayed"),
        ]
        return Answer(200, phrase_of(200), headers, reads, end)

    def _recall(self, prompt: Any) -> Session:
        """A copy of the session of the longest beginning of this conversation that was answered
        here, or a new one.
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
    """Counted ids that a copied session goes on counting by itself."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def __call__(self, prefix: str) -> str:
        self._counts[prefix] += 1
        return f"{prefix}_{self._counts[prefix]}"


def _replay(
    exchange: Exchange, provider: str, request_body: bytes, session: Session
) -> Iterator[tuple[float | None, list[Payload]]]:
    """What each frame becomes, with the time of the read that completed it; last what the end adds,
    with no time of its own.
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
    """The message that a stream amounts to."""
    requests = DIALECTS[_DIALECT].request
    assert requests is not None  # this dialect speaks
    said = requests.follow_up({"messages": []}, payloads, "")["messages"]
    message: Payload = {}
    for payload in payloads:
        match payload:
            case {"type": "message_start", "message": start}:
                message = {**start, "content": said[0]["content"] if said else []}
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
    """A conversation by what it says: where a client marks it for caching does not count, nor how
    it spells a single text.
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
