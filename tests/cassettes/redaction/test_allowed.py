"""The file names what was changed in its bodies, and a rule of the project allows a false find."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import pytest

from harness.cassettes import Cassette, CassetteError, Exchange, loads
from harness.cassettes.redaction.guard import Guard
from harness.cassettes.redaction.redactor import Redactor
from tests.cassettes.redaction.samples import ORIGIN, PLAIN

PRESS = "Bearer of-good-news-everyone-2nd-time"
LINK = "see https://github.com/search?code=python&key=value"


def answered(text: str) -> Exchange:
    return replace(PLAIN, reads=((1.0, json.dumps({"text": text}).encode()),))


def written(exchange: Exchange, *rules: str, secret: str = "") -> Cassette:
    redactor = Redactor(rules)
    guard = Guard({"S": secret} if secret else None, redactor)
    return loads(guard.encode(Cassette((PLAIN, exchange), ORIGIN), "a.yaml"), "a.yaml")


def test_the_file_names_the_bodies_that_were_changed() -> None:
    cassette = written(answered(LINK))
    assert (
        cassette.exchanges[1].body
        == answered(LINK.replace("python", "REDACTED").replace("value", "REDACTED")).body
    )
    assert cassette.origin.redacted == ("exchange 2, response body: 2 values",)
    again = Guard().redactor.cassette(cassette)
    assert again.origin == cassette.origin
    assert written(PLAIN).origin.redacted == ()


def test_the_file_names_a_changed_request() -> None:
    assert PLAIN.request
    asked = replace(PLAIN, request=replace(PLAIN.request, body=b'{"password": "a", "b": 1}'))
    assert written(asked).origin.redacted == ("exchange 2, request body: 1 value",)


@pytest.mark.parametrize("text", [LINK, f"A {PRESS}.", f'"{LINK}" é {PRESS}'])
def test_an_allowed_text_stays_and_the_file_names_the_rule(text: str) -> None:
    cassette = written(answered(text), f"allow:{PRESS}", f"allow:{LINK}", "allow:something else")
    assert json.loads(cassette.exchanges[1].body) == {"text": text}
    assert set(cassette.origin.allowed) == {PRESS, LINK} & {
        each for each in (PRESS, LINK) if each in text
    }
    assert cassette.origin.redacted == ()


def test_without_the_rule_a_false_find_is_refused() -> None:
    with pytest.raises(CassetteError, match="a bearer token"):
        written(answered(PRESS))
    allowed = written(answered(PRESS), f"allow:{PRESS}")
    # The list in the file allows nothing, because anybody can write it.
    with pytest.raises(CassetteError, match="a bearer token"):
        Guard().encode(allowed, "a.yaml")


@pytest.mark.parametrize(
    "text",
    [
        f"{PRESS}-and-more-7731",
        "Bearer of-bad-news-everyone-3rd-time",
        f"my{PRESS}9",
        base64.b64encode(f"Bearer {'k' * 20}77 {PRESS}".encode()).decode(),
    ],
)
def test_only_the_whole_text_is_allowed(text: str) -> None:
    with pytest.raises(CassetteError, match="a bearer token"):
        written(answered(text), f"allow:{PRESS}")


def test_a_known_secret_is_never_allowed() -> None:
    with pytest.raises(CassetteError, match="shows S"):
        written(answered(PRESS), f"allow:{PRESS}", secret=PRESS)


def test_a_rule_allows_no_credential_of_a_request() -> None:
    assert PLAIN.request
    asked = replace(PLAIN, request=replace(PLAIN.request, url="https://h/a?key=value"))
    cassette = written(asked, "allow:key=value", "allow:https://h/a?key=value")
    assert cassette.exchanges[1].request
    assert cassette.exchanges[1].request.url == "https://h/a?key=REDACTED"


def test_a_rule_needs_a_text() -> None:
    with pytest.raises(CassetteError, match="`allow:`"):
        Redactor(["allow: "])
