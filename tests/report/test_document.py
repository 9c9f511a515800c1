"""The results of a run as one JSON document."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest
from msgspec.structs import replace

from harness.judging.rows import (
    Evidence,
    ResultsError,
    Row,
)
from harness.report import (
    Header,
    Run,
    pack,
    schema,
    unpack,
)
from tests.report.document_samples import HEADER, SEVERAL, STREAM, failing, result


def by_key(results: Sequence[Row]) -> list[Row]:
    return sorted(results, key=lambda result: (result.case, result.adapter))


def test_a_run_is_read_back_unchanged_from_its_document() -> None:
    back = unpack(pack(Run(HEADER, SEVERAL)))
    assert back.header == HEADER
    assert by_key(back.results) == by_key(SEVERAL)


def test_the_document_is_the_same_bytes_in_any_order_of_results() -> None:
    for seed in range(4):
        assert pack(Run(HEADER, random.Random(seed).sample(SEVERAL, len(SEVERAL)))) == pack(
            Run(HEADER, SEVERAL)
        )


def test_the_document_has_each_case_and_stream_once() -> None:
    document = json.loads(
        pack(Run(HEADER, [result(adapter=adapter) for adapter in ("anthropic", "unified-llm", "")]))
    )
    assert [len(document[name]) for name in ("cases", "streams", "results")] == [1, 1, 3]
    assert document["footer"] == {"cases": 1, "streams": 1, "results": 3, "verdicts": {"passed": 3}}


def test_a_lone_surrogate_is_written_as_text() -> None:
    assert (
        unpack(pack(Run(HEADER, [result(reason="half \ud83d", wire="\ud83d")]))).results[0].reason
        == "half \\ud83d"
    )


WHOLE = pack(Run(HEADER, SEVERAL))


def test_documents_satisfy_the_published_schema() -> None:
    published = json.loads((Path(__file__).parents[2] / "docs" / "results.schema.json").read_text())
    assert published == schema()
    fields = published["$defs"]["ResultEntry"]["properties"]
    assert fields["case"]["description"] == "An index into the cases of the document, from 0."
    validator = jsonschema.Draft202012Validator(published)
    validator.check_schema(published)
    for document in (WHOLE, pack(Run(Header()))):
        validator.validate(json.loads(document))
    broken = json.loads(WHOLE)
    del broken["footer"]
    assert [error.message for error in validator.iter_errors(broken)] == [
        "'footer' is a required property"
    ]
    broken = json.loads(WHOLE)
    broken["results"][0]["verdict"] = "green"
    assert not validator.is_valid(broken)


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (
            WHOLE[: WHOLE.index(b',\n"footer"')] + b"}",
            "r.json: footer is missing; required keys are plan, header",
        ),
        (WHOLE[:-40], "the document is incomplete: its JSON ends early"),
        (b"", "the document is incomplete: its JSON ends early"),
        (b"[]", "the document must be a mapping, not a list"),
        (
            WHOLE.replace(b'"results":5', b'"results":6'),
            "the footer does not match the results",
        ),
        (
            WHOLE.replace(b'"case":0', b'"case":9'),
            "a result has the index of a case or stream that does not exist",
        ),
        (WHOLE.replace(b'"failed"', b'"green"'), ".verdict must be 'failed', 'error', 'fixed', "),
        (
            WHOLE.replace(b'"header":{', b'"header":{"format":2,'),
            "header.format must be 1, not 2",
        ),
    ],
)
def test_an_incomplete_document_is_refused(data: bytes, fact: str) -> None:
    with pytest.raises(ResultsError) as fault:
        unpack(data, "r.json")
    assert str(fault.value).startswith("r.json: ")
    assert fact in str(fault.value)
    assert "run the specs again" in str(fault.value)


def test_the_results_of_judge_are_named() -> None:
    with pytest.raises(ResultsError, match=r"j\.json: these are results of harness judge"):
        unpack(b'{"adapters":[]}', "j.json")


def test_the_streams_of_earlier_turns_are_read_back_too() -> None:
    talk = result(
        evidence=Evidence(
            STREAM,
            "b" * 32,
            before=(replace(STREAM, digest="c" * 32), replace(STREAM, digest="d" * 32)),
        )
    )
    assert unpack(pack(Run(HEADER, [talk]))).results == [talk]


@pytest.mark.slow
def test_many_failing_cells_keep_all_their_evidence() -> None:
    for number in (1, 400):
        packed = pack(Run(HEADER, failing(number)))
        assert by_key(unpack(packed).results) == by_key(failing(number))


def test_a_command_is_stored_once_for_all_adapters() -> None:
    run = Run(
        HEADER,
        [
            result(),
            result(adapter="unified-llm"),
            result(adapter="", layer="events", command="another"),
        ],
    )
    document = json.loads(pack(run))
    assert [case.get("command") for case in document["cases"]] == [
        None,
        "pytest 'specs/gemini-api/text.yaml::one[ADAPTER]'",
    ]
    assert [row.get("command") for row in document["results"]] == ["another", None, None]
    assert by_key(unpack(pack(run)).results) == by_key(run.results)
