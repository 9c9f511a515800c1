"""The fast reader of a cassette gives the same data as the YAML parser, or leaves the text to it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.cassettes import CassetteError, reader
from harness.cassettes.yaml import YamlError, parse, parse_usual
from harness.cassettes.yaml.plain import MAX_TEXT, read_plain_lines
from tests.cassettes.test_shipped_wire import CASSETTES

READ = [
    ("a: b\n", {"a": "b"}),
    ("a:\nb:\n", {"a": None, "b": None}),
    ("a:\n    b: 1\nc: -\n", None),
    ("a:\n    b: 1\nc: 2\n", {"a": {"b": 1}, "c": 2}),
    ("a:\n- b: x\n  c:\n    d: y\n- b: z\ne: null\n", {
        "a": [{"b": "x", "c": {"d": "y"}}, {"b": "z"}], "e": None,
    }),
    ("a:\n  - b: x\n    c: y\n  - b: z\n", {"a": [{"b": "x", "c": "y"}, {"b": "z"}]}),
    ("- a: b\n", None),
    ("a: {code: 200, message: \"not OK\"}\nb: {code: 404}\n", {
        "a": {"code": 200, "message": "not OK"}, "b": {"code": 404},
    }),
    ('a: "x \\"y\\" \\\\n\\n"\nb: ["\\t"]\nc: {}\n', {
        "a": 'x "y" \\n\n', "b": ["\t"], "c": {},
    }),
    ('a: ["x, y", ""]\nb: [1, 20]\nc: []\nd: "e: f"\n', {
        "a": ["x, y", ""], "b": [1, 20], "c": [], "d": "e: f",
    }),
    ("a: https://x.example:80/y?z=1&w=%20;q=(0.5)\nb: 2026-11-21\nc: 0x10\nd: 1e3\n", {
        "a": "https://x.example:80/y?z=1&w=%20;q=(0.5)", "b": "2026-11-21", "c": 16, "d": 1000.0,
    }),
]  # fmt: skip


@pytest.mark.parametrize(("text", "data"), READ)
def test_a_text_of_plain_lines_is_read(text: str, data: object) -> None:
    assert read_plain_lines(text) == data
    if data is not None:
        assert parse(text) == data


LEFT = [
    "", "\n", "a: b", "a: b\n\n", "# c\na: b\n", "---\na: b\n", "a: b # c\n", "a: 'b'\n",
    'a: "b\\u0041"\n', 'a: "b\\x41"\n', 'a: "b\\"\n', 'a: "b\tc"\n', "a: b:\n", "a: b: c\n", "a: b\n  c: d\n", "a:\n    b: 1\n  c: 2\n",
    "a: 1\na: 2\n", "null: 1\n", "1: 2\n", "a: [b]\n", "a: [01]\n", "a: {b: c}\n", "a: &x b\n",
    "a: *x\n", "a: !t b\n", "a:  b\n", "a: b \n", "a: |\n  b\n", "a: -\n", "? a\n", "a :\n", "- b\n",
    " a: b\n", "a:\n - b\n", "a: b\n- c: d\n", "a: b\r\n",
]  # fmt: skip


@pytest.mark.parametrize("text", LEFT)
def test_any_other_line_is_left_to_the_parser(text: str) -> None:
    assert read_plain_lines(text) is None


def test_a_long_text_is_left_to_the_parser() -> None:
    text = "".join(f"a{number}: 1\n" for number in range(MAX_TEXT // 7))
    assert len(text) > MAX_TEXT
    assert read_plain_lines(text) is None


def test_a_deep_text_is_left_to_the_parser() -> None:
    text = "".join(f"{' ' * level}a:\n" for level in range(200))
    assert read_plain_lines(text) is None
    with pytest.raises(YamlError, match="nested deeper"):
        parse(text)


KEYS = st.sampled_from(["a", "b", "- a", "- c", "true", "x-y", '"q"', "- - d", "<<"])
VALUES = st.sampled_from(
    [
        *("", " 1", " -1", " 1.0", " x y", " x: y", " x:y", " x #y", " x#y", " null", " True"),
        *(
            ' ""',
            ' "x: y"',
            ' "\\n"',
            ' "\\\\"',
            ' "\\u00e9"',
            ' "\\/"',
            ' "x"y',
            " [1, 2]",
            " [1,2]",
            ' ["a", 1]',
            " [a]",
            " []",
        ),
        *(" {code: 200}", ' {code: 200, message: "OK"}', " {}", " |", " 'x'", " 0o7", " 1_0", " é"),
    ]
)
LINES = st.lists(st.tuples(st.integers(0, 6), KEYS, VALUES), max_size=6)


@pytest.mark.slow
@given(LINES)
@example([(0, "a", ""), (0, "- a", ""), (2, "- a", " 1"), (2, "b", "")])
def test_both_ways_give_the_same_data(lines: list[tuple[int, str, str]]) -> None:
    text = "".join(f"{' ' * indent}{key}:{value}\n" for indent, key, value in lines)
    data = read_plain_lines(text)
    assert data is None or (data, repr(data)) == (parse(text), repr(parse(text)))


@pytest.mark.slow
def test_a_cassette_is_the_same_by_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [path.read_bytes() for path in CASSETTES.rglob("*.yaml")]
    texts = [text for text in texts if reader.is_cassette(text)]
    taken = sum(parse_usual(text) is not None for text in texts)
    fast = [reader.loads(text) for text in texts]
    monkeypatch.setattr(reader, "parse_usual", lambda text: None)
    assert fast == [reader.loads(text) for text in texts]
    assert taken > 0.9 * len(texts) > 100


CASSETTE = """\
version: 1
metadata:
  harness: 1
  origin: written
interactions:
- request: null
  response:
    status: {code: 200}
    headers:
      a: b
    body:
      string: |2-
        é
    reads: |
      - 2
    end: complete
"""
CHANGES = [
    ("harness: 1", "harness: 2"), ("é", "éé"), ("é", "e\x07"), ("- 2", "1 1\n      2 1"),
    ("- 2", "1 2 3"), ("- 2", "2"), ("string: |2-", "base64: |"), ("      string: |2-\n        é\n", ""),
    ("      a: b", "      a: |2-\n        b"), ("end: complete", "end: never"), ("a: b", "a: [b]"),
    ("origin: written", "origin: lifted-block-0"), ("version: 1\n", ""), ("      a: b", "      a: 1"),
    ("string: |2-", "eol: crlf\n      string: |2-"), ("string: |2-", "eol: cd\n      string: |2-"),
    ("string: |2-", "escaped: [1]\n      string: |2-"), ("    reads", "    read"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), [("", ""), *CHANGES])
def test_a_changed_cassette_has_the_same_outcome_by_both_ways(
    old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = CASSETTE.replace(old, new, 1)
    fast = outcome(text)
    monkeypatch.setattr(reader, "parse_usual", lambda text: None)
    assert fast == outcome(text)


@pytest.mark.slow
@given(st.binary(max_size=4), st.integers(0, len(CASSETTE)), st.integers(0, 4))
def test_damaged_bytes_have_the_same_outcome_by_both_ways(
    damage: bytes, place: int, lost: int
) -> None:
    data = CASSETTE.encode()
    data = data[:place] + damage + data[place + lost :]
    usual = parse_usual(data)
    if usual is None:
        return
    fast = outcome(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "parse_usual", lambda text: None)
        assert fast == outcome(data)


def outcome(text: str | bytes) -> object:
    try:
        return reader.loads(text)
    except (CassetteError, YamlError) as error:
        return str(error)
