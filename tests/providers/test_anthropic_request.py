"""The body of a Messages request from a prompt, beyond the cases of
specs/unified-llm/requests-anthropic.yaml.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import harness
from harness.dialects import DIALECTS
from harness.providers import PROVIDERS
from harness.stream.generation import GenerateRequest, ToolOutcome, TranslationError
from harness.stream.prompt import (
    Call,
    Media,
    Message,
    Native,
    Prompt,
    Reasoning,
    Result,
    ServerTool,
    Text,
)
from harness.stream.session import Session

CASSETTES = Path(__file__).parents[2] / "cassettes"
HI = Message("user", (Text("Hi"),))


def asked(*messages: Message, **more: Any) -> GenerateRequest:
    prompt = Prompt(messages=messages or (HI,), **{"model": "claude-opus-5", **more})
    return PROVIDERS["anthropic"].request(prompt, Session())


def next_request(cassette: str, number: int, provider: str, results: int) -> GenerateRequest:
    """The request for ``provider`` after an answer of a cassette."""
    session, translator = Session(), DIALECTS["unified-llm"].request
    assert translator is not None
    exchange = harness.load(CASSETTES / f"{cassette}.yaml").exchanges[number - 1]
    payloads = harness.replay(exchange, dialect="unified-llm", session=session)
    then = [ToolOutcome("done")] * results if results else "Go on."
    opening = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    prompt = translator.translate(translator.follow_up(opening, payloads, then), {}, session)
    return PROVIDERS[provider].request(prompt, session)


def test_signatures_of_gemini_are_not_sent_to_anthropic() -> None:
    request = next_request("gemini-api/signatures-calls", 1, "anthropic", 1)
    assert "signature" not in str(request.body)
    assert any("it is from gemini" in warning for warning in request.warnings)
    assert [block["type"] for block in request.body["messages"][-1]["content"]] == ["tool_result"]


def test_thoughts_of_anthropic_are_not_sent_to_gemini() -> None:
    request = next_request("anthropic/whole", 2, "gemini-api", 1)
    assert "c2lnLTAx" not in str(request.body)
    assert "RW5jLTA0" not in str(request.body)
    assert sum("it is from anthropic" in warning for warning in request.warnings) == 2


def test_thoughts_of_anthropic_go_back_to_anthropic() -> None:
    request = next_request("anthropic/whole", 2, "anthropic", 1)
    assert request.warnings == ()
    assert request.body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "I need the weather.", "signature": "c2lnLTAx"},
        {"type": "redacted_thinking", "data": "RW5jLTA0"},
        {"type": "text", "text": "One moment."},
        {"type": "tool_use", "id": "toolu_01", "name": "get_weather", "input": {"city": "Oslo"}},
    ]


def test_the_blocks_of_a_search_go_back_to_anthropic() -> None:
    blocks = next_request("anthropic/server-tools", 1, "anthropic", 0).body["messages"][1]
    assert [block["type"] for block in blocks["content"]] == [
        *("server_tool_use", "web_search_tool_result", "text"),
    ]
    assert blocks["content"][1]["content"][0]["encrypted_content"] == "RW5jLTAx"


def test_turns_of_one_role_are_one_message() -> None:
    body = asked(HI, Message("user", (Text("there"),))).body
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert [block["text"] for block in body["messages"][0]["content"]] == ["Hi", "there"]


@pytest.mark.parametrize(
    ("reasoning", "field"),
    [
        (Reasoning("off"), {"type": "disabled"}),
        (Reasoning("on"), {"type": "adaptive"}),
        (Reasoning("adaptive", shown=False), {"type": "adaptive", "display": "omitted"}),
        (Reasoning("on", budget=2048), {"type": "enabled", "budget_tokens": 2048}),
        (Reasoning(effort="low"), None),
    ],
)
def test_reasoning(reasoning: Reasoning, field: Any) -> None:
    assert asked(reasoning=reasoning).body.get("thinking") == field


def test_a_small_budget_is_refused() -> None:
    with pytest.raises(TranslationError, match="expected 1024 or more"):
        asked(reasoning=Reasoning("on", budget=1000))


def test_a_tool_of_another_provider_is_refused() -> None:
    tool = ServerTool({"googleSearch": {}}, "gemini", "tools[0]", "only Gemini has it")
    with pytest.raises(TranslationError, match=r"tools\[0\]: only Gemini has it"):
        asked(tools=(tool,))
    own = ServerTool({"type": "web_search_20260318", "name": "s"}, "anthropic", "tools[0]", "")
    assert asked(tools=(own,)).body["tools"] == [{"type": "web_search_20260318", "name": "s"}]


def test_nothing_to_send_is_refused() -> None:
    with pytest.raises(TranslationError, match="there is nothing to send"):
        asked(Message("assistant", (Text(""),), place="messages[0]"))


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (Media("image", "image/tiff", "SUkq", place="p"), "p: is left out; the Messages API takes"),
        (Media("document", "application/zip", "UEs=", place="p"), "p: is left out"),
        (Media("video", "video/mp4", "AAA=", place="p"), "takes no video"),
        (Native({"inlineData": {}}, place="p"), "p: a part of an answer is left out"),
    ],
)
def test_a_part_without_a_block_is_left_out(part: Any, words: str) -> None:
    request = asked(Message("user", (Text("Hi"), part)))
    assert request.body["messages"] == [{"role": "user", "content": "Hi"}]
    assert words in request.warnings[0]


def test_settings_without_a_field_are_left_out() -> None:
    request = asked(settings={"seed": 5, "top_k": 3})
    assert request.body["top_k"] == 3
    assert request.warnings == ("seed: is left out; the Messages API has no field for it",)


def test_a_result_that_is_no_text_is_json() -> None:
    call = Call("a.b", "f", {})
    messages = asked(
        HI,
        Message("assistant", (call,)),
        Message("user", (Result("a.b", "f", [1, None], failed=True),)),
    ).body["messages"]
    assert messages[1]["content"][0]["id"] == "a_b"
    assert messages[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a_b", "content": "[1, null]", "is_error": True}
    ]


def test_a_request_for_claude_on_vertex_ai_names_no_model() -> None:
    """The URL names the model, and the body the version of the API."""
    version = {"anthropic_version": "vertex-2023-10-16"}
    request = asked(options={"anthropic": version})
    assert (request.model, request.warnings) == ("claude-opus-5", ())
    assert request.body == {
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": "Hi"}],
        **version,
    }
    prompt = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], **version}
    assert harness.request(prompt, dialect="anthropic", provider="anthropic") == prompt
    assert asked(model=None).warnings == ("model: is missing; the Messages API needs one",)
