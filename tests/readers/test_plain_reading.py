"""The second readers read every framing and spelling, and every kind of part; and what they import."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.providers.gemini.facts import read_messages
from tests.readers.gemini import gather_body
from tests.readers.gemini_cli import gather_cli

FIRST = '{"candidates":[{"content":{"parts":[{"text":"Hé"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":3}}'
LAST = (
    '{"candidates":[{"content":{"parts":[{"text":"llo","thoughtSignature":"QQ=="},'
    '{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"Qg=="}]},"finishReason":"STOP"}],'
    '"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2}}'
)
ERROR = '{\n  "error": {\n    "code": 503,\n    "message": "overloaded",\n    "status": "UNAVAILABLE"\n  }\n}\n'
SNAKE = (
    '{"candidates":[{"content":{"parts":[{"text":"llo","thought_signature":"QQ=="},'
    '{"function_call":{"name":"f","args":"{\\"a\\":1}"},"thought_signature":"Qg=="}]},"finish_reason":1}],'
    '"usage_metadata":{"prompt_token_count":3,"candidates_token_count":2}}'
)

SAME_ANSWER = {
    "sse crlf": f"data: {FIRST}\r\n\r\ndata: {LAST}\r\n\r\n",
    "sse lf, no last blank line": f"data: {FIRST}\n\ndata: {LAST}",
    "sse cr": f"data: {FIRST}\r\rdata: {LAST}\r\r",
    "sse bom, comment, event, id, no space, done": f"\ufeff: ping\n\nevent: x\nid: 1\ndata:{FIRST}\n\ndata: {LAST}\n\ndata: [DONE]\n\n",
    "sse two data lines, one message": "data: "
    + FIRST.replace(',"usage', '\ndata: ,"usage')
    + f"\n\ndata: {LAST}\n\n",
    "sse no blank line between": f"data: {FIRST}\ndata: {LAST}\n\n",
    "sse no blank lines, done": f"data: {FIRST}\ndata: {LAST}\ndata: [DONE]\n",
    "json array": f"[{FIRST}\r\n,\r\n{LAST}]",
    "json lines": f"{FIRST}\n{LAST}\n",
    "json array in one event": f"data: [{FIRST},{LAST}]\n\n",
    "snake case, string args, number": f"[{FIRST},{SNAKE}]",
    "code assist": f'data: {{"response":{FIRST},"traceId":"t"}}\r\n\r\ndata: {{"response":{LAST}}}\r\n\r\n',
}


@pytest.mark.parametrize("body", SAME_ANSWER.values(), ids=SAME_ANSWER.keys())
def test_reads_the_same_answer_in_every_framing_and_spelling(body: str) -> None:
    facts = gather_body(body.encode())
    assert facts.text == "Héllo"
    assert facts.calls == [("f", {"a": 1})]
    assert facts.signatures == [("text", "QQ=="), ("call", "Qg==")]
    assert facts.finish == "STOP"
    assert facts.usage == {"promptTokenCount": 3, "candidatesTokenCount": 2}
    assert (facts.errors, facts.unreadable) == ([], [])


@pytest.mark.parametrize("index", [None, 0, -1, 1.5, True, "0"])
@pytest.mark.parametrize("later", [None, 1, 2.5])
def test_the_first_candidate_without_another_index_is_the_answer(index: Any, later: Any) -> None:
    candidates = [
        {"content": {"parts": [{"text": text}]}, "index": number}
        for text, number in (("A", index), ("B", later))
    ]
    assert read_messages([{"candidates": candidates}]).text == "A"


@pytest.mark.parametrize(
    ("calls", "read"),
    [
        ([{"name": "f", "willContinue": True}, {"args": {"a": 1}}], {"a": 1}),
        (
            [{"name": "f", "args": {"a": "x"}, "willContinue": True}, {"args": {"a": "y"}}],
            {"a": "xy"},
        ),
        ([{"name": "f", "id": "1", "willContinue": True}] * 2, {}),
    ],
)
def test_a_later_part_of_a_call_has_arguments_too(calls: list[Any], read: Any) -> None:
    parts = [{"functionCall": call} for call in calls]
    facts = read_messages([{"candidates": [{"content": {"parts": parts}}]}])
    assert facts.calls == [("f", read)]


@pytest.mark.parametrize(
    ("parts", "attribute", "value"),
    [
        ('{"text":"hm","thought":true,"thoughtSignature":"QQ=="}', "thoughts", "hm"),
        (
            '{"text":"hm","thought":true,"thoughtSignature":"QQ=="}',
            "signatures",
            [("thought", "QQ==")],
        ),
        (
            '{"inlineData":{"mimeType":"image/png","data":"QQ=="}},{"file_data":{"file_uri":"u"}}',
            "media",
            2,
        ),
        ('{"executableCode":{"code":"1"}},{"codeExecutionResult":{"output":"1"}}', "code", 2),
        ('{"toolCall":{"id":"t"},"thoughtSignature":"QQ=="}', "signatures", [("other", "QQ==")]),
        ('{"hologram":{"x":1}}', "others", {"hologram"}),
        ('{"functionCall":{"name":"f"}}', "calls", [("f", {})]),
        ('{"text":"a"},{"functionCall":null,"text":"b","thought":null}', "text", "ab"),
        (
            '{"thoughtSignature":"QQ=="},{"thought":true,"thoughtSignature":"Qg=="}',
            "signatures",
            [("text", "QQ=="), ("thought", "Qg==")],
        ),
        ('{"text":"a","thoughtSignature":""}', "signatures", []),
    ],
)
def test_reads_every_kind_of_part(parts: str, attribute: str, value: object) -> None:
    body = f'{{"candidates":[{{"content":{{"parts":[{parts}]}}}}]}}'
    assert getattr(gather_body(body.encode()), attribute) == value


COUNTED = {"totalTokenCount": 7, "promptTokenCount": 3}


@pytest.mark.parametrize(
    ("body", "status", "attribute", "value"),
    [
        ('{"promptFeedback":{"blockReason":"SAFETY"}}', 200, "block_reason", "SAFETY"),
        ('{"candidates":[{"finishReason":7}]}', 200, "finish", "#7"),
        (
            '{"candidates":[{"finishReason":"OTHER","finishMessage":"m"}]}',
            200,
            "finish_message",
            "m",
        ),
        ('[{"error":{"code":429,"message":"m"}}]', 429, "errors", [(429, "m")]),
        ('{"error":"boom"}', 200, "errors", [(None, "boom")]),
        ("<html>no</html>", 502, "errors", [(502, "")]),
        ("", 500, "errors", [(500, "")]),
        ("data: {broken\n\n", 200, "unreadable", ["{broken"]),
        (
            '{"candidates":[{"index":1,"content":{"parts":[{"text":"b"}]}},{"content":{"parts":[{"text":"a"}]}}]}',
            200,
            "text",
            "a",
        ),
        ('{"functionCalls":[{"name":"f","args":{"a":1}}]}', 200, "calls", [("f", {"a": 1})]),
        (
            '{"usageMetadata":{"totalTokenCount":"7","promptTokenCount":3.0,"trafficType":"9x"}}',
            200,
            "usage",
            COUNTED,
        ),
        ('{"responseFoo":1}', 200, "others", {"responseFoo"}),
    ],
)
def test_reads_what_stands_beside_the_parts(
    body: str, status: int, attribute: str, value: object
) -> None:
    assert getattr(gather_body(body.encode(), status), attribute) == value


def test_an_error_in_mid_stream_keeps_what_was_known_before_it() -> None:
    facts = gather_body(f"data: {FIRST}\r\n\r\n{ERROR}data: {LAST}\r\n\r\n".encode())
    assert facts.errors == [(503, "overloaded")]
    assert facts.text == "Héllo"
    assert facts.at_error is not None
    assert facts.at_error.text == "Hé"


def test_the_status_of_a_failure_is_before_its_body() -> None:
    facts = gather_body(f"data: {FIRST}\r\n\r\n".encode(), 503)
    assert facts.errors == [(503, "")]
    assert facts.until_the_end().text == ""


@pytest.mark.parametrize("name", ["promptFeedback", "prompt_feedback"])
def test_a_refusal_keeps_the_text_before_it(name: str) -> None:
    blocked = f'{{"{name}":{{"blockReason":"SAFETY"}}}}'
    facts = gather_body(f"data: {FIRST}\n\ndata: {blocked}\n\ndata: {LAST}\n\n".encode())
    assert (facts.text, facts.block_reason) == ("Héllo", "SAFETY")
    assert facts.at_block is not None
    assert (facts.at_block.text, facts.at_block.calls) == ("Hé", [])


def test_a_call_has_its_place_in_the_text() -> None:
    assert gather_body(f"[{FIRST},{LAST}]".encode()).places == [5]


@pytest.mark.parametrize("name", ["functionCalls", "function_calls"])
def test_calls_may_stand_beside_the_candidates(name: str) -> None:
    assert gather_body(f'{{"{name}":[{{"name":"f"}}]}}'.encode()).calls == [("f", {})]


def test_a_field_counts_as_soon_as_it_has_a_value() -> None:
    body = '[{"modelVersion":null,"a_b":1},{"modelVersion":"m","a_b":1},{"modelVersion":"m"}]'
    assert gather_body(body.encode()).others == {"modelVersion", "aB"}


def test_a_data_line_may_be_empty_or_have_no_colon() -> None:
    facts = gather_body(b'data: {"candidates":\ndata\ndata:\ndata:[]}\n\ndata\n\n')
    assert facts.unreadable == []
    assert gather_body(b"data: x\ndata\n\n").unreadable == ["x\n"]


def test_one_parsed_message_has_its_text() -> None:
    assert read_messages([json.loads(FIRST)]).text == "Hé"


def stream_of_calls(*calls: str) -> bytes:
    frames = (f'data: {{"candidates":[{{"content":{{"parts":[{call}]}}}}]}}\n\n' for call in calls)
    return "".join(frames).encode()


def piece(path: str, value: str, *, going_on: bool = True) -> str:
    more = ',"willContinue":true' if going_on else ""
    return f'{{"functionCall":{{"partialArgs":[{{"jsonPath":"{path}",{value}}}]{more}}}}}'


STRING = piece("$.a", '"stringValue":"x","willContinue":true')
START = '{"functionCall":{"name":"f","willContinue":true},"thoughtSignature":"QQ=="}'


BOTH = '{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.a","numberValue":2},{"jsonPath":"$.b","numberValue":1}]}}'


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([START, STRING, piece("$.a", '"stringValue":"x"'), '{"functionCall":{}}'], {"a": "xx"}),
        (
            [START, piece("$.o[1].n", '"numberValue":3'), piece("$.o[0].n", '"boolValue":true')],
            {"o": [{"n": True}, {"n": 3}]},
        ),
        ([START, piece("$['a b']", '"nullValue":null', going_on=False)], {"a b": None}),
        ([START, STRING, '{"text":"done"}'], {"a": "x"}),
        ([BOTH], {"a": 2, "b": 1}),
    ],
)
def test_puts_streamed_arguments_together(calls: list[str], expected: dict[str, Any]) -> None:
    facts = gather_body(stream_of_calls(*calls))
    assert facts.calls == [("f", expected)]


def test_a_new_name_ends_the_call_before_it() -> None:
    facts = gather_body(
        stream_of_calls(
            START,
            piece("$.a", '"numberValue":1'),
            '{"functionCall":{"name":"g","willContinue":true}}',
        )
    )
    assert facts.calls == [("f", {"a": 1}), ("g", {})]
    assert facts.open_call


@pytest.mark.parametrize("path", ["a", "$..a", "$.b[99999999]", "$.a[0]", "$.a.b", "$.a"])
def test_a_piece_that_has_no_place_is_named_and_does_no_harm(path: str) -> None:
    facts = gather_body(stream_of_calls(START, STRING, piece(path, '"numberValue":1')))
    assert {"jsonPath", "numberValue"} <= facts.others
    assert facts.calls[0][1]["a"] == "x"


def test_text_ends_a_streamed_call_and_an_empty_one_does_not() -> None:
    going_on = gather_body(stream_of_calls(START, '{"text":""}', STRING))
    ended = gather_body(stream_of_calls(START, '{"text":"so"}', STRING))
    assert (going_on.calls, going_on.others) == ([("f", {"a": "x"})], set())
    assert (ended.calls, ended.others) == ([("f", {})], {"partialArgs"})


def test_a_signature_after_the_first_part_of_a_call_signs_no_call() -> None:
    facts = gather_body(stream_of_calls(START, '{"functionCall":{},"thoughtSignature":"Qg=="}'))
    assert facts.signatures == [("call", "QQ=="), ("text", "Qg==")]


@pytest.mark.parametrize(
    "call", ['{"partialArgs":[{"jsonPath":"$.a","numberValue":1}],"willContinue":true}', "{}"]
)
def test_a_signature_of_a_piece_without_a_call_signs_none(call: str) -> None:
    part = f'{{"functionCall":{call},"thoughtSignature":"QQ=="}}'
    facts = gather_body(f'{{"candidates":[{{"content":{{"parts":[{part}]}}}}]}}'.encode())
    assert (facts.calls, facts.marks, facts.signatures) == ([], [], [("piece", "QQ==")])


@pytest.mark.parametrize(
    ("inside", "name", "arguments"),
    [
        ('{"todos":[]}', None, {"todos": []}),
        ('{"tool_name":"f","parameters":{"x":1}}', "f", {"x": 1}),
        ('```json\n{"name":"f","args":{}}\n```', "f", {}),
        ("print(default_api.f(x='1', y=[1, None]))", "f", {"x": "1", "y": [1, None]}),
    ],
)
def test_finds_tool_code_only_when_asked(
    inside: str, name: str | None, arguments: dict[str, Any]
) -> None:
    text = f"a<tool_code>{inside}</tool_code>b"
    body = f'{{"candidates":[{{"content":{{"parts":[{{"text":{json.dumps(text)}}}]}}}}]}}'.encode()
    assert gather_body(body).blocks == []
    assert gather_body(body, tool_code=True).blocks == [(text[1:-1], name, arguments)]


BROKEN = [
    b'data: {"candidates":[{"content":{"parts":[{"text":"\xff"}]}}]}\n\n',
    b"\xff\xfe",
    b"garbage\n\nmore",
    b'data: {"a":NaN}\n\n',
    b'data: "\xff"\n\n',
    b"[" * 5000,
    b'{"a":' * 5000,
]


@pytest.mark.parametrize("raw", BROKEN)
def test_a_broken_body_is_read_as_empty(raw: bytes) -> None:
    facts = gather_body(raw)
    assert (facts.text, facts.calls) == ("", [])


ODD_ARGUMENTS = [
    '{"a":1,"a":2}',
    '{"a":123456789012345678901234567890}',
    '{"a":1.0,"b":1,"c":-0,"d":0.1e2}',
    '{"a":"\\ud83d"}',
    '{"a":"\\u0000\\u2028"}',
    '{"a":1e400}',
]


@pytest.mark.parametrize("arguments", ODD_ARGUMENTS)
def test_values_are_those_of_the_standard_librarys_json(arguments: str) -> None:
    body = (
        f'data: {{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"f","args":{arguments}}}}}]}}}}]}}'
    ).encode()
    (call,) = gather_body(body + b"\n\n").calls
    assert repr(call) == repr(("f", json.loads(arguments)))


SHARED = ("harness.facts", "harness.stream.json_codec")
ROOTS = (*sys.stdlib_module_names, "msgspec", "tests")
NOTES = ("error_facts", "exit_facts", "ErrorWords", "count_gemini")
NAMES = ("camel", "names_in", "present", "strings", "values_in", "NOTHING")
NOT_OF_FACTS = ("live",)
FOLDER = Path(__file__).parent


@pytest.mark.slow
def test_a_second_reader_has_no_framer_and_no_normalizer() -> None:
    """Of msgspec only the untyped decoder is used, so no type of ours affects the reading of a
    frame.
    """
    modules = [path for path in FOLDER.glob("[!t_]*.py") if path.stem not in NOT_OF_FACTS]
    assert len(modules) >= 10
    for module in modules:
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            match node:
                case ast.Import(names=names):
                    assert {name.name.split(".")[0] for name in names} <= {*ROOTS}
                case ast.ImportFrom(module=str(name), level=0, names=names):
                    known = name in SHARED or name.split(".")[0] in ROOTS
                    assert known or {name.name for name in names} <= {*NOTES, *NAMES}, module


def test_a_line_with_a_number_that_is_not_json_is_unreadable() -> None:
    line = '{"type": "message", "timestamp": "t", "content": "a", "n": NaN}'
    facts = gather_cli(line.encode())
    assert (facts.text, facts.unreadable) == ("", [line])
