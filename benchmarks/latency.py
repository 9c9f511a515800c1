"""Measures the delay that recording adds for a client, in its process or by the relay.

A server in a separate process sends the time in each read. All processes of a machine share the
monotonic clock, so a client can measure how long a read took.
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
Reads = list[tuple[float, bytes]]
"""The time of the request, then the time and the bytes of each read of its answer."""
PATH = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"


def recording_latency(library: str, rounds: int, folder: Path) -> dict[str, float]:
    """Milliseconds by which a recorder delays the first byte and a later read, for a
    blocking client on ``library`` (httpx2 or httpx) and for an awaiting one, and with the relay
    between the blocking client and the server: for the first request of a client, and for those
    that use its connection again.
    """
    made = transports(library)
    kinds = {
        "blocking": (_block, made.http.HTTPTransport, made.sync),
        "awaiting": (_await, made.http.AsyncHTTPTransport, made.asynchronous),
    }
    result: dict[str, float] = {}
    with _server() as url:
        for kind, (get, plain, recorded) in kinds.items():
            without, within = Times(), Times()
            for number in range(rounds):
                without.add(get(made.http, plain(), url, 1))
                cassette = folder / f"{kind}-{number}.yaml"
                with use_cassette(cassette, mode="once", allow_incomplete=True) as tape:
                    within.add(get(made.http, recorded(tape), url, 1))
            result[f"{kind}, first byte"] = min(within.first) - min(without.first)
            result[f"{kind}, later reads"] = median(within.later) - median(without.later)
        with (
            use_cassette(folder / "relay.yaml", mode="once", allow_incomplete=True) as tape,
            relay(tape, url) as between,
        ):
            for name, clients, asked in (
                ("relay, a connection for each request", rounds, 1),
                ("relay, a kept connection", 1, rounds),
            ):
                without, within = Times(), Times()
                for _ in range(clients):
                    without.add(_block(made.http, made.http.HTTPTransport(), url, asked))
                    within.add(_block(made.http, made.http.HTTPTransport(), between, asked))
                result[f"{name}, first byte"] = min(within.first) - min(without.first)
                result[f"{name}, later reads"] = median(within.later) - median(without.later)
    return result


class Times:
    """Milliseconds from a request to its first read, and for all other reads from sending to
    arrival.
    """

    def __init__(self) -> None:
        self.first: list[float] = []
        self.later: list[float] = []

    def add(self, answers: list[Reads]) -> None:
        """Add the reads of some answers."""
        for (asked, _), *reads in answers:
            self.first.append((reads[0][0] - asked) * 1e3)
            self.later += [at * 1e3 - int(data[6:26]) / 1e6 for at, data in reads]


def _block(http: Any, transport: Any, url: str, requests: int) -> list[Reads]:
    answers = []
    with http.Client(transport=transport) as client:
        for _ in range(requests):
            asked = time.monotonic()
            with client.stream("POST", url + PATH, content=PROMPT) as response:
                reads = [(time.monotonic(), data) for data in response.iter_raw()]
            answers.append([(asked, b""), *reads])
    return answers


def _await(http: Any, transport: Any, url: str, requests: int) -> list[Reads]:
    async def get() -> list[Reads]:
        answers = []
        async with http.AsyncClient(transport=transport) as client:
            for _ in range(requests):
                asked = time.monotonic()
                async with client.stream("POST", url + PATH, content=PROMPT) as response:
                    reads = [(time.monotonic(), data) async for data in response.aiter_raw()]
                answers.append([(asked, b""), *reads])
        return answers

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
