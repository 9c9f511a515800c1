"""A project for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cassettes import Cassette, Origin, dumps
from tests.security.samples import SPEC, TEXT, exchange


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a cassette, and a file beside the project that does not belong to it."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(pytester.path)
    (pytester.path / "cassettes/gemini-api").mkdir(parents=True)
    (pytester.path / "specs").mkdir()
    text = dumps(Cassette((exchange(TEXT),), Origin("written", date="2026-11-21")))
    Path("cassettes/gemini-api/hello.yaml").write_text(text, encoding="utf-8")
    Path("outside.yaml").write_text(text, encoding="utf-8")
    Path("specs/hello.yaml").write_text(SPEC, encoding="utf-8")
    return pytester.path
