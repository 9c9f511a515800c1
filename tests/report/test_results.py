"""The JSON of results, and the labels of verdicts."""

from __future__ import annotations

import random
from typing import get_args

import pytest

from harness.facts import Finding, Place
from harness.judging.rows import (
    MOST_READS,
    VERDICTS,
    Evidence,
    Read,
    ResultsError,
    Stream,
    Verdict,
    decode,
    encode,
    sort_key,
)
from tests.support.report_samples import (
    DIALECTS,
    result,
)


def test_results_are_read_back_unchanged_from_their_json() -> None:
    whole = [
        result(
            "failed",
            findings=(
                Finding("payloads[0]", "lost", "missing", '"a"'),
                Finding(
                    "text", "wrong", "counts", {"a": [1, None]}, 1.5, Place(character=3, cuts="x")
                ),
            ),
            findings_total=3,
        ),
        result(origin=None),
    ]
    assert decode(encode(whole)) == sorted(whole, key=sort_key)


def test_the_json_of_results_does_not_depend_on_their_order() -> None:
    several = [
        result(case=f"case-{n % 3}", adapter=adapter, reason=str(n))
        for n in range(6)
        for adapter in DIALECTS
    ]
    shuffled = random.Random(1).sample(several, len(several))
    assert encode(shuffled) == encode(several)


def test_a_lone_surrogate_is_written_as_text() -> None:
    assert decode(encode([result(reason="half \ud83d")]))[0].reason == "half \\ud83d"


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (b"", "the document is incomplete"),
        (b"\xff", "the document is not JSON from byte 0 on"),
        (b'[{"about":"case"}]', "[0].verdict is missing; required keys are "),
        (
            encode([result()]).replace(b'"passed"', b'"green"'),
            "[0].verdict must be 'failed', 'error', ",
        ),
        (
            encode([result()]).replace(b'"line":3', b'"line":0'),
            "[0].line must be 1 or more",
        ),
        (
            encode([result()]).replace(b'"line"', b'"lime"'),
            "[0]: unknown key 'lime' (did you mean line?); ",
        ),
    ],
)
def test_results_that_cannot_be_read_are_a_typed_error(data: bytes, fact: str) -> None:
    with pytest.raises(ResultsError, match=r"^results: .*; expected the JSON array") as fault:
        decode(data)
    assert fact in str(fault.value)


def test_results_with_too_many_reads_of_a_stream_are_refused() -> None:
    most, more = (
        result(evidence=Evidence(Stream(200, n, "a" * 32, (Read(1.0, 1),) * n, n)))
        for n in (MOST_READS, MOST_READS + 1)
    )
    assert decode(encode([most])) == [most]
    with pytest.raises(ResultsError, match="reads"):
        decode(encode([more]))


def test_every_verdict_has_words_of_its_own_and_an_order() -> None:
    assert set(VERDICTS) == set(get_args(Verdict))
    for aspect in ("word", "symbol", "sentence", "order"):
        assert len({getattr(words, aspect) for words in VERDICTS.values()}) == len(VERDICTS)
    assert {name for name, words in VERDICTS.items() if words.red} == {"failed", "error", "fixed"}
    assert {name for name, words in VERDICTS.items() if not words.compared} == {
        "error",
        "not-run",
        "unreviewed",
    }
