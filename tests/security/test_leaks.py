"""No secret leaves the process: each place that can contain one is tried with each kind of secret.

Each place is also tried without the guard and then shows the secret, so the test really checks the
place.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cassettes import CassetteError, dumps
from harness.cassettes.journal import Answered, Arrived, Ended, JournalFact, Started
from harness.cassettes.redaction.secrets import guard
from harness.recording.journal import Journal
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


@EACH_KIND
@pytest.mark.parametrize("place", RECORDED)
def test_a_journal_of_a_killed_recording_shows_no_secret(
    tmp_path: Path, place: str, kind: str
) -> None:
    """A secret in pieces is found when the recording ends, and the journal is deleted."""
    cassette = RECORDED[place](KINDS[kind])
    (exchange,) = cassette.exchanges
    facts: list[JournalFact] = [
        Started(1, exchange.request),
        Answered(1, exchange.status, exchange.reason_phrase, exchange.headers),
        *(Arrived(1, at_ms, data) for at_ms, data in exchange.reads),
        Ended(1, exchange.end),
    ]
    writer = Journal(tmp_path / "a.yaml", lambda _: (cassette.origin, guard()))
    for fact in facts:
        writer.put(fact)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*.part"))
    assert "pieces" in place or not shown(written)
