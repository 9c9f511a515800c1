"""A long text is first searched for all words at once. The findings stay the same."""

from __future__ import annotations

import base64
import json
import random
import sys
from collections.abc import Callable

import pytest

from harness.cassettes.redaction import credentials
from harness.cassettes.redaction.credentials import BEGINNINGS, LONG
from harness.cassettes.redaction.guard import Guard
from harness.cassettes.redaction.mask import Mask
from tests.cassettes.redaction.samples import NAME, SECRET, SHAPES, WRITTEN

SHORT = "}{ \x7f0é"
VALUES = (
    *SHAPES,
    *(SECRET, SHORT, "Bearer abcdefghij-0123456789", "bearer+abcdefghij-0123456789.x"),
    *('"api_key": "own"', "'Authorization': b'own'", "'api_\u212aey': 'own'", "?a=b&key=own"),
    *('"environment": {"env": {"A": "own"}}', "https://h/login?own"),
)
DIVIDED: dict[str, Callable[[str], str]] = {
    "whole": str,
    "in lines": lambda text: "\n  ".join(text[at : at + 9] for at in range(0, len(text), 9)),
    "in payloads": lambda text: "".join(
        json.dumps({"text": text[at : at + 7], "n": 1}) + "\n" for at in range(0, len(text), 7)
    ),
    "beginning": lambda text: f"{text[: len(text) * 2 // 3]}…",
    "end": lambda text: f"… {text[len(text) // 3 :]}",
}
NOISE: tuple[Callable[[random.Random], str], ...] = (
    lambda some: f'{{"eventId":"event_{some.randrange(10**6)}","text":"word "}}\n',
    lambda some: base64.urlsafe_b64encode(some.randbytes(some.randrange(6, 99))).decode(),
    lambda some: ' "it\'s" \\u00e9 a=%41 &lt; \n',
    lambda _: "",
)


def masked_with(long: int, text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(credentials, "LONG", long)
    return Mask(Guard({NAME: SECRET, "SHORT": SHORT})).text(text)


@pytest.mark.slow
@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("divided", DIVIDED)
def test_the_first_search_changes_nothing(
    divided: str, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every other value, and in the next division the others: so all pairs of a value and a form,
    and of a value and a division, are tried.
    """
    some = random.Random(f"{divided} {written}")
    changed = 0
    first = ([*DIVIDED].index(divided) + [*WRITTEN].index(written)) % 2
    for value in VALUES[first::2]:
        around = ["".join(some.choice(NOISE)(some) for _ in range(4)) for _ in range(2)]
        text = DIVIDED[divided](WRITTEN[written](value)).join(around)
        masked = masked_with(sys.maxsize, text, monkeypatch)
        assert masked_with(0, text, monkeypatch) == masked, text
        changed += masked != text
    assert changed > 2 or divided not in ("whole", "in payloads")  # others cut an escape in two


@pytest.mark.parametrize("value", [*SHAPES, "'api_\u212aey': 'own'", '{"id_token": "own"}'])
def test_a_secret_in_a_long_text_is_replaced(value: str) -> None:
    around = ", word after word, " * (LONG // 19 + 1)
    masked = Mask().text(f"{around}{value}{around}")
    assert masked.startswith(around)
    assert masked.endswith(around)
    assert "REDACTED" in masked[len(around) : -len(around)]


def test_every_shape_of_a_secret_contains_a_search_word() -> None:
    assert all(any(word.decode() in value for word in BEGINNINGS) for value in SHAPES)


def test_the_rest_of_a_cut_secret_is_replaced_in_base64() -> None:
    key = base64.b64encode(f"key {next(iter(SHAPES))[:20]}".encode()).decode()
    assert Mask().text(f"a long_word_before, {key} and more") == (
        "a long_word_before, REDACTED and more"
    )
