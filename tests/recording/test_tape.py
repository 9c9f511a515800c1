"""Recording a client without disturbing it: every read when it comes, exact bytes, headers and end;
what had arrived survives a kill.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
import vcr

from harness import load
from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request, dumps
from harness.cassettes.journal import (
    Answered,
    Asked,
    Ended,
    Read,
    encode_fact,
    encode_head,
    read_journal,
)
from harness.cassettes.vcrpy import export
from harness.recording import register
from harness.recording.cassette import Playback, UnknownRequest, use_cassette
from harness.recording.journal_writer import left_behind, part_of
from harness.recording.persister import save
from harness.recording.tape import Tape
from harness.recording.transport import transports
from tests.support.need import need
from tests.support.raw_server import HEAD, Connection, Script, plain, raw_server, streaming

EVENTS = [
    b'data: {"candidates": [{"content": {"parts": [{"text": "t%d"}],"role": "model"},"index": 0}]}\r\n\r\n'
    % n
    for n in range(4)
]
PATH = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
LIBRARIES = ["httpx2", "httpx"]
BODY = {"contents": [{"parts": [{"text": "hi"}]}]}


class Recording(Tape):
    """A tape without a file."""

    def answer(self, _: Request) -> None:
        return None


def client(library: str, tape: Any) -> Any:
    need(library, _installed(library), f"{library} is not installed")
    made = transports(library)
    return made.http.Client(transport=made.sync(tape))


def _installed(library: str) -> bool:
    try:
        transports(library)
    except ImportError:
        return False
    return True


def stream(
    library: str,
    tape: Any,
    url: str,
    after_read: Callable[[int], None] = lambda _: None,
    stop: int = 1000,
) -> tuple[list[bytes], Any]:
    """What a client that blocks gets, read by read, and the exception that ended it."""
    got: list[bytes] = []
    try:
        with client(library, tape) as http, http.stream("POST", url + PATH, json=BODY) as response:
            for data in response.iter_raw():
                got.append(data)
                after_read(len(got))
                if len(got) == stop:
                    break
    except Exception as error:  # noqa: BLE001  # whatever the library raises is compared
        return got, error
    return got, None


def astream(
    library: str,
    tape: Any,
    url: str,
    after_read: Callable[[int], None] = lambda _: None,
    stop: int = 1000,
) -> tuple[list[bytes], Any]:
    """`stream` for a client that awaits."""
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
    except Exception as error:  # noqa: BLE001  # whatever the library raises is compared
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
        )  # the server waits for this before it goes on
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
@pytest.mark.parametrize("end", ["complete", "cut", "reset", "aborted"])
def test_what_was_recorded_plays_the_same(run: Run, library: str, end: str, tmp_path: Path) -> None:
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


def test_exchanges_stand_in_start_order_whoever_is_done_first() -> None:
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
def test_a_request_that_got_no_answer_is_no_exchange_and_the_take_says_why(
    run: Run, library: str
) -> None:
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


def ask_and_fail(url: str, path: Path, mode: Any = "once") -> None:
    with use_cassette(path, mode=mode) as tape:
        stream("httpx2", tape, url)
        raise RuntimeError("the test failed")


def test_a_failure_before_the_first_byte_leaves_nothing_behind(tmp_path: Path) -> None:
    with raw_server(lambda connection: connection.reset()) as url, pytest.raises(RuntimeError):
        ask_and_fail(url, tmp_path / "new" / "a.yaml")
    assert list(tmp_path.rglob("*")) == []


def test_what_an_earlier_run_left_stays_until_something_has_arrived(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    part_of(path).write_bytes(UNFINISHED)
    with raw_server(lambda connection: connection.reset(), streaming(*EVENTS)) as url:
        with pytest.raises(RuntimeError):
            ask_and_fail(url, path)
        assert part_of(path).read_bytes() == UNFINISHED
        with pytest.raises(RuntimeError):
            ask_and_fail(url, path)
    assert [exchange.reads[0][1] for exchange in load(part_of(path)).exchanges] == [EVENTS[0]]


def test_a_recording_goes_on_where_the_unfinished_one_can_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    with (
        raw_server(streaming(*EVENTS)) as url,
        use_cassette(tmp_path / "a.yaml", mode="once") as tape,
    ):
        assert stream("httpx2", tape, url) == (EVENTS, None)
    assert [path.name for path in tmp_path.iterdir()] == ["a.yaml"]
    assert len(load(tmp_path / "a.yaml").exchanges[0].reads) == len(EVENTS)


def test_who_can_not_know_what_is_secret_asks_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "adc.json"
    file.write_text("{")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    unreadable = r"adc\.json: can't be read, so its secrets are not known"
    recorder = use_cassette(tmp_path / "a.yaml", mode="once")
    with pytest.raises(CassetteError, match=unreadable), recorder:
        pytest.fail("a client could ask now")


DISTANT = """
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


@pytest.fixture(scope="module")
def distant() -> Iterator[str]:
    """A server in a process of its own that sends the time; every process of a machine has the same
    monotonic clock.
    """
    command = [sys.executable, "-c", DISTANT]
    process = subprocess.Popen(
        command,
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process as running:
        assert running.stdout is not None
        yield running.stdout.readline().strip()


@pytest.mark.parametrize("awaits", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_client_waits_no_longer_while_it_is_recorded(
    distant: str, library: str, awaits: bool, tmp_path: Path
) -> None:
    """The first byte of a cassette's first request, and each read after it: at most a millisecond
    later than without a recorder.
    """
    need(library, _installed(library), f"{library} is not installed")
    http = transports(library).http
    first: dict[bool, list[float]] = {False: [], True: []}
    later: dict[bool, list[float]] = {False: [], True: []}

    async def awaited(transport: Any) -> list[tuple[float, bytes]]:
        async with http.AsyncClient(transport=transport) as client:
            begun = time.monotonic()
            async with client.stream("POST", distant + PATH, json=BODY) as response:
                return [
                    (begun, b""),
                    *[(time.monotonic(), data) async for data in response.aiter_raw()],
                ]

    def blocking(transport: Any) -> list[tuple[float, bytes]]:
        with http.Client(transport=transport) as client:
            begun = time.monotonic()
            with client.stream("POST", distant + PATH, json=BODY) as response:
                return [(begun, b""), *[(time.monotonic(), data) for data in response.iter_raw()]]

    def ask(transport: Any, recorded: bool) -> None:
        (begun, _), *reads = asyncio.run(awaited(transport)) if awaits else blocking(transport)
        first[recorded].append((reads[0][0] - begun) * 1e3)
        later[recorded] += [at * 1e3 - int(data[6:26]) / 1e6 for at, data in reads]

    def added() -> tuple[float, float]:
        """By how many ms a first byte and a later read come later."""
        return min(first[True]) - min(first[False]), statistics.median(
            later[True]
        ) - statistics.median(later[False])

    for number in range(36):
        ask(http.AsyncHTTPTransport() if awaits else http.HTTPTransport(), False)
        with use_cassette(tmp_path / f"{number}.yaml", mode="once") as tape:
            made = transports(library)
            ask(made.asynchronous(tape) if awaits else made.sync(tape), True)
        if number >= 11 and max(added()) < 1:
            break  # else the machine may have had something else to do
    assert max(added()) < 1


KILLED = """
import os, signal, sys
import httpx2
from pathlib import Path
from harness.recording.transport import transports
from harness.recording.cassette import use_cassette

with use_cassette(Path(sys.argv[2]), mode=sys.argv[3]) as tape:
    with httpx2.Client(transport=transports("httpx2").sync(tape), headers={"x-goog-api-key": "AIza" + "k" * 35}) as http:
        with http.stream("POST", sys.argv[1] + "&key=AIza" + "q" * 35, json={"contents": []}) as response:
            for number, data in enumerate(response.iter_raw(), 1):
                print(number, flush=True)
"""


def start(url: str, path: Path, mode: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", KILLED, url + PATH, str(path), mode]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(text: bytes, path: Path) -> bytes:
    for _ in range(3000):
        if path.exists() and text in (data := path.read_bytes()):
            return data
        threading.Event().wait(0.01)
    raise AssertionError(f"{text!r} never came to {path}")


@pytest.mark.parametrize("signalled", [signal.SIGKILL, signal.SIGINT])
def test_what_had_arrived_stands_after_a_kill(tmp_path: Path, signalled: signal.Signals) -> None:
    path, gate = tmp_path / "a.yaml", threading.Semaphore(1)
    path.write_text(good := dumps(Cassette((), Origin("written"))))
    with raw_server(streaming(*EVENTS, gate=gate)) as url:
        process = start(url, path, "rewrite")
        assert process.stdout is not None
        assert process.stderr is not None
        with process, process.stdout as said:
            assert [said.readline(), said.readline()] == [b"1\n", b"2\n"]
            text = wait_for(b"t1", part_of(path))
            process.send_signal(signalled)
            assert process.wait(30) != 0
        gate.release(9)
    cassette = load(part_of(path))
    assert cassette.origin.kind == "loopback"
    (exchange,) = cassette.exchanges
    assert [data for _, data in exchange.reads] == EVENTS[:2]
    assert exchange.end == ("cut" if signalled == signal.SIGKILL else "aborted")
    assert exchange.provider == "gemini-api"
    assert part_of(path).stat().st_mode & 0o777 == 0o600
    assert b"AIza" not in text
    assert path.read_text() == good
    assert f"{part_of(path)} is what an earlier recording left" in (left_behind(path) or "")


def test_a_whole_recording_leaves_no_unfinished_one(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.yaml"
    with raw_server(streaming(*EVENTS)) as url, use_cassette(path, mode="once") as tape:
        stream("httpx2", tape, url)
    assert sorted(path.parent.iterdir()) == [path]
    assert left_behind(path) is None
    cassette = load(path)
    assert (cassette.origin.kind, cassette.origin.model) == ("loopback", "gemini-x")
    assert cassette.exchanges[0].reads[0][1] == EVENTS[0]
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


@pytest.mark.parametrize("mode", ["once", "rewrite"])
def test_a_failed_recording_changes_nothing(tmp_path: Path, mode: Any) -> None:
    path = tmp_path / "a.yaml"
    if mode == "rewrite":
        path.write_text(
            "version: 1\nmetadata:\n  harness: 1\n  origin: written\ninteractions: []\n"
        )
    before = path.read_bytes() if path.exists() else None
    with raw_server(streaming(*EVENTS)) as url, pytest.raises(RuntimeError):
        ask_and_fail(url, path, mode)
    assert (path.read_bytes() if path.exists() else None) == before
    assert load(part_of(path)).exchanges[0].end == "complete"
    assert sorted(file.name for file in tmp_path.iterdir() if file != path) == ["a.yaml.part"]


QUOTA = b'{"error": {"code": 429, "message": "no more", "status": "RESOURCE_EXHAUSTED"}}'
KEY = b'{"error": {"code": 400, "message": "API key not valid.", "details": [{"reason": "API_KEY_INVALID"}]}}'
REFUSALS: list[tuple[Script, int, str]] = [
    (plain("429 Too Many Requests", QUOTA), 429, r"exchange 1 is a quota answer \(429: no more\)"),
    (
        plain("400 Bad Request", KEY),
        400,
        r"exchange 1 is an answer about the key \(400: API key not valid\.\)",
    ),
    (plain("403 Forbidden", b"<html>"), 403, r"exchange 1 is an authorization answer \(403"),
    (plain("503 Service Unavailable", b""), 503, r"exchange 1 is an overload answer \(503"),
    (
        streaming(EVENTS[0], b'{"error": {"code": 503, "message": "overloaded"}}'),
        503,
        r"an overload answer \(503: overloaded\)",
    ),
]


@pytest.mark.parametrize(
    ("script", "status", "message"), REFUSALS, ids=[message[:40] for _, _, message in REFUSALS]
)
def test_quota_key_and_overload_answers_are_refused_unless_asked_for(
    tmp_path: Path, script: Script, status: int, message: str
) -> None:
    path = tmp_path / "a.yaml"
    with raw_server(script) as url:
        with pytest.raises(CassetteError, match=message), use_cassette(path, mode="once") as tape:
            stream("httpx2", tape, url)
        assert not path.exists()
        with use_cassette(path, mode="once", allow_status=[status]) as tape:
            stream("httpx2", tape, url)
    assert len(load(path).exchanges) == 1


@pytest.mark.parametrize("end", ["cut", "reset"])
@pytest.mark.parametrize("mode", ["once", "rewrite"])
def test_an_answer_that_broke_off_is_refused_unless_asked_for(
    tmp_path: Path, end: Any, mode: Any
) -> None:
    path = tmp_path / "a.yaml"
    if mode == "rewrite":
        path.write_text(dumps(Cassette((), Origin("written"))))
    before = path.read_bytes() if path.exists() else None
    told = rf"the answer of exchange 1 was {end}.* before its end, after 4 reads of \d+ bytes; .*: allow_end=\['{end}'\]$"
    with raw_server(streaming(*EVENTS, end=end)) as url:
        with pytest.raises(CassetteError, match=told), use_cassette(path, mode=mode) as tape:
            stream("httpx2", tape, url)
        assert (path.read_bytes() if path.exists() else None) == before
        with use_cassette(path, mode=mode, allow_end=[end]) as tape:
            stream("httpx2", tape, url)
    assert load(path).exchanges[0].end == end


@pytest.mark.parametrize("awaits", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_an_answer_on_which_the_clients_time_ran_out_is_refused_unless_asked_for(
    tmp_path: Path, library: str, awaits: bool
) -> None:
    need(library, _installed(library), f"{library} is not installed")
    path, gate, made = tmp_path / "a.yaml", threading.Semaphore(0), transports(library)

    async def await_it(tape: Any, url: str) -> None:
        async with made.http.AsyncClient(transport=made.asynchronous(tape), timeout=0.3) as http:
            with pytest.raises(made.http.ReadTimeout):
                await http.post(url + PATH, json=BODY)

    def ask(tape: Any, url: str) -> None:
        if awaits:
            return asyncio.run(await_it(tape, url))
        with (
            made.http.Client(transport=made.sync(tape), timeout=0.3) as http,
            pytest.raises(made.http.ReadTimeout),
        ):
            http.post(url + PATH, json=BODY)
        return None

    with raw_server(streaming(*EVENTS, gate=gate)) as url:
        told = r"the answer of exchange 1 was given up, after 1 read of \d+ bytes: .+; .*: allow_end=\['aborted'\]$"
        with pytest.raises(CassetteError, match=told), use_cassette(path, mode="once") as tape:
            ask(tape, url)
        assert not path.exists()
        with use_cassette(path, mode="once", allow_end=["aborted"]) as tape:
            ask(tape, url)
        gate.release(9)
    assert load(path).exchanges[0].end == "aborted"


def test_an_error_of_the_request_is_recorded(tmp_path: Path) -> None:
    answer = plain("400 Bad Request", b'{"error": {"code": 400, "message": "no"}}')
    with raw_server(answer) as url, use_cassette(tmp_path / "a.yaml", mode="once") as tape:
        stream("httpx2", tape, url)
    assert load(tmp_path / "a.yaml").exchanges[0].status == 400


@pytest.mark.parametrize("cuts", [(0, 99), (7, 99), (20, 99)])
def test_a_secret_in_an_answer_keeps_both_files_away(tmp_path: Path, cuts: tuple[int, int]) -> None:
    body = b'data: {"a": "AIza' + b"s" * 35 + b'"}\r\n\r\n'
    pieces = [
        piece for piece in (body[: cuts[0]], body[cuts[0] : cuts[1]], body[cuts[1] :]) if piece
    ]
    path = tmp_path / "a.yaml"
    refused = pytest.raises(CassetteError, match="a Google API key")
    with raw_server(streaming(*pieces)) as url, refused, use_cassette(path, mode="once") as tape:
        stream("httpx2", tape, url)
    assert not path.exists()
    assert not list(tmp_path.rglob("*"))


def test_a_file_is_moved_only_when_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.yaml"
    save(path, "good\n")
    path.chmod(0o640)
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    save(path, "better\n")
    assert len(synced) == 2  # the file, then its folder
    assert path.stat().st_mode & 0o777 == 0o640

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save(path, "half")
    assert path.read_text() == "better\n"
    assert sorted(tmp_path.iterdir()) == [path]


def test_an_unknown_request_shows_the_nearest_one(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    body = b'{"contents": [{"parts": [{"text": "hi"}]}]}'
    exchange = Exchange(
        Request("POST", "https://generativelanguage.googleapis.com" + PATH, {}, body),
        200,
        {},
        (),
        "complete",
    )
    save(path, dumps(Cassette((exchange, exchange), Origin("written"))))
    with use_cassette(path, name="gemini-api/a") as tape:
        assert isinstance(tape, Playback)
        with client("httpx2", tape) as http:
            with pytest.raises(UnknownRequest) as caught:
                http.post(
                    "http://127.0.0.1:1" + PATH, json={"contents": [{"parts": [{"text": "ho"}]}]}
                )
            assert str(caught.value) == (
                "POST /v1beta/models/gemini-x:streamGenerateContent: no unused exchange of gemini-api/a answers this\n"
                "the nearest is exchange 1:\n"
                "  body.contents[0].parts[0].text: changed\n"
                '    recorded: "hi"\n'
                '    asked:    "ho"\n'
                "record the cassette anew with --harness-record rewrite if this is intended"
            )
            assert http.post("http://127.0.0.1:1" + PATH, json=BODY).status_code == 200
        assert tape.problems() == ["gemini-api/a: exchange 2 was never asked for"]
        assert tape.unknown == [str(caught.value)]


def test_vcrpys_own_filters_hold_for_recording_and_for_playing(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    options = {
        "ignore_hosts": ["localhost"],
        "filter_post_data_parameters": ["user"],
        "before_record_response": [lambda response: response],
    }

    def run(url: str, tape: Any) -> list[int]:
        with httpx2.Client(transport=transports("httpx2").sync(tape)) as http:
            return [
                http.post(host + PATH, json={"user": user, "a": 1}).status_code
                for host, user in ((url, str(id(tape))), (other, "x"))
            ]

    with raw_server(plain("200 OK", b"1")) as url:
        other = url.replace("127.0.0.1", "localhost")
        with use_cassette(path, mode="once", options=options) as tape:
            assert run(url, tape) == [200, 200]
        assert [
            json.loads(exchange.request.body)
            for exchange in load(path).exchanges
            if exchange.request
        ] == [{"a": 1}]
        with use_cassette(path, options=options) as tape:
            assert run("http://127.0.0.1:1", tape) == [
                200,
                200,
            ]  # the second is asked of the server, as vcrpy would


def test_what_vcrpys_filters_leave_out_does_not_stand_in_the_unfinished_one_either(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.yaml"
    options = {
        "ignore_hosts": ["localhost"],
        "filter_post_data_parameters": ["user"],
        "filter_headers": ["user-agent"],
    }

    def ask(url: str) -> None:
        with (
            use_cassette(path, mode="once", options=options) as tape,
            client("httpx2", tape) as http,
        ):
            for host in (url.replace("127.0.0.1", "localhost"), url):
                http.post(host + PATH, json={"user": "somebody", "a": 1})
            raise RuntimeError("the test failed")

    with (
        raw_server(plain("200 OK", b"left out"), plain("200 OK", b"kept")) as url,
        pytest.raises(RuntimeError),
    ):
        ask(url)
    (exchange,) = load(part_of(path)).exchanges
    assert exchange.request is not None
    assert (exchange.body, json.loads(exchange.request.body)) == (b"kept", {"a": 1})
    assert "user-agent" not in {name.lower() for name in exchange.request.headers}
    assert not any(word in part_of(path).read_bytes() for word in (b"somebody", b"left out"))


def test_a_suite_of_vcrpys_own_has_an_unfinished_recording_until_it_is_written(
    tmp_path: Path,
) -> None:
    recorder, path, gate = (
        vcr.VCR(record_on_exception=False),
        tmp_path / "a.yaml",
        threading.Semaphore(0),
    )
    register(recorder)

    def ask(url: str, fail: bool) -> None:
        with (
            recorder.use_cassette(str(path)),
            httpx2.Client() as http,
            http.stream("POST", url + PATH, json=BODY) as response,
        ):
            for number, _ in enumerate(response.iter_raw(), 1):
                if number == 2:
                    assert b"t1" in wait_for(b"t1", part_of(path))
                gate.release()
            if fail:
                raise RuntimeError("the test failed")

    with raw_server(streaming(*EVENTS, gate=gate)) as url:
        with pytest.raises(RuntimeError):
            ask(url, fail=True)
        assert not path.exists()
        with pytest.warns(UserWarning, match=r"a\.yaml\.part is what an earlier recording left"):
            ask(url, fail=False)
    assert [data for _, data in load(path).exchanges[0].reads] == EVENTS
    assert [file.name for file in tmp_path.iterdir()] == ["a.yaml"]


def test_a_hook_says_what_of_an_exchange_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"

    def before_record(exchange: Exchange) -> Exchange | None:
        asked = exchange.request.body if exchange.request else b""
        return None if b"private" in asked else replace(exchange, reason_phrase="")

    options = {"before_record": before_record}
    with (
        raw_server(plain("200 Fine", b"1")) as url,
        use_cassette(path, mode="once", options=options) as tape,
        httpx2.Client(transport=transports("httpx2").sync(tape)) as http,
    ):
        for said in ("private", "public"):
            http.post(url + PATH, json={"said": said})
    (kept,) = load(path).exchanges
    assert kept.request is not None
    assert (json.loads(kept.request.body), kept.reason_phrase) == ({"said": "public"}, "")


HEAD_LINE = encode_head(Origin("recorded", date="2026-11-22"))
ASKED = encode_fact(Asked(1, Request("POST", "https://h/x", {"a": ["b"]}, b"\xff")))
UNFINISHED = (
    HEAD_LINE
    + ASKED
    + encode_fact(Asked(2, None))
    + encode_fact(Answered(2, 200, "", {}))
    + encode_fact(Answered(1, 200, "OK", {}))
    + encode_fact(Read(2, 1.5, b"\xc3"))
)
CLI = (Exchange(None, 200, {}, ((1.5, b"\xc3"),), "cut"),)
API = (Exchange(Request("POST", "https://h/x", {"a": ["b"]}, b"\xff"), 200, {}, (), "cut", "OK"),)


@pytest.mark.parametrize(
    ("text", "exchanges"),
    [
        (HEAD_LINE, ()),
        (HEAD_LINE + ASKED, ()),
        (UNFINISHED, API + CLI),
        (UNFINISHED + encode_fact(Read(2, None, b"x"))[:-1], API + CLI),
        (UNFINISHED + encode_fact(Ended(1, "aborted"))[:9], API + CLI),
    ],
)
def test_an_unfinished_recording_is_readable_wherever_it_stops(
    text: bytes, exchanges: tuple[Exchange, ...]
) -> None:
    assert read_journal(text) == Cassette(exchanges, Origin("recorded", date="2026-11-22"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD_LINE[:30], "u:1: not the first line of a journal"),
        (HEAD_LINE.replace(b":1,", b":2,"), "u:1: format 2 is newer than 1"),
        (HEAD_LINE + encode_fact(Read(1, 1.0, b"x")), "u:2: not a line of a journal: 1"),
        (
            HEAD_LINE + b'{"line": "odd", "exchange": 1}\n',
            "u:2: not a line of a journal: Invalid value 'odd'",
        ),
    ],
)
def test_what_is_no_unfinished_recording_says_where(text: bytes, message: str) -> None:
    with pytest.raises(CassetteError, match=message):
        read_journal(text, "u")


def test_a_head_is_enough_to_know_an_unfinished_recording(tmp_path: Path) -> None:
    (tmp_path / "a.yaml.part").write_bytes(UNFINISHED)
    assert len(load(tmp_path / "a.yaml.part").exchanges) == 2
    assert HEAD.startswith(b"HTTP")


@pytest.mark.parametrize("awaits", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("end", ["complete", "cut", "reset"])
def test_a_suite_of_vcrpys_own_is_recorded_read_by_read(
    tmp_path: Path, awaits: bool, end: str
) -> None:
    recorder, gate, path = (
        vcr.VCR(filter_query_parameters=["alt"]),
        threading.Semaphore(0),
        tmp_path / "a.yaml",
    )
    register(recorder)
    got: list[bytes] = []

    async def arun(url: str) -> None:
        async with (
            httpx2.AsyncClient() as http,
            http.stream("POST", url + PATH, json=BODY) as response,
        ):
            async for data in response.aiter_raw():
                got.append(data)
                gate.release()

    def run(url: str) -> None:
        if awaits:
            asyncio.run(arun(url))
            return
        with httpx2.Client() as http, http.stream("POST", url + PATH, json=BODY) as response:
            for data in response.iter_raw():
                got.append(data)
                gate.release()

    def run_to_its_end(url: str) -> str | None:
        try:
            run(url)
        except httpx2.TransportError as error:
            return type(error).__name__
        return None

    with raw_server(streaming(*EVENTS, end=end, gate=gate)) as url:
        with recorder.use_cassette(str(path)):
            live = run_to_its_end(url)
        assert got == EVENTS
        (exchange,) = load(path).exchanges
        assert ([data for _, data in exchange.reads], exchange.end) == (EVENTS, end)
        assert exchange.request is not None
        assert exchange.request.url.endswith(":streamGenerateContent")
        before = path.read_bytes()
        with recorder.use_cassette(str(path)) as tape:
            assert run_to_its_end(url) == live
            assert tape.play_count == 1
            with pytest.raises(vcr.errors.CannotOverwriteExistingCassetteException):
                run(url)
        assert got == EVENTS * 2
        assert path.read_bytes() == before


def ask_httpx2(url: str, key: str) -> bytes:
    with httpx2.Client(headers={"x-goog-api-key": key, "user-agent": "me"}) as http:
        return http.post(
            f"{url}/v1/models/m:generateContent?key={key}", json={"access_token": key, "a": 1}
        ).content


def ask_urllib(url: str, key: str) -> bytes:
    body, headers = (
        json.dumps({"access_token": key, "a": 1}).encode(),
        {"x-goog-api-key": key, "user-agent": "me"},
    )
    with urllib.request.urlopen(
        urllib.request.Request(f"{url}/v1/models/m:generateContent?key={key}", body, headers)
    ) as answer:
        return bytes(answer.read())


@pytest.mark.parametrize(
    "match_on", [None, ["method", "uri", "body", "headers"]], ids=["vcrpy's own", "all of it"]
)
@pytest.mark.parametrize("asks", [ask_httpx2, ask_urllib])
def test_a_suite_of_vcrpys_own_finds_its_cassette_whatever_key_it_uses(
    tmp_path: Path, asks: Callable[[str, str], bytes], match_on: list[str] | None
) -> None:
    recorder, path = vcr.VCR(**({"match_on": match_on} if match_on else {})), tmp_path / "a.yaml"
    register(recorder)
    with raw_server(plain("200 OK", b"one"), plain("200 OK", b"two")) as url:
        for key in ("the-key-of-mine", "another-key"):
            with recorder.use_cassette(str(path)) as tape:
                assert asks(url, key) == b"one"
        with (
            recorder.use_cassette(str(path)),
            pytest.raises(vcr.errors.CannotOverwriteExistingCassetteException) as caught,
        ):
            asks(f"{url}/other", "another-key")
        plainly = tmp_path / "plain.yaml"
        plainly.write_text(export(load(path)))
        with vcr.VCR(filter_query_parameters=[("key", "REDACTED")]).use_cassette(
            str(plainly)
        ) as tape:
            assert asks(url, "another-key") == b"one"
            assert tape.play_count == 1
    closest = str(caught.value).partition("Closest")[2]
    assert "/other/" in closest
    assert "another-key" not in closest  # only the path differs
    assert "-key" not in path.read_text().replace("x-goog-api-key", "")


def test_a_cassette_with_a_serializer_of_vcrpys_own_stays_vcrpys(tmp_path: Path) -> None:
    recorder, path = vcr.VCR(), tmp_path / "a.json"
    register(recorder)
    with raw_server(plain("200 OK", b"one")) as url:
        for _ in range(2):
            with recorder.use_cassette(str(path), serializer="json"), httpx2.Client() as http:
                assert http.post(url, json=BODY).content == b"one"
    assert json.loads(path.read_text())["interactions"][0]["response"]["status"]["code"] == 200
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_vcrpys_decorator_opens_the_same_cassette(tmp_path: Path) -> None:
    recorder = vcr.VCR(cassette_library_dir=str(tmp_path))
    register(recorder)

    @recorder.use_cassette("a.yaml")  # type: ignore[untyped-decorator]  # vcrpy has no types
    def ask(url: str) -> bytes:
        with httpx2.Client() as http:
            return http.post(url, json=BODY).content

    with raw_server(plain("200 OK", b"one"), plain("200 OK", b"two")) as url:
        assert [ask(url), ask(url)] == [b"one", b"one"]
