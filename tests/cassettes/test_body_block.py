"""The text of a body names its line ends and can be read back to the same bytes."""

from __future__ import annotations

import random
import re
from functools import partial

import pytest

from harness.cassettes import (
    Cassette,
    CassetteError,
    Exchange,
    Origin,
    Request,
    body_block,
    dumps,
    loads,
    writer,
)
from harness.cassettes.body_block import BodyTextError, Layout, layout, text_to_body, texts


def body_to_text(body: bytes) -> tuple[bytes, Layout]:
    """The text of a body, and the form in which it is written."""
    how = layout(body)
    return b"".join(text for text, _ in texts(body, how)), how


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
    text, how = body_to_text(body)
    assert (how.eol, how.escaped) == (eol, [])
    assert text_to_body(text, eol, []) == body


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_that_yaml_can_not_hold_is_escaped(end: str) -> None:
    body = f"a{end}b\u2028\\{end}c".encode()
    text, how = body_to_text(body)
    assert (text, how.escaped) == (b"a\nb\\u2028\\\\\nc", [2])
    assert text_to_body(text, how.eol, how.escaped) == body


@pytest.mark.slow
def test_a_long_body_is_written_in_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is the same as that of the body written at once."""
    some = random.Random(3)
    pieces = ["\n", "\n\n", " ", "        ", "a", "é", "🙂", "# |2+", "data: {}", "\t"]
    others = ["\r", "\r\n", "\u2028", "\x00", "\ufeff", "\\"]
    bodies = ["\n" * 40, "", "a" * 40, "🙂" * 20, "\n\n a\n" * 9]
    bodies += ["".join(some.choices(pieces, k=some.randrange(60))) for _ in range(150)]
    mixed = ["".join(some.choices(pieces + others, k=some.randrange(60))) for _ in range(300)]
    for text in [*bodies, *(body.replace("\n", "\r\n") for body in bodies), *mixed]:
        body = text.encode()
        request = Request("POST", "https://h/x", {}, body)
        cassette = Cassette(
            (Exchange(request, 200, {}, ((None, body),) if body else ()),), Origin("written")
        )
        whole = dumps(cassette)
        assert loads(whole) == cassette
        for window in (1, 2, 7, 30):
            with monkeypatch.context() as patched:
                patched.setattr(body_block, "WINDOW", window)
                assert dumps(cassette) == whole


def test_a_window_that_reads_as_another_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = partial(re.sub, rb"\n(?=[^\nx])", b"\n        ")
    monkeypatch.setattr(writer, "_indent", wrong)
    body = b"a\n" + b"b" * 3 * body_block.WINDOW + b"\nx\n" + b"c" * 3 * body_block.WINDOW
    with pytest.raises(CassetteError, match="can't be written"):
        dumps(Cassette((Exchange(None, 200, {}, ((None, body),)),), Origin("written")))


def test_a_body_with_too_many_escaped_lines_is_base64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_MAX_ESCAPED", 2)
    for lines, kind in ((2, "string: |2-"), (3, "base64: |")):
        body = "\n".join(["\u2028"] * lines).encode()
        cassette = Cassette((Exchange(None, 200, {}, ((None, body),)),), Origin("written"))
        text = dumps(cassette)
        assert kind in text
        assert loads(text) == cassette


def test_a_line_with_two_ends_is_refused() -> None:
    with pytest.raises(BodyTextError, match="line 2 has two ends; list each line once"):
        text_to_body(b"a\nb\nc\n", "lf; crlf 1-2; cr 2", [])
