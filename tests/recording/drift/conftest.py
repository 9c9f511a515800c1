"""``harness drift`` against ``harness serve`` on altered cassettes: one alteration for each kind of
drift, and alterations that are no drift.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recording.drift.recordings import exchange, keep, recorded, tape


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "GOOGLE_API_KEY",
        "GOOGLE_GEMINI_BASE_URL",
        "HARNESS_MODEL",
        "GOOGLE_GENAI_HTTP_CLIENT",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", "a-key-that-nobody-knows")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    keep(tape(exchange(recorded())))
    return tmp_path
