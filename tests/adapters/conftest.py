"""The address at which the harness serves exchanges to gateways."""

from __future__ import annotations

import socket

import pytest


@pytest.fixture(name="upstream")
def _upstream(monkeypatch: pytest.MonkeyPatch) -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("HARNESS_GATEWAY_ADDRESS", f"127.0.0.1:{port}")
    return f"http://127.0.0.1:{port}"
