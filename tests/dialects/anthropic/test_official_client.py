"""The official anthropic client repeats recorded conversations, with a proxy and with ``harness
serve``.

It reads our streams, and its next request is translated into the recorded Gemini request.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.cassettes import Exchange
from harness.cassettes.yaml import parse
from harness.dialects.anthropic import DIALECT as ANTHROPIC
from harness.providers.gemini.spelling import in_one_spelling
from harness.stream.generation import ToolOutcome
from harness.stream.session import Session
from tests.support.need import need
from tests.support.raw_server import Connection, raw_server

ROOT = Path(__file__).parents[3]
SPEC = parse((ROOT / "specs/anthropic/conversations.yaml").read_text(encoding="utf-8"))
CASES = {case["case"]: case for case in SPEC["cases"] if case["expect"]["anthropic"] == "recorded"}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

Json = Any


class Proxy:
    """Answers Messages requests with the translated answers of a recording."""

    def __init__(self, exchanges: tuple[Exchange, ...]) -> None:
        self.exchanges = list(exchanges)
        self.session = Session()
        self.asked: list[Json] = []
        self.answers: list[list[Json]] = []

    def __call__(self, connection: Connection) -> None:
        exchange = self.exchanges[len(self.asked)]
        assert exchange.request is not None
        recorded = json.loads(exchange.request.body)
        chosen = {**recorded, **recorded.get("request", {})}  # the free fields of an envelope
        self.session.context = {
            name: chosen[name]
            for name in ("project", "user_prompt_id", "session_id")
            if name in chosen
        }
        body = json.loads(connection.request.partition(b"\r\n\r\n")[2])
        asked = harness.request(
            body, dialect="anthropic", provider=exchange.provider or "", session=self.session
        )
        self.asked.append((in_one_spelling(asked), in_one_spelling(recorded)))
        self.answers.append(harness.replay(exchange, dialect="anthropic", session=self.session))
        lines = [
            f"event: {payload['type']}\ndata: {json.dumps(payload)}\n\n"
            for payload in self.answers[-1]
        ]
        connection.send(HEAD + "".join(lines).encode())
        connection.peer.close()


def as_sent(content: Json) -> list[Json]:
    """The blocks of the client's message, without the keys that it fills with null."""
    return [
        {key: value for key, value in block.to_dict().items() if value is not None}
        for block in content
    ]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_official_client_repeats_the_conversation(case: Json) -> None:
    need("anthropic", importlib.util.find_spec("anthropic"), "anthropic is not installed")
    anthropic = import_module("anthropic")
    proxy = Proxy(harness.load(ROOT / f"cassettes/{case['cassette']}.yaml").exchanges)
    first, *later = case["turns"]
    prompt = {"max_tokens": 1, **first["prompt"]["anthropic"]}
    optional = set(prompt) - set(first["prompt"]["anthropic"])
    assert ANTHROPIC.request is not None
    with (
        raw_server(proxy) as url,
        anthropic.Anthropic(api_key="none", base_url=url, max_retries=0) as client,
    ):
        for turn in [*later, None]:
            with client.messages.stream(**prompt) as stream:
                texts = list(stream.text_stream)
                message = stream.get_final_message()
            payloads = proxy.answers[-1]
            delta = next(payload for payload in payloads if payload["type"] == "message_delta")
            assert "".join(texts) == "".join(
                payload["delta"]["text"]
                for payload in payloads
                if "text" in payload.get("delta", {})
            )
            assert (
                message.stop_reason
                == delta["delta"]["stop_reason"]
                == ("tool_use" if has_calls(message) else "end_turn")
            )
            assert (message.usage.input_tokens, message.usage.output_tokens) == (
                delta["usage"]["input_tokens"],
                delta["usage"]["output_tokens"],
            )
            if turn is not None:
                expected = ANTHROPIC.request.follow_up(prompt, payloads, outcomes(turn))
                assert as_sent(message.content) == expected["messages"][-2]["content"]
                prompt = {
                    **prompt,
                    "messages": [
                        *prompt["messages"],
                        {"role": "assistant", "content": message.content},
                        expected["messages"][-1],
                    ],
                }
    assert len(proxy.asked) == len(proxy.exchanges)
    for asked, recorded in proxy.asked:
        if optional:  # the client requires a limit that the recording does not have
            assert asked.get("request", asked).pop("generationConfig") == {"maxOutputTokens": 1}
        assert asked == recorded


SERVED = {
    name: case
    for name, case in CASES.items()
    if "max_tokens" in case["turns"][0]["prompt"]["anthropic"]
}
"""The conversations whose recording has the limit that the client requires."""


@contextmanager
def served(cassette: Path) -> Iterator[str]:
    """Runs ``harness serve --dialect anthropic`` as a process; gives its URL."""
    command = [
        sys.executable,
        "-c",
        "import sys; from harness.cli.main import main; sys.exit(main())",
        "serve",
        "--dialect",
        "anthropic",
    ]
    process = subprocess.Popen(
        [*command, "--pace", "instant", str(cassette)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=10)
    assert errors == "", "every request was a recorded one"


@pytest.mark.slow
@pytest.mark.parametrize("case", SERVED.values(), ids=SERVED)
def test_the_official_client_repeats_the_conversation_when_served(case: Json) -> None:
    """The server answers a turn only if its Gemini request equals the recorded one, with each
    signature at its part.
    """
    need("anthropic", importlib.util.find_spec("anthropic"), "anthropic is not installed")
    anthropic = import_module("anthropic")
    cassette = ROOT / f"cassettes/{case['cassette']}.yaml"
    first, *later = case["turns"]
    prompt, session = first["prompt"]["anthropic"], Session()
    assert ANTHROPIC.request is not None
    with (
        served(cassette) as url,
        anthropic.Anthropic(api_key="none", base_url=url, max_retries=0) as client,
    ):
        for exchange, turn in zip(harness.load(cassette).exchanges, [*later, None], strict=True):
            with client.messages.stream(**prompt) as stream:
                message = stream.get_final_message()
            # gives the same names and ids as the server
            harness.request(prompt, dialect="anthropic", session=session)
            payloads = harness.replay(exchange, dialect="anthropic", session=session)
            (delta,) = [payload for payload in payloads if payload["type"] == "message_delta"]
            assert (message.stop_reason, message.usage.output_tokens) == (
                delta["delta"]["stop_reason"],
                delta["usage"]["output_tokens"],
            )
            if turn is None:
                break
            expected = ANTHROPIC.request.follow_up(prompt, payloads, outcomes(turn))
            assert as_sent(message.content) == expected["messages"][-2]["content"]
            prompt = {
                **prompt,
                "messages": [
                    *prompt["messages"],
                    {"role": "assistant", "content": as_sent(message.content)},
                ],
            }
            prompt["messages"].append(expected["messages"][-1])


RECORDED = [
    pytest.param(exchange, id=f"{path.parent.name}-{path.stem}-{number}")
    for path in sorted((ROOT / "cassettes").glob("*/*.yaml"))
    for number, exchange in enumerate(harness.load(path).exchanges, 1)
    if exchange.generates
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")  # of unknown values
@pytest.mark.parametrize("exchange", RECORDED)
def test_the_official_client_reads_every_recorded_answer(exchange: Exchange) -> None:
    """Its message equals the message that `follow_up` appends; an error raises."""
    need("anthropic", importlib.util.find_spec("anthropic"), "anthropic is not installed")
    anthropic, http = import_module("anthropic"), import_module("httpx2")
    payloads = harness.replay(exchange, dialect="anthropic")
    body = "".join(
        f"event: {payload['type']}\ndata: {json.dumps(payload)}\n\n" for payload in payloads
    )
    transport = http.MockTransport(
        lambda _: http.Response(
            200, headers={"content-type": "text/event-stream"}, content=body.encode()
        )
    )
    prompt: Json = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}]}
    with (
        anthropic.Anthropic(
            api_key="none", http_client=http.Client(transport=transport), max_retries=0
        ) as client,
        client.messages.stream(**prompt) as stream,
    ):
        if payloads[-1]["type"] == "error":
            with pytest.raises(anthropic.APIStatusError) as raised:
                stream.until_done()
            assert raised.value.body["error"] == payloads[-1]["error"]
            return
        message = stream.get_final_message()
    assert ANTHROPIC.request is not None
    later = ANTHROPIC.request.follow_up(prompt, payloads, "Go on.")["messages"]
    assert as_sent(message.content) == (later[1]["content"] if len(later) == 3 else [])
    delta = payloads[-2]
    assert message.stop_reason == delta["delta"]["stop_reason"]
    assert {
        name: count for name, count in message.usage.to_dict().items() if count is not None
    } == delta["usage"]


def test_the_served_conversations_have_every_kind_of_block() -> None:
    """Text, thinking, signatures in thinking, calls."""
    kinds = set()
    for case in SERVED.values():
        for exchange in harness.load(ROOT / f"cassettes/{case['cassette']}.yaml").exchanges:
            kinds |= {
                ANTHROPIC.label(payload)
                for payload in harness.replay(exchange, dialect="anthropic")
            }
    assert {
        "start text",
        "start thinking",
        "thinking_delta",
        "signature_delta",
        "start tool_use",
    } <= kinds


def has_calls(message: Json) -> bool:
    return any(block.type == "tool_use" for block in message.content)


def outcomes(turn: Json) -> list[ToolOutcome] | str:
    if "say" in turn:
        return str(turn["say"])
    return [
        ToolOutcome(result["error"], failed=True)
        if "error" in result
        else ToolOutcome(result["result"])
        for result in turn["results"]
    ]
