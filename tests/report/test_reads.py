"""The reads of a stream, merged to a limit."""

from __future__ import annotations

import random

import pytest

from harness.cassettes import Exchange
from harness.conformance.evidence import describe
from harness.conformance.results import (
    Read,
    fewer_reads,
)

READS = (
    Read(600.0, 10),
    Read(610.0, 20),
    Read(620.0, 30, 1, "message"),
    Read(630.0, 40),
    Read(640.0, 50, 3, "character"),
    Read(650.0, 60, 2),
    Read(660.0, 70),
)


@pytest.mark.parametrize(
    ("most", "rows"),
    [
        (7, READS),
        (6, (*READS[:1], Read(620.0, 50, 2, "message"), *READS[3:])),
        (
            5,
            (
                *READS[:1],
                Read(620.0, 50, 2, "message"),
                Read(640.0, 90, 4, "character"),
                *READS[5:],
            ),
        ),
        (4, (*READS[:1], Read(640.0, 140, 6, "character"), *READS[5:])),
        (3, (*READS[:1], Read(650.0, 200, 8), *READS[6:])),
        (1, (Read(660.0, 280, 10),)),
    ],
)
def test_reads_go_together_where_least_is_lost_and_none_is_lost(
    most: int, rows: tuple[Read, ...]
) -> None:
    assert fewer_reads(READS, most) == rows


def test_fewer_of_fewer_reads_are_fewer_of_all() -> None:
    for seed in range(30):
        chance = random.Random(seed)
        reads = [
            Read(
                chance.choice((None, 1.5)),
                chance.randrange(99),
                chance.randrange(1, 4),
                chance.choice(("", "message", "character")),
            )
            for _ in range(chance.randrange(60))
        ]
        for most in (40, 20, 5, 4, 3, 1):
            fewer = fewer_reads(reads, most)
            assert len(fewer) == min(most, len(reads))
            for less in range(1, most):
                assert fewer_reads(fewer, less) == fewer_reads(reads, less)


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
