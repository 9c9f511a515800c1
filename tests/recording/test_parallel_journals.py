"""The crash journal under concurrency: two processes with one name, and the messages that name the
journal.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
import vcr

from harness import load
from harness.cassettes import CassetteError
from harness.recording import register
from harness.recording.atomic_file import save
from harness.recording.cassette import use_cassette
from harness.recording.journal import left_behind
from tests.recording.clients import (
    EVENTS,
    PATH,
    ask_and_fail,
    leave_part,
    part_of,
    parts_of,
    stream,
    wait_for,
)
from tests.support.raw_server import raw_server, streaming

RECORDS = """
import sys
import httpx2
from pathlib import Path
from harness.recording.transport import transports
from harness.recording.cassette import use_cassette

with use_cassette(Path(sys.argv[2]), mode="rewrite", allow_incomplete=True) as tape:
    with httpx2.Client(transport=transports("httpx2").sync(tape)) as http:
        with http.stream("POST", sys.argv[1], json={}) as response:
            for data in response.iter_raw():
                print(len(data), flush=True)
    print("all", flush=True)
    sys.stdin.readline()
"""


def start(url: str, path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RECORDS, url + PATH, str(path)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def wait_for_all(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert "all\n" in iter(process.stdout.readline, "")


@pytest.mark.slow
def test_two_processes_on_one_name_keep_both_recordings(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    scripts = streaming(*EVENTS[:2]), streaming(*EVENTS[2:])
    with raw_server(*scripts) as url, start(url, path) as first:
        wait_for_all(first)
        wait_for(b"t1", path)
        (part,) = parts_of(path)
        with start(url, path) as other:
            wait_for_all(other)
            wait_for(b"t3", path)
            assert b"t1" in part.read_bytes()
            assert left_behind(path) is None  # both are being written
            other.communicate("\n")
        assert other.returncode == 0
        _, error = first.communicate("\n")
    assert first.returncode == 1
    assert "another recording has written this cassette meanwhile" in error
    assert f"the reads so far are kept in {part}" in error
    assert load(path).exchanges[0].body == b"".join(EVENTS[2:])
    assert load(part).exchanges[0].body == b"".join(EVENTS[:2])
    assert parts_of(path) == [part]


def test_two_recordings_of_one_process_keep_both(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"

    def nested(url: str) -> None:
        with use_cassette(path, mode="rewrite", allow_incomplete=True) as tape:
            stream("httpx2", tape, url)
            wait_for(b"t1", path)
            with use_cassette(path, mode="rewrite") as inner:
                stream("httpx2", inner, url)

    with (
        raw_server(streaming(*EVENTS[:2]), streaming(*EVENTS[2:])) as url,
        pytest.raises(CassetteError, match="meanwhile") as caught,
    ):
        nested(url)
    assert caught.value.__notes__ == [
        f"the reads so far are kept in {part_of(path)}; `harness import {part_of(path)} -o"
        f" {tmp_path / 'NEW-a.yaml'}` makes a cassette from it"
    ]
    assert load(path).exchanges[0].body == b"".join(EVENTS[2:])


def test_one_of_two_recordings_that_end_together_is_refused(tmp_path: Path) -> None:
    ended = threading.Barrier(2)

    def record(path: Path, url: str) -> bool:
        try:
            with use_cassette(path, mode="rewrite") as tape:
                stream("httpx2", tape, url)
                ended.wait(20)
        except CassetteError:
            return False
        return True

    with raw_server(streaming(*EVENTS)) as url, ThreadPoolExecutor(2) as threads:
        for number in range(10):
            path = tmp_path / f"{number}.yaml"
            saved = [*threads.map(lambda _, path=path: record(path, url), range(2))]
            assert sorted(saved) == [False, True]


def test_a_suite_of_vcrpy_does_not_replace_a_newer_cassette(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    recorder = vcr.VCR()
    register(recorder)

    def record_beside_another(url: str) -> None:
        with recorder.use_cassette(str(path)):
            stream_by_vcr(url)
            path.write_bytes(b"of another")

    with (
        raw_server(streaming(*EVENTS)) as url,
        pytest.raises(CassetteError, match="another recording has written this cassette"),
    ):
        record_beside_another(url)
    assert path.read_bytes() == b"of another"


def stream_by_vcr(url: str) -> None:
    with httpx2.Client() as http:
        http.post(url + PATH, json={})


def test_a_complete_recording_deletes_earlier_journals(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    for name in ("one", "other"):
        assert str(leave_part(path, name)) in (left_behind(path) or "")
    of_another = leave_part(tmp_path / "a.yaml.b.yaml")
    with raw_server(streaming(*EVENTS)) as url, use_cassette(path, mode="once") as tape:
        stream("httpx2", tape, url)
    assert sorted(of_another.parent.iterdir()) == [of_another]
    assert left_behind(path) is None


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr("os.write", lambda handle, data: write(handle, bytes(data[:7])))
    path = tmp_path / "a.yaml"
    with raw_server(streaming(*EVENTS)) as url, pytest.raises(RuntimeError):
        ask_and_fail(url, path)
    assert [data for _, data in load(part_of(path)).exchanges[0].reads] == EVENTS


@pytest.mark.parametrize("on_exception", [True, False])
def test_a_failed_suite_of_vcrpy_names_its_journal(tmp_path: Path, on_exception: bool) -> None:
    recorder, path = vcr.VCR(record_on_exception=on_exception), tmp_path / "a.yaml"
    register(recorder)

    def ask(url: str) -> None:
        with recorder.use_cassette(str(path)):
            stream_by_vcr(url)
            raise RuntimeError("the test failed")

    with raw_server(streaming(*EVENTS)) as url, pytest.raises(RuntimeError) as caught:
        ask(url)
    notes = getattr(caught.value, "__notes__", [])
    assert path.exists() == on_exception
    assert bool(notes) != on_exception
    assert all(f"the reads so far are kept in {part_of(path)}" in note for note in notes)


def test_a_read_only_cassette_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"kept")
    path.chmod(0o444)

    with pytest.raises(PermissionError, match="the file is read-only"):
        save(path, [b"new"])

    assert path.read_bytes() == b"kept"
    assert [*tmp_path.iterdir()] == [path]
