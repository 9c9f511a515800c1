"""No secret leaves the process: each place that can contain one is tried with each kind of secret.

Each place is also tried without the guard and then shows the secret, so the test really checks the
place.
"""

from __future__ import annotations

import pytest

from harness.cassettes import CassetteError, dumps
from harness.cassettes.redaction.secrets import guard
from tests.security.leak_places import ENVIRONMENT, KINDS, RECORDED, VARIABLE, shown

NEVER_WRITTEN = {
    "request header's name",
    "request header that is dropped",
    "response header that is dropped",
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, ENVIRONMENT)


EACH_KIND = pytest.mark.parametrize(
    "kind",
    [
        kind if kind == "Google API key" else pytest.param(kind, marks=pytest.mark.slow)
        for kind in KINDS
    ],
)


@EACH_KIND
@pytest.mark.parametrize("place", RECORDED)
def test_a_cassette_shows_no_secret(place: str, kind: str) -> None:
    cassette = RECORDED[place](KINDS[kind])
    assert shown(dumps(cassette))
    for write in guard().encode, guard().export:
        try:
            text = write(cassette, "a.yaml")
            written = text if isinstance(text, str) else text.decode()
        except CassetteError as refused:
            written = str(refused)
        assert not shown(written)
