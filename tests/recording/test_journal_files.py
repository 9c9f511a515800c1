"""The crash journal of a recording: when it is written, kept and deleted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness import load
from harness.cassettes import Cassette, Origin, dumps
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
