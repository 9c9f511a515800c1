"""A red cell in words shows what differs, and nothing that has the shape of a secret."""

from __future__ import annotations

from base64 import b64encode

import pytest

from harness.conformance.explain import explain
from harness.conformance.results import Finding
from tests.support.report_samples import result

KEY = "AIza" + "s" * 35
PRIVATE = "-----BEGIN PRIVATE KEY-----\\n" + "M" * 30 + "\\n" + "N" * 30 + "\\n-----END"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (f"the key is {KEY}, mind it", "the key is REDACTED, mind it"),
        ("ya29." + "t" * 60 + " and more", "REDACTED and more"),
        (f"my {PRIVATE}", "my REDACTED"),
        (b64encode(f"a key: {KEY}".encode()).decode(), "REDACTED"),
        ("nothing of it \x1b", "nothing of it \\u001b"),
    ],
)
def test_what_looks_like_a_secret_is_not_told(said: str, told: str) -> None:
    finding = Finding("[0].delta", "changed", said, said, said)
    lines = explain(
        result(verdict="failed", reason=said, findings=(finding,), findings_total=1),
        "specs/parallel.yaml:7",
    ).splitlines()
    assert f"failed: {told}" in lines
    assert lines[-3:] == [
        f"[0].delta: changed ({told})",
        f"  expected: {told}",
        f"  got:      {told}",
    ]


@pytest.mark.parametrize(
    ("finding", "reason", "gist"),
    [
        (
            Finding("[3].delta", "changed", '" of course,"', '" course,"'),
            "",
            '[3].delta expected " of course,", got " course,"',
        ),
        (
            Finding("[4]", "missing", '{"index":1}', None, "one block is lost"),
            "",
            '[4] expected {"index":1}',
        ),
        (Finding("", "law 2", note="it calls"), "", "it calls"),
        (
            None,
            "the adapter raised KeyError at mine.py:3: 'x'",
            "the adapter raised KeyError at mine.py:3: 'x'",
        ),
    ],
)
def test_the_first_line_says_what_differs(finding: Finding | None, reason: str, gist: str) -> None:
    lines = explain(
        result(verdict="failed", reason=reason, findings=(finding,) if finding else ()),
        "specs/parallel.yaml:7",
    ).splitlines()
    assert lines[:2] == [gist, "requirement: Two calls stay two calls."]
