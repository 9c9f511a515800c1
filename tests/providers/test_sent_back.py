"""The request that follows an answer, judged exactly, as law 8 asks it of an event model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.second_turn import judge_second_turn
from tests.support.wire_answers import facts_of_body

CALL: dict[str, Any] = {
    "functionCall": {"id": "i", "name": "f", "args": {"a": 1}},
    "thoughtSignature": "QQ==",
}
SECOND: dict[str, Any] = {"functionCall": {"name": "g"}}
RESULTS: list[dict[str, Any]] = [
    {"functionResponse": {"id": "i", "name": "f", "response": {}}},
    {"functionResponse": {"name": "g", "response": {}}},
]
TEXT: dict[str, Any] = {"text": "a", "thoughtSignature": "Qg=="}
UNPADDED_PLACEHOLDER = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I"
SENT = facts_of_body(
    json.dumps({"candidates": [{"content": {"parts": [TEXT, CALL, SECOND]}}]}).encode()
)


def body(*model: dict[str, Any], results: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    contents = [{"role": "user", "parts": [{"text": "x"}]}, {"role": "model", "parts": list(model)}]
    return {
        "contents": [*contents, {"role": "user", "parts": RESULTS if results is None else results}]
    }


def faults(request: dict[str, Any]) -> dict[str, str]:
    findings = judge_second_turn(SENT, request, exact={"call", "text"})
    return {str(aspect): finding.note for aspect, finding in findings.items() if finding.red}


@pytest.mark.parametrize("enveloped", [False, True])
def test_a_complete_request_has_no_losses(enveloped: bool) -> None:
    sent = body(TEXT, CALL, SECOND)
    assert faults({"request": sent} if enveloped else sent) == {}


@pytest.mark.parametrize(
    ("sent", "aspect", "note"),
    [
        (body(TEXT, CALL), "calls", "the call g({}) is not sent back"),
        (
            body(TEXT, SECOND, CALL),
            "calls",
            "the calls are sent back in another order: ['g', 'f']",
        ),
        (
            body(TEXT, {**CALL, "functionCall": {"id": "i", "name": "f", "args": {}}}, SECOND),
            "calls",
            'the call f({"a": 1}) is not sent back',
        ),
        (
            body(TEXT, {**CALL, "thoughtSignature": "Qw=="}, SECOND),
            "signatures",
            "the signature of call 1 is not sent back: QQ==",
        ),
        (
            body(TEXT, {**CALL, "thoughtSignature": "QQ"}, SECOND),
            "signatures",
            "the signature of call 1 is not sent back: QQ==",
        ),
        (
            body(TEXT, CALL, {**SECOND, "thoughtSignature": "Qw=="}),
            "signatures",
            "call 2 is sent back with a signature that it did not have",
        ),
        (
            body(TEXT, CALL, {**SECOND, "thoughtSignature": "skip_thought_signature_validator"}),
            "signatures",
            "call 2 is sent back with a signature that it did not have",
        ),
        (
            body(TEXT, CALL, {**SECOND, "thoughtSignature": UNPADDED_PLACEHOLDER}),
            "signatures",
            "call 2 is sent back with a signature that it did not have",
        ),
        (
            body(TEXT, CALL, {"functionCall": {"id": "call_1", "name": "g"}}),
            "ids",
            "call 2 is sent back with the id call_1, which it did not have",
        ),
        (
            body(TEXT, CALL, SECOND, results=RESULTS[::-1]),
            "results",
            "the calls are ['f', 'g'], the results are of ['g', 'f']",
        ),
        (
            body(TEXT, CALL, SECOND, results=RESULTS[:1]),
            "results",
            "the calls are ['f', 'g'], the results are of ['f']",
        ),
        (body({"text": "a"}, CALL, SECOND), "other_signatures", "not sent back: Qg=="),
        (
            body({**TEXT, "thoughtSignature": "QQ=="}, CALL, SECOND),
            "signatures",
            "the signature of call 1 is sent back more than once",
        ),
        (
            body(TEXT, TEXT, CALL, SECOND),
            "other_signatures",
            "sent back more than once: Qg==",
        ),
        (
            body(TEXT, CALL, SECOND, {"text": "", "thoughtSignature": "Qw=="}),
            "other_signatures",
            "the answer does not have it: Qw==",
        ),
    ],
)
def test_each_missing_part_of_a_request_is_reported(
    sent: dict[str, Any], aspect: str, note: str
) -> None:
    assert faults(sent)[aspect] == note


def test_results_follow_all_calls() -> None:
    turns, two = {"role": "model", "parts": [CALL]}, {"role": "model", "parts": [SECOND]}
    contents = [
        turns,
        {"role": "user", "parts": RESULTS[:1]},
        two,
        {"role": "user", "parts": RESULTS[1:]},
    ]
    assert faults({"contents": contents})["results"] == "a call comes after the first result"
