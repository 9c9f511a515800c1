"""``<tool_code>`` blocks are found with any cuts, and their bodies are read without being run."""

from __future__ import annotations

import json
import warnings
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stream.session import Tool
from harness.stream.tool_code import MAX_DEPTH, Splitter, ToolCodeBlock, infer_name, parse_body


def split(*pieces: str) -> list[str | ToolCodeBlock]:
    """The whole output, with adjacent texts joined."""
    splitter = Splitter()
    items: list[str | ToolCodeBlock] = []
    for item in [*(item for piece in pieces for item in splitter.feed(piece)), splitter.close()]:
        if isinstance(item, str) and items and isinstance(items[-1], str):
            items[-1] += item
        elif item:
            items.append(item)
    return items


def block(body: str) -> ToolCodeBlock:
    return ToolCodeBlock(body, f"<tool_code>{body}</tool_code>")


TEXTS: list[tuple[str, list[str | ToolCodeBlock]]] = [
    ("", []),
    ("just text", ["just text"]),
    (
        'Before\n<tool_code>\n{"a":1}\n</tool_code>\nAfter',
        ["Before\n", block('\n{"a":1}\n'), "\nAfter"],
    ),
    ("<tool_code>1</tool_code><tool_code>2</tool_code>", [block("1"), block("2")]),
    ("<tool_code></tool_code>", [block("")]),
    ('<tool_code>{"a":"</tool_code>"}</tool_code>', [block('{"a":"'), '"}</tool_code>']),
    ("<tool_code><tool_code></tool_code>", [block("<tool_code>")]),
    (
        "stray </tool_code> and <TOOL_CODE>x</TOOL_CODE>",
        ["stray </tool_code> and <TOOL_CODE>x</TOOL_CODE>"],
    ),
    ("<<tool_code>x<</tool_code>", ["<", block("x<")]),
    ("a <tool_code>never ends</tool_", ["a <tool_code>never ends</tool_"]),
    ("ends in <tool_cod", ["ends in <tool_cod"]),
    ("<tool_<tool_code>x</tool_code>", ["<tool_", block("x")]),
    ("é<tool_code>☺</tool_code>😀", ["é", block("☺"), "😀"]),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_blocks_are_found_in_one_piece_and_in_single_characters(
    text: str, expected: list[str | ToolCodeBlock]
) -> None:
    assert split(text) == expected
    assert split(*text) == expected


@pytest.mark.slow
@given(
    st.lists(
        st.sampled_from(["<tool_code>", "</tool_code>", "<", "x", "tool_", "code>", "/"]),
        max_size=12,
    ),
    st.lists(st.integers(0, 80)),
)
def test_cuts_do_not_matter_and_nothing_is_lost(words: list[str], cuts: list[int]) -> None:
    text = "".join(words)
    places = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    items = split(*(text[start:stop] for start, stop in pairwise(places)))
    assert items == split(text)
    assert "".join(item if isinstance(item, str) else item.raw for item in items) == text


def test_text_is_held_back_only_while_it_may_become_a_tag() -> None:
    splitter = Splitter()
    assert splitter.feed("x < y") == ["x < y"]
    assert splitter.feed("a <tool_") == ["a "]
    assert splitter.feed("box>") == ["<tool_box>"]
    assert splitter.feed("<tool_code>{") == []
    assert splitter.close() == "<tool_code>{"
    assert splitter.close() == ""
    assert splitter.feed("}") == ["}"]


@pytest.mark.slow
def test_a_long_block_in_single_characters_costs_little() -> None:
    body = "x" * 300_000
    assert split("<tool_code>", *body, "</tool_code>") == [block(body)]


# Bodies

BODIES: list[tuple[str, str | None, dict[str, Any]]] = [
    ('{"todos": []}', None, {"todos": []}),
    ("{}", None, {}),
    ('\n {"a": {"b": null}} \n', None, {"a": {"b": None}}),
    ('```json\n{"a": 1}\n```', None, {"a": 1}),
    ('```tool_code\n{"a": 1}\n```', None, {"a": 1}),
    ('```\n{"a": 1}\n```', None, {"a": 1}),
    ('```{"a": 1}```', None, {"a": 1}),
    ('{"tool_name": "f", "parameters": {"a": 1}}', "f", {"a": 1}),
    ('{"name": "f", "args": {}}', "f", {}),
    ('{"tool": "f", "arguments": {"a": 1}}', "f", {"a": 1}),
    ('{"name": "f", "input": {"a": 1}}', "f", {"a": 1}),
    ('{"name": "f"}', None, {"name": "f"}),
    ('{"name": "f", "args": "{}"}', None, {"name": "f", "args": "{}"}),
    ('{"name": 5, "args": {}}', None, {"name": 5, "args": {}}),
    ('{"name": "", "args": {}}', None, {"name": "", "args": {}}),
    ("f()", "f", {}),
    (
        'f(path="a.txt", limit=10, raw=True, tags=["x", \'y\'], opt=None)',
        "f",
        {"path": "a.txt", "limit": 10, "raw": True, "tags": ["x", "y"], "opt": None},
    ),
    (
        "default_api.f(a=-1.5, b=(1, 2), c={'d': [{}]})",
        "f",
        {"a": -1.5, "b": [1, 2], "c": {"d": [{}]}},
    ),
    ("print(default_api.f(a='x'))", "f", {"a": "x"}),
    ("python(default_api.f(a='x'))", "f", {"a": "x"}),
    ("python(a='x')", "python", {"a": "x"}),
    ("```tool_code\nprint( default_api.f(\n  a='x',\n) )\n```", "f", {"a": "x"}),
    ("f(a='''one\n\"two\" ''three''');", "f", {"a": "one\n\"two\" ''three"}),
    (r"f(a='it\'s \n \x41 \u263a', b=r'\d')", "f", {"a": "it's \n A ☺", "b": r"\d"}),
    (r"f(a='\d \501')", "f", {"a": "\\d \u0141"}),
    ("f(a='(', b=')')", "f", {"a": "(", "b": ")"}),
    ("f(a='x' 'y')", "f", {"a": "xy"}),
]


@pytest.mark.parametrize(("text", "name", "arguments"), BODIES)
def test_bodies_that_are_calls(text: str, name: str | None, arguments: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        body = parse_body(text)
    assert body is not None
    assert (body.name, body.arguments, body.extra) == (name, arguments, {})
    assert json.loads(json.dumps(body.arguments)) == arguments


def test_fields_beside_name_and_arguments_are_returned() -> None:
    body = parse_body(
        '{"id": 7, "tool_name": "f", "name": "g", "args": {"a": 1}, "input": {"b": 2}}'
    )
    assert body == ("f", {"a": 1}, {"id": 7, "name": "g", "input": {"b": 2}})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "oops",
        "[1]",
        '"f"',
        "{",
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": 1} {"b": 2}',
        "```",
        "``````",
        "f(1)",
        "f(a=1, a=2)",
        "f(**{'a': 1})",
        "f(*[])",
        "f(a=x)",
        "f(a=1+1)",
        "f(a=--1)",
        "f(a=not True)",
        "f(a=-True)",
        "f(a=f'{x}')",
        "f(a=b'x')",
        "f(a=1j)",
        "f(a=1e999)",
        "f(a={1, 2})",
        "f(a={1: 2})",
        "f(a={'b': 1, 'b': 2})",
        "f(a={**{}})",
        "f(a=[1][0])",
        "f(a='x'.join([]))",
        "f(a=lambda: 1)",
        "f(a=(b:=1))",
        "f(a=__import__('os').system('x'))",
        "f(a=1) or g(a=1)",
        "f(a=1)\ng(a=1)",
        "print(f(a=1)",
        "f(a=1))",
        "f(a=1]",
        "f(a='\0')",
        "os.system(command='x')",
        "import os",
        "f(\N{LATIN SMALL LIGATURE FI}=1)",
        "f(a='" + "x" * (1 << 20) + "')",
    ],
)
def test_bodies_that_are_not_calls(text: str) -> None:
    assert parse_body(text) is None


@pytest.mark.parametrize(
    "hostile",
    [
        "f(a=" + "[" * 200_000,
        "f(a=" + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1) + ")",
        "f(a=" + "-" * 200_000 + "1)",
        "f(a=" + "1+" * 100_000 + "1)",
        "f(a=" + "'\\'" * 200_000,
        "f(a=" + "\"'" * 200_000,
        "f(a=" + "'''" * 100_001,
        "f(a=" + "9" * 10_000 + ")",
        "f(a=[" + "1," * 100_000 + "])",
        "f(a=''" + "()" * 50_000 + ")",
        '{"a":' * 100_000,
        '{"a":' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}",
        "f" * 500_000,
        "```" + " " * 500_000,
    ],
)
def test_hostile_bodies_are_refused_quickly(hostile: str) -> None:
    assert parse_body(hostile) is None


@given(st.text(alphabet="f(a=)[]{}'\"\\,:.-+1 \n#TrueNone", max_size=60))
def test_no_body_raises_an_exception(text: str) -> None:
    parse_body(f"f(a={text})")
    parse_body(text)


# Names

READ = Tool(
    "Read", {"properties": {"file_path": {}, "offset": {}, "limit": {}}, "required": ["file_path"]}
)
GLOB = Tool("Glob", {"properties": {"pattern": {}, "path": {}}, "required": ["pattern"]})
ANY = Tool("Any", {})
TWIN = Tool("Twin", {"properties": {"pattern": {}}})


@pytest.mark.parametrize(
    ("payload", "tools", "name"),
    [
        ({"file_path": "x"}, [READ, GLOB, ANY], "Read"),
        ({"pattern": "x"}, [READ, GLOB, ANY], "Glob"),
        ({}, [READ, GLOB, ANY], "Any"),
        ({"zzz": 1}, [READ, GLOB, ANY], None),
        ({"file_path": 1, "extra": 1}, [READ, GLOB, ANY], "Read"),
        ({"file_path": 1, "extra": 1, "extra2": 1}, [READ, GLOB, ANY], None),
        ({"pattern": 1}, [TWIN, GLOB], "Twin"),
        ({"pattern": 1}, [GLOB, TWIN], "Glob"),
        ({"pattern": 1, "path": 1}, [TWIN, GLOB], "Glob"),
        ({"pattern": 1}, [Tool("Odd", {"properties": [], "required": "x"})], None),
        ({"a": 1}, [], None),
    ],
)
def test_a_bare_payload_gets_the_tool_that_fits_best(
    payload: dict[str, Any], tools: list[Tool], name: str | None
) -> None:
    assert infer_name(payload, tools) == name
