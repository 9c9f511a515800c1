"""A long file is read in windows. The findings do not depend on the edges of the windows."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from itertools import product

import pytest

from harness.cassettes.redaction import guard, named_values
from harness.cassettes.redaction.guard import Guard
from harness.cassettes.redaction.redactor import Redactor

SECRET = "a-value~of/this-machine+123"
KEY = "AIza" + "Sy0_-" * 7
WINDOW = 4096
SCANNER = Guard({"MY_KEY": SECRET})
WRITTEN: dict[str, Callable[[str], bytes]] = {
    "plain": str.encode,
    "escaped": lambda text: "".join(f"\\u{ord(char):04x}" for char in text).encode(),
    "wrapped": lambda text: "\r\n  ".join(text).encode(),
    "base64": lambda text: base64.b64encode(b"\n\n" + text.encode() + b"\n\n"),
    "in texts": lambda text: "".join(f'{{"text": "{char}"}}\n' for char in text).encode(),
    "escaped in texts": lambda text: "".join(
        f'{{"text": "\\u{ord(char):04x}"}}' for char in text
    ).encode(),
}


def frames(size: int) -> bytes:
    """Text without a secret: texts, signatures and escapes."""
    some = random.Random(7)
    lines: list[bytes] = []
    while sum(map(len, lines)) < size:
        signature = base64.urlsafe_b64encode(some.randbytes(some.randrange(60, 200)))
        lines.append(
            b'data: {"text": "a \\u00e9 %b","n": "xAIza%b"}\r\n\r\n'
            % (b"b" * some.randrange(30), signature)
        )
    return b"".join(lines)[:size]


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "WINDOW", WINDOW)
    monkeypatch.setattr(named_values, "WINDOW", 2 * named_values.OVERLAP)


TEXT = frames(2 * WINDOW)


@pytest.mark.slow
@pytest.mark.parametrize("writing", WRITTEN)
def test_a_secret_is_found_wherever_it_is(writing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    border = b'|\n{"text": "|"}\n|'
    for secret, kind in ((SECRET, "MY_KEY"), (KEY, "a Google API key")):
        for pad in range(0, WINDOW, 151):
            data = TEXT[:WINDOW] + b"-" * pad + border + WRITTEN[writing](secret) + border + TEXT
            (finding,) = SCANNER.scan(data)
            assert finding.kind == kind
            with monkeypatch.context() as patched:
                patched.setattr(guard, "WINDOW", len(data))
                assert SCANNER.scan(data) == [finding]


def test_a_secret_in_long_texts_is_found_at_their_ends() -> None:
    for first, second in product((0, 10, 3 * WINDOW), repeat=2):
        begin = b'{"text": "%b %b"}\n' % (b"a" * first, SECRET[:9].encode())
        end = b'{"text": "%b %b"}\n' % (SECRET[9:].encode(), b"a" * second)
        between = TEXT.replace(b"text", b"size")
        findings = SCANNER.scan(TEXT + begin + between + end + TEXT)
        assert [finding.kind for finding in findings] == ["MY_KEY"], (first, second)


@pytest.mark.slow
def test_the_edge_of_a_window_causes_no_false_finding() -> None:
    longer = b"xAIza" + b"Sy0_-" * 9  # not a key, but its beginning alone would be one
    inside = b"x" * 80 + b"AIza" + b"0" * 30 + b" "
    for pad in range(0, WINDOW, 37):
        for text in (longer, inside):
            assert SCANNER.scan(TEXT + b"-" * pad + text + TEXT) == []


@pytest.mark.slow
def test_a_member_is_redacted_wherever_it_is() -> None:
    member = b'{"\\u0061ccess_token": "abc"}'
    for pad in range(0, 3 * named_values.OVERLAP, 97):
        body = b'{"a": "%b"}' % (b"-" * pad) + member + TEXT
        assert Redactor().body(body) == body.replace(b'"abc"', b'"REDACTED"')
