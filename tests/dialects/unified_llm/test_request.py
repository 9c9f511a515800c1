"""unified-llm's way to Gemini: the translation of a Request, and the refusals with their places."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harness
from harness import Session, TranslationError, TranslationWarning
from harness.dialects.unified_llm.messages import KINDS, ROLES
from harness.dialects.unified_llm.request import translate
from tests.support.unified_llm_prompts import HELLO, ask, call, parts, result, tool, turn

CASSETTES = Path(__file__).parents[3] / "cassettes"

REFUSED: dict[str, tuple[Any, str]] = {
    "no object": ([], "must be an object, not []"),
    "no messages": ({"model": "m"}, "messages: is missing; it must be a list"),
    "nothing to answer": (
        {"messages": []},
        "messages: none of them has content that can be sent to Gemini",
    ),
    "only a system message": (
        {"messages": [{"role": "system", "content": "Be brief."}]},
        "messages: none of them has content that can be sent to Gemini",
    ),
    "unknown role": (
        {"messages": [HELLO, {"role": "model", "content": "x"}]},
        "messages[1].role: unknown role 'model'; expected one of system, developer, user, assistant, tool",
    ),
    "no role": (
        {"messages": [{"content": "x"}]},
        "messages[0].role: is missing; it must be a string",
    ),
    "no content": (
        {"messages": [{"role": "user"}]},
        "messages[0].content: is missing; it must be a string or a list",
    ),
    "unknown kind": (
        {"messages": [{"role": "user", "content": [{"kind": "video", "video": {}}]}]},
        "messages[0].content[0].kind: 'video' is unknown; expected one of text, image, audio, document, tool_call, tool_result, thinking, "
        "redacted_thinking, provider",
    ),
    "unknown key of a part": (
        {"messages": [{"role": "user", "content": [{"kind": "text", "text": "x", "txt": 1}]}]},
        "messages[0].content[0].txt: unknown key; expected one of kind, type, text, signature, refusal",
    ),
    "unknown key of a message": (
        {"messages": [{"role": "user", "content": "x", "cache": 1}]},
        "messages[0].cache: unknown key; expected one of role, content, tool_call_id, name",
    ),
    "image in a system message": (
        {
            "messages": [
                {
                    "role": "system",
                    "content": [{"kind": "image", "image": {"url": "https://x/y.png"}}],
                }
            ]
        },
        "messages[0].content[0].kind: image is not allowed under the role system; it is allowed under user, assistant",
    ),
    "call of the user": (
        {"messages": [{"role": "user", "content": [call()]}]},
        "messages[0].content[0].kind: tool_call is not allowed under the role user; it is allowed under assistant",
    ),
    "local path": (
        {
            "messages": [
                {"role": "user", "content": [{"kind": "image", "image": {"url": "./cat.png"}}]}
            ]
        },
        "messages[0].content[0].image.url: './cat.png' is a local path, and no files are read here; give its bytes as data",
    ),
    "url and data": (
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"kind": "image", "image": {"url": "https://x/y.png", "data": "QUJD"}}
                    ],
                }
            ]
        },
        "messages[0].content[0].image: has either url or data, and not both",
    ),
    "audio of no type": (
        {"messages": [{"role": "user", "content": [{"kind": "audio", "audio": {"data": "QUJD"}}]}]},
        "messages[0].content[0].audio.media_type: is missing; Gemini needs the media type of the data",
    ),
    "arguments that are no JSON": (
        {"messages": [HELLO, turn(call(arguments='{"q":'))]},
        "messages[1].content[0].tool_call.arguments: is not a JSON object; Gemini's functions take only objects",
    ),
    "arguments that are a list": (
        {"messages": [HELLO, turn(call(arguments="[1]"))]},
        "messages[1].content[0].tool_call.arguments: is not a JSON object; Gemini's functions take only objects",
    ),
    "custom call": (
        {"messages": [HELLO, turn(call(type="custom"))]},
        "messages[1].content[0].tool_call.type: 'custom' is not known; Gemini's calls are functions",
    ),
    "result of no call": (
        {"messages": [HELLO, turn(call("a"), call("b")), tool(result("c"))]},
        "messages[2].content[0].tool_result.tool_call_id: the result needs the name of its call, but no earlier call has the id 'c'; known ids are 'a', 'b'",
    ),
    "result before its call": (
        {"messages": [tool(result("a")), turn(call("a"))]},
        "messages[0].content[0].tool_result.tool_call_id: the result needs the name of its call, but no earlier call has the id 'a'; known ids are none",
    ),
    "result without an id": (
        {"messages": [{"role": "tool", "content": "found"}]},
        "messages[0].tool_call_id: is missing",
    ),
    "signature of another type": (
        {"messages": [HELLO, turn({"kind": "text", "text": "x", "signature": [1]})]},
        "messages[1].content[0].signature: is not a string or a list of strings",
    ),
    "name of a tool": (
        {"messages": [HELLO], "tools": [{"name": "9lives"}]},
        "tools[0].name: '9lives' is not a valid name of a function: expected a letter or _, then up to 127 of A-Z a-z 0-9 _ . : -",
    ),
    "two tools of one name": (
        {"messages": [HELLO], "tools": [{"name": "f"}, {"name": "f"}]},
        "tools[0].name: 'f' is the name of two tools",
    ),
    "schema that is no JSON": (
        {"messages": [HELLO], "tools": [{"name": "f", "input_schema": "{"}]},
        "tools[0].input_schema: is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
    ),
    "schema that is no object": (
        {"messages": [HELLO], "tools": [{"name": "f", "input_schema": "[]"}]},
        "tools[0].input_schema: must be an object, not []",
    ),
    "tool choice": (
        {"messages": [HELLO], "tools": [{"name": "f"}], "tool_choice": "any"},
        "tool_choice.mode: unknown mode 'any'; expected one of auto, none, required, named",
    ),
    "choice of an unknown tool": (
        {
            "messages": [HELLO],
            "tools": [{"name": "f"}],
            "tool_choice": {"mode": "named", "tool_name": "g"},
        },
        "tool_choice.tool_name: 'g' is not one of the tools: f",
    ),
    "choice of a tool without its name": (
        {"messages": [HELLO], "tools": [{"name": "f"}], "tool_choice": {"mode": "named"}},
        "tool_choice.tool_name: is missing",
    ),
    "a name beside another mode": (
        {
            "messages": [HELLO],
            "tools": [{"name": "f"}],
            "tool_choice": {"mode": "auto", "tool_name": "f"},
        },
        "tool_choice.tool_name: is not allowed with the mode auto, only with the mode named",
    ),
    "a demand without tools": (
        {"messages": [HELLO], "tool_choice": "required"},
        "tool_choice: requires a call, but there are no tools",
    ),
    "format": (
        {"messages": [HELLO], "response_format": {"type": "xml"}},
        "response_format.type: unknown type 'xml'; expected one of text, json, json_schema",
    ),
    "no schema": (
        {"messages": [HELLO], "response_format": {"type": "json_schema"}},
        "response_format.json_schema: is missing",
    ),
    "temperature": (
        {"messages": [HELLO], "temperature": True},
        "temperature: must be a number, not True",
    ),
    "max_tokens that is no number": (
        {"messages": [HELLO], "max_tokens": True},
        "max_tokens: must be a whole number, not True",
    ),
    "max_tokens": (
        {"messages": [HELLO], "max_tokens": 0},
        "max_tokens: 0 leaves no room for an answer",
    ),
    "stop_sequences": (
        {"messages": [HELLO], "stop_sequences": [1]},
        "stop_sequences: is not a list of strings",
    ),
    "effort": (
        {"messages": [HELLO], "reasoning_effort": "none"},
        "reasoning_effort: unknown reasoning_effort 'none'; expected one of low, medium, high",
    ),
    "provider": (
        {"messages": [HELLO], "provider": "openai"},
        "provider: 'openai' is another provider; this is gemini",
    ),
    "model of another provider": (
        {"messages": [HELLO], "model": "anthropic:claude"},
        "model: anthropic:claude is a model of another provider; this is gemini",
    ),
    "model without a provider": (
        {"messages": [HELLO], "model": ":m"},
        "model: ':m' has an empty provider; write gemini:NAME",
    ),
    "provider without a model": (
        {"messages": [HELLO], "model": "gemini:"},
        "model: 'gemini:' has an empty name; write gemini:NAME",
    ),
    "unknown key": (
        {"messages": [HELLO], "top_k": 3},
        "top_k: unknown key; expected one of provider, model, system, messages, tools, tool_choice, temperature, top_p, max_tokens, "
        "stop_sequences, reasoning_effort, response_format, metadata, provider_options",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_invalid_request_is_refused_with_message_and_field(name: str) -> None:
    prompt, message = REFUSED[name]
    with pytest.raises(TranslationError) as raised:
        ask(prompt)
    assert str(raised.value) == message


WORDS = """
    messages role content kind type text image audio url data media_type detail tool_call tool_use tool_result tool_call_id id name
    arguments input signature thinking redacted raw provider is_error image_data tools parameters input_schema description
    tool_choice mode tool_name response_format json_schema temperature max_tokens stop_sequences reasoning_effort model system
    provider_options gemini generationConfig thinking_config topK metadata user assistant tool auto named low
"""
NAMES = st.sampled_from(WORDS.split())
LEAVES = st.one_of(
    NAMES,
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=25,
)
PARTS = st.one_of(
    ANYTHING,
    st.fixed_dictionaries(
        {"kind": st.sampled_from([*KINDS])},
        optional=dict.fromkeys(KINDS, ANYTHING) | {"signature": ANYTHING},
    ),
    st.just(call()),
    st.builds(result, st.sampled_from(["c1", "c2"]), ANYTHING),
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from([*ROLES]), "content": st.lists(PARTS, max_size=3) | ANYTHING}
)
REQUESTS = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGES | st.just(HELLO) | st.just(turn(call())), max_size=4)},
    optional={
        "tools": st.lists(
            st.fixed_dictionaries(
                {"name": st.sampled_from(["f", "g", ""])}, optional={"parameters": ANYTHING}
            ),
            max_size=2,
        ),
        "provider_options": ANYTHING | st.fixed_dictionaries({"gemini": ANYTHING}),
        **dict.fromkeys(
            (
                "tool_choice",
                "response_format",
                "temperature",
                "stop_sequences",
                "reasoning_effort",
                "model",
                "system",
            ),
            ANYTHING,
        ),
    },
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(REQUESTS | ANYTHING)
def test_any_prompt_is_translated_or_refused(prompt: Any) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TranslationWarning)
            body = harness.request(prompt, dialect="unified-llm")
            envelope = harness.request(
                {**prompt, "model": "m"}, dialect="unified-llm", provider="code-assist"
            )
    except TranslationError:
        return
    assert body["contents"] == envelope["request"]["contents"]


REFUSED_OPTIONS = [
    ({"tools": [1]}, "tools: is not a list of objects"),
    ({"generationConfig": [1]}, "generationConfig: must be an object, not [1]"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED_OPTIONS)
def test_options_that_would_break_the_body_are_refused(options: Any, message: str) -> None:
    with pytest.raises(TranslationError) as raised:
        ask({"messages": [HELLO], "provider_options": {"gemini": options}})
    assert str(raised.value) == f"provider_options.gemini.{message}"


def test_options_are_refused() -> None:
    with pytest.raises(TranslationError, match="options: unified-llm has none"):
        translate({"messages": [HELLO]}, {"model": "m"}, Session())


def test_bytes_are_sent_as_base64() -> None:
    assert parts({"kind": "image", "image": {"data": b"ABC"}}) == [
        {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
    ]


def test_a_sound_of_the_model_without_a_media_type_is_left_out() -> None:
    sound = {"kind": "audio", "audio": {"data": "QUJD"}}
    prompt = {"model": "m", "messages": [HELLO, turn(sound, {"kind": "text", "text": "a"}), HELLO]}
    with pytest.warns(TranslationWarning, match=r"content\[0\]\.audio: is left out; it has no"):
        body = harness.request(prompt, dialect="unified-llm", provider="openai")
    assert body["input"][1]["content"] == [{"type": "output_text", "text": "a"}]


def test_parallel_results_are_in_one_content_in_call_order() -> None:
    body = ask(
        {
            "messages": [
                HELLO,
                turn(call("a"), call("b")),
                tool(result("b")),
                tool(result("a")),
                HELLO,
            ]
        }
    )
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user", "user"]
    assert [part["functionResponse"]["id"] for part in body["contents"][2]["parts"]] == ["a", "b"]


def test_the_latest_call_of_an_id_gives_the_name() -> None:
    later = {"kind": "tool_call", "tool_call": {"id": "a", "name": "other"}}
    body = ask(
        {"messages": [HELLO, turn(call("a")), tool(result("a")), turn(later), tool(result("a"))]}
    )
    names = [
        part["functionResponse"]["name"]
        for content in body["contents"]
        for part in content["parts"]
        if "functionResponse" in part
    ]
    assert names == ["search_file", "other"]


def test_a_session_knows_names_signatures_and_ids_of_answers() -> None:
    session = Session()
    session.remember("call_1", "search_file", "c2ln", None)
    session.remember("x9", "search_file", None, "x9")
    body = ask(
        {
            "messages": [
                HELLO,
                turn(call("call_1"), call("x9")),
                tool(result("call_1"), result("x9")),
            ]
        },
        session,
    )
    counted, given = body["contents"][1]["parts"]
    assert counted == {
        "functionCall": {"name": "search_file", "args": {"q": "call_1"}},
        "thoughtSignature": "c2ln",
    }
    assert given["functionCall"]["id"] == "x9"
    assert [part["functionResponse"].get("id") for part in body["contents"][2]["parts"]] == [
        None,
        "x9",
    ]
    alone = ask({"messages": [HELLO, tool(result("call_1"))]}, session)
    assert alone["contents"][1]["parts"] == [
        {"functionResponse": {"name": "search_file", "response": {"result": "found"}}}
    ]


def test_a_signature_in_the_prompt_wins() -> None:
    session = Session()
    session.remember("a", "search_file", "b2xk", "a")
    (part,) = ask({"messages": [HELLO, turn(call("a", signature="bmV3"))]}, session)["contents"][1][
        "parts"
    ]
    assert part["thoughtSignature"] == "bmV3"
