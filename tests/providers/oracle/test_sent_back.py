"""The oracle of the request after an answer: the parts of the answer's calls that the request
lacks.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.providers.oracle import gather_body, gather_request, return_losses

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
SENT = gather_body(
    json.dumps({"candidates": [{"content": {"parts": [TEXT, CALL, SECOND]}}]}).encode()
)


def body(*model: dict[str, Any], results: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    contents = [{"role": "user", "parts": [{"text": "x"}]}, {"role": "model", "parts": list(model)}]
    return {
        "contents": [*contents, {"role": "user", "parts": RESULTS if results is None else results}]
    }


@pytest.mark.parametrize("enveloped", [False, True])
def test_a_complete_request_has_no_losses(enveloped: bool) -> None:
    sent = body(TEXT, CALL, SECOND)
    assert (
        return_losses(SENT, gather_request({"request": sent} if enveloped else sent), {"text"})
        == []
    )


@pytest.mark.parametrize(
    ("sent", "finding"),
    [
        (body(TEXT, CALL), "sent back: call lost: g({})"),
        (body(TEXT, SECOND, CALL), 'sent back: call order: ["f", "g"] became ["g", "f"]'),
        (
            body(TEXT, {**CALL, "functionCall": {"id": "i", "name": "f", "args": {}}}, SECOND),
            "sent back: argument lost: f",
        ),
        (
            body(TEXT, {**CALL, "thoughtSignature": "Qw=="}, SECOND),
            'signature of call 1 lost: "QQ==" is sent back as "Qw=="',
        ),
        (
            body(TEXT, CALL, {**SECOND, "thoughtSignature": "QQ=="}),
            'signature of call 2 invented: null is sent back as "QQ=="',
        ),
        (
            body(TEXT, CALL, {"functionCall": {"id": "call_1", "name": "g"}}),
            'id of call 2 invented: null is sent back as "call_1"',
        ),
        (body(TEXT, CALL, SECOND, results=RESULTS[::-1]), "results "),
        (body(TEXT, CALL, SECOND, results=RESULTS[:1]), "results "),
        (body({"text": "a"}, CALL, SECOND), 'signature lost: "Qg==" is not sent back'),
        (
            body({**TEXT, "thoughtSignature": "QQ=="}, CALL, SECOND),
            'signature copied: "QQ==" is sent back at 2 parts; the answer has it at 1',
        ),
        (body(TEXT, TEXT, CALL, SECOND), 'signature copied: "Qg==" is sent back at 2 parts'),
        (
            body(TEXT, CALL, SECOND, {"text": "", "thoughtSignature": "Qw=="}),
            'signature copied: "Qw==" is sent back at 1 parts; the answer has it at 0',
        ),
    ],
)
def test_each_missing_part_of_a_request_is_reported(sent: dict[str, Any], finding: str) -> None:
    findings = return_losses(SENT, gather_request(sent), {"text"})
    assert any(line.startswith(finding) for line in findings), findings


def test_results_follow_all_calls() -> None:
    turns, two = {"role": "model", "parts": [CALL]}, {"role": "model", "parts": [SECOND]}
    contents = [
        turns,
        {"role": "user", "parts": RESULTS[:1]},
        two,
        {"role": "user", "parts": RESULTS[1:]},
    ]
    assert "a call comes after the first result" in return_losses(
        SENT, gather_request({"contents": contents}), ()
    )
