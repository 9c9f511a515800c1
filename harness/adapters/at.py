"""The argument ``at`` of a function that sends a request to a served address, and the same data as
a line for programs.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

from msgspec import to_builtins

from harness.facts import Call, WireFacts, skip
from harness.pipeline.replay import choose_provider
from harness.providers import (
    PROVIDERS,
    declared_tools,
    json_schema,
    server_tools,
    with_provider,
)
from harness.providers.live import NAME as SESSIONS
from harness.providers.live.messages import setup_of
from harness.providers.second_turn import result_text
from harness.stream.exchange import Exchange
from harness.stream.json_codec import Json
from harness.stream.prompt import Prompt
from harness.stream.session import Tool
from harness.stream.websocket import SWITCHED

from .adapter import RunOptions
from .asked import Asked
from .neutral_words import Words, words_of
from .reading import ReadValues
from .results import MediaResult, Results, media_result
from .script import Script

PROMPT: Final = "Hello."
"""The prompt for a recording that has no prompt."""
SAY: Final = "Go on."
MODEL: Final = "gemini-2.5-flash"
NO_OPTIONS: Final = RunOptions()
OPEN_OBJECT: Final[Mapping[str, Json]] = {"type": "object", "additionalProperties": True}


@dataclass(frozen=True, slots=True)
class Question:
    """The question to an adapter for one exchange."""

    exchange: Exchange
    options: RunOptions = NO_OPTIONS
    base_url: str = ""
    """The address at which the exchange is served; "" for an adapter that reads the exchange
    itself.
    """
    turn: int = 1
    """2 if the adapter must also send a second request."""
    prompt: Prompt | None = None
    """The prompt of a question about the request, with the addresses of its media; None if the
    answer is judged. Another process has only its words.
    """
    words: Words | None = None
    """The words of a question about the request (`question_words`); None if the answer is
    judged.
    """
    cancel: bool = False
    """Whether the user cancels after the first event of the answer."""
    certificate: str = ""
    """The file of the certificate of the address of a session; "" for an address without TLS."""


def usual_wires(*, served: bool) -> tuple[str, ...]:
    """Return the wires of an adapter that names none: all. One that asks a served address has no
    sessions.
    """
    return tuple(name for name in PROVIDERS if name != SESSIONS or not served)


@dataclass(frozen=True, slots=True)
class AskedOutput:
    """A structured answer; without a schema any JSON."""

    name: str = ""
    schema: Mapping[str, Any] | None = None


_SERVER_TOOLS: Final = {
    "search": ("googleSearch", "google_search"),
    "code": ("codeExecution", "code_execution"),
    "urls": ("urlContext", "url_context"),
}
"""Neutral name of a tool of the provider → its names on generateContent and Interactions."""
READ: Final = frozenset(
    (
        *("prompt", "tools", "server_tools", "system", "messages", "choice", "output"),
        *("stored", "cancel"),
    )
)
"""The attributes of `At` whose reading is noted. Its mappings note their keys."""


@dataclass(frozen=True, slots=True)
class At:
    """The argument of a function that sends its request to an address. It notes which values of the
    prompt are read: an adapter is asked only for these.
    """

    base_url: str
    """The address to send the request to."""
    model: str
    """That of the recorded request."""
    stream: bool
    """Whether the answer was recorded as a stream."""
    prompt: str
    """That of the recorded request."""
    tools: tuple[Tool, ...]
    """Those of the recorded request; for a recording without a request, tools with the names of the
    recorded calls. A tool has ``name``, ``description`` and ``parameters``, which are a JSON
    Schema.
    """
    exchange: Exchange
    """The recorded exchange."""
    server_tools: tuple[Mapping[str, Any], ...] = ()
    """The tools of the recorded request that the provider runs, in the form of its wire. Only a
    client that sends them is asked for their results.
    """
    thoughts: bool = False
    """Whether the recorded request asks for thoughts, shown or omitted; for a recording without a
    request, whether the answer has thoughts.
    """
    system: str = ""
    """The texts of the system, joined by blank lines. This and the next values are those of a
    question, or of the recorded request; docs/what-is-asked.md has their words.
    """
    messages: Sequence[Mapping[str, Any]] = ()
    """The whole history, with the prompt."""
    choice: str | Mapping[str, Any] | None = None
    """The functions that the model may call: ``auto``, ``none``, ``required`` or ``{name}``."""
    output: AskedOutput | None = None
    """The structured answer."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The sampling settings."""
    thinking: Mapping[str, Any] = field(default_factory=dict)
    """``effort``, ``budget``, ``mode`` and ``shown``, in neutral words."""
    google: Mapping[str, Any] = field(default_factory=dict)
    """Values in Google's own words."""
    turns: int = 1
    """2 if the adapter must also send a second request."""
    stored: bool = False
    """Whether the answer must be saved and loaded before the second request."""
    cancel: bool = False
    """Whether the user cancels after the first event of the answer. The adapter then ends its
    request as its API does, and gives nothing more.
    """
    script: Script | None = None
    """The user of a session of the Live API; None for an answer."""
    say: str = SAY
    """The user's next message, for a second turn without calls."""
    _results: Results = field(default_factory=lambda: Results(WireFacts), repr=False)
    _read: set[str] = field(default_factory=set, repr=False, compare=False)

    def __getattribute__(self, name: str) -> Any:
        if name in READ:
            object.__getattribute__(self, "_read").add(name)
        return object.__getattribute__(self, name)

    def values_read(self) -> frozenset[str]:
        """Return the names of the values that were read, such as ``settings.seed``."""
        return frozenset(self._read)

    def skip(self, reason: str) -> NoReturn:
        """End the run, because the adapter can't send the request of this exchange. The verdict is
        then *not asked*.
        """
        skip(reason)

    def result(self, call: Call) -> str:
        """Return the result of a call of the first answer, for the second request. The text differs
        for each call, also for calls with the same id. In a session, it waits until the tool has
        ended.
        """
        return self.script.result(call) if self.script else self._results.text(call)

    def result_media(self, call: Call) -> MediaResult:
        """Return the result of a call as a text and an image, for an adapter that can send both.
        The image is then looked for in the second request.
        """
        return self._results.media(call)


def at_of(question: Question) -> At:
    """Return the argument ``at`` for a question."""
    return at_of_line(fields_of(question), question.exchange)


def at_of_line(line: Words, exchange: Exchange) -> At:
    """Return the argument ``at`` with the fields of a line. ``exchange``: the recorded one."""
    read: set[str] = set()
    tools = ((tool["name"], tool["parameters"], tool["description"]) for tool in line["tools"])
    mappings: Words = {
        name: ReadValues(name, line[name], read) for name in ("settings", "thinking", "google")
    }
    same = ("system", "messages", "choice", "turns", "stored", "cancel", "say")
    return At(
        line["base_url"],
        line["model"],
        line["stream"],
        line["prompt"],
        tuple(Tool(*tool) for tool in tools),
        exchange,
        tuple(line["server_tools"]),
        line["thoughts"],
        output=_output(line["output"]),
        **{name: line[name] for name in same},
        **mappings,
        script=Script(**line["script"]) if line["script"] else None,
        _results=Results(lambda: _facts(exchange, line["provider"])),
        _read=read,
    )


def question_words(asked: Asked, base_url: str) -> Words:
    """Return the words of a question: those of its prompt, ``model``, ``question``, ``turns`` and
    ``stored``.
    """
    return {
        **words_of(asked.prompt, base_url),
        "model": asked.prompt.model,
        "question": asked.name,
        "turns": asked.turns,
        "stored": asked.stored,
    }


def _recorded_words(prompt: Prompt | None, turns: int) -> Words:
    """Return the words of the recorded request; empty ones for a recording without a request."""
    words = words_of(prompt or Prompt(messages=()))
    return {**words, "model": None, "turns": turns, "stored": False}


def last_text(messages: Sequence[Words]) -> str:
    """Return the text of the last message of the user that has text; "" if there is none."""
    for message in reversed(messages):
        if text := "".join(part for part in message.get("user", ()) if isinstance(part, str)):
            return text
    return ""


def _asked_server_tools(words: Words, provider: str | None) -> tuple[Mapping[str, Any], ...]:
    """Return the provider's tools of a question, in the form of its wire."""

    def form(kind: str) -> Mapping[str, Any]:
        name, type_ = _SERVER_TOOLS[kind]
        return {"type": type_} if provider == "interactions" else {name: {}}

    tools = (tool for tool in words["tools"] if "provider" in tool)
    return tuple(tool.get("raw") or form(tool["provider"]) for tool in tools)


def _output(words: Any) -> AskedOutput | None:
    if words is None:
        return None
    return AskedOutput() if words == "json" else AskedOutput(words["name"], words["schema"])


def with_streamed(exchange: Exchange) -> Exchange:
    """Return the exchange with its provider. ``streamed`` is true if an adapter that reads only
    streams can read it. An error without a request may answer a streamed or a unary request.
    """
    known = exchange if exchange.streamed is not None else with_provider(exchange)
    answers_both = known.request is None and known.status >= 300
    return replace(known, streamed=bool(known.streamed) or answers_both)


def _asked(exchange: Exchange, options: RunOptions) -> Prompt | None:
    """Return the prompt of the recorded request; None for a recording without one. That of a
    session is in its setup.
    """
    if exchange.request is None and exchange.status != SWITCHED:
        return None
    provider = PROVIDERS[choose_provider(exchange, options.provider)]
    if exchange.status == SWITCHED:
        return provider.prompt_of(setup_of(exchange.body))
    assert exchange.request is not None  # see above
    return provider.read_request(exchange.request.body)


def _tools(exchange: Exchange, asked: Prompt | None, provider: str | None) -> list[Words]:
    """Return the functions of the recorded request; without one, those that the answer calls."""
    if asked is None:
        called = dict.fromkeys(_called(exchange, provider))
        return [_tool(name, dict(OPEN_OBJECT)) for name in called]
    return [
        _tool(tool.name, json_schema(tool.parameters) or dict(OPEN_OBJECT), tool.description)
        for tool in declared_tools(asked)
    ]


def _tool(name: str, parameters: Any, description: str = "") -> Words:
    return {"name": name, "description": description, "parameters": parameters}


def _has_thoughts(exchange: Exchange, asked: Prompt | None, provider: str | None) -> bool:
    if asked is not None:
        reasoning = asked.reasoning  # an omitted thought of Anthropic has a signature
        return bool(reasoning and (reasoning.shown or reasoning.mode in ("on", "adaptive")))
    return bool(_facts(exchange, provider).thoughts)


def _called(exchange: Exchange, provider: str | None) -> list[str]:
    """Return the names of the tools that a recorded answer calls."""
    return [name for name, _ in _facts(exchange, provider).calls if name]


def _facts(exchange: Exchange, provider: str | None) -> WireFacts:
    return PROVIDERS[choose_provider(exchange, provider)].facts(exchange)


def fields_of(question: Question) -> Words:
    """Return the fields of a question as JSON data: those of `At`, if it has a ``base_url``, and
    the ones that every adapter gets.
    """
    options, exchange = question.options, question.exchange
    provider = options.provider or exchange.provider
    known = with_streamed(exchange)
    setup = setup_of(exchange.body) if exchange.status == SWITCHED else {}
    asked = _asked(exchange, options)
    words = question.words or _recorded_words(asked, question.turn)
    if question.words is not None:
        prompt = last_text(words["messages"])
        tools = [
            _tool(tool["name"], tool["parameters"], tool["description"])
            for tool in words["tools"]  # a tool of the provider has no name
            if "name" in tool
        ]
        server = _asked_server_tools(words, exchange.provider)
        thoughts = bool(words["thinking"].get("shown"))
    else:
        prompt = asked.last_text if asked else ""
        tools = _tools(known, asked, options.provider)
        server = server_tools(exchange.request.body) if exchange.request else ()
        thoughts = _has_thoughts(exchange, asked, options.provider)
    return {
        **words,
        "turn": question.turn,
        "provider": provider,
        "base_url": question.base_url,
        "model": words["model"] or known.model or setup.get("model") or MODEL,
        "stream": bool(known.streamed),
        "prompt": prompt or PROMPT,
        "tools": tools,
        "server_tools": server,
        "thoughts": thoughts,
        "say": SAY,
        "cancel": question.cancel,
        "script": {"base_url": question.base_url, "certificate": certificate, "setup": setup}
        if (certificate := question.certificate)
        else None,
    }


def line_of(question: Question, number: int) -> Words:
    """Return the line that a program gets for a question. If there is a ``base_url``, the line has
    the fields of `At`, otherwise the recorded exchange, with bytes in base64.
    """
    options, exchange = question.options, question.exchange
    line = {"id": number, "case": options.case, "context": options.context}
    if not question.base_url:
        known = with_streamed(exchange)
        return {
            **line,
            "turn": question.turn,
            "provider": options.provider or exchange.provider,
            "stream": known.streamed,
            "exchange": to_builtins(known),
        }
    numbers = range(1, len(_called(exchange, options.provider)) + 1)
    return {
        **line,
        **fields_of(question),
        "path": urlsplit(exchange.request.url).path if exchange.request else "",
        "results": [result_text(number) for number in numbers],
        "media_results": [_json_of(media_result(number)) for number in numbers],
    }


def _json_of(result: MediaResult) -> dict[str, str]:
    data = base64.b64encode(result.data).decode()
    return {"text": result.text, "mime_type": result.mime_type, "data": data}
