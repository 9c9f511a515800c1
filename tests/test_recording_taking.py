"""Recording a client without disturbing it: every read when it comes, exact bytes, headers and end; what had arrived survives a kill."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
import vcr
from conftest import need
from raw_server import HEAD, Connection, Script, plain, raw_server, streaming

from harness import load
from harness.cassette import Cassette, CassetteError, Exchange, Origin, Request, dumps
from harness.recording import register
from harness.recording.staging import left_behind, part_of, save
from harness.recording.taking import Tape
from harness.recording.transport import transports
from harness.recording.using import Playback, UnknownRequest, use_cassette
from harness.unfinished import answered_line, asked_line, ended_line, head_line, read_line, read_unfinished

EVENTS = [b'data: {"candidates": [{"content": {"parts": [{"text": "t%d"}],"role": "model"},"index": 0}]}\r\n\r\n' % n for n in range(4)]
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
    library: str, tape: Any, url: str, after_read: Callable[[int], None] = lambda _: None, stop: int = 1000
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
    library: str, tape: Any, url: str, after_read: Callable[[int], None] = lambda _: None, stop: int = 1000
) -> tuple[list[bytes], Any]:
    """`stream` for a client that awaits."""
    need(library, _installed(library), f"{library} is not installed")
    made = transports(library)
    got: list[bytes] = []

    async def run() -> None:
        async with made.http.AsyncClient(transport=made.asynchronous(tape)) as http, http.stream("POST", url + PATH, json=BODY) as response:
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


RUNS = [pytest.param(run, library, id=f"{library}-{run.__name__}") for run in (stream, astream) for library in LIBRARIES]
Run = Callable[..., tuple[list[bytes], Any]]


@pytest.mark.parametrize(("run", "library"), RUNS)
@pytest.mark.parametrize(("end", "error"), [("complete", None), ("cut", "RemoteProtocolError"), ("reset", "ReadError")])
def test_every_read_reaches_the_client_before_the_next_is_sent(run: Run, library: str, end: str, error: str | None) -> None:
    tape, gate = Recording(), threading.Semaphore(0)
    with raw_server(streaming(*EVENTS, end=end, gate=gate)) as url:
        got, raised = run(library, tape, url, after_read=lambda _: gate.release())  # the server waits for this before it goes on
    assert got == EVENTS
    assert (type(raised).__name__ if raised else None) == error
    (exchange,) = tape.exchanges()
    assert [data for _, data in exchange.reads] == EVENTS
    assert exchange.end == end
    times = [at for at, _ in exchange.reads if at is not None]
    assert times == sorted(times)
    assert times[0] > 0
    assert exchange.request is not None
    assert (exchange.request.method, exchange.request.url, json.loads(exchange.request.body)) == ("POST", url + PATH, BODY)
    assert (exchange.status, exchange.reason_phrase) == (200, "OK")
    assert exchange.headers == {"Content-Type": ["text/event-stream"], "Transfer-Encoding": ["chunked"]}


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
        with use_cassette(path, mode="once") as tape:
            live, raised = run(library, tape, url, after_read=lambda _: gate.release(), stop=stop)
        gate.release(4)
    assert load(path).exchanges[0].end == end
    with use_cassette(path) as tape:
        played, again = run(library, tape, "https://generativelanguage.googleapis.com", stop=stop)
        assert isinstance(tape, Playback)
        assert tape.problems() == []
    assert played == live
    assert (type(again), str(again)[:20]) == (type(raised), str(raised)[:20]) or library == "httpx2" or str(raised) == ""


def test_bytes_stay_as_they_came_over_the_wire() -> None:
    body, tape = gzip.compress(b"".join(EVENTS)), Recording()
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


HEAD_LINE = head_line(Origin("recorded", date="2026-11-22"))
ASKED = asked_line(1, Request("POST", "https://h/x", {"a": ["b"]}, b"\xff"))
UNFINISHED = (
    HEAD_LINE + ASKED + asked_line(2, None) + answered_line(2, 200, "", {}) + answered_line(1, 200, "OK", {}) + read_line(2, 1.5, b"\xc3")
)
CLI = (Exchange(None, 200, {}, ((1.5, b"\xc3"),), "cut"),)
API = (Exchange(Request("POST", "https://h/x", {"a": ["b"]}, b"\xff"), 200, {}, (), "cut", "OK"),)


@pytest.mark.parametrize(
    ("text", "exchanges"),
    [
        (HEAD_LINE, ()),
        (HEAD_LINE + ASKED, ()),
        (UNFINISHED, API + CLI),
        (UNFINISHED + read_line(2, None, b"x")[:-1], API + CLI),
        (UNFINISHED + ended_line(1, "aborted")[:9], API + CLI),
    ],
)
def test_an_unfinished_recording_is_readable_wherever_it_stops(text: bytes, exchanges: tuple[Exchange, ...]) -> None:
    assert read_unfinished(text) == Cassette(exchanges, Origin("recorded", date="2026-11-22"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD_LINE[:30], "u:1: no head of an unfinished recording"),
        (HEAD_LINE.replace(b":1,", b":2,"), "u:1: format 2 is newer than 1"),
        (HEAD_LINE + read_line(1, 1.0, b"x"), "u:2: no line of an unfinished recording: 1"),
        (HEAD_LINE + b'{"line": "odd", "exchange": 1}\n', "u:2: no line of an unfinished recording: Invalid value 'odd'"),
    ],
)
def test_what_is_no_unfinished_recording_says_where(text: bytes, message: str) -> None:
    with pytest.raises(CassetteError, match=message):
        read_unfinished(text, "u")


def test_a_head_is_enough_to_know_an_unfinished_recording(tmp_path: Path) -> None:
    (tmp_path / "a.yaml.part").write_bytes(UNFINISHED)
    assert len(load(tmp_path / "a.yaml.part").exchanges) == 2
    assert HEAD.startswith(b"HTTP")


@pytest.mark.parametrize("awaits", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("end", ["complete", "cut", "reset"])
def test_a_suite_of_vcrpys_own_is_recorded_read_by_read(tmp_path: Path, awaits: bool, end: str) -> None:
    recorder, gate, path = vcr.VCR(filter_query_parameters=["alt"]), threading.Semaphore(0), tmp_path / "a.yaml"
    register(recorder)
    got: list[bytes] = []

    async def arun(url: str) -> None:
        async with httpx2.AsyncClient() as http, http.stream("POST", url + PATH, json=BODY) as response:
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


def test_vcrpys_decorator_opens_the_same_cassette(tmp_path: Path) -> None:
    recorder = vcr.VCR(cassette_library_dir=str(tmp_path))
    register(recorder)

    @recorder.use_cassette("a.yaml")  # type: ignore[untyped-decorator]  # vcrpy has no types
    def ask(url: str) -> bytes:
        with httpx2.Client() as http:
            return http.post(url, json=BODY).content

    with raw_server(plain("200 OK", b"one"), plain("200 OK", b"two")) as url:
        assert [ask(url), ask(url)] == [b"one", b"one"]
