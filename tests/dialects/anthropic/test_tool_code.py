"""Calls written as ``<tool_code>``, in every form and split at every position; the bounded memory
of signatures of calls.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

import harness
from harness.cassettes import Exchange, Request
from harness.stream.session import Session, Tool

URL = "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse"
TOOLS = [
    Tool("TodoWrite", {"properties": {"todos": {"type": "array"}}, "required": ["todos"]}),
    Tool(
        "Write",
        {"properties": {"file_path": {}, "content": {}}, "required": ["file_path", "content"]},
    ),
    Tool("Bash", {"properties": {"command": {}, "timeout": {}}, "required": ["command"]}),
    Tool("Glob", {"properties": {"pattern": {}, "path": {}}, "required": ["pattern"]}),
]

Json = Any
Said = list[Json]
"""The contents of an answer, in order: a text as a string, a call as its name and arguments."""


def answer(*frames: Sequence[Json]) -> Exchange:
    """A Code Assist stream of these frames, each a list of parts."""
    lines = []
    for parts in frames:
        message = {
            "response": {
                "candidates": [{"content": {"role": "model", "parts": parts}}],
                "modelVersion": "m",
            }
        }
        lines.append(f"data: {json.dumps(message, ensure_ascii=False)}\r\n\r\n".encode())
    lines.append(
        b'data: {"response": {"candidates": [{"finishReason": "STOP"}], "modelVersion": "m"}}\r\n\r\n'
    )
    return Exchange(
        Request("POST", URL, {}, b"{}"), 200, {}, tuple((None, line) for line in lines), "complete"
    )


def contents_of(
    *frames: Sequence[Json], tools: Sequence[Tool] = TOOLS, session: Session | None = None
) -> Said:
    contents: Said = []
    for payload in harness.replay(
        answer(*frames), dialect="anthropic", tools=tools, session=session
    ):
        match payload:
            case {
                "type": "content_block_start",
                "content_block": {"type": "tool_use", "name": name},
            }:
                contents.append([name, None])
            case {"type": "content_block_delta", "delta": {"partial_json": arguments}}:
                contents[-1][1] = json.loads(arguments)
            case {"type": "content_block_delta", "delta": {"text": text}}:
                if contents and isinstance(contents[-1], str):
                    contents[-1] += text
                else:
                    contents.append(text)
    return contents


def block(body: str) -> str:
    return f"<tool_code>{body}</tool_code>"


LS = ["Bash", {"command": "ls"}]
LIST = '<tool_code>{"command": "ls"}</tool_code>'
TODOS = '<tool_code>{"todos": [{"content": "x"}]}</tool_code>'
FORMS: dict[str, tuple[str, Said]] = {
    "bare todos": (
        f"Before\n{TODOS}\nAfter",
        ["Before\n", ["TodoWrite", {"todos": [{"content": "x"}]}], "\nAfter"],
    ),
    "bare file": (
        block('{"file_path": "é.py", "content": "a\\n<b>"}'),
        [["Write", {"file_path": "é.py", "content": "a\n<b>"}]],
    ),
    "bare command": (f"x{LIST}", ["x", LS]),
    "best match": (block('{"pattern": "*.py"}') + "y", [["Glob", {"pattern": "*.py"}], "y"]),
    "no match": (
        'a <tool_code>{"zzz": 1}</tool_code> b',
        ['a <tool_code>{"zzz": 1}</tool_code> b'],
    ),
    "wrapper": (block('{"tool_name": "Bash", "parameters": {"command": "ls"}}'), [LS]),
    "other wrapper": (block('{"name": "Bash", "input": {"command": "ls"}}'), [LS]),
    "fenced JSON": (block('\n```json\n{"command": "ls"}\n```\n'), [LS]),
    "fenced Python": (block("\n```tool_code\nprint(default_api.Bash(command='ls'))\n```\n"), [LS]),
    "printed Python": (
        block("print(default_api.Glob(pattern='*', path=None))"),
        [["Glob", {"pattern": "*", "path": None}]],
    ),
    "plain Python": (
        block("Other(a='\\u00e9', b=[1, -2.5, True], c={'d': 1})"),
        [["Other", {"a": "é", "b": [1, -2.5, True], "c": {"d": 1}}]],
    ),
    "two blocks": (LIST * 2, [LS, LS]),
    "two blocks with text": (
        f"1{LIST}2<tool_code>Bash(command='ls')</tool_code>3",
        ["1", LS, "2", LS, "3"],
    ),
    "malformed": (
        'a<tool_code>{"command": </tool_code>b',
        ['a<tool_code>{"command": </tool_code>b'],
    ),
    "empty": ("a<tool_code></tool_code>b", ["a<tool_code></tool_code>b"]),
    "a list": (block("[1]"), ["<tool_code>[1]</tool_code>"]),
    "Python that computes": (block("Bash(command='l' + 's')"), [block("Bash(command='l' + 's')")]),
    "never ends": ('a<tool_code>{"command": "ls"}', ['a<tool_code>{"command": "ls"}']),
    "half a start tag": ("a<tool_co", ["a<tool_co"]),
    "half an end tag": (
        '<tool_code>{"command": "ls"}</tool_',
        ['<tool_code>{"command": "ls"}</tool_'],
    ),
    "only an end tag": ("a</tool_code>b", ["a</tool_code>b"]),
    "capitals": ("<TOOL_CODE>x</TOOL_CODE>", ["<TOOL_CODE>x</TOOL_CODE>"]),
    "almost a tag": ("1 <tool_<tool_cod<b <", ["1 <tool_<tool_cod<b <"]),
    "end tag in a string": (
        block('{"command": "</tool_code>"}'),
        [block('{"command": "</tool_code>"}')],
    ),
}
"""Form → the text of the answer, and its contents."""


@pytest.mark.parametrize(("text", "expected"), FORMS.values(), ids=FORMS)
def test_every_form_split_at_every_position_reads_the_same(text: str, expected: Said) -> None:
    assert contents_of([{"text": text}]) == expected
    assert contents_of(*([{"text": character}] for character in text)) == expected
    assert contents_of([{"text": character} for character in text]) == expected
    for at in range(1, len(text)):
        assert contents_of([{"text": text[:at]}], [{"text": text[at:]}]) == expected, (
            f"in two frames, at {at}"
        )
        assert contents_of([{"text": text[:at]}, {"text": text[at:]}]) == expected, (
            f"in two parts, at {at}"
        )


@pytest.mark.parametrize(("text", "expected"), FORMS.values(), ids=FORMS)
def test_single_bytes_read_the_same(text: str, expected: Said) -> None:
    cut = answer([{"text": text}])
    assert harness.replay(cut, dialect="anthropic", cuts="bytes", tools=TOOLS) == harness.replay(
        cut, dialect="anthropic", tools=TOOLS
    )


@pytest.mark.parametrize("at", range(1, 45))
def test_a_split_block_has_a_signature_once_and_the_call_has_it(at: int) -> None:
    text = block('{"command": "ls", "timeout": 3}')
    session = Session()
    assert contents_of(
        [{"text": text[:at]}], [{"text": text[at:], "thoughtSignature": "U0lH"}], session=session
    ) == [["Bash", {"command": "ls", "timeout": 3}]]
    assert {name: call.signature for name, call in session.calls.items()} == {"toolu_1": "U0lH"}


@pytest.mark.parametrize(
    ("text", "tools", "expected"),
    [
        ('{"todos": []}', [], ["TodoWrite", {"todos": []}]),
        ('{"file_path": "a", "content": "b"}', [], ["Write", {"file_path": "a", "content": "b"}]),
        ('{"command": "ls"}', [], LS),
        (
            '{"command": "ls"}',
            [TOOLS[3], Tool("Shell", {"properties": {"command": {}}})],
            ["Shell", {"command": "ls"}],
        ),
        ('{"command": "ls"}', [TOOLS[3]], block('{"command": "ls"}')),
        ('{"file_path": "a"}', [], block('{"file_path": "a"}')),
    ],
)
def test_a_bare_payload_is_named_by_the_table_then_by_tools(
    text: str, tools: list[Tool], expected: Json
) -> None:
    assert contents_of([{"text": block(text)}], tools=tools) == [expected]


def test_signatures_of_calls_are_bounded_and_the_oldest_go_first() -> None:
    session = Session(limit=3)
    for number in range(5):
        call = {
            "functionCall": {"id": f"c{number}", "name": "Bash", "args": {}},
            "thoughtSignature": f"S{number}",
        }
        contents_of([call, {"text": block(f'{{"command": "{number}"}}')}], session=session)
    assert [(name, call.signature) for name, call in session.calls.items()] == [
        ("toolu_4", None),
        ("c4", "S4"),
        ("toolu_5", None),
    ]
