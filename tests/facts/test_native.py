"""The search for opaque values of the wire in native events."""

from __future__ import annotations

from base64 import b64encode

import pytest

from harness.facts.native import NativeSearch


@pytest.mark.parametrize(
    ("leaf", "is_found"),
    [
        ("t1", True),
        ("pyd_ai_builtin|google|t1", True),
        ("call:t1", True),
        ('{"id": "google|t1"}', True),
        ("xt1", False),
        ("pt1|google", False),
        ("at t1", False),
        ("t1|google", False),
    ],
)
def test_a_short_value_is_a_whole_string_or_follows_a_prefix(leaf: str, is_found: bool) -> None:
    assert NativeSearch([{"id": leaf}]).count("t1") == (int(is_found), False)


def test_a_long_value_may_be_anywhere_in_a_string() -> None:
    assert NativeSearch([{"a": "see https://shop.example/1, please"}]).count(
        "https://shop.example/1"
    ) == (1, False)


@pytest.mark.parametrize(
    ("leaf", "is_found"),
    [("c2lnLTAx", True), ("YzJsbkxUQXg=", True), ("c2lnLTAy", False), ("WXpKc2JreFVRWGc9", False)],
)
def test_a_signature_may_be_encoded_once_more(leaf: str, is_found: bool) -> None:
    search = NativeSearch([{"signature": leaf}])
    assert search.count("c2lnLTAx", kind="signature") == (int(is_found), False)


PIECES = (bytes(range(16)), bytes(range(50, 67)), bytes(range(100, 120)))
TEXTS = [b64encode(piece).decode() for piece in PIECES]


@pytest.mark.parametrize(
    ("leaf", "found"),
    [
        (b64encode(b"".join(PIECES)).decode(), 3),
        ("data:audio/wav;base64," + b64encode(b"RIFF" + b"".join(PIECES)).decode(), 3),
        ("".join(TEXTS), 1),  # decoded, it ends at the first padding
        ("".join(text.rstrip("=") for text in TEXTS), 1),
        (f"![a]({TEXTS[1]}) and data={TEXTS[0].replace('/', '_')}", 2),
        (b64encode(b"".join(PIECES[1:])).decode(), 2),
    ],
)
def test_pieces_of_a_medium_are_joined_as_bytes(leaf: str, found: int) -> None:
    search = NativeSearch([{"audio": leaf}])
    counts = [search.count(text, kind="medium")[0] for text in TEXTS]
    assert sum(counts) == found, counts


def test_pieces_of_json_are_joined_and_opened() -> None:
    pieces = ['{"tool": "sea', 'rch", "n": ', "1}"]
    assert NativeSearch([{"delta": piece} for piece in pieces]).count("search") == (1, False)
