"""Lets the live tests trust the certificates of the system; `tests/conftest.py` replaces them."""

from __future__ import annotations

import os

import pytest

from harness.adapters.environment import CERTIFICATE


@pytest.fixture(autouse=True)
def trust_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.environ["SSL_CERT_FILE"] == str(CERTIFICATE):
        monkeypatch.delenv("SSL_CERT_FILE")
