"""The argument ``at`` of a function that sends a request to a served address, and the same data as
a line for programs.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

from msgspec import to_builtins

from harness.facts import Call, Facts, skip
from harness.pipeline.replay import choose_provider
from harness.providers import (
    PROVIDERS,
    declared_tools,
    json_schema,
    server_tools,
    with_provider,
)
from harness.providers.second_turn import result_text
from harness.stream.exchange import Exchange
from harness.stream.json_codec import Json
from harness.stream.prompt import Prompt
from harness.stream.session import Tool

from .adapter import RunOptions
from .results import MediaResult, Results, media_result

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


def unread_wire(question: Question, providers: Collection[str]) -> str:
    """Return the reason to skip a question of a wire that an adapter does not read, or ""."""
    chosen = choose_provider(question.exchange, question.options.provider)
    # a case may name the provider gemini for a cassette of code-assist
    for wire in (chosen, question.exchange.provider or chosen):
        if wire not in providers:
            return f"another wire; it reads {', '.join(providers)}"
    return ""


@dataclass(frozen=True, slots=True)
class At:
    """The argument of a function that sends its request to an address."""

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
    """Whether the recorded request asks for thoughts; for a recording without a request, whether
    the answer has thoughts.
    """
    say: str = SAY
    """The user's next message, for a second turn without calls."""
    _results: Results = field(default_factory=lambda: Results(Facts), repr=False)

    def skip(self, reason: str) -> NoReturn:
        """End the run, because the adapter can't send the request of this exchange. The verdict is
        then *not asked*.
        """
        skip(reason)

    def result(self, call: Call) -> str:
        """Return the result of a call of the first answer, for the second request. The text differs
        for each call, also for calls with the same id.
        """
        return self._results.text(call)

    def result_media(self, call: Call) -> MediaResult:
        """Return the result of a call as a text and an image, for an adapter that can send both.
        The image is then looked for in the second request.
        """
        return self._results.media(call)


def at_of(question: Question) -> At:
    """Return the argument ``at`` for a question."""
    exchange = question.exchange
    known = with_streamed(exchange)
    asked = _asked(exchange, question.options)
    return At(
        question.base_url,
        known.model or MODEL,
        bool(known.streamed),
        (asked.last_text if asked else "") or PROMPT,
        _tools(known, asked, question.options),
        exchange,
        server_tools(exchange.request.body) if exchange.request else (),
        _has_thoughts(exchange, asked, question.options),
        _results=Results(lambda: _facts(exchange, question.options)),
    )


def with_streamed(exchange: Exchange) -> Exchange:
    """Return the exchange with its provider. ``streamed`` is true if an adapter that reads only
    streams can read it. An error without a request may answer a streamed or a unary request.
    """
    known = exchange if exchange.streamed is not None else with_provider(exchange)
    answers_both = known.request is None and known.status >= 300
    return replace(known, streamed=bool(known.streamed) or answers_both)


def _asked(exchange: Exchange, options: RunOptions) -> Prompt | None:
    """Return the prompt of the recorded request; None for a recording without one."""
    if exchange.request is None:
        return None
    provider = PROVIDERS[choose_provider(exchange, options.provider)]
    return provider.read_request(exchange.request.body)


def _tools(exchange: Exchange, asked: Prompt | None, options: RunOptions) -> tuple[Tool, ...]:
    if asked is not None:
        return tuple(
            Tool(tool.name, json_schema(tool.parameters) or dict(OPEN_OBJECT), tool.description)
            for tool in declared_tools(asked)
        )
    return tuple(
        Tool(name, dict(OPEN_OBJECT)) for name in dict.fromkeys(_called(exchange, options))
    )


def _has_thoughts(exchange: Exchange, asked: Prompt | None, options: RunOptions) -> bool:
    if asked is not None:
        return bool(asked.reasoning and asked.reasoning.shown)
    return bool(_facts(exchange, options).thoughts)


def _called(exchange: Exchange, options: RunOptions) -> list[str]:
    """Return the names of the tools that a recorded answer calls."""
    return [name for name, _ in _facts(exchange, options).calls if name]


def _facts(exchange: Exchange, options: RunOptions) -> Facts:
    return PROVIDERS[choose_provider(exchange, options.provider)].facts(exchange)


def line_of(question: Question, number: int) -> dict[str, Any]:
    """Return the line that a program gets for a question. If there is a ``base_url``, the line has
    the fields of `At`, otherwise the recorded exchange, with bytes in base64.
    """
    options = question.options
    line = {
        "id": number,
        "turn": question.turn,
        "case": options.case,
        "context": options.context,
        "provider": options.provider or question.exchange.provider,
    }
    if not question.base_url:
        known = with_streamed(question.exchange)
        return {**line, "stream": known.streamed, "exchange": to_builtins(known)}
    at = at_of(question)
    request = question.exchange.request
    calls = _called(question.exchange, options)
    return {
        **line,
        "base_url": at.base_url,
        "path": urlsplit(request.url).path if request else "",
        "model": at.model,
        "stream": at.stream,
        "prompt": at.prompt,
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in at.tools
        ],
        "server_tools": at.server_tools,
        "thoughts": at.thoughts,
        "results": [result_text(number) for number in range(1, len(calls) + 1)],
        "media_results": [_json_of(media_result(number)) for number in range(1, len(calls) + 1)],
        "say": at.say,
    }


def _json_of(result: MediaResult) -> dict[str, str]:
    data = base64.b64encode(result.data).decode()
    return {"text": result.text, "mime_type": result.mime_type, "data": data}
