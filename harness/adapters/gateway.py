"""A gateway as an adapter. The harness is both its upstream and its client, and reads its answer.

The gateway must use the fixed address in `GATEWAY_ADDRESS` as its upstream. The answer of the
gateway is read by the strict reader of its wire. In the second turn, the harness sends the answer
and the results of its calls back to the gateway.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from harness.facts import Entry, Error, Raised, Skipped
from harness.providers import PROVIDERS
from harness.stream.generation import TranslationError
from harness.stream.json_codec import Json
from harness.stream.printable import printable, shorten
from harness.stream.prompt import Function, Message, Prompt, Schema, Text, with_origins
from harness.stream.session import Session

from .adapter import UNKNOWN, AdapterError
from .at import At, Question, at_of
from .crash import is_crash
from .environment import NO_KEY
from .neutral_words import NAMES, with_json_schemas
from .next_request import next_request
from .process import TimedOut
from .program import ONLY_DOUBLES
from .reply import Reply
from .wires import read_reply, text_of_bytes

if TYPE_CHECKING:
    from http.client import HTTPConnection  # slow to import

GATEWAY_ADDRESS: Final = "HARNESS_GATEWAY_ADDRESS"
"""The environment variable with the address at which exchanges are served to gateways."""
DEFAULT_ADDRESS: Final = "127.0.0.1:8790"
GATEWAY_KEY: Final = "HARNESS_GATEWAY_KEY"
"""The environment variable with the key that the gateway itself requires, if it requires one."""

CONNECT_S: Final = 10.0
"""The time limit for the connection that shows whether there is a gateway."""
MAX_BODY: Final = 64 * 1024 * 1024


def upstream_address() -> tuple[str, int]:
    """Return the host and port at which exchanges are served to gateways. Raises `AdapterError`."""
    text = os.environ.get(GATEWAY_ADDRESS) or DEFAULT_ADDRESS
    host, _, port = text.removeprefix("http://").rstrip("/").rpartition(":")
    if not host or not port.isdecimal():
        raise AdapterError(
            f"{GATEWAY_ADDRESS} is {text!r}; expected HOST:PORT or a URL, such as {DEFAULT_ADDRESS}"
        )
    return host, int(port)


@dataclass(frozen=True, slots=True)
class GatewayWire:
    """One wire that a gateway answers with."""

    word: str
    """The name of its strict reader in `WIRES`."""
    provider: str
    """The provider whose writer writes the requests."""
    path: str
    """The path of a request, with the fields ``{model}`` and ``{method}``."""
    fields: Mapping[str, Json] = field(default_factory=dict)
    """The fields that every body has beside the written ones."""
    streams_only: bool = False
    """Whether only streamed answers are requested."""
    ordered: bool = True
    """Whether its answers have an order of text and calls."""

    def request(self, at: At, model: str) -> tuple[str, dict[str, Json]]:
        """Return the path and body of a request for the recorded prompt and tools. Raises
        `TranslationError` for one that the wire refuses.
        """
        tools = tuple(
            Function(tool.name, tool.description or tool.name, Schema(tool.parameters, exact=True))
            for tool in at.tools
        )
        messages = (Message("user", (Text(at.prompt),)),)
        return self.write(Prompt(messages=messages, tools=tools), model, streamed=at.stream)

    def write(self, prompt: Prompt, model: str, *, streamed: bool) -> tuple[str, dict[str, Json]]:
        """Return the path and body of a prompt. Raises `TranslationError` for a prompt that the
        wire refuses.
        """
        options: dict[str, Any] = {self.word: {}}  # chooses Chat Completions of OpenAI's APIs
        prompt = replace(prompt, model=model, streamed=streamed, options=options)
        written = PROVIDERS[self.provider].request(prompt, Session())
        method = "streamGenerateContent?alt=sse" if streamed else "generateContent"
        body: dict[str, Json] = json.loads(json.dumps({**written.body, **self.fields}))
        return self.path.format(model=model, method=method), body


OPTIONS: Final = ("model", "thoughts", "language", "version", "turns", "header")
"""What the query of a gateway's URL may declare, as a program does in its hello line."""


class Gateway:
    """A gateway at ``url``. The URL may have a path, and a query with `OPTIONS`: ``model=NAME`` if
    the gateway has another name for the model, and ``header=NAME:VALUE`` for each header that it
    needs. Raises `AdapterError` for another query.
    """

    def __init__(self, wire: str, url: str) -> None:
        self._wire = GATEWAY_WIRES[wire]
        self.ordered = self._wire.ordered
        split = urlsplit(url)
        self._url = url
        self._secure = split.scheme == "https"
        self._host = split.netloc
        self._path = split.path.rstrip("/")
        given = parse_qs(split.query)
        if unknown := given.keys() - {*OPTIONS}:
            raise AdapterError(
                f"{url}: unknown option {min(unknown)}; expected some of {', '.join(OPTIONS)}"
            )
        headers = [header.partition(":") for header in given.pop("header", [])]
        self._headers = {name.strip(): value.strip() for name, _, value in headers}
        option = {name: values[-1] for name, values in given.items()}
        self._model = option.get("model", "")
        self.version = option.get("version", UNKNOWN)
        self.converses = option.get("turns") != "1"
        self.asks_thoughts = option.get("thoughts") != "false"
        self.providers = tuple(PROVIDERS)
        self._doubles = option.get("language") in ONLY_DOUBLES

    def check(self) -> None:
        """Raise `AdapterError` if no connection can be made."""
        self._connected(CONNECT_S).close()

    def ask(self, question: Question, timeout: float) -> Reply:
        """Return the reply to a question. In the second turn, it is the reply to the second
        request, unless the first failed. Raises `AdapterError` for a gateway that can't be reached.
        """
        at = at_of(question)
        if self._wire.streams_only and not at.stream:
            return Reply(skipped="only streams are requested on this wire")
        if question.prompt:
            return self._ask_prompt(question, question.prompt, at, timeout)
        try:
            path, content = self._wire.request(at, self._model or at.model)
        except TranslationError as error:
            return Reply(skipped=f"the wire of the gateway has no such request: {error}")
        reply = self._reply(at, path, content, timeout, _way_out())
        if at.cancel:
            reply.read = frozenset({"cancel"})
        if question.turn == 1 or reply.raised or _errors(reply):
            return reply
        answer = [entry.native for entry in reply.entries]
        content = next_request(self._wire.word, content, answer, at)
        return self._reply(at, path, content, timeout, ", to the request with the results")

    def _ask_prompt(self, question: Question, prompt: Prompt, at: At, timeout: float) -> Reply:
        """Return the reply to a question. What the gateway's wire has no place for is not asked."""
        provider, model = PROVIDERS[self._wire.provider], self._model or at.model
        if not provider.reads_whole:
            return Reply(skipped=f"requests of {provider.title} are not read")
        try:
            path, body = self._wire.write(with_json_schemas(prompt), model, streamed=at.stream)
        except TranslationError as error:
            return Reply(skipped=f"the wire of the gateway has no such request: {error}")
        content = body
        reply = self._reply(at, path, content, timeout, _way_out())
        if question.turn == 2 and not (reply.raised or _errors(reply)):
            answer = [entry.native for entry in reply.entries]
            content = next_request(self._wire.word, content, answer, at)
            reply = self._reply(at, path, content, timeout, ", to the request with the results")
        reply.read = frozenset((*NAMES, "stored"))  # the harness keeps the history as JSON
        reply.asked = with_origins(provider.prompt_of(body), prompt)
        return reply

    def _reply(
        self, at: At, path: str, content: dict[str, Json], timeout: float, way_out: str
    ) -> Reply:
        reply = Reply(doubles=self._doubles)
        status, body, fault = self._post(path, content, timeout, cancel=at.cancel)
        shown = body[:2000].decode("utf-8", "backslashreplace")
        reply.instead = f"{self._url} answered HTTP {status} {_first_line(shown)}{way_out}"
        reply.add(Entry(text_of_bytes(body)))
        reply.raised = fault
        failed = status >= 300
        read_reply(reply, self._wire.word, streamed=None if failed else at.stream)
        if failed:
            reply.raised = fault
            if not _errors(reply):
                reply.entries[-1:] = [Entry(shown, (Error(status, shown),))]
            reply.entries = [_with_status(entry, status) for entry in reply.entries]
        return reply

    def close(self) -> None:
        """Do nothing, because the harness did not start the gateway."""

    def _connected(self, timeout: float) -> HTTPConnection:
        import http.client  # slow to import

        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, timeout=timeout)
        try:
            connection.connect()
        except OSError as error:
            raise AdapterError(
                f"{self._url} can't be reached: {error}; start the gateway before the harness"
            ) from None
        return connection

    def _post(
        self, path: str, content: dict[str, Json], timeout: float, *, cancel: bool
    ) -> tuple[int, bytes, Raised | None]:
        """Return the status and body of the answer, and the fault that ended it early, if there is
        one. ``cancel``: the user disconnects after the first bytes. Raises `Skipped` if these come
        only when the service has disconnected.
        """
        import http.client  # slow to import

        from harness.server.connection import GRACE_S  # so is the server

        key = os.environ.get(GATEWAY_KEY) or NO_KEY
        headers = {
            "content-type": "application/json",
            "authorization": f"Bearer {key}",
            "x-api-key": key,
            "x-goog-api-key": key,
            "anthropic-version": "2023-06-01",
            **self._headers,
        }
        start, body, status = time.monotonic(), bytearray(), 0
        until = start + timeout
        connection = self._connected(timeout)
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
                if cancel:
                    break
            if cancel and time.monotonic() - start > GRACE_S:
                raise Skipped("the gateway passes on no event before the whole answer")
            return status, bytes(body), None
        except TimeoutError:
            raise TimedOut(f"{self._url} did not answer within {timeout:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            # without a status, the handler of the request has died
            raised = Raised(type(error).__name__, str(error), crash=not status or is_crash(error))
            return status, bytes(body), raised
        finally:
            connection.close()


def _way_out() -> str:
    address = ":".join(map(str, upstream_address()))
    return (
        f"; configure it with the base URL http://{address}, and set {GATEWAY_KEY} if it"
        " requires a key"
    )


def _errors(reply: Reply) -> bool:
    return any(isinstance(fact, Error) for entry in reply.entries for fact in entry.facts)


def _with_status(entry: Entry, status: int) -> Entry:
    """Return the entry. An error without a code has the status of the answer."""
    facts = (
        replace(fact, code=status) if isinstance(fact, Error) and fact.code is None else fact
        for fact in entry.facts
    )
    return Entry(entry.native, tuple(facts))


def _first_line(text: str) -> str:
    """Return the first line with more than one character, because a JSON body may begin with "{"
    alone.
    """
    line = next((line for line in text.splitlines() if len(line) > 1), "without a body")
    return shorten(printable(line), 200)


_KEEPS_HISTORY: Final = {"store": False, "include": ["reasoning.encrypted_content"]}
"""The fields of a client of the Responses API that keeps the history itself."""
_MESSAGES: Final = GatewayWire("anthropic-messages", "anthropic", "/v1/messages", streams_only=True)

GATEWAY_WIRES: Final[Mapping[str, GatewayWire]] = {
    "gemini": GatewayWire("gemini", "gemini-api", "/v1beta/models/{model}:{method}"),
    "anthropic": _MESSAGES,
    "anthropic-messages": _MESSAGES,
    "openai-chat": GatewayWire("openai-chat", "openai", "/v1/chat/completions", ordered=False),
    "openai-responses": GatewayWire(
        "openai-responses", "openai", "/v1/responses", fields=_KEEPS_HISTORY
    ),
    "interactions": GatewayWire("interactions", "interactions", "/v1beta/interactions"),
}
"""The wires that a gateway may answer with. ``anthropic`` is another word for
``anthropic-messages``.
"""
