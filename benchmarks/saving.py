"""Measures the time to write a recording: its journal, then the cassette."""

from __future__ import annotations

from pathlib import Path
from time import process_time

from harness.cassettes import Cassette, Origin
from harness.cassettes.journal import Answered, Arrived, Ended, Started
from harness.cassettes.redaction.secrets import guard
from harness.recording.journal import Journal

from .measure import exchange_of, short_message

READS = 20_000


def saving(folder: Path) -> dict[str, float]:
    """Microseconds of processor time a read: the journal, with a frame in each read, and the redacted and scanned text of the cassette."""
    exchange = exchange_of(READS, short_message)
    origin = Origin("recorded", date="2026-11-21")
    started = process_time()
    journal = Journal(folder / "journal.yaml", lambda _: (origin, guard()))
    journal.put(Started(1, exchange.request))
    journal.put(Answered(1, exchange.status, exchange.reason_phrase, exchange.headers))
    for at_ms, data in exchange.reads:
        journal.put(Arrived(1, at_ms, data))
    journal.put(Ended(1, exchange.end))
    written = process_time()
    journal.end(None)
    guard().encode(Cassette((exchange,), origin), "cassette.yaml")
    return {
        "journal": 1e6 * (written - started) / READS,
        "cassette": 1e6 * (process_time() - written) / READS,
    }
