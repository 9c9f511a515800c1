"""Measures how much later a client gets its bytes because it is recorded, in its process or by the
relay.

A server in a process of its own sends the time in each read. All processes of a machine share the
monotonic clock, so a client can tell how long a read took.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from harness.recording.cassette import use_cassette
from harness.recording.relay import relay
from harness.recording.transport import transports

from .measure import PROMPT

SERVER = """
import socket, sys, time
from tests.support.raw_server import HEAD, raw_server

def script(connection):
    connection.peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.send(HEAD)
    for _ in range(5):
        connection.piece(b"data: %020d\\r\\n\\r\\n" % time.monotonic_ns())
        time.sleep(0.004)
    connection.finish()

with raw_server(script) as url:
    print(url, flush=True)
    sys.stdin.read()
"""
PATH = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"


def recording_latency(library: str, rounds: int, folder: Path) -> dict[str, float]:
    """Milliseconds by which the first byte and a later read come later with a recorder, for a
    blocking client on ``library`` (httpx2 or httpx) and for an awaiting one, and with the relay
    between the blocking client and the server.
    """
    made = transports(library)
    result: dict[str, float] = {}
    with _server() as url:
        for kind, get in (("blocking", _block), ("awaiting", _await), ("relay", _block)):
            first: dict[bool, list[float]] = {False: [], True: []}
            later: dict[bool, list[float]] = {False: [], True: []}
            for number in range(rounds):
                plain = made.http.HTTPTransport if get is _block else made.http.AsyncHTTPTransport
                _add(get(made.http, plain(), url), first[False], later[False])
                with use_cassette(folder / f"{kind}-{number}.yaml", mode="once") as tape:
                    if kind == "relay":
                        with relay(tape, url) as between:
                            reads = get(made.http, plain(), between)
                        _add(reads, first[True], later[True])
                        continue
                    transport = made.sync(tape) if get is _block else made.asynchronous(tape)
                    _add(get(made.http, transport, url), first[True], later[True])
            result[f"{kind}, first byte"] = min(first[True]) - min(first[False])
            result[f"{kind}, later reads"] = median(later[True]) - median(later[False])
    return result


def _add(reads: list[tuple[float, bytes]], first: list[float], later: list[float]) -> None:
    begun = reads[0][0]
    first.append((reads[1][0] - begun) * 1e3)
    later += [at * 1e3 - int(data[6:26]) / 1e6 for at, data in reads[1:]]


def _block(http: Any, transport: Any, url: str) -> list[tuple[float, bytes]]:
    with http.Client(transport=transport) as client:
        begun = time.monotonic()
        with client.stream("POST", url + PATH, content=PROMPT) as response:
            return [(begun, b""), *((time.monotonic(), data) for data in response.iter_raw())]


def _await(http: Any, transport: Any, url: str) -> list[tuple[float, bytes]]:
    async def get() -> list[tuple[float, bytes]]:
        async with http.AsyncClient(transport=transport) as client:
            begun = time.monotonic()
            async with client.stream("POST", url + PATH, content=PROMPT) as response:
                reads = [(time.monotonic(), data) async for data in response.aiter_raw()]
            return [(begun, b""), *reads]

    return asyncio.run(get())


@contextmanager
def _server() -> Iterator[str]:
    command = [sys.executable, "-c", SERVER]
    root = Path(__file__).parents[1]
    with subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
