"""The text of a body: line ends are named, and the bytes come back."""

from __future__ import annotations

import pytest

from harness.cassettes.body_block import body_to_text, text_to_body


@pytest.mark.parametrize(
    ("body", "eol"),
    [
        (b"", "lf"),
        (b"a", "lf"),
        (b"a\nb\n", "lf"),
        (b"a\r\n\r\nb", "crlf"),
        (b"a\rb", "cr"),
        (b"a\r\nb\n", "lf; crlf 1"),
        (b"a\nb\nc\r\n", "lf; crlf 3"),
        (b"a\n\rb", "lf; cr 2"),
        (b"a\r\nb\rc", "crlf; cr 2"),
    ],
)
def test_the_line_ends_of_a_body_are_named_and_come_back(body: bytes, eol: str) -> None:
    text = body_to_text(body)
    assert (text.eol, text.escaped) == (eol, [])
    assert text_to_body(*text) == body


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_that_yaml_can_not_hold_is_escaped(end: str) -> None:
    body = f"a{end}b\u2028\\{end}c".encode()
    text = body_to_text(body)
    assert (text.string, text.escaped) == ("a\nb\\u2028\\\\\nc", [2])
    assert text_to_body(*text) == body
