"""The command `harness serve`."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from harness.cassettes import dumps
from harness.cassettes.load import load
from harness.project.suite import CASSETTES
from tests.server.socket_client import PATH, WAIT_S, answered, asks, tape


class Command:
    """``harness serve`` as a process; gives the line that it prints when it listens."""

    def __init__(self, *arguments: str) -> None:
        command = [
            sys.executable,
            "-c",
            "import sys; from harness.cli.main import main; sys.exit(main())",
            "serve",
            *arguments,
        ]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; returns exit status and stderr. Raises if that takes more than 10 s."""
        self.process.send_signal(number)
        _, output = self.process.communicate(timeout=10)
        return self.process.returncode, output


@contextmanager
def running(*arguments: str) -> Iterator[Command]:
    command = Command(*arguments)
    try:
        yield command
    finally:
        if command.process.poll() is None:
            command.process.kill()
        command.process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("place", [":1", ""])
def test_the_command_serves_a_cassette_of_the_suite_by_its_name(place: str) -> None:
    first, *_ = load(CASSETTES / "gemini-api/text.yaml").exchanges
    assert first.request is not None
    with running(f"gemini-api/text{place}", "--pace", "instant") as command:
        address = command.line().strip() + first.request.url.partition(".com")[2]
        answer = httpx2.post(address, content=first.request.body, timeout=WAIT_S)
        assert (answer.status_code, answer.content) == (200, first.body)


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c_reaches_programs")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_prints_its_address_and_ends_with_open_streams(
    tmp_path: Path, number: signal.Signals
) -> None:
    path = tmp_path / "one.yaml"
    path.write_text(dumps(tape(answered(((1.0, b"data: {"), (60_000.0, b"}"))))), encoding="utf-8")
    with running(str(tmp_path), "--port", "0") as command:
        address = command.line()
        assert address.startswith("http://127.0.0.1:")
        assert address.endswith("\n")
        host, port = address.strip().removeprefix("http://").split(":")
        with (
            socket.create_connection((host, int(port)), timeout=WAIT_S) as peer,
            socket.create_connection((host, int(port)), timeout=WAIT_S) as idle,
        ):
            peer.sendall(
                f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(asks('hi'))}\r\n\r\n".encode()
                + asks("hi")
            )
            came = b""
            while b"data: {" not in came:
                came += peer.recv(1000)
            status, output = command.end(number)
            assert idle.recv(10) == b""
    assert (status, output) == (0, "")


@pytest.mark.slow
def test_the_command_reports_a_request_that_was_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_text(dumps(tape(answered())), encoding="utf-8")
    with running(str(path)) as command:
        url = command.line().strip()
        httpx2.post(url + PATH, content=asks("other"))
        status, output = command.end()
    assert status == 0
    assert output.startswith("harness: No recorded exchange answers POST /v1beta/models/")
    assert output.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["missing.yaml"], "missing.yaml: No such file"),
        (["."], "a folder without a YAML file"),
        (["junk.yaml"], "junk.yaml"),
        (["--port", "99999", "x"], "99999 is not a port"),
        (["--pace", "fast", "one.yaml"], "unknown pace 'fast'"),
    ],
)
def test_the_command_refuses_what_it_cannot_do(
    arguments: list[str], part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    if arguments != ["."]:
        Path("one.yaml").write_text(dumps(tape(answered())), encoding="utf-8")
        Path("junk.yaml").write_text("junk: 1\n", encoding="utf-8")
    with running(*arguments) as command:
        out, output = command.process.communicate(timeout=20)
    assert (command.process.returncode, out) == (2, "")
    assert part in output
