"""The rows of the table of models are made from recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.server.refusals.models import Row, read_rows
from tests.corpus.model_rows import ACCEPTED, REFUSED, find, rows_of

USER = {"role": "user", "parts": [{"text": "Hi"}]}
ANSWER = {"candidates": [{"content": {"parts": [{"text": "A"}]}, "finishReason": "STOP"}]}


def interaction(model: str, settings: dict[str, Any], status: int, answer: Any) -> str:
    """One interaction of a vcrpy cassette."""
    request = json.dumps({"contents": [USER], "generationConfig": settings})
    host = "https://generativelanguage.googleapis.com/v1beta/models"
    return f"""\
- request: {{method: POST, uri: '{host}/{model}:generateContent', headers: {{}}, body: '{request}'}}
  response:
    status: {{code: {status}, message: X}}
    headers: {{Content-Type: [application/json]}}
    body: {{string: '{json.dumps(answer)}'}}
"""


def test_the_rows_are_those_of_the_recordings(tmp_path: Path) -> None:
    error = {"error": {"code": 400, "message": "JSON mode is not enabled", "status": "X"}}
    other = {"error": {"code": 400, "message": "API key not valid", "status": "X"}}
    as_json = {"responseMimeType": "application/json"}
    interactions = [
        interaction("gemini-a", {"seed": 0}, 200, ANSWER),
        interaction("gemini-b", {"seed": 7}, 200, ANSWER),
        interaction("gemini-b", {"seed": 8}, 200, ANSWER),
        interaction("gemini-b", as_json, 400, error),
        interaction("gemini-c", as_json, 400, other),
        interaction("gemini-c", {"seed": 7}, 400, other),
    ]
    text = "interactions:\n" + "".join(interactions) + "version: 1\n"
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    manifest = {"path": "a.yaml", "repo": "owner/repo"}
    (tmp_path / "MANIFEST.jsonl").write_text(json.dumps(manifest), encoding="utf-8")
    rows = rows_of(find([tmp_path]), {"responseMimeType=application/json": "json-mode"})
    source = "owner/repo a", "recording"
    note = '"JSON mode is not enabled"'
    field = "responseMimeType=application/json"
    assert rows == [
        Row(field, "gemini-api", "gemini-b", "refused", note, *source, "json-mode"),
        Row("seed=*", "gemini-api", "gemini-b, gemini-a", "accepted", "3 answered requests", *source, ""),
    ]  # fmt: skip


def test_each_row_of_recordings_is_one_of_the_walk() -> None:
    for row in read_rows():
        if row.kind == "recording":
            assert row.field in (ACCEPTED if row.verdict == "accepted" else REFUSED)
