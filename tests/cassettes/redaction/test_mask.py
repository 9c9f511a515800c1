"""A mask replaces secrets and the parts of cut secrets, and keeps all other text."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

from harness.cassettes.redaction.guard import Guard
from harness.cassettes.redaction.mask import Mask
from harness.cassettes.redaction.secrets import mask
from tests.cassettes.redaction.samples import NAME, SECRET, SHAPES

MASK = Mask(Guard({NAME: SECRET, "B": "long-known-value-of-b"}))
KEY = next(iter(SHAPES))
PRIVATE = (
    "-----BEGIN PRIVATE KEY-----\\n" + "M" * 30 + "\\n" + "N" * 30 + "\\n-----END PRIVATE KEY-----"
)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"the key is {KEY}, mind it", "the key is REDACTED, mind it"),
        (f"ya29.{'t' * 60} and more", "REDACTED and more"),
        (f"my {PRIVATE} and more", "my REDACTED and more"),
        ("Bearer abcdefghij-0123456789.x and more", "Bearer REDACTED and more"),
        (f"{KEY[:24]} … (1,000 characters)", "REDACTED"),
        (f"<{KEY[:24]}...{KEY[30:]}>", "<REDACTED>"),
        ("a long-known-va… and more", "a REDACTED… and more"),
        ("a ...n-value-of-b", "a ...REDACTED"),
        ("a long-known", "a REDACTED"),
        ("long-known values and AIza keys stay", "long-known values and AIza keys stay"),
        ("KeyError: {'api_key': 'a\\'b'}", "KeyError: {'api_key': 'REDACTED'}"),
        ("x = {\"api_key\": 'a'}, y", "x = {\"api_key\": 'REDACTED'}, y"),
        (
            "{'a': 'b...client_secret': 'x', 'c': 'd'}",
            "{'a': 'b...client_secret': 'REDACTED', 'c': 'd'}",
        ),
        ("Config(a=1, b...ey='x', c=2)", "Config(a=1, b...ey='REDACTED', c=2)"),
        ("{'a': 'b...': 'x'}", "{'a': 'b...': 'REDACTED'}"),
        ("{'a': 'b...text': 'x'} and so on ...: 'y'", "{'a': 'b...text': 'x'} and so on ...: 'y'"),
        ('repr \'{"id_token": "a\\\\"b"}\' there', 'repr \'{"id_token": "REDACTED"}\' there'),
        ("GET https://h/x?a=b&key=c HTTP", "GET https://h/x?a=b&key=REDACTED HTTP"),
        ("\ud83d half", "\ud83d half"),
    ],
)
def test_secrets_are_replaced(text: str, masked: str) -> None:
    assert MASK.text(text) == MASK.text(masked) == masked


def test_a_secret_in_several_texts_is_replaced_in_each() -> None:
    texts = [f"a {KEY[:9]}", KEY[9:], "specs/a.yaml", "", f"b {SECRET[:8]}", f"{SECRET[8:]} c"]
    assert MASK.texts(texts) == [
        "a REDACTED",
        "REDACTED",
        "specs/a.yaml",
        "",
        "b REDACTED",
        "REDACTED c",
    ]
    assert MASK.texts([]) == []
    frames = [json.dumps({"text": piece}) for piece in (KEY[:12], KEY[12:30], f"{KEY[30:]}!")]
    assert [json.loads(frame) for frame in MASK.texts(frames)] == [
        {"text": "REDACTED"},
        {"text": "REDACTED"},
        {"text": "REDACTED!"},
    ]


def test_the_text_after_a_cut_private_key_is_kept() -> None:
    texts = ["it is -----BEGIN PRIVATE KEY----- MIIEvQIBADANBgkqhkiG9w0B", "specs/a.yaml"]
    assert MASK.texts(texts) == ["it is REDACTED", "specs/a.yaml"]


@pytest.mark.parametrize(
    "value", [SECRET, KEY, {"api_key": 'a"b'}, json.dumps({"id_token": SECRET})]
)
def test_json_stays_json(value: object) -> None:
    text = json.dumps({"a": [value, "x"], "b": json.dumps([value])})
    read = json.loads(MASK.text(text))
    assert list(read) == ["a", "b"]
    assert read["a"][1] == "x"
    assert len(json.loads(read["b"])) == 1


def test_a_mask_ignores_credentials_that_it_cannot_read(
    tmp_path: Path,
) -> None:
    place = tmp_path / "c.json"
    environ = {"MY_Secret": "swordfish-1", "GOOGLE_APPLICATION_CREDENTIALS": str(place)}
    place.write_text('{"private_key": "opaque-key-of-mine"}', encoding="utf-8")
    assert mask(environ).text("swordfish-1 opaque-key-of-mine") == "REDACTED REDACTED"
    place.write_text("no json", encoding="utf-8")
    assert mask(environ).text("swordfish-1 opaque-key-of-mine") == "REDACTED opaque-key-of-mine"


@pytest.mark.parametrize(
    "beginning", ["AIza", "AQ.", "ya29.", "1//0", "GOCSPX-", "Bearer ", "bearer "]
)
def test_the_rest_of_each_cut_credential_is_replaced(beginning: str) -> None:
    assert Mask().text(f"the key {beginning}ab3defgh… is refused") == "the key REDACTED is refused"


@pytest.mark.slow
def test_long_texts_are_not_kept() -> None:
    mask = Mask()
    mask.text("warm")
    tracemalloc.start()
    for number in range(20):
        assert mask.text(f"{number} " * 100_000).startswith(f"{number} ")
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 500_000
