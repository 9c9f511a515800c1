"""Runs each test of a command in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cassettes import Cassette, Origin, dumps
from tests.cli.project import COUNT, EXCHANGE, write


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project with two recordings: in ``two.yaml`` one exchange generates, in
    ``none.yaml`` none does.
    """
    monkeypatch.chdir(tmp_path)
    write("two.yaml", dumps(Cassette((COUNT, EXCHANGE), Origin("imported", date="2026-01-02"))))
    write("none.yaml", dumps(Cassette((COUNT,), Origin("imported"))))
    return tmp_path
