"""Reading the crash journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import load
from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request
from harness.cassettes.journal import (
    Arrived,
    Ended,
    encode_fact,
    read_journal,
)
from tests.recording.clients import ASKED, HEAD_LINE, UNFINISHED
from tests.support.raw_server import HEAD

CLI = (Exchange(None, 200, {}, ((1.5, b"\xc3"),), "cut"),)


API = (Exchange(Request("POST", "https://h/x", {"a": ["b"]}, b"\xff"), 200, {}, (), "cut", "OK"),)


@pytest.mark.parametrize(
    ("text", "exchanges"),
    [
        (HEAD_LINE, ()),
        (HEAD_LINE + ASKED, ()),
        (UNFINISHED, API + CLI),
        (UNFINISHED + encode_fact(Arrived(2, None, b"x"))[:-1], API + CLI),
        (UNFINISHED + encode_fact(Ended(1, "aborted"))[:9], API + CLI),
    ],
)
def test_a_journal_is_readable_wherever_it_stops(
    text: bytes, exchanges: tuple[Exchange, ...]
) -> None:
    assert read_journal(text) == Cassette(exchanges, Origin("recorded", date="2026-11-22"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD_LINE[:30], "u:1: not the first line of a journal"),
        (HEAD_LINE.replace(b":1,", b":2,"), "u:1: format 2 is newer than 1"),
        (HEAD_LINE + encode_fact(Arrived(1, 1.0, b"x")), "u:2: not a line of a journal: 1"),
        (
            HEAD_LINE + b'{"line": "odd", "exchange": 1}\n',
            "u:2: not a line of a journal: Invalid value 'odd'",
        ),
    ],
)
def test_a_damaged_journal_is_an_error_with_its_line(text: bytes, message: str) -> None:
    with pytest.raises(CassetteError, match=message):
        read_journal(text, "u")


def test_a_journal_is_recognized_by_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml.part").write_bytes(UNFINISHED)
    assert len(load(tmp_path / "a.yaml.part").exchanges) == 2
    assert HEAD.startswith(b"HTTP")
