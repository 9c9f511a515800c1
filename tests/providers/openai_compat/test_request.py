"""The body of a chat completion of Gemini's compatible endpoint, from a prompt."""

from __future__ import annotations

from typing import Any

import pytest

from harness.providers import PROVIDERS
from harness.stream.generation import GenerateRequest
from harness.stream.prompt import (
    AnswerFormat,
    AnyPart,
    Call,
    Media,
    Message,
    Native,
    Opaque,
    Prompt,
    Result,
    Role,
    Text,
    Thinking,
)
from harness.stream.session import Session

OSLO = Call("a1", "w", {"city": "Oslo"})
SENT_OSLO = {
    "id": "a1",
    "type": "function",
    "function": {"name": "w", "arguments": '{"city":"Oslo"}'},
}
ONE, TWO = Opaque("QUJD"), Opaque("U0lH")
IMAGE = Media("image", "image/png", "QUJD")


def asked(*messages: Message, gemini: Any = None, **more: Any) -> GenerateRequest:
    options = {"options": {"gemini": gemini}} if gemini else {}
    prompt = Prompt(messages=messages, **{"model": "gemini-x", **options, **more})
    return PROVIDERS["openai-compat"].request(prompt, Session())


def messages(*parts: AnyPart, role: Role = "assistant") -> Any:
    return asked(Message(role, parts)).body["messages"]


def signed(signature: str) -> dict[str, Any]:
    return {"extra_content": {"google": {"thought_signature": signature}}}


def test_the_signature_of_a_call_is_part_of_the_call() -> None:
    assert messages(Call("a1", "w", {"city": "Oslo"}, signature=ONE)) == [
        {"role": "assistant", "tool_calls": [{**signed("QUJD"), **SENT_OSLO}]}
    ]


def test_thoughts_are_tagged_and_the_message_has_their_signature() -> None:
    assert messages(Thinking("Hm."), Thinking(" So.", signature=ONE), Text("Yes.")) == [
        {
            "role": "assistant",
            "content": "<thought>Hm. So.</thought>Yes.",
            "extra_content": {"google": {"thought": True, "thought_signature": "QUJD"}},
        }
    ]


def test_each_signature_of_a_text_has_a_message() -> None:
    assert messages(Text("One.", signature=ONE), Text("Two.", signature=TWO)) == [
        {"role": "assistant", "content": "One.", **signed("QUJD")},
        {"role": "assistant", "content": "Two.", **signed("U0lH")},
    ]


def test_text_after_a_call_is_sent_before_it_with_a_warning() -> None:
    parts = (Text("One.", signature=ONE), OSLO, Text("Two.", signature=TWO))
    request = asked(Message("assistant", parts))
    assert request.body["messages"] == [
        {
            "role": "assistant",
            "content": "One.Two.",
            "tool_calls": [SENT_OSLO],
            **signed("QUJD"),
        }
    ]
    assert request.warnings == (
        "contents: text after a call is sent before it; the compatible endpoint has one text a"
        " message",
        "contents: a second signature is left out; the compatible endpoint has one a message",
    )


@pytest.mark.parametrize(
    ("result", "content"),
    [
        (Result("a1", "w", "4 °C"), "4 °C"),
        (Result("a1", "w", {"t": 4}), '{"t": 4}'),
        (Result("a1", "w"), ""),
        (Result("a1", "w", "gone", failed=True), '{"error": "gone"}'),
        (Result("a1", "w", parts=(Text("a"),), failed=True), '{"error": "a"}'),
        (
            Result("a1", "w", parts=(Text("a"), Text("b"))),
            [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        ),
    ],
)
def test_a_result_is_text(result: Result, content: Any) -> None:
    tool = {"role": "tool", "tool_call_id": "a1", "content": content}
    assert messages(result, role="user") == [tool]


@pytest.mark.parametrize(
    ("part", "item"),
    [
        (IMAGE, {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}),
        (
            Media("image", url="gs://b/x"),
            {"type": "image_url", "image_url": {"url": "gs://b/x"}},
        ),
        (
            Media("audio", "audio/mpeg", "QUJD"),
            {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}},
        ),
        (
            Media("document", "application/pdf", "QUJD"),
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,QUJD"}},
        ),
    ],
)
def test_media_have_the_items_of_chat_completions(part: Media, item: dict[str, Any]) -> None:
    assert messages(part, role="user") == [{"role": "user", "content": [item]}]


def test_each_part_without_a_form_is_named() -> None:
    clip, sound = Media("video", "video/mp4", "QUJD"), Media("audio", url="https://x/y")
    request = asked(
        Message("user", (clip, sound)),
        Message("assistant", (IMAGE, Native({"executableCode": {}}))),
        Message("user", (Result("a", "w", parts=(IMAGE,)),)),
    )
    assert request.body["messages"] == [{"role": "tool", "tool_call_id": "a", "content": ""}]
    assert request.warnings == (
        "contents: a part with video (video/mp4) is left out; the compatible endpoint does not"
        " accept such a part",
        "contents: a part with audio (of no type) is left out; the compatible endpoint does not"
        " accept such a part",
        "contents: a part with image (image/png) is left out; an assistant's message has only text"
        " and calls",
        "contents: a part with executableCode is left out; an assistant's message has only text"
        " and calls",
        "contents: a part with image (image/png) is left out; a tool's message has only text",
    )


def test_an_effort_is_never_sent_beside_a_budget() -> None:
    thinking = {"thinkingLevel": "LOW", "thinkingBudget": 0, "includeThoughts": False}
    body = asked(gemini={"thinkingConfig": thinking}).body
    config = {"include_thoughts": False, "thinking_budget": 0}
    assert body["extra_body"] == {"google": {"thinking_config": config}}
    assert "reasoning_effort" not in body


def test_settings_of_google_are_sent_under_the_key_google() -> None:
    body = asked(gemini={"cachedContent": "cachedContents/x", "labels": {"a": "b"}}).body
    google = {"cached_content": "cachedContents/x", "labels": {"a": "b"}}
    assert body["extra_body"] == {"google": google}


def test_each_setting_without_a_field_is_named() -> None:
    allowed = {"mode": "ANY", "allowedFunctionNames": ["a", "b"]}
    request = asked(
        gemini={
            "generationConfig": {"topK": 3, "candidateCount": 2},
            "tools": [{"googleSearch": {}}],
            "toolConfig": {"functionCallingConfig": allowed},
        }
    )
    assert request.body == {
        "model": "gemini-x",
        "messages": [],
        "tool_choice": "required",
        "n": 2,
    }
    assert [warning.partition(":")[0] for warning in request.warnings] == [
        "tools[0].googleSearch",
        "allowedFunctionNames",
        "generationConfig.topK",
    ]


def test_json_without_a_schema_is_a_json_object() -> None:
    body = asked(format=AnswerFormat()).body
    assert body["response_format"] == {"type": "json_object"}


def test_a_stream_asks_for_its_counts() -> None:
    body = asked(streamed=True).body
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}


def test_options_of_the_wire_are_merged() -> None:
    body = asked(options={"openai-compat": {"parallel_tool_calls": False}}).body
    assert body["parallel_tool_calls"] is False


def test_a_request_without_a_model_is_a_warning() -> None:
    request = asked(model=None)
    assert request.body == {"messages": []}
    assert request.warnings == ("model: is missing; the compatible endpoint needs one",)
