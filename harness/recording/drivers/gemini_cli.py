"""Records a program as a process: what it writes to stdout with the times of its coming, and how it
ended.

For the Gemini CLI, whose output is the wire
(https://github.com/google-gemini/gemini-cli/blob/main/docs/cli/headless.md), and for any program
with a prompt on its command line. Its exit code and what it wrote to stderr stand as headers beside
the output.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final
from urllib.parse import urlsplit

from harness.pipeline.replay import ReplayError
from harness.providers import EXIT_CODE, STDERR
from harness.stream.events import End

from ..cassette import LOOPBACK
from ..tape import InFlightExchange, Tape

if TYPE_CHECKING:
    from ..run import GenerateAsk, Settings

BASE_URLS: Final = ("GOOGLE_GEMINI_BASE_URL", "CODE_ASSIST_ENDPOINT")
"""The variables by which the Gemini CLI is told another address: with a key, with a login."""
TIME_LIMIT_S: Final = 600.0
MAX_STDERR_LINES: Final = 200
_READ: Final = 1 << 16


class ProgramDriver:
    def __init__(self, tape: Tape, settings: Settings) -> None:
        self._tape = tape
        self._settings = settings

    def ask(self, ask: GenerateAsk) -> None:
        prompt = ask.body.get("prompt")
        if not isinstance(prompt, str):
            raise ReplayError("gemini-cli is asked by a prompt, a text; this request has none")
        model = self._settings.model or ask.model or os.environ.get("HARNESS_MODEL")
        command = [
            *self._settings.program,
            "-p",
            prompt,
            "--output-format",
            "stream-json" if ask.streamed else "json",
        ]
        command += [*(["-m", model] if model else []), *self._settings.arguments]
        run_program(
            self._tape,
            command,
            environ=_environ(self._settings),
            time_limit_s=self._settings.timeout_s or TIME_LIMIT_S,
        )

    def close(self) -> None:
        pass


def told_by_program(settings: Settings) -> dict[str, str]:
    """The origin of a program's output, which holds no request: whom it asks is told by its
    environment.
    """
    environ = _environ(settings)
    hosts = {urlsplit(environ[name]).hostname for name in BASE_URLS if environ.get(name)}
    told = {
        "kind": "loopback" if hosts and hosts <= LOOPBACK else "recorded",
        "client": Path(settings.program[0]).name,
    }
    model = settings.model or environ.get("HARNESS_MODEL")
    return {**told, "model": model} if model else told


def _environ(settings: Settings) -> dict[str, str]:
    """This process's environment, and in it the address and the key that were given."""
    environ = dict(os.environ)
    if settings.base_url:
        environ |= dict.fromkeys(BASE_URLS, settings.base_url)
    if settings.api_key:
        environ["GEMINI_API_KEY"] = settings.api_key
    return environ


def run_program(
    tape: Tape,
    command: list[str],
    *,
    environ: Mapping[str, str] | None = None,
    time_limit_s: float = TIME_LIMIT_S,
) -> int:
    """Run a command and take its output; returns its exit code, negative for the signal that ended
    it.

    End `complete` for a program that exited, `cut` for one that was killed, `aborted` for one that
    we ended after ``time_limit_s``. Raises `ReplayError` for a program that does not start.
    """
    take = tape.begin(None)
    process = _start(command, environ)
    assert process.stderr is not None
    said: list[bytes] = []
    reader = threading.Thread(target=_drain, args=(process.stderr, said), daemon=True)
    reader.start()
    with _ending(process, time_limit_s) as late:
        take.answered(200, {})
        code = _read_all(process, take)
    reader.join()
    lines = b"".join(said).decode("utf-8", "replace").splitlines()[:MAX_STDERR_LINES]
    take.headers = {EXIT_CODE: [str(code)], **({STDERR: lines} if lines else {})}
    if late.is_set():
        take.failure = f"it ran for {time_limit_s:g} s; --timeout waits longer"
    end: End = "aborted" if late.is_set() else "cut" if code < 0 else "complete"
    take.ended(end)
    return code


def _start(command: list[str], environ: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603  # the command is the user's own
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=environ,
            start_new_session=True,
        )
    except OSError as error:
        way_out = "npm install -g @google/gemini-cli, or name it with --program"
        raise ReplayError(f"{command[0]} does not start: {error.strerror}; {way_out}") from None


@contextmanager
def _ending(process: subprocess.Popen[bytes], time_limit_s: float) -> Iterator[threading.Event]:
    """End the process when its time is over, which sets the event, or when whoever reads it gives
    up.

    With it all that it started: the pipes are open as long as one of them has them.
    """
    late = threading.Event()

    def end_it() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(time_limit_s, end_it)
    timer.start()
    try:
        yield late
    except BaseException:
        _kill(process)
        process.wait()
        raise
    finally:
        timer.cancel()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):  # it has ended by itself
        os.killpg(process.pid, signal.SIGKILL)


def _read_all(process: subprocess.Popen[bytes], take: InFlightExchange) -> int:
    assert process.stdout is not None
    with process.stdout as output:
        while data := output.read(_READ):
            take.read(data)
        return process.wait()


def _drain(pipe: IO[bytes], into: list[bytes]) -> None:
    with pipe:
        while data := pipe.read(_READ):
            into.append(data)
