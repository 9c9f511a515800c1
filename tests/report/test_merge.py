"""Merging the parts of a run."""

from __future__ import annotations

import json
import random
from itertools import permutations

import pytest
from msgspec.structs import replace

from harness.judging.rows import (
    CaseRow,
    Evidence,
    Read,
    ResultsError,
    Sent,
    Stream,
)
from harness.report import (
    Header,
    Named,
    Run,
    Unread,
    merge,
    pack,
    unpack,
)
from harness.report.document import Judged
from tests.report.document_samples import HEADER, SEVERAL, failing, result

SHARDS = [
    Run(HEADER, SEVERAL[:2]),
    Run(
        replace(HEADER, unread=(Unread("a.yaml", "a.yaml:1: no"),), day="2026-11-22"), SEVERAL[1:4]
    ),
    Run(
        replace(HEADER, adapters=(Named("mine", "My adapter", 7),), tools=("other 2",)),
        [SEVERAL[4], result(case="five", adapter="mine")],
    ),
]


def test_shards_merge_in_any_order_into_the_same_bytes() -> None:
    whole = pack(merge(SHARDS))
    for order, two, three in permutations(SHARDS):
        assert (
            pack(merge([merge([order, two]), three]))
            == pack(merge([order, merge([two, three])]))
            == pack(merge([order, two, three]))
            == whole
        )
    assert pack(merge([merge(SHARDS), merge(SHARDS)])) == whole


def test_a_merged_run_has_every_result_once_and_every_name() -> None:
    merged = merge(SHARDS)
    assert len(merged.results) == 6
    assert [adapter.name for adapter in merged.header.adapters] == [
        "anthropic",
        "unified-llm",
        "mine",
    ]
    assert (merged.header.tools, merged.header.day) == (
        ("gemini-conformance 1", "other 2"),
        "2026-11-22",
    )
    assert merged.header.unread == (Unread("a.yaml", "a.yaml:1: no"),)


def test_the_same_result_twice_in_one_run_stays_two() -> None:
    assert len(merge([Run(HEADER, [result(), result()]), Run(HEADER, [result()])]).results) == 2


def test_runs_with_different_results_of_a_cell_do_not_merge() -> None:
    with pytest.raises(
        ResultsError,
        match=r"case 'one' for anthropic has different results in two runs \(failed and passed\)",
    ):
        merge([Run(HEADER, [result()]), Run(HEADER, [result("failed")])])


def varied(number: int, reads: int) -> list[CaseRow]:
    """Like `failing`, but each stream has its own times, sizes, cuts, digest, request and
    beginning.
    """
    chance = random.Random(7)
    results = failing(number)
    for start in range(0, len(results), 5):
        times = sorted(round(600 + chance.random() * 3000, 1) for _ in range(reads))
        rows = tuple(
            Read(
                at, chance.randrange(200, 2000), 1, chance.choice(("", "", "message", "character"))
            )
            for at in times
        )
        url = f"https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse&session={start}"
        sent = Sent(
            "POST",
            url,
            json.dumps({"contents": [{"parts": [{"text": f'Question {start}: "what" ' * 40}]}]})[
                :800
            ],
            9000,
        )
        digest = f"{chance.getrandbits(128):032x}"
        stream = Stream(
            200,
            sum(read.size for read in rows),
            digest,
            rows,
            reads,
            sent,
            sum(bool(read.inside) for read in rows),
        )
        for place in range(start, start + 5):
            before = results[place].evidence
            assert before is not None
            evidence = Evidence(
                stream, layers=before.layers, digest=f"{chance.getrandbits(128):032x}"
            )
            results[place] = replace(
                results[place], evidence=evidence, wire=f'data: {{"text": "word {start}"}}\n\n' * 50
            )
    return results


@pytest.mark.slow
def test_shards_that_share_streams_merge_into_the_whole_run() -> None:
    chance = random.Random(0)
    whole = varied(60, 80)
    shards = [chance.sample((0, 1, 2, 3), chance.choice((1, 1, 2, 3))) for _ in whole]
    parts = [
        [shard for shard, where in zip(whole, shards, strict=True) if number in where]
        for number in range(4)
    ]
    files = [unpack(pack(Run(HEADER, part))) for part in parts]
    joined = unpack(pack(merge(chance.sample(files, 2))))
    packed = pack(Run(HEADER, whole))
    assert pack(merge(chance.sample([joined, *files], 5))) == packed == pack(unpack(packed))


def test_each_version_of_an_adapter_is_merged_once_with_its_latest_day() -> None:
    first = Judged("mine", target="shop:replay", version="1.0", day="2026-11-01")
    later, newer = replace(first, day="2026-11-02"), replace(first, version="2.0")
    headers = [Header(judged=(later,)), Header(judged=(newer, first)), Header(judged=(first,))]
    for ordered in (headers, headers[::-1]):
        assert merge(Run(header) for header in ordered).header.judged == (later, newer)
