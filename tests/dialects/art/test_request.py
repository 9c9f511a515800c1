"""ART's prompts as requests: every row of the role and option tables, and every prompt that can't
be translated.
"""

from __future__ import annotations

from typing import Any

import pytest

from harness import Session, TranslationError, TranslationWarning, request
from harness.dialects.art import DIALECT as ART
from harness.dialects.art.request import DEFAULT_MODEL, ROLES, SETTINGS, model_of
from harness.pipeline.request import request_translator
from harness.providers import PROVIDERS
from harness.providers.gemini.request import SETTINGS as GEMINI_SETTINGS

Message = dict[str, Any]


def system(content: Any) -> Message:
    return {"role": "system", "content": content}


def user(content: Any) -> Message:
    return {"role": "user", "content": content}


def content_of(role: str, *parts: Message | str) -> Message:
    return {
        "role": role,
        "parts": [{"text": part} if isinstance(part, str) else part for part in parts],
    }


def call(name: str, arguments: str, **more: Any) -> Message:
    return {
        "id": "c1",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
        **more,
    }


def called(*calls: Any) -> Message:
    return {"role": "assistant", "tool_calls": list(calls)}


ANSWER = {"role": "tool_result", "tool_call_id": "c1", "name": "f", "content": "4"}

PROMPTS: dict[str, tuple[list[Message], list[Message]]] = {
    "nothing": ([], []),
    "a question": ([user("u")], [content_of("user", "u")]),
    "white space is kept": ([user(" u\n")], [content_of("user", " u\n")]),
    "system messages are joined": (
        [system("a"), user("u"), system("b")],
        [content_of("user", "a\n\nb\n\nu")],
    ),
    "… before the first user message": (
        [user("1"), system("s"), user("2")],
        [content_of("user", "s\n\n1"), content_of("user", "2")],
    ),
    "… behind an answer": (
        [{"role": "assistant", "content": "m"}, user("u"), system("s")],
        [
            content_of("user", "(Initial context)"),
            content_of("model", "m"),
            content_of("user", "s\n\nu"),
        ],
    ),
    "a system without a user": (
        [system("s"), {"role": "assistant", "content": "m"}],
        [content_of("user", "s"), content_of("model", "m")],
    ),
    "a tool's result is no user message": (
        [system("s"), ANSWER],
        [
            content_of("user", "s"),
            content_of("user", {"functionResponse": {"name": "f", "response": {"content": "4"}}}),
        ],
    ),
    "an empty system says nothing": ([system(""), user("u")], [content_of("user", "u")]),
    "content that is no string": (
        [user({"a": [1, "ä"]}), user(None)],
        [content_of("user", '{"a":[1,"ä"]}'), content_of("user", "null")],
    ),
    "a history that begins with the model": (
        [{"role": "assistant", "content": "m"}],
        [content_of("user", "(Initial context)"), content_of("model", "m")],
    ),
    "blank text beside a call": (
        [user("u"), {"role": "assistant", "content": " \n", "tool_calls": [call("f", '{"x": 1}')]}],
        [
            content_of("user", "u"),
            content_of("model", {"functionCall": {"name": "f", "args": {"x": 1}}}),
        ],
    ),
    "text before calls": (
        [
            user("u"),
            {"role": "assistant", "content": " t ", "tool_calls": [call("f", ""), call("g", "{}")]},
        ],
        [
            content_of("user", "u"),
            content_of(
                "model",
                " t ",
                {"functionCall": {"name": "f", "args": {}}},
                {"functionCall": {"name": "g", "args": {}}},
            ),
        ],
    ),
    "an assistant that says nothing": (
        [user("u"), {"role": "assistant", "content": None}],
        [content_of("user", "u"), content_of("model", "")],
    ),
    "results one by one": (
        [user("u"), ANSWER, {**ANSWER, "role": "tool", "content": {"n": 4}}],
        [
            content_of("user", "u"),
            content_of("user", {"functionResponse": {"name": "f", "response": {"content": "4"}}}),
            content_of(
                "user", {"functionResponse": {"name": "f", "response": {"content": {"n": 4}}}}
            ),
        ],
    ),
}


@pytest.mark.parametrize(("prompt", "contents"), PROMPTS.values(), ids=PROMPTS)
def test_contents(prompt: list[Message], contents: list[Message]) -> None:
    assert request(prompt, dialect="art") == {"contents": contents}


OPTIONS: dict[str, tuple[Message, Message]] = {
    "none": ({}, {}),
    "what is about the call": (
        {
            "threadId": "t",
            "traceId": "x",
            "userId": "u",
            "sessionId": "s",
            "stream": True,
            "callContext": "c",
        },
        {},
    ),
    "zero is a temperature": ({"temperature": 0}, {"temperature": 0}),
    "unset": ({"temperature": None, "stop": None}, {}),
    "the first name that is set": ({"max_tokens": 5, "maxOutputTokens": 6}, {"maxOutputTokens": 5}),
    "either name": (
        {"maxOutputTokens": 6, "topP": 0.5, "topK": 3},
        {"maxOutputTokens": 6, "topP": 0.5, "topK": 3},
    ),
    "snake case, and zero": ({"top_p": 0, "top_k": 1}, {"topP": 0, "topK": 1}),
    "one stop": ({"stop": "END"}, {"stopSequences": ["END"]}),
    "several stops": ({"stop_sequences": ["a", "b"]}, {"stopSequences": ["a", "b"]}),
    "thoughts": (
        {"gemini": {"thinking": {"includeThoughts": True}}},
        {"thinkingConfig": {"includeThoughts": True}},
    ),
    "thoughts with a budget": (
        {"gemini": {"thinking": {"includeThoughts": True, "thinkingBudget": 0}}},
        {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": 0}},
    ),
    "no thoughts": ({"gemini": {"thinking": {"includeThoughts": False}}}, {}),
}


@pytest.mark.parametrize(("options", "config"), OPTIONS.values(), ids=OPTIONS)
def test_generation_config(options: Message, config: Message) -> None:
    assert (
        request([user("u")], dialect="art", options=options).get("generationConfig", {}) == config
    )


def test_tools_are_one_list_of_declarations() -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": ["string", "null"]}},
        "required": ["city"],
    }
    tools = [{"name": "f", "description": "d", "inputSchema": schema}, {"name": "g"}]
    parameters = {
        "type": "OBJECT",
        "properties": {"city": {"type": "STRING", "nullable": True}},
        "required": ["city"],
    }
    sent = request([user("u")], dialect="art", options={"tools": tools})["tools"]
    assert sent == [
        {
            "functionDeclarations": [
                {"name": "f", "description": "d", "parameters": parameters},
                {"name": "g"},
            ]
        }
    ]


FAULTS: dict[str, tuple[Any, Message, str]] = {
    "no list": ({"role": "user"}, {}, "messages: "),
    "no object": (["hi"], {}, "messages[0]: "),
    "unknown role": (
        [{"role": "developer", "content": ""}],
        {},
        "messages[0].role: unknown role 'developer'; expected one of system, user",
    ),
    "no role": ([{"content": ""}], {}, "messages[0].role: "),
    "no content": ([{"role": "user"}], {}, "messages[0].content: "),
    "no JSON": ([user({1, 2})], {}, "messages[0].content: "),
    "bad arguments": (
        [called(call("f", "{oops"))],
        {},
        "messages[0].tool_calls[0].function.arguments: ",
    ),
    "arguments that are a list": (
        [called(call("f", "[1]"))],
        {},
        "messages[0].tool_calls[0].function.arguments",
    ),
    "a call without a name": (
        [called(call("", "{}"))],
        {},
        "messages[0].tool_calls[0].function.name: ",
    ),
    "a call without a function": (
        [called({"type": "function"})],
        {},
        "messages[0].tool_calls[0].function: ",
    ),
    "a call that is none": ([called("f")], {}, "messages[0].tool_calls[0]: "),
    "calls that are no list": (
        [{"role": "assistant", "tool_calls": {}}],
        {},
        "messages[0].tool_calls: ",
    ),
    "no tool_call_id": (
        [user("u"), {**ANSWER, "tool_call_id": ""}],
        {},
        "messages[1].tool_call_id: ",
    ),
    "no name": (
        [user("u"), {"role": "tool", "tool_call_id": "c1", "content": ""}],
        {},
        "messages[1].name: ",
    ),
    "a result that is no JSON": ([{**ANSWER, "content": object()}], {}, "messages[0].content: "),
    "a temperature in words": ([], {"temperature": "hot"}, "options.temperature: "),
    "a stop that is none": ([], {"stop": [1]}, "options.stop: "),
    "thinking that is none": ([], {"gemini": "much"}, "options.gemini: "),
    "a tool without a name": ([], {"tools": [{"description": "d"}]}, "options.tools[0].name: "),
    "tools that are no list": ([], {"tools": {"f": {}}}, "options.tools: "),
}


@pytest.mark.parametrize(("prompt", "options", "message"), FAULTS.values(), ids=FAULTS)
def test_a_prompt_that_cannot_be_translated_names_message_and_field(
    prompt: Any, options: Message, message: str
) -> None:
    with pytest.raises(TranslationError) as raised:
        request(prompt, dialect="art", options=options)
    assert str(raised.value).startswith(message)


LEFT_OUT: dict[str, tuple[list[Message], Message, str]] = {
    "a system that is no string": ([system({"a": 1})], {}, "messages[0].content: "),
    "a tool_request": ([{"role": "tool_request", "content": "x"}], {}, "messages[0]: "),
    "a call of another type": (
        [called(call("f", "{}", type="code"))],
        {},
        "messages[0].tool_calls[0]: ",
    ),
    "an unknown option": ([], {"temprature": 1}, "options.temprature: "),
    "an output schema": (
        [],
        {"tools": [{"name": "f", "outputSchema": {"type": "string"}}]},
        "options.tools[0].outputSchema: ",
    ),
    "a keyword of a schema": (
        [],
        {"tools": [{"name": "f", "inputSchema": {"type": "object", "not": {}}}]},
        "options.tools[0].inputSchema",
    ),
    "a budget without thoughts": (
        [],
        {"gemini": {"thinking": {"thinkingBudget": 5}}},
        "options.gemini.thinking.thinkingBudget: ",
    ),
}


@pytest.mark.parametrize(("prompt", "options", "message"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_a_dropped_field_is_a_warning(
    prompt: list[Message], options: Message, message: str
) -> None:
    session = Session()
    translated = request_translator("art").translate(prompt, options, session)
    warnings = PROVIDERS["gemini-api"].request(translated, session).warnings
    assert [warning[: len(message)] for warning in warnings] == [message]
    with pytest.warns(TranslationWarning):
        request(prompt, dialect="art", options=options)


def test_every_role_and_field_has_a_row_above() -> None:
    prompts = [
        *(prompt for prompt, _ in PROMPTS.values()),
        *(prompt for prompt, *_ in LEFT_OUT.values()),
    ]
    roles = {message["role"] for prompt in prompts for message in prompt}
    assert roles == set(ROLES)
    assert {field for _, config in OPTIONS.values() for field in config} == {
        *(GEMINI_SETTINGS[setting] for setting in SETTINGS),
        "thinkingConfig",
    }


@pytest.mark.parametrize(
    ("options", "model"),
    [
        ({}, DEFAULT_MODEL),
        ({"providerConfig": {"modelId": "m2", "adapterOptions": {"model": "m3"}}}, "m2"),
        ({"providerConfig": {"adapterOptions": {"model": "m3"}}}, "m3"),
        ({"model": "m1", "providerConfig": {"modelId": "m2"}}, "m1"),
    ],
)
def test_the_model(options: Message, model: str) -> None:
    assert model_of(options) == model
    assert (
        request([user("u")], dialect="art", provider="code-assist", options=options)["model"]
        == model
    )


def test_the_prompt_after_an_answer() -> None:
    assert ART.request
    payloads: list[Message] = [
        {"type": "TOKEN", "data": "hm", "tokenType": "LLM_THINKING"},
        {"type": "TOKEN", "data": "Hel", "tokenType": "LLM_RESPONSE"},
        {"type": "TOKEN", "data": "lo", "tokenType": "FINAL_SYNTHESIS_LLM_RESPONSE"},
        {"type": "END", "data": None},
    ]
    prompt = [user("u")]
    answered = [user("u"), {"role": "assistant", "content": "Hello"}]
    assert ART.request.follow_up(prompt, payloads, "and?") == [*answered, user("and?")]
    assert ART.request.follow_up(prompt, payloads, []) == answered
    assert prompt == [user("u")]
