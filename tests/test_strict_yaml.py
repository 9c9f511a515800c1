"""YAML as plain data: YAML 1.2 scalars, nothing that runs, nothing that nests without bound."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.strict_yaml import MAX_DEPTH, YamlError, parse, parse_located

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
    ("a: &x 1", "line 1: anchor &x is not allowed; write the value out"),
    ("a: *x", "line 1: alias *x is not allowed; write the value out"),
    ("a: !!python/object:os.system {}", "line 1: tag tag:yaml.org,2002:python/object:os.system is not allowed; write the value out"),
    ("a: 1\nb:\n  c: 1\n  c: 2", "line 4: the key 'c' stands twice in one mapping"),
    ("1: a\n'1': b", "line 2: the key '1' stands twice in one mapping"),
    ("a: 1\n---\nb: 2", "line 2: a second document starts here; one file holds one"),
    ("{[a]: 1}", "line 1: a key must be a word, not a collection"),
    (
        "a:\n  b: 1\n c: 2\n",
        "line 3: this line is indented differently from those above it, goes on after a closing quote, or belongs to nothing",
    ),
    (
        "a: 1\nb: 'x' y\n",
        "line 2: this line is indented differently from those above it, goes on after a closing quote, or belongs to nothing",
    ),
    ("a:\n  b:\n\tc: 1\n", "line 3: a tab can't indent; use spaces"),
    ("a: @x\n", "line 1: a value that begins with a special character, such as `@`, `%` or a backtick, needs quotes"),
    ("a: 1\nb: [1,\n 2\nc: 1\n", "line 4: a bracket that opens on line 2 is not closed with `]`, or a value in it needs quotes"),
    ("a: {x: 1\nb: 1\n", "line 2: a bracket that opens on line 1 is not closed with `}`, or a value in it needs quotes"),
    (
        "a: 1\nb: c: d\n",
        "line 2: a second `:` where one is expected; a value with `: ` in it needs quotes, a key begins a line of its own",
    ),
    ("a:\n  - [\n", "line 3: did not find expected node content"),
    ("a: 1\nb: \x00", "line 2: not readable as YAML: control characters are not allowed (U+0000)"),
    ("a: \ud800", "line 1: not readable as YAML: a lone surrogate"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_not_plain_data_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(YamlError) as error:
        parse(text)
    assert str(error.value) == message


@pytest.mark.parametrize("opening", ["[", "- ", "{a: "])
def test_nesting_is_refused_before_anything_recurses(opening: str) -> None:
    """Far beyond the depth at which libyaml's composer takes the process with it."""
    with pytest.raises(YamlError, match=f"nested deeper than {MAX_DEPTH} levels"):
        parse(opening * 200_000)


def test_nesting_up_to_the_limit_is_read() -> None:
    value = parse("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    for _ in range(MAX_DEPTH - 1):
        (value,) = value
    assert value == []


def test_too_large_a_text_is_refused() -> None:
    with pytest.raises(YamlError, match="the text has 4 bytes; at most 3 are read"):
        parse("abcd", max_bytes=3)


def test_bytes_that_are_not_utf_8_are_refused_with_their_line() -> None:
    with pytest.raises(YamlError, match=r"line 2: not readable as YAML: invalid leading UTF-8 octet \(U\+00FF\)"):
        parse(b"a: 1\nb: \xff")


def test_foreign_recordings_may_use_aliases_and_tags() -> None:
    text = "a: &x {k: 1}\nb: *x\nc: !!binary aGk=\nd: !ruby/sym foo\ne: !!python/object:x.y {f: 2}\na: 3"
    assert parse(text, foreign=True) == {"a": 3, "b": {"k": 1}, "c": b"hi", "d": "foo", "e": {"f": 2}}


def test_an_alias_shares_and_never_copies() -> None:
    layers = "\n".join(f"l{n}: &l{n} [*l{n - 1}, *l{n - 1}]" for n in range(1, 90))
    data = parse(f"l0: &l0 [x]\n{layers}", foreign=True)
    assert data["l89"][0] is data["l89"][1]


def test_a_foreign_alias_that_contains_itself_is_refused() -> None:
    with pytest.raises(YamlError, match=r"alias \*x contains itself"):
        parse("a: &x [*x]", foreign=True)


def test_lines_are_those_of_the_keys() -> None:
    data, lines = parse_located("harness: 1\ncases:\n- case: a\n  expect:\n    x:\n    - 1\n")
    assert data["cases"][0]["expect"] == {"x": [1]}
    assert lines["cases", 0] == 3
    assert lines["cases", 0, "expect", "x"] == 5
    assert lines["cases", 0, "expect", "x", 0] == 6


@given(st.text() | st.binary())
def test_any_text_is_data_or_a_yaml_error(text: str | bytes) -> None:
    for foreign in (False, True):
        line = 1
        try:
            parse(text, foreign=foreign)
        except YamlError as error:
            line = error.line
        assert line >= 1
