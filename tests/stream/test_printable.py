"""Foreign text in messages, on terminals and on pages."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stream.printable import (
    excerpt,
    listed,
    printable,
    printable_lines,
    short_json,
    shorten,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Ж עברית 👩 é→", "Ж עברית 👩 é→"),
        ("a\x00b\x1b[2Jc\x7fd\x9be", r"a\u0000b\u001b[2Jc\u007fd\u009be"),
        ("\u202egnp.exe\u2066", r"\u202egnp.exe\u2066"),
        ("\ufeff\u200b\u2028\xa0", r"\ufeff\u200b\u2028\u00a0"),
        ("half \ud83d", r"half \ud83d"),
        ("tag \U000e0041", r"tag \udb40\udc41"),
        ("\ufffe\uffff\ufdd0", r"\ufffe\uffff\ufdd0"),
    ],
)
def test_invisible_characters_are_escaped(text: str, shown: str) -> None:
    assert printable(text) == printable_lines(text) == shown


@pytest.mark.parametrize("number", range(0x21))
def test_a_control_character_is_escaped_in_ascii_as_in_other_text(number: int) -> None:
    text = chr(number or 0x7F)
    assert printable_lines(f"é{text}") == f"é{printable_lines(text)}"
    assert (printable_lines(text) == text) == (text in "\t\n ")


def test_line_feeds_and_tabs_stay_only_where_lines_are_shown() -> None:
    assert printable("a\tb\r\nc") == r"a\tb\r\nc"
    assert printable_lines("a\tb\r\nc") == "a\tb\\r\nc"


@given(st.text(st.characters(exclude_categories=())))
def test_printable_json_has_the_same_value(text: str) -> None:
    shown = printable(json.dumps(text, ensure_ascii=False))
    assert json.loads(shown) == json.loads(json.dumps(text))


def test_a_long_text_is_shortened() -> None:
    assert shorten("abcd", 4) == "abcd"
    assert shorten("abcde", 4) == "abc…"


def test_an_excerpt_has_the_length_of_the_text() -> None:
    assert excerpt("xxxx", 4) == "xxxx"
    assert excerpt("x" * 10_240, 4) == "xxxx … (10,240 characters)"
    assert excerpt("a" * 5000 + "END", 2, 3) == "aa … (5,003 characters) … END"


def test_a_json_value_is_shown_in_a_sentence() -> None:
    assert short_json({"a": ["\x1b", None]}) == r'{"a": ["\u001b", null]}'
    assert short_json("x" * 100, 10) == '"xxxxxxxx…'


@pytest.mark.parametrize(("most", "text"), [(3, "a, b, c"), (2, "a, b and 1 more")])
def test_a_list_has_the_number_of_the_texts_that_it_leaves_out(most: int, text: str) -> None:
    assert listed(["a", "b", "c"], most) == text
