"""Requests for OpenAI's two APIs that cases cannot show: values of other makers, and paths."""

from __future__ import annotations

from typing import Any

import pytest

from harness.providers import PROVIDERS
from harness.stream.generation import TranslationError
from harness.stream.prompt import Call, Maker, Message, Native, Opaque, Prompt, Text, Thinking
from harness.stream.session import Session

PROVIDER = PROVIDERS["openai"]
ASKED = Message("user", (Text("Hi"),))
MADE = {
    "openai": Opaque("gAAA", Maker("openai", "gpt-5.6-luna")),
    "gemini": Opaque("CgQA", Maker("gemini", "gemini-3.8-flash")),
    "unknown": Opaque("QUJD"),
}


def written(*parts: Any, **fields: Any) -> Any:
    answer = Message("assistant", (*parts, Text("Hello.")))
    prompt = Prompt(messages=(ASKED, answer, ASKED), model="m", **fields)
    return PROVIDER.request(prompt, Session())


@pytest.mark.parametrize(
    ("maker", "kept"), [("openai", True), ("unknown", True), ("gemini", False)]
)
def test_reasoning_goes_back_only_to_its_maker(maker: str, kept: bool) -> None:
    request = written(Thinking("", signature=MADE[maker], place="messages[1].content[0]"))
    items = [item for item in request.body["input"] if item.get("type") == "reasoning"]
    assert [item["encrypted_content"] for item in items] == ([MADE[maker].value] if kept else [])
    assert bool(request.warnings) != kept


def test_an_item_of_another_vendor_is_left_out() -> None:
    raw = {"type": "web_search_call", "id": "ws_1"}
    assert written(Native(raw, Maker("openai"))).body["input"][1] == raw
    foreign = written(Native(raw, Maker("anthropic"), place="p"))
    assert raw not in foreign.body["input"]
    assert foreign.warnings[0].startswith("p: a part of an answer is left out")


@pytest.mark.parametrize("messages", [(), (Message("assistant", (Call("c", "f", {}),)),)])
def test_a_history_that_the_service_refuses_is_refused(messages: tuple[Message, ...]) -> None:
    with pytest.raises(TranslationError):
        PROVIDER.request(Prompt(messages=messages), Session())


@pytest.mark.parametrize(
    ("options", "path"),
    [({}, "/v1/responses"), ({"openai-chat": {}}, "/v1/chat/completions")],
)
def test_the_body_decides_the_path(options: dict[str, Any], path: str) -> None:
    assert PROVIDER.endpoint is not None
    body = written(options=options).body
    assert PROVIDER.endpoint.path(body) == path
    assert ("messages" in body) == (path == "/v1/chat/completions")
