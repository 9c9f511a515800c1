"""The address at which the harness serves exchanges to gateways."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from itertools import cycle

import pytest

FIRST, LAST = 20_000, 32_000
"""Ports below those that a system gives to connections: a connection of another test can't take the
port between two servers.
"""


def _free_ports() -> Iterator[int]:
    """Yield free ports, another one for each test: a gateway of an earlier test may ask again."""
    start = FIRST + os.getpid() * 500 % (LAST - FIRST)
    for port in cycle([*range(start, LAST), *range(FIRST, start)]):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        yield port


_PORTS = _free_ports()


@pytest.fixture(name="upstream")
def _upstream(monkeypatch: pytest.MonkeyPatch) -> str:
    port = next(_PORTS)
    monkeypatch.setenv("HARNESS_GATEWAY_ADDRESS", f"127.0.0.1:{port}")
    return f"http://127.0.0.1:{port}"
