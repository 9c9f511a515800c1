"""Fixtures for recording: an environment without keys, and a project with a spec."""

from __future__ import annotations

from pathlib import Path

import google.genai  # noqa: F401  # first: pytester imports a test's modules twice
import pytest

from harness.recording.stock_cassettes import READ, WRITTEN
from tests.recording.command_support import SPEC
from tests.recording.providers import ENVIRONMENT, KEY


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ENVIRONMENT.split():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("harness.recording.stock_cassettes._shown", {READ, WRITTEN})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "talk.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    return tmp_path
