"""The crash journal of a recording: when it is written, kept and deleted."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness import load
from harness.cassettes import Cassette, Origin, Request, dumps
from harness.recording.cassette import use_cassette
from harness.recording.journal import left_behind
from tests.recording.clients import (
    EVENTS,
    PATH,
    UNFINISHED,
    ask_and_fail,
    client,
    leave_part,
    part_of,
    parts_of,
    stream,
    wait_for,
)
from tests.support.raw_server import plain, raw_server, streaming


def test_a_failure_before_the_first_byte_leaves_nothing_behind(tmp_path: Path) -> None:
    with raw_server(lambda connection: connection.reset()) as url, pytest.raises(RuntimeError):
        ask_and_fail(url, tmp_path / "new" / "a.yaml")
    assert list(tmp_path.rglob("*")) == []


def test_an_earlier_journal_stays_until_the_first_bytes_arrive(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    earlier = leave_part(path)
    with raw_server(lambda connection: connection.reset(), streaming(*EVENTS)) as url:
        with pytest.raises(RuntimeError):
            ask_and_fail(url, path)
        assert parts_of(path) == [earlier]
        with pytest.raises(RuntimeError):
            ask_and_fail(url, path)
    assert earlier.read_bytes() == UNFINISHED
    (part,) = set(parts_of(path)) - {earlier}
    assert [exchange.reads[0][1] for exchange in load(part).exchanges] == [EVENTS[0]]


def test_a_recording_continues_if_its_journal_can_not_be_written(
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
    assert parts_of(tmp_path / "a.yaml") == []
    assert len(load(tmp_path / "a.yaml").exchanges[0].reads) == len(EVENTS)


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


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c_reaches_programs")
@pytest.mark.parametrize("signalled", [signal.SIGKILL, signal.SIGINT])
def test_the_arrived_reads_are_in_the_journal_after_a_kill(
    tmp_path: Path, signalled: signal.Signals
) -> None:
    path, gate = tmp_path / "a.yaml", threading.Semaphore(1)
    path.write_text(good := dumps(Cassette((), Origin("written"))))
    with raw_server(streaming(*EVENTS, gate=gate)) as url:
        process = start(url, path, "rewrite")
        assert process.stdout is not None
        assert process.stderr is not None
        with process, process.stdout as output:
            assert [output.readline(), output.readline()] == [b"1\n", b"2\n"]
            text = wait_for(b"t1", path)
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
    assert f"{part_of(path)} was left by an earlier recording" in (left_behind(path) or "")


CALLS = "chmod", "close", "fsync", "ftruncate", "mkdir", "open", "replace", "unlink"
ASKED = Request(
    "POST",
    f"https://generativelanguage.googleapis.com{PATH}&key=AIza{'q' * 35}",
    {"x-goog-api-key": ["AIza" + "k" * 35]},
    b'{"contents": []}',
)
SECRET = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "t"}]}, "api_key": "opaque-1"}]}\n\n'
)


class Copies:
    """Copies a folder after each system call of this process, and in the middle of each write: a
    process that is killed there leaves these files.
    """

    def __init__(self, folder: Path, target: Path, state: Callable[[], int]) -> None:
        self.folder, self.target, self.state = folder, target, state
        self.copies: list[tuple[Path, int]] = []
        """Each with the ``state`` at that moment."""
        self.paused = False

    def copy(self) -> None:
        if not self.paused:
            self.paused = True
            place = self.target / str(len(self.copies))
            self.copies.append((shutil.copytree(self.folder, place), self.state()))
            self.paused = False

    def after(self, call: Callable[..., Any], *words: Any, **options: Any) -> Any:
        result = call(*words, **options)
        self.copy()
        return result

    def inside(self, write: Callable[[int, bytes], int], handle: int, data: bytes) -> int:
        half = write(handle, data[: len(data) // 2])
        self.copy()
        return half + write(handle, data[half:])


def test_a_recording_may_be_killed_at_every_system_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, got = tmp_path / "here", list[bytes]()
    folder.mkdir()
    (folder / "a.yaml").write_text(good := dumps(Cassette((), Origin("written"))))
    copies = Copies(folder, tmp_path / "copies", lambda: len(got))
    copies.copy()
    answers = [[EVENTS[0], SECRET, *EVENTS[1:]]] * 7
    with monkeypatch.context() as context:
        for name in CALLS:
            context.setattr(os, name, partial(copies.after, getattr(os, name)))
        context.setattr(os, "write", partial(copies.inside, os.write))
        with use_cassette(folder / "a.yaml", mode="rewrite") as tape:
            for answer in answers:
                exchange = tape.begin(ASKED)
                exchange.answered(200, {"content-type": ["text/event-stream"]}, "OK")
                for data in answer:
                    exchange.read(data)
                    got.append(data.replace(b"opaque-1", b"REDACTED"))
                exchange.ended("complete")
    states = [state_after_kill(place, good) for place, _ in copies.copies]
    assert len(states) > 60
    for (saved, parts), (_, arrived) in zip(states, copies.copies, strict=True):
        assert saved in ([], got)
        for reads in parts:
            assert reads in (got[:arrived], got[: arrived + 1])
        assert parts or saved or not arrived
    assert (states[0], states[-1]) == (([], []), (got, []))
    assert ([], [got]) in states


def state_after_kill(folder: Path, good: str) -> tuple[list[bytes], list[list[bytes]]]:
    """The reads in the cassette, none if it is the ``good`` old one, and those in each journal."""
    path = folder / "a.yaml"
    for file in folder.rglob("*"):
        assert file.is_dir() or not re.search(rb"AIza|opaque", file.read_bytes()), file
    cassette = load(path)
    assert cassette.exchanges or path.read_text() == good
    parts = [part for part in parts_of(path) if part.stat().st_size]
    assert all(part.stat().st_mode & 0o777 == 0o600 for part in parts)
    assert bool(parts) == (left_behind(path) is not None)
    return reads_of(cassette), [reads_of(load(part)) for part in parts]


def reads_of(cassette: Cassette) -> list[bytes]:
    return [data for exchange in cassette.exchanges for _, data in exchange.reads]


def test_a_complete_recording_leaves_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.yaml"
    with raw_server(streaming(*EVENTS)) as url, use_cassette(path, mode="once") as tape:
        stream("httpx2", tape, url)
    assert sorted(path.parent.glob("*.yaml*")) == [path]
    assert parts_of(path) == []
    assert left_behind(path) is None
    cassette = load(path)
    assert (cassette.origin.kind, cassette.origin.model) == ("loopback", "gemini-x")
    assert cassette.exchanges[0].reads[0][1] == EVENTS[0]
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


def test_data_that_vcrpys_filters_drop_is_not_in_the_journal(
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
