"""A red cell in words shows what differs, and nothing that has the shape of a secret."""

from __future__ import annotations

from base64 import b64encode

import pytest
from report_samples import result

from harness.results import Finding
from harness.telling import explain

KEY = "AIza" + "s" * 35
PRIVATE = "-----BEGIN PRIVATE KEY-----\\n" + "M" * 30 + "\\n" + "N" * 30 + "\\n-----END"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (f"the key is {KEY}, mind it", "the key is SCRUBBED, mind it"),
        ("ya29." + "t" * 60 + " and more", "SCRUBBED and more"),
        (f"my {PRIVATE}", "my SCRUBBED"),
        (b64encode(f"a key: {KEY}".encode()).decode(), "SCRUBBED"),
        ("nothing of it \x1b", "nothing of it \\u001b"),
    ],
)
def test_what_looks_like_a_secret_is_not_told(said: str, told: str) -> None:
    finding = Finding("[0].delta", "changed", said, said, said)
    lines = explain(result(verdict="failed", reason=said, findings=(finding,), findings_total=1), 7).splitlines()
    assert f"failed: {told}" in lines
    assert lines[-3:] == [f"[0].delta: changed ({told})", f"  expected: {told}", f"  got:      {told}"]
