"""Recording does not disturb a client: reads arrive in time, with exact bytes, headers and end."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import socket
import threading
import warnings
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness import load
from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.recording.cassette import Playback, use_cassette
from harness.recording.tape import Tape
from harness.recording.transport import transports
from tests.recording.clients import BODY, EVENTS, LIBRARIES, PATH, _installed, client, stream
from tests.support.need import need
from tests.support.raw_server import Connection, Script, plain, raw_server, streaming


class Recording(Tape):
    """A tape without a file."""

    def answer(self, _: Request) -> None:
        return None


def astream(
    library: str,
    tape: Any,
    url: str,
    after_read: Callable[[int], None] = lambda _: None,
    stop: int = 1000,
) -> tuple[list[bytes], Any]:
    """`stream` for an asyncio client."""
    need(library, _installed(library), f"{library} is not installed")
    made = transports(library)
    got: list[bytes] = []

    async def run() -> None:
        async with (
            made.http.AsyncClient(transport=made.asynchronous(tape)) as http,
            http.stream("POST", url + PATH, json=BODY) as response,
        ):
            async for data in response.aiter_raw():
                got.append(data)
                after_read(len(got))
                if len(got) == stop:
                    break

    try:
        asyncio.run(run())
    except Exception as error:  # noqa: BLE001  # any exception of the library is compared
        return got, error
    return got, None


RUNS = [
    pytest.param(run, library, id=f"{library}-{run.__name__}")
    for run in (stream, astream)
    for library in LIBRARIES
]


Run = Callable[..., tuple[list[bytes], Any]]


@pytest.mark.parametrize(("run", "library"), RUNS)
@pytest.mark.parametrize(
    ("end", "error"), [("complete", None), ("cut", "RemoteProtocolError"), ("reset", "ReadError")]
)
def test_every_read_reaches_the_client_before_the_next_is_sent(
    run: Run, library: str, end: str, error: str | None
) -> None:
    tape, gate = Recording(), threading.Semaphore(0)
    with raw_server(streaming(*EVENTS, end=end, gate=gate)) as url:
        got, raised = run(
            library, tape, url, after_read=lambda _: gate.release()
        )  # the server waits for this before it continues
    assert got == EVENTS
    assert (type(raised).__name__ if raised else None) == error
    (exchange,) = tape.exchanges()
    assert [data for _, data in exchange.reads] == EVENTS
    assert exchange.end == end
    times = [at for at, _ in exchange.reads if at is not None]
    assert times == sorted(times)
    assert times[0] > 0
    assert exchange.request is not None
    assert (exchange.request.method, exchange.request.url, json.loads(exchange.request.body)) == (
        "POST",
        url + PATH,
        BODY,
    )
    assert (exchange.status, exchange.reason_phrase) == (200, "OK")
    assert exchange.headers == {
        "Content-Type": ["text/event-stream"],
        "Transfer-Encoding": ["chunked"],
    }


CLOSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n%b\r\n"


def closing(head: bytes, *pieces: bytes) -> Script:
    """A script whose answer ends when its connection is closed."""

    def script(connection: Connection) -> None:
        connection.send(head + b"".join(pieces))
        connection.peer.shutdown(socket.SHUT_RDWR)

    return script


@pytest.mark.parametrize(("run", "library"), RUNS)
@pytest.mark.parametrize(
    ("head", "end"),
    [
        (CLOSE % b"", "unknown"),
        (CLOSE % b"Connection: close\r\n", "unknown"),
        (b"HTTP/1.0 200 OK\r\n\r\n", "unknown"),
        (CLOSE % b"Content-Length: %d\r\n" % sum(map(len, EVENTS)), "complete"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "complete"),
    ],
)
def test_an_answer_that_only_a_close_ends_has_an_unknown_end(
    run: Run, library: str, head: bytes, end: str
) -> None:
    tape, body = Recording(), () if b" 204 " in head else EVENTS
    with raw_server(closing(head, *body)) as url:
        got, raised = run(library, tape, url)
    (exchange,) = tape.exchanges()
    assert (b"".join(got), raised) == (b"".join(body), None)
    assert (exchange.body, exchange.end) == (b"".join(body), end)


@pytest.mark.parametrize(("run", "library"), RUNS)
def test_a_client_that_leaves_is_aborted(run: Run, library: str) -> None:
    tape, gate = Recording(), threading.Semaphore(0)
    with raw_server(streaming(*EVENTS, gate=gate)) as url:
        got, _ = run(library, tape, url, after_read=lambda _: gate.release(), stop=2)
        gate.release(4)
    (exchange,) = tape.exchanges()
    assert [data for _, data in exchange.reads] == EVENTS[:2] == got
    assert exchange.end == "aborted"


@pytest.mark.parametrize(("run", "library"), RUNS)
@pytest.mark.parametrize(
    ("coding", "last", "end"),
    [
        ("", b"data: [DONE]\n\n", "complete"),
        ("", b"event: done\r\ndata: [DONE]\r\n\r\n", "complete"),
        ("gzip", b"data: [DONE]\n\n", "complete"),
        ("", b'data: {"text": "data: [DONE]"}\n\n', "aborted"),
    ],
)
def test_a_client_that_leaves_after_the_last_message_is_complete(
    run: Run, library: str, coding: str, last: bytes, end: str
) -> None:
    """Clients of the Interactions API and of OpenAI's wire stop there, before the body ends."""
    body, gate = EVENTS[0] + last, threading.Semaphore(0)
    sent = gzip.compress(body) if coding else body
    head = b"Content-Encoding: gzip\r\n" if coding else b""

    def script(connection: Connection) -> None:
        connection.send(CLOSE % (head + b"Transfer-Encoding: chunked\r\n"))
        connection.piece(sent)
        assert gate.acquire(timeout=30)
        connection.finish()

    tape = Recording()
    with raw_server(script) as url:
        run(library, tape, url, stop=1)
        gate.release()
    (exchange,) = tape.exchanges()
    assert (exchange.body, exchange.end) == (sent, end)


@pytest.mark.parametrize(("run", "library"), RUNS)
@pytest.mark.parametrize("end", ["complete", "cut", "reset", "aborted"])
def test_a_replay_equals_the_recording(run: Run, library: str, end: str, tmp_path: Path) -> None:
    gate, path, stop = threading.Semaphore(0), tmp_path / "a.yaml", 2 if end == "aborted" else 1000
    with raw_server(streaming(*EVENTS, end=end, gate=gate)) as url:
        with use_cassette(path, mode="once", allow_end=["cut", "reset"]) as tape:
            live, raised = run(library, tape, url, after_read=lambda _: gate.release(), stop=stop)
        gate.release(4)
    assert load(path).exchanges[0].end == end
    with use_cassette(path) as tape:
        played, again = run(library, tape, "https://generativelanguage.googleapis.com", stop=stop)
        assert isinstance(tape, Playback)
        assert tape.problems() == []
    assert played == live
    assert (
        (type(again), str(again)[:20]) == (type(raised), str(raised)[:20])
        or library == "httpx2"
        or str(raised) == ""
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # from sockets of other tests
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("played", [False, True], ids=["recorded", "played"])
def test_a_stream_that_is_left_leaves_no_pending_task(
    library: str, played: bool, tmp_path: Path
) -> None:
    """asyncio logs `Task was destroyed but it is pending!` for such a task."""
    need(library, _installed(library), f"{library} is not installed")
    made, path = transports(library), tmp_path / "a.yaml"
    problems: list[str] = []

    async def leave(tape: Any, url: str) -> None:
        async with (
            made.http.AsyncClient(transport=made.asynchronous(tape)) as http,
            http.stream("POST", url + PATH, json=BODY) as response,
        ):
            reads = response.stream.__aiter__()
            await anext(reads)
        kept.append((response, reads))  # kept until the loop has stopped

    gate = threading.Semaphore(0)
    with raw_server(streaming(*EVENTS, gate=gate)) as url:
        if played:
            request = Request("POST", url + PATH, {}, json.dumps(BODY).encode())
            reads = tuple((None, data) for data in EVENTS)
            exchange = Exchange(request, 200, {}, reads, "complete")
            path.write_text(dumps(Cassette((exchange,), Origin("written"))), encoding="utf-8")
        for _ in range(3):
            kept: list[Any] = []
            loop = asyncio.new_event_loop()
            loop.set_exception_handler(lambda _, context: problems.append(context["message"]))
            with use_cassette(path, mode="none") if played else nullcontext(Recording()) as tape:
                loop.run_until_complete(leave(tape, url))
            kept.clear()
            gc.collect()
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()
            gc.collect()
            gate.release(4)
    assert problems == []


def test_bytes_stay_as_they_came_over_the_wire() -> None:
    body, tape = gzip.compress(b"".join(EVENTS)), Recording()
    with (
        raw_server(
            plain("200 Fine", body, "Content-Encoding: gzip", "X-Two: a", "x-two: b")
        ) as url,
        client("httpx2", tape) as http,
    ):
        assert http.post(url + PATH, json=BODY).content == b"".join(EVENTS)
    (exchange,) = tape.exchanges()
    assert exchange.body == body
    assert exchange.reason_phrase == "Fine"
    assert exchange.headers == {
        "Content-Encoding": ["gzip"],
        "X-Two": ["a", "b"],
        "Content-Length": [str(len(body))],
    }


def test_exchanges_are_in_start_order_not_in_end_order() -> None:
    tape, arrived, gate = Recording(), threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        arrived.set()
        assert gate.wait(30)
        plain("200 OK", b"first")(connection)

    async def run(url: str) -> list[str]:
        async with httpx2.AsyncClient(transport=transports("httpx2").asynchronous(tape)) as http:
            first = asyncio.create_task(http.post(url + "/1"))
            while not arrived.is_set():
                await asyncio.sleep(0.001)
            second = await http.post(url + "/2")
            gate.set()
            return [(await first).text, second.text]

    with raw_server(slow, plain("200 OK", b"second")) as url:
        assert asyncio.run(run(url)) == ["first", "second"]
    assert [exchange.body for exchange in tape.exchanges()] == [b"first", b"second"]


def test_one_client_serves_several_event_loops() -> None:
    tape = Recording()
    transport = transports("httpx2").asynchronous(tape)

    async def run(url: str) -> bytes:
        async with httpx2.AsyncClient(transport=transport) as http:
            return (await http.post(url)).content

    with raw_server(plain("200 OK", b"x")) as url:
        assert [asyncio.run(run(url)) for _ in range(2)] == [b"x", b"x"]


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_transport_keeps_nothing_of_a_loop_that_was_closed(library: str) -> None:
    need(library, _installed(library), f"{library} is not installed")
    made, loops = transports(library), []
    transport = made.asynchronous(Recording())

    async def run(url: str) -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await made.http.AsyncClient(transport=transport).post(url)  # the client is never closed

    with raw_server(plain("200 OK", b"x")) as url, warnings.catch_warnings(action="ignore"):
        for _ in range(3):
            asyncio.run(run(url))
        gc.collect()  # the sockets of a closed loop are closed with a warning
        assert [loop() is None for loop in loops] == [True, True, False]
        transport = None
        gc.collect()


@pytest.mark.parametrize(
    ("no_proxy", "asked"), [("", b"POST http://api.invalid"), ("api.invalid", b"")]
)
def test_a_proxy_of_the_environment_is_asked(
    monkeypatch: pytest.MonkeyPatch, no_proxy: str, asked: bytes
) -> None:
    tape, seen = Recording(), []

    def answer(connection: Connection) -> None:
        seen.append(connection.request)
        plain("200 OK", b"x")(connection)

    with raw_server(answer) as url:
        monkeypatch.setenv("http_proxy", url)
        monkeypatch.setenv("no_proxy", no_proxy)
        stream("httpx2", tape, "http://api.invalid")
    assert (seen[0] if seen else b"").startswith(asked)
    assert bool(seen) == bool(asked)
    assert len(tape.exchanges()) == len(seen)


@pytest.mark.parametrize(("run", "library"), RUNS)
def test_a_request_without_an_answer_records_only_the_reason(run: Run, library: str) -> None:
    tape = Recording()
    with raw_server(lambda connection: connection.reset()) as url:
        got, raised = run(library, tape, url)
    assert got == []
    assert type(raised).__name__ == "ReadError"
    assert tape.exchanges() == ()
    assert [take.failure for take in tape.in_flight] == [str(raised) or "ReadError"]
    _, unreached = run(library, tape, "http://127.0.0.1:1")
    assert type(unreached).__name__ == "ConnectError"
    assert tape.in_flight[1].failure == str(unreached) != ""
