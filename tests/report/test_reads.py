"""The reads of a stream, merged down to a limit."""

from __future__ import annotations

import pytest

from harness.cassettes import Exchange
from harness.judging.evidence import describe
from harness.judging.rows import Read


@pytest.mark.parametrize("number", [0, 1, 2, 80, 81, 802, 5000])
def test_the_first_and_the_last_read_are_never_merged(number: int) -> None:
    exchange = Exchange(
        None, 200, {}, tuple((float(at), b"ab") for at in range(number)), "complete"
    )
    stream = describe(exchange, "gemini-api")
    assert len(stream.reads) == min(number, 80)
    assert (
        (sum(read.number for read in stream.reads), sum(read.size for read in stream.reads))
        == (number, stream.size)
        == (number, 2 * number)
    )
    ends = [(read.at_ms, read.number) for read in stream.reads[:1] + stream.reads[-1:]]
    assert ends == ([(0.0, 1), (number - 1.0, 1)] if number else [])


def test_a_merged_row_names_every_unit_inside_which_a_read_ends() -> None:
    text = "é".encode()
    pieces = [b"a"] * 200
    pieces[100:102] = [text[:1], text[1:]]
    exchange = Exchange(None, 200, {}, tuple((None, data) for data in pieces), "complete")
    stream = describe(exchange, "gemini-api")
    [row] = [read for read in stream.reads if read.inside == "character"]
    assert row == Read(None, row.size, row.number, "character")
    assert row.number > 1
