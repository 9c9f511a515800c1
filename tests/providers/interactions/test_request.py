"""The body of an interaction, from a prompt."""

from __future__ import annotations

from typing import Any

import pytest

from harness.providers import PROVIDERS
from harness.stream.generation import GenerateRequest, TranslationError
from harness.stream.prompt import (
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
)
from harness.stream.session import Session

HI = Message("user", (Text("Hi"),))


def asked(*messages: Message, gemini: Any = None, **more: Any) -> GenerateRequest:
    session = Session(context=more.pop("context", {}))
    options = {**({"gemini": gemini} if gemini else {}), **more.pop("options", {})}
    prompt = Prompt(messages=messages or (HI,), options=options, **{"model": "gemini-x", **more})
    return PROVIDERS["interactions"].request(prompt, session)


def steps(*parts: AnyPart, role: Role = "assistant") -> Any:
    return asked(Message(role, parts)).body["input"]


def test_a_thought_step_signs_a_text_and_a_call_has_its_own() -> None:
    assert steps(
        Text("Hm.", signature=Opaque("U0lH")),
        Call("a1", "w", {"city": "Oslo"}, signature=Opaque("QUJD")),
    ) == [
        {"type": "thought", "signature": "U0lH"},
        {"type": "model_output", "content": [{"type": "text", "text": "Hm."}]},
        {
            "type": "function_call",
            "id": "a1",
            "name": "w",
            "arguments": {"city": "Oslo"},
            "signature": "QUJD",
        },
    ]


def test_the_step_of_a_server_tool_goes_back_as_it_came() -> None:
    step = {
        "type": "google_search_call",
        "id": "s1",
        "arguments": {"queries": ["x"]},
        "signature": "U0lH",
    }
    assert steps(Native(step), Text("Found.")) == [
        step,
        {"type": "model_output", "content": [{"type": "text", "text": "Found."}]},
    ]


@pytest.mark.parametrize(
    ("result", "value"),
    [
        (Result("a1", "w", "4 °C"), "4 °C"),
        (Result("a1", "w", {"t": 4}), {"t": 4}),
        (Result("a1", "w", [4]), {"result": [4]}),
        (Result("a1", "w"), {"result": None}),
        (
            Result("a1", "w", {"t": 4}, (Media("image", "image/png", "QUJD"),)),
            [
                {"type": "text", "text": '{"t": 4}'},
                {"type": "image", "data": "QUJD", "mime_type": "image/png"},
            ],
        ),
    ],
)
def test_a_result_is_a_string_an_object_or_contents(result: Result, value: Any) -> None:
    step = {"type": "function_result", "call_id": "a1", "name": "w", "result": value}
    assert steps(result, role="user") == [step]


def test_nothing_is_stored_unless_the_caller_says_so() -> None:
    assert asked().body["store"] is False
    assert "store" not in asked(options={"interactions": {"background": True}}).body
    stored = asked(options={"interactions": {"store": True}}).body
    assert stored["store"] is True


def test_a_stored_answer_is_continued_with_only_what_is_new() -> None:
    history = (HI, Message("assistant", (Text("Hello"),)), Message("user", (Text("And?"),)))
    body = asked(*history, context={"previous_interaction_id": "v1_x"}).body
    assert body == {
        "model": "gemini-x",
        "input": [{"type": "user_input", "content": [{"type": "text", "text": "And?"}]}],
        "previous_interaction_id": "v1_x",
    }


def test_an_agent_takes_the_place_of_the_model() -> None:
    body = asked(options={"interactions": {"agent": "deep-research"}}).body
    assert body["agent"] == "deep-research"
    assert "model" not in body


def test_each_setting_without_a_field_is_named() -> None:
    request = asked(
        gemini={
            "generationConfig": {"topK": 3, "thinkingConfig": {"thinkingBudget": 2000}},
            "audioTimestamp": True,
            "tools": [{"googleSearch": {}}, {"fileSearch": {"stores": []}}],
        }
    )
    assert request.body["tools"] == [{"type": "google_search"}]
    assert request.body["generation_config"] == {"thinking_level": "medium"}
    assert [warning.partition(":")[0] for warning in request.warnings] == [
        "tools[1].fileSearch",
        "generationConfig.topK",
        "thinkingBudget",
        "audioTimestamp",
    ]


def test_thresholds_the_tier_and_a_part_of_a_video_have_words_of_their_own() -> None:
    video = Media("video", "video/mp4", "QUJD", start_s=1.5, end_s=17.25, fps=2)
    google = {"safety": {"HARM_CATEGORY_HARASSMENT": "BLOCK_ONLY_HIGH"}, "tier": "flex"}

    request = asked(Message("user", (video,)), google=google)

    assert request.warnings == ()
    assert request.body["service_tier"] == "flex"
    assert request.body["safety_settings"] == [
        {"type": "harassment", "threshold": "block_only_high"}
    ]
    assert request.body["input"][0]["content"][0]["processing"] == {
        "type": "static",
        "start_offset": "1.5s",
        "end_offset": "17.25s",
        "fps": 2,
    }


@pytest.mark.parametrize(
    ("budget", "level"), [(0, "minimal"), (1024, "low"), (8192, "medium"), (8193, "high")]
)
def test_a_budget_becomes_the_nearest_level(budget: int, level: str) -> None:
    config = {"thinkingConfig": {"thinkingBudget": budget}}
    assert asked(gemini=config).body["generation_config"] == {"thinking_level": level}


def test_a_budget_that_the_model_chooses_is_no_setting() -> None:
    request = asked(gemini={"thinkingConfig": {"thinkingBudget": -1}})
    assert "generation_config" not in request.body
    assert request.warnings == ()


def test_options_of_the_wire_are_merged_and_tools_added() -> None:
    body = asked(
        gemini={
            "generationConfig": {"temperature": 1, "responseModalities": ["TEXT", "IMAGE"]},
            "tools": [{"googleSearch": {}}],
        },
        options={
            "interactions": {
                "generation_config": {"seed": 7},
                "tools": [{"type": "mcp_server", "name": "m"}],
            }
        },
    ).body
    assert body["generation_config"] == {"temperature": 1, "seed": 7}
    assert body["tools"] == [{"type": "google_search"}, {"type": "mcp_server", "name": "m"}]
    assert body["response_modalities"] == ["text", "image"]


def test_options_that_are_not_an_object_are_refused() -> None:
    with pytest.raises(TranslationError, match=r"provider_options\.interactions: must be an"):
        asked(options={"interactions": [1]})


def test_a_part_that_has_no_step_is_named() -> None:
    request = asked(Message("assistant", (Native({"executableCode": {"code": "1"}}),)))
    assert request.warnings == (
        "contents: a part with executableCode is left out; the Interactions API has no such step",
    )


def test_a_request_without_a_model_is_a_warning() -> None:
    request = asked(model=None)
    assert "model" not in request.body
    assert request.warnings == (
        "model: is missing; the Interactions API needs a model or an agent",
    )
