"""A gateway is asked questions in its own wire, and what it sends to Gemini is compared."""

from __future__ import annotations

import base64
import json
import select
import socket
import urllib.request
from collections.abc import Callable
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPResponse, IncompleteRead
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from harness.adapters.gateway import GATEWAY_WIRES
from harness.adapters.named import adapter_of_target
from harness.cassettes.load import load
from harness.judging.aspect_run import JudgedExchange
from harness.judging.questions.question import own_questions
from harness.judging.questions.run import QuestionItem
from harness.judging.questions.service_faults import SERVICE_FAULTS, plan_faults
from harness.judging.rows import Row
from harness.judging.run import run_plan
from harness.providers import PROVIDERS
from harness.server import connection, fault_offer
from harness.stream.prompt import Text
from tests.adapters.gateways import HI, ask, gateway
from tests.faulty.faults import ROOT

DONE: dict[str, list[Any]] = {
    "anthropic": [
        {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 7}}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
        {"type": "message_stop"},
    ],
    "openai-chat": [],
    "openai-responses": [],
    "interactions": [],
}


def part_of(part: Any, image_type: str) -> dict[str, Any]:
    """A text, a fetched image, or a file that stays where it is."""
    if isinstance(part, Text):
        return {"text": part.text}
    if part.kind != "image":
        return {"fileData": {"fileUri": part.url}}
    with urllib.request.urlopen(part.url) as answer:
        data = base64.b64encode(answer.read()).decode()
    return {"inlineData": {"mimeType": image_type, "data": data}}


def contents(prompt: Any, image_type: str) -> dict[str, Any]:
    """The prompt in the words of generateContent: texts, media, the system and two settings."""
    names = {"temperature": "temperature", "max_tokens": "maxOutputTokens"}
    settings = {names[name]: value for name, value in prompt.settings.items() if name in names}
    return {
        "contents": [
            {"role": "user", "parts": [part_of(part, image_type) for part in message.parts]}
            for message in prompt.messages
        ],
        "systemInstruction": {"parts": [{"text": each.text} for each in prompt.instructions]},
        "generationConfig": settings,
    }


def row(
    wire: str,
    question_name: str,
    upstream: str,
    folder: Path,
    lost: str = "",
    image_type: str = "image/png",
) -> tuple[Row, Any]:
    provider = PROVIDERS[GATEWAY_WIRES[wire].provider]

    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> bytes:
        asked = contents(provider.prompt_of(body), image_type)
        asked.pop(lost, None)
        ask(upstream, json.dumps(asked).encode())
        handler.send_response(200)
        handler.end_headers()
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in DONE[wire]]
        return "".join(lines).encode()

    [question] = (each for each in own_questions() if each.name == question_name)
    with gateway(answer) as (url, asked):
        adapter = adapter_of_target(f"gateway {wire}: {url}", folder, {}, timeout=20, guest=False)
        items = [QuestionItem(question, "gemini-api", True, 1)]
        [result] = run_plan(items, [adapter])
    return result, asked


@pytest.mark.parametrize("wire", DONE)
def test_a_gateway_that_passes_all_on_is_green(wire: str, upstream: str, tmp_path: Path) -> None:
    result, [(path, _, body)] = row(wire, "system-parts", upstream, tmp_path)

    assert result.verdict == "passed", [finding.sentence for finding in result.findings]
    assert path == GATEWAY_WIRES[wire].path
    assert body["stream"] is True
    assert "SYS-al1" in json.dumps(body)


@pytest.mark.parametrize("wire", DONE)
def test_a_gateway_that_drops_the_system_text_is_red(
    wire: str, upstream: str, tmp_path: Path
) -> None:
    result, _ = row(wire, "system-parts", upstream, tmp_path, lost="systemInstruction")

    assert {finding.subject for finding in result.red_findings} == {"system"}


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize(("image_type", "red"), [("image/png", ""), ("image/jpeg", "image/png")])
def test_an_image_that_a_gateway_fetches_has_the_type_of_its_answer(
    wire: str, image_type: str, red: str, upstream: str, tmp_path: Path
) -> None:
    result, _ = row(wire, "media-by-url", upstream, tmp_path, image_type=image_type)

    expected = [f"media wrong: image {red} is sent as {image_type}"] if red else []
    assert [finding.sentence for finding in result.red_findings] == expected
    assert result.aspects["media"] == ("wrong" if red else "kept")


def test_a_wire_that_has_no_such_request_is_not_asked(upstream: str, tmp_path: Path) -> None:
    result, asked = row("anthropic", "schema-sloppy", upstream, tmp_path)

    assert asked == []
    assert result.verdict == "not-run"
    assert "the wire of the gateway has no such request" in result.reason


def test_a_value_that_the_wire_does_not_have_is_not_asked(upstream: str, tmp_path: Path) -> None:
    result, _ = row("openai-chat", "google-thinking-level", upstream, tmp_path)

    assert (result.verdict, result.reason) == ("not-run", "its wire has no place for it")


@pytest.mark.parametrize(("keeps", "reds"), [(True, set()), (False, {"messages", "text"})])
def test_the_stored_history_of_a_gateway_is_that_of_its_client(
    keeps: bool, reds: set[str], upstream: str, tmp_path: Path
) -> None:
    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> bytes:
        sent = [each for each in body["contents"] if keeps or each["role"] == "user"]
        handler.send_response(200)
        handler.end_headers()
        lines = ask(upstream, json.dumps({**body, "contents": sent}).encode())
        return "".join(f"data: {json.dumps(line)}\n\n" for line in lines).encode()

    [question] = (each for each in own_questions() if each.name == "stored-history")
    name = "gemini-api/text"
    item = JudgedExchange(name, 1, load(ROOT / "cassettes" / f"{name}.yaml").exchanges[0])
    with gateway(answer) as (url, _):
        adapter = adapter_of_target(f"gateway gemini: {url}", tmp_path, {}, timeout=20, guest=False)
        [result] = run_plan([QuestionItem(question, "gemini-api", True, 1, item)], [adapter])

    assert {finding.subject for finding in result.red_findings} == reds
    assert "text" in result.aspects


def passes_on(handler: BaseHTTPRequestHandler, answer: HTTPResponse, upstream: Any) -> None:
    """Stop asking the model when the client has left."""

    def leave() -> None:
        with suppress(OSError, ValueError):  # the answer has ended before
            select.select([handler.connection], [], [])
            upstream.shutdown(socket.SHUT_RDWR)

    Thread(target=leave, daemon=True).start()
    with suppress(IncompleteRead, OSError):
        while data := answer.read1():
            handler.wfile.write(data)


def reads_on(handler: BaseHTTPRequestHandler, answer: HTTPResponse, upstream: Any) -> None:
    handler.wfile.write(answer.read1())
    with suppress(IncompleteRead, OSError):
        handler.wfile.write(answer.read())


def waits_for_the_whole(
    handler: BaseHTTPRequestHandler, answer: HTTPResponse, upstream: Any
) -> None:
    with suppress(IncompleteRead):
        handler.wfile.write(answer.read())


@pytest.mark.parametrize(
    ("way", "grace", "verdict", "reason"),
    [
        (passes_on, 2.0, "kept", ""),
        (reads_on, 1.0, "wrong", "the connection stays open after the user has canceled"),
        (waits_for_the_whole, 0.3, "not_asked", "passes on no event before the whole answer"),
    ],
)
def test_a_gateway_leaves_the_model_when_its_client_leaves(
    way: Callable[[BaseHTTPRequestHandler, HTTPResponse, Any], None],
    grace: float,
    verdict: str,
    reason: str,
    upstream: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (connection, fault_offer):
        monkeypatch.setattr(module, "GRACE_S", grace)

    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> bytes:
        handler.send_response(200)
        handler.end_headers()
        with closing(HTTPConnection(upstream.removeprefix("http://"))) as asked:
            asked.request("POST", "/v1beta/models/m:streamGenerateContent?alt=sse", HI)
            way(handler, asked.getresponse(), asked.sock)
        return b""

    exchange = load(ROOT / "cassettes" / "gemini-api" / "text.yaml").exchanges[2]
    item = JudgedExchange("gemini-api/text", 3, exchange)
    faults = [fault for fault in SERVICE_FAULTS if fault.name == "cancelled"]
    with gateway(answer) as (url, _):
        adapter = adapter_of_target(f"gateway gemini: {url}", tmp_path, {}, timeout=20, guest=False)
        [result] = run_plan(plan_faults(faults, [item], adapter), [adapter])
    assert result.aspects == {"cancelled": verdict}
    assert reason in " ".join(finding.sentence for finding in result.findings)
