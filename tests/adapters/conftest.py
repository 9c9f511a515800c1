"""The address at which the harness serves exchanges to gateways."""

from __future__ import annotations

import os
import socket

import pytest

FIRST, LAST = 20_000, 32_000
"""Ports below those that a system gives to connections: a connection of another test can't take the
port between two servers.
"""


@pytest.fixture(name="upstream")
def _upstream(monkeypatch: pytest.MonkeyPatch) -> str:
    port = FIRST + os.getpid() * 50 % (LAST - FIRST)
    while not _is_free(port):
        port += 1
    monkeypatch.setenv("HARNESS_GATEWAY_ADDRESS", f"127.0.0.1:{port}")
    return f"http://127.0.0.1:{port}"


def _is_free(port: int) -> bool:
    try:
        with socket.create_server(("127.0.0.1", port)):
            return True
    except OSError:
        return False
