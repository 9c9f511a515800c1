"""Adapters that write a public wire: configured and on the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from harness.adapters import Adapter, AdapterError
from harness.adapters.named import adapter_of_target, make_adapter, read_argument, read_line
from harness.cli.main import main
from harness.facts import Call, Entry, Fact, Finish, Text
from tests.adapters.shims import EXCHANGE, facts_of, function_adapter, program_adapter, transcript

CHUNKS = """
import json

def chunk(delta, reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"object": "chat.completion.chunk", "choices": [choice]}

def chunks(exchange):
    for line in exchange.body.splitlines():
        if line.startswith(b"data: "):
            candidate = json.loads(line[6:])["candidates"][0]
            for part in candidate.get("content", {}).get("parts", ()):
                if "text" in part:
                    yield chunk({"content": part["text"]})
            if "finishReason" in candidate:
                yield chunk({}, "stop")
"""
OTHERS = """
import dataclasses

def text(exchange):
    for message in chunks(exchange):
        yield f"data: {json.dumps(message)}" + chr(10)
        yield chr(10)

def data(exchange):
    whole = "".join(text(exchange)).encode()
    return [whole[at : at + 7] for at in range(0, len(whole), 7)]

def body(exchange):
    return "".join(text(exchange)).encode()

def whole(exchange):
    message = {"content": "Hello"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"object": "chat.completion", "choices": [choice]}

async def later(exchange):
    for message in chunks(exchange):
        yield message

@dataclasses.dataclass
class Chunk:
    object: str
    choices: list

def objects(exchange):
    return [Chunk(**message) for message in chunks(exchange)]

def served(at):
    return chunks(at.exchange)

def stops(exchange):
    yield from list(chunks(exchange))[:1]
    raise ConnectionError("gone")

def same_index(exchange):
    for name in ("f", "g"):
        function = {"name": name, "arguments": "{}"}
        yield chunk({"tool_calls": [{"index": 0, "id": name, "function": function}]})
    yield chunk({}, "tool_calls")

def other(exchange):
    yield {"text": "Hello"}
"""
HELLO: list[Fact] = [Text("Hel"), Text("lo"), Finish("stop")]


def adapter(name: str, folder: Path, **options: Any) -> Adapter:
    return function_adapter(CHUNKS + OTHERS, folder, name=name, level="openai-chat", **options)


@pytest.mark.parametrize("name", ["chunks", "text", "data", "body", "later", "objects"])
def test_a_function_gives_chunks_in_any_form(name: str, tmp_path: Path) -> None:
    result = transcript(adapter(name, tmp_path))
    assert list(result.facts()) == HELLO
    assert result.entries[0].native == {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"content": "Hel"}, "finish_reason": None}],
    }


def test_a_function_may_return_one_document(tmp_path: Path) -> None:
    assert facts_of(adapter("whole", tmp_path)) == [Text("Hello"), Finish("stop")]


@pytest.mark.slow
def test_bytes_from_another_process_are_the_same(tmp_path: Path) -> None:
    mine = adapter("data", tmp_path, guest=True)
    assert facts_of(mine) == HELLO
    mine.close()


def test_an_exception_follows_the_facts_before_it(tmp_path: Path) -> None:
    result = transcript(adapter("stops", tmp_path))
    assert list(result.facts()) == [Text("Hel")]
    assert result.raised is not None
    assert result.raised.type == "ConnectionError"


def test_calls_of_one_index_are_joined_and_another_object_is_said(tmp_path: Path) -> None:
    calls = [fact for fact in facts_of(adapter("same_index", tmp_path)) if isinstance(fact, Call)]
    assert calls == [Call("fg", "fg", "{}{}")]
    raised = transcript(adapter("other", tmp_path)).raised
    assert raised is not None
    assert raised.message.startswith("message 1 is not openai-chat: object is null; expected")


def test_a_program_gives_the_wire_in_native(tmp_path: Path) -> None:
    program = """
import json, os, sys
def write(**line):
    os.write(int(os.environ["HARNESS_OUT"]), json.dumps(line).encode() + b"\\n")
write(hello=1, name="p", version="1")
for line in sys.stdin:
    choice = {"index": 0, "delta": {"content": "Hi"}}
    text = json.dumps({"object": "chat.completion.chunk", "choices": [choice]})
    write(id=json.loads(line)["id"], native=[f"data: {text}", "\\n\\n"])
"""
    mine = program_adapter(program, tmp_path, level="openai-chat")
    assert transcript(mine).entries[0].facts == (Text("Hi"),)
    mine.close()


def test_messages_of_gemini_and_events_of_anthropic_are_wires_too(tmp_path: Path) -> None:
    code = """
def whole(exchange):
    yield {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}

def events(exchange):
    yield {"type": "message_start", "message": {"content": [], "usage": {}}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}}
"""
    gemini = function_adapter(code, tmp_path, name="whole", level="gemini")
    (entry,) = transcript(gemini, EXCHANGE).entries
    assert isinstance(entry, Entry)
    assert [type(fact).__name__ for fact in entry.facts] == ["Raw"]
    events = function_adapter(code, tmp_path, name="events", level="anthropic-messages")
    assert facts_of(events)[0] == Text("Hi")


def test_an_argument_names_the_wire_with_or_without_a_name() -> None:
    assert str(read_argument("openai-chat = shop:chunks", {})) == "shop: openai-chat = shop:chunks"
    assert str(read_argument("a: gemini = shop:send", {})) == "a: gemini = shop:send"
    assert str(read_argument("gemini = serve: shop:send", {})) == "send: gemini = serve: shop:send"
    with pytest.raises(AdapterError, match="'gemini' is the word of a wire, not an adapter; write"):
        read_argument("gemini", {})
    with pytest.raises(AdapterError, match="adapter gemini: the name is the word of a wire"):
        read_argument("gemini: openai-chat = shop:chunks", {})
    with pytest.raises(AdapterError, match="expected NAME = TARGET"):
        read_argument("openai-chat = shop", {})


@pytest.fixture(name="shop")
def _shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "wire_shop", raising=False)
    (tmp_path / "wire_shop.py").write_text(CHUNKS + OTHERS)
    return tmp_path


@pytest.mark.parametrize(
    "target", ["openai-chat = wire_shop:chunks", "shop: openai-chat = wire_shop:text", "mine"]
)
def test_judge_accepts_a_wire(target: str, shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shop / "pytest.ini").write_text(
        "[pytest]\nharness_adapters = mine: openai-chat = wire_shop:chunks\n"
    )
    chosen = ["--cassettes", "gemini-api/text:1", "--losses", "usage"]
    assert main(["judge", target, *chosen]) == 0
    assert "1 of 1 cell passed" in capsys.readouterr().out


def test_judge_names_calls_that_the_client_would_merge(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = "openai-chat = wire_shop:same_index"
    assert main(["judge", target, "--cassettes", "gemini-api/tool-calls:1"]) == 1
    assert "calls wrong" in capsys.readouterr().out


def test_a_served_function_writes_a_wire(tmp_path: Path) -> None:
    line = read_line("mine: openai-chat = serve: absent_module:chunks")
    with pytest.raises(AdapterError, match="absent_module:chunks can't be imported"):
        make_adapter(line, tmp_path)
    with pytest.raises(AdapterError, match="sent no request"):
        transcript(adapter("served", tmp_path, kind="serve: "))
    assert adapter_of_target("anthropic", tmp_path, {}).model == "anthropic"
