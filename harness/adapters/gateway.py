"""A gateway as an adapter. The harness is both its upstream and its client, and reads its answer.

The gateway must use the fixed address in `GATEWAY_ADDRESS` as its upstream. The answer of the
gateway is read by our own readers: Gemini's wires by their oracles, Anthropic's wire by the facts
of our dialect.
"""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from harness.dialects import DIALECTS
from harness.facts import Entry, Error, Fact, Raised, Raw, Thought, facts_of_account
from harness.providers import PROVIDERS, Answer
from harness.providers.oracle import read_raw
from harness.stream.framing import Frame, FramingError, frames_of_body
from harness.stream.generation import GenerateRequest
from harness.stream.json_codec import Json
from harness.stream.printable import printable, shorten
from harness.stream.session import Session

from .adapter import UNKNOWN, AdapterError
from .at import At, Question, at_of
from .crash import is_crash
from .environment import NO_KEY
from .reply import Reply

GATEWAY_ADDRESS: Final = "HARNESS_GATEWAY_ADDRESS"
"""The environment variable with the address at which exchanges are served to gateways."""
DEFAULT_ADDRESS: Final = "127.0.0.1:8790"
GATEWAY_KEY: Final = "HARNESS_GATEWAY_KEY"
"""The environment variable with the key that the gateway itself requires, if it requires one."""

REASONING: Final = ("reasoning_content", "reasoning")
"""The fields in which gateways send reasoning. Chat Completions have no field for it."""
MAX_BODY: Final = 64 * 1024 * 1024


def upstream_address() -> tuple[str, int]:
    """The host and port at which exchanges are served to gateways. Raises `AdapterError`."""
    text = os.environ.get(GATEWAY_ADDRESS) or DEFAULT_ADDRESS
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal():
        raise AdapterError(
            f"{GATEWAY_ADDRESS} is {text!r}; expected HOST:PORT, such as {DEFAULT_ADDRESS}"
        )
    return host, int(port)


@dataclass(frozen=True, slots=True)
class Wire:
    """One wire that a gateway answers with.

    ``request(at, model)`` gives the path and body of a request. ``read(frames)`` turns the messages
    of the answer into events with facts. It may raise an exception for messages of another shape.
    ``streams_only``: only streamed answers are requested.
    """

    request: Callable[[At, str], tuple[str, Json]]
    read: Callable[[Sequence[Frame]], list[Entry]]
    streams_only: bool = False


class Gateway:
    """A gateway at ``url``. The URL may have a path, and ``?model=NAME`` if the gateway has another
    name for the model.
    """

    version = UNKNOWN
    converses = False

    def __init__(self, wire: str, url: str) -> None:
        self._wire = WIRES[wire]
        split = urlsplit(url)
        self._url = url
        self._secure = split.scheme == "https"
        self._host = split.netloc
        self._path = split.path.rstrip("/")
        self._model = parse_qs(split.query).get("model", [""])[0]

    def ask(self, question: Question, timeout: float) -> Reply:
        """The reply to a question. Raises `AdapterError` for a gateway that can't be reached."""
        at, reply = at_of(question), Reply()
        if self._wire.streams_only and not at.stream:
            reply.skipped = "only streams are requested on this wire"
            return reply
        status, body, fault = self._post(at, timeout)
        frames, shown = _frames(body), body[:2000].decode("utf-8", "backslashreplace")
        reply.instead = (
            f"{self._url} answered HTTP {status} {_first_line(shown)}; configure it"
            f" with the base URL http://{':'.join(map(str, upstream_address()))}, and set"
            f" {GATEWAY_KEY} if it requires a key"
        )
        try:
            for entry in self._wire.read(frames):
                reply.add(entry)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            words = f"the answer can't be read: {error}"
            reply.raised = Raised(type(error).__name__, words, crash=True)
        if status >= 300 and not any(_is_error(frame.json) for frame in frames):
            reply.add(Entry(shown, (Error(status, shown),)))
        reply.raised = reply.raised or fault
        return reply

    def close(self) -> None:
        """Does nothing, because the harness did not start the gateway."""

    def _post(self, at: At, timeout: float) -> tuple[int, bytes, Raised | None]:
        """The status and body of the answer, and the fault that ended it early, if there is one."""
        path, content = self._wire.request(at, self._model or at.model)
        key = os.environ.get(GATEWAY_KEY) or NO_KEY
        headers = {
            "content-type": "application/json",
            "authorization": f"Bearer {key}",
            "x-api-key": key,
            "x-goog-api-key": key,
            "anthropic-version": "2023-06-01",
        }
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, timeout=timeout)
        until, body, status = time.monotonic() + timeout, bytearray(), 0
        try:
            connection.request("POST", self._path + path, json.dumps(content), headers)
            answer = connection.getresponse()
            status = answer.status
            while data := answer.read1(1 << 16):
                body += data
                if time.monotonic() > until or len(body) > MAX_BODY:
                    raise AdapterError(
                        f"{self._url} answered for more than {timeout:g} s, or with more than"
                        f" {MAX_BODY:,} bytes"
                    )
            return status, bytes(body), None
        except TimeoutError:
            raise AdapterError(f"{self._url} did not answer within {timeout:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            if not status:
                raise AdapterError(
                    f"{self._url} can't be reached: {error}; start the gateway before the harness"
                ) from None
            raised = Raised(type(error).__name__, str(error), crash=is_crash(error))
            return status, bytes(body), raised
        finally:
            connection.close()


def _frames(body: bytes) -> list[Frame]:
    try:
        return frames_of_body(body)
    except FramingError:
        return [Frame(0, None, body[-2000:].decode("utf-8", "backslashreplace"))]


def _first_line(text: str) -> str:
    """The first line with more than one character, because a JSON body may begin with "{" alone."""
    line = next((line for line in text.splitlines() if len(line) > 1), "without a body")
    return shorten(printable(line), 200)


def _is_error(message: Json) -> bool:
    return isinstance(message, dict) and "error" in message


def _ask(provider: str, path: str, at: At, model: str) -> tuple[str, Json]:
    """The path and body of a request for a provider's wire."""
    method = "streamGenerateContent?alt=sse" if at.stream else "generateContent"
    declarations = [
        {
            "name": tool.name,
            "description": tool.description or tool.name,
            "parametersJsonSchema": tool.parameters,
        }
        for tool in at.tools
    ]
    content: dict[str, Json] = {"contents": [{"role": "user", "parts": [{"text": at.prompt}]}]}
    if declarations:
        content["tools"] = [{"functionDeclarations": declarations}]
    wrap = PROVIDERS[provider].wrap
    assert wrap is not None
    request = wrap(GenerateRequest(content, model, streamed=at.stream), Session())
    return path.format(model=model, method=method), request.body


def _ask_anthropic(at: At, model: str) -> tuple[str, Json]:
    tools = [
        {
            "name": tool.name,
            "description": tool.description or tool.name,
            "input_schema": tool.parameters,
        }
        for tool in at.tools
    ]
    content: dict[str, Json] = {
        "model": model,
        "max_tokens": 4096,
        "stream": True,
        "messages": [{"role": "user", "content": at.prompt}],
    }
    return "/v1/messages", {**content, "tools": tools} if tools else content


def _read_by_oracle(provider: str, frames: Sequence[Frame]) -> list[Entry]:
    """The messages. The last one has all facts that the provider's oracle finds in the answer."""
    messages = [frame.json for frame in frames if isinstance(frame.json, dict)]
    if not messages:
        return []
    lines = [json.dumps(message) for message in messages]
    body = lines[0] if len(lines) == 1 else "".join(f"data: {line}\n\n" for line in lines)
    account = PROVIDERS[provider].oracle(body.encode(), Answer(), "complete")
    entries = [Entry(message) for message in messages]
    return [*entries[:-1], Entry(entries[-1].native, tuple(facts_of_account(account)))]


def _read_chat(frames: Sequence[Frame]) -> list[Entry]:
    """The events of the oracle, with the reasoning that gateways send in other fields."""
    entries = _read_by_oracle("openai-compat", frames)
    thoughts = [
        Thought(part[key])
        for entry in entries
        for choice in entry.native.get("choices") or ()
        for part in (choice.get("delta") or choice.get("message") or {},)
        for key in REASONING
        if isinstance(part.get(key), str)
    ]
    if thoughts:
        entries[-1] = Entry(entries[-1].native, (*thoughts, *entries[-1].facts))
    return entries


def _read_gemini(frames: Sequence[Frame]) -> list[Entry]:
    return [
        Entry(frame.json, (Raw(frame.json),)) if isinstance(frame.json, dict) else Entry(frame.raw)
        for frame in frames
        if isinstance(frame.json, dict) or (frame.raw or "").strip() not in ("", "[DONE]")
    ]


def _read_anthropic(frames: Sequence[Frame]) -> list[Entry]:
    payloads: list[dict[str, Any]] = [
        frame.json for frame in frames if isinstance(frame.json, dict)
    ]
    account = read_raw(DIALECTS["anthropic"].facts(payloads, Session()))
    blocks = [payload["content_block"] for payload in payloads if "content_block" in payload]
    account.marks = [(block["id"], None) for block in blocks if block["type"] == "tool_use"]
    facts: tuple[Fact, ...] = tuple(facts_of_account(account))
    entries = [Entry(payload) for payload in payloads]
    return [*entries[:-1], Entry(entries[-1].native, facts)] if entries else []


WIRES: Final[Mapping[str, Wire]] = {
    "gemini": Wire(partial(_ask, "gemini-api", "/v1beta/models/{model}:{method}"), _read_gemini),
    "anthropic": Wire(_ask_anthropic, _read_anthropic, streams_only=True),
    "openai-chat": Wire(partial(_ask, "openai-compat", "/v1/chat/completions"), _read_chat),
    "interactions": Wire(
        partial(_ask, "interactions", "/v1beta/interactions"),
        partial(_read_by_oracle, "interactions"),
    ),
}
"""The wires that a gateway may answer with."""
