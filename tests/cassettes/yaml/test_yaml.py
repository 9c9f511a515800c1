"""YAML as plain data: YAML 1.2 scalars, no code, and limited nesting."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from harness.cassettes.yaml import (
    MAX_TAG_LINES,
    MAX_VALUES,
    YamlError,
    parse,
    parse_located,
)
from harness.cassettes.yaml.errors import MAX_DEPTH, explain

SCALARS: list[tuple[str, Any]] = [
    ("no", "no"),
    ("yes", "yes"),
    ("on", "on"),
    ("2026-11-21", "2026-11-21"),
    ("12:30:45", "12:30:45"),
    ("1_000", "1_000"),
    ("true", True),
    ("False", False),
    ("~", None),
    ("null", None),
    ("", None),
    ("010", 10),
    ("0x1F", 31),
    ("0o17", 15),
    ("-12", -12),
    ("1.5e3", 1500.0),
    (".5", 0.5),
    ("1e999", "1e999"),
    (".nan", ".nan"),
    ("'1'", "1"),
    ('"true"', "true"),
    ("18446744073709551617", 18446744073709551617),
]


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_plain_scalars_follow_the_core_schema(text: str, value: Any) -> None:
    got = parse(f"key: {text}\n")["key"]
    assert got == value
    assert type(got) is type(value)


REFUSED = [
    ("a: &x 1", "line 1: anchor &x is not allowed; write the value in full"),
    ("a: *x", "line 1: alias *x is not allowed; write the value in full"),
    (
        "a: !!python/object:os.system {}",
        "line 1: tag tag:yaml.org,2002:python/object:os.system is not allowed; write the value in full",
    ),
    (
        "a: 1\nb:\n  c: 1\n  c: 2",
        "line 4: the key 'c' is used twice in one mapping; delete one of them",
    ),
    ("1: a\n'1': b", "line 2: the key '1' is used twice in one mapping; delete one of them"),
    ("a: 1\n---\nb: 2", "line 2: a second document starts here; a file has one"),
    ("{[a]: 1}", "line 1: a key must be a string, not a collection"),
    (
        "a:\n  b: 1\n c: 2\n",
        "line 3: this line is indented differently from those above it, or text follows a closing quote",
    ),
    (
        "a: 1\nb: 'x' y\n",
        "line 2: this line is indented differently from those above it, or text follows a closing quote",
    ),
    ("a:\n  b:\n\tc: 1\n", "line 3: a tab can't indent; use spaces"),
    (
        "a: @x\n",
        "line 1: a value that begins with a special character, such as `@`, `%` or a backtick, needs quotes",
    ),
    (
        "a: 1\nb: [1,\n 2\nc: 1\n",
        "line 4: a bracket that opens on line 2 is not closed with `]`, or a value in it needs quotes",
    ),
    (
        "a: {x: 1\nb: 1\n",
        "line 2: a bracket that opens on line 1 is not closed with `}`, or a value in it needs quotes",
    ),
    (
        "a: 1\nb: c: d\n",
        "line 2: there is a second `:`; quote a value that contains `: `, begin a key on its own line",
    ),
    ("a:\n  - [\n", "line 3: the text ends inside a bracket; close it"),
    (
        "a: [1,,2]\n",
        "line 1: a value is missing; write one, close the bracket, or remove a comma",
    ),
    (
        'a: 1\nb: "x\nc: 1\n',
        "line 2: a quote that opens on this line is not closed; write a quote inside single quotes twice",
    ),
    (
        "a: 'x\n---\n",
        "line 1: a quote that opens on this line is not closed; write a quote inside single quotes twice",
    ),
    (
        'a: "C:\\q"',
        "line 1: an unknown escape in double quotes; write a backslash as `\\\\`, or use single quotes",
    ),
    (
        'a: "\\xZZ"',
        r"line 1: `\x`, `\u` and `\U` need 2, 4 or 8 hexadecimal digits of a character; write a backslash as `\\`",
    ),
    (
        "{a: 1}\n{b: 2}\n",
        "line 2: this line does not belong to the value above it; a file has one mapping or list",
    ),
    (
        "- a\nb: 1\n",
        "line 2: this line is at the level of a list; begin it with `- `, or indent it further",
    ),
    (
        "a: 1\nb\nc: 2\n",
        "line 2: a key without `:`; write `key: value`, or indent a line that continues the one above",
    ),
    ("a: - b", "line 1: a list begins on its own line; a value that begins with `- ` needs quotes"),
    ("a: ? b", "line 1: a value that begins with `? ` needs quotes"),
    (
        "a: |x\n b",
        "line 1: only `+`, `-` and a digit may follow `|` or `>`; the text begins on the next line",
    ),
    ("a: |0\n b", "line 1: the indentation after `|` or `>` is a digit from 1 to 9"),
    ("a: |\n\tb", "line 2: a tab can't indent; use spaces"),
    ("a: *", "line 1: a value that begins with `&` or `*` needs quotes"),
    ("a: !x!y b", "line 1: a value that begins with `!` needs quotes"),
    ("a: !<x", "line 1: a value that begins with `!` needs quotes"),
    (
        "%YAML 9\n---\na: 1",
        "line 1: a line that begins with `%` is a directive, and only `%YAML 1.2` is allowed; quote a value",
    ),
    (
        "%YAML 1.2\n%YAML 1.2\n---\na: 1",
        "line 2: a line that begins with `%` is a directive, and only `%YAML 1.2` is allowed; quote a value",
    ),
    (
        "é: 1\n" * 20 + "b: \x00",
        "line 21: U+0000 is not allowed in YAML; write it as an escape in double quotes",
    ),
    (
        "a: \ud800",
        "line 1: half of a surrogate pair is not a character; write the whole character",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_a_fault_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(YamlError) as error:
        parse(text)
    assert str(error.value) == message


NESTED = [opening * 1_000_000 for opening in ("[", "[\n", "- ", "{a: ", "[{a: ", "- - ")]
NESTED += [
    "- " * 1_000_000 + "[" * 1_000_000,
    "".join(f"{' ' * depth}a:\n" for depth in range(3000)),
]


@pytest.mark.parametrize("foreign", [False, True])
@pytest.mark.parametrize("text", NESTED, ids=range(len(NESTED)))
def test_deep_nesting_is_refused(text: str, foreign: bool) -> None:
    """The text is far deeper than the depth at which libyaml's composer crashes the process."""
    with pytest.raises(YamlError, match=f"nested deeper than {MAX_DEPTH} levels"):
        parse(text, foreign=foreign)


@pytest.mark.parametrize("opening", ["? ", "- ? ", "? : ", "{", "{? ", "[? "])
def test_nested_keys_are_refused(opening: str) -> None:
    """The version of libyaml decides which of the faults is found first."""
    with pytest.raises(
        YamlError,
        match=r"a key must be a string, not a collection|a value is missing|nested deeper than 100",
    ):
        parse(opening * 1_000_000)


def test_the_error_of_deep_nesting_has_no_words_of_the_library() -> None:
    mark = yaml.Mark("", 500, 0, 500, None, 0)
    error = yaml.scanner.ScannerError("while scanning", mark, "any words", mark)
    assert explain(error, b"[" * 1000) == (1, "nested deeper than 100 levels")
    assert explain(error, b"[]" * 500) == (1, "any words")


def test_brackets_in_scalars_are_not_nesting() -> None:
    brackets = "[" * 200_000
    text = f"plain: x {brackets}\n  {brackets}\nsingle: '{brackets}'\ndouble: \"{brackets}\"\nblock: |\n  {brackets}\n# {brackets}\n"
    assert list(parse(text).values()) == [
        f"x {brackets} {brackets}",
        brackets,
        brackets,
        f"{brackets}\n",
    ]


@pytest.mark.parametrize("line_end", ["\n", "\r", "\r\n", "\x85", "\u2028"])
def test_many_tag_lines_are_refused_before_parsing(line_end: str) -> None:
    """The parser would need hours for a hundred times as many lines, and could not be interrupted."""
    text = "".join(f"%TAG !{number}! a{line_end}" for number in range(5000)) + "--- a"
    with pytest.raises(YamlError, match="more than 100 lines begin with `%TAG`"):
        parse(text, foreign=True)
    with pytest.raises(YamlError, match="UTF-16"):
        parse(text.encode("utf-16"), foreign=True)


def test_tag_lines_and_the_word_itself_are_read() -> None:
    assert (
        parse(
            "".join(f"%TAG !{number}! a\n" for number in range(MAX_TAG_LINES)) + "--- a",
            foreign=True,
        )
        == "a"
    )
    assert parse("a: |\n" + "  %TAG\n" * 1000) == {"a": "%TAG\n" * 1000}


@pytest.mark.slow
def test_a_small_text_with_huge_data_is_refused() -> None:
    with pytest.raises(YamlError, match="more than 1000000 values"):
        parse("[" + "{}," * (MAX_VALUES + 1) + "]")


def test_nesting_up_to_the_limit_is_read() -> None:
    value = parse("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    for _ in range(MAX_DEPTH - 1):
        (value,) = value
    assert value == []


def test_a_too_large_text_is_refused() -> None:
    with pytest.raises(YamlError, match="the text has 4 bytes; at most 3 are read"):
        parse("abcd", max_bytes=3)


def test_bytes_that_are_not_utf_8_are_refused_with_their_line() -> None:
    with pytest.raises(YamlError, match=r"line 2: not UTF-8 at byte 8; save the file as UTF-8"):
        parse(b"a: 1\nb: \xff")
    with pytest.raises(YamlError, match=r"line 1: UTF-16; save the file as UTF-8"):
        parse("\ufeffa: 1".encode("utf-16"))


def test_foreign_recordings_may_use_aliases_and_tags() -> None:
    text = "a: &x {k: 1}\nb: *x\nc: !!binary aGk=\nd: !ruby/sym foo\ne: !!python/object:x.y {f: 2}\na: 3"
    assert parse(text, foreign=True) == {
        "a": 3,
        "b": {"k": 1},
        "c": b"hi",
        "d": "foo",
        "e": {"f": 2},
    }


def test_an_alias_shares_its_value() -> None:
    layers = "\n".join(f"l{n}: &l{n} [*l{n - 1}, *l{n - 1}]" for n in range(1, 90))
    data = parse(f"l0: &l0 [x]\n{layers}", foreign=True)
    assert data["l89"][0] is data["l89"][1]


def test_a_foreign_alias_that_contains_itself_is_refused() -> None:
    with pytest.raises(YamlError, match=r"alias \*x contains itself"):
        parse("a: &x [*x]", foreign=True)


def test_a_value_has_the_line_of_its_key() -> None:
    data, lines = parse_located("harness: 1\ncases:\n- case: a\n  expect:\n    x:\n    - 1\n")
    assert data["cases"][0]["expect"] == {"x": [1]}
    assert lines["cases", 0] == 3
    assert lines["cases", 0, "expect", "x"] == 5
    assert lines["cases", 0, "expect", "x", 0] == 6


@pytest.mark.slow
@given(st.text() | st.binary())
def test_any_text_is_data_or_a_yaml_error(text: str | bytes) -> None:
    for foreign in (False, True):
        line = 1
        try:
            parse(text, foreign=foreign)
        except YamlError as error:
            line = error.line
        assert line >= 1
