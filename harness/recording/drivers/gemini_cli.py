"""Runs a program and records its output: each read of stdout with its time, and how the process
ended.

It is made for the Gemini CLI, whose output is the wire
(https://github.com/google-gemini/gemini-cli/blob/main/docs/cli/headless.md), and works with any
program that takes a prompt on its command line. Exit code and stderr are stored as headers.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final

from harness.pipeline.replay import ReplayError
from harness.providers import EXIT_CODE, STDERR
from harness.stream.events import End

from ..endpoints import VARIABLES, environment_for
from ..settings import GenerateAsk, Settings
from ..tape import InFlightExchange, Tape
from ..vcr_values import is_loopback

TIME_LIMIT_S: Final = 600.0
MAX_STDERR_LINES: Final = 200
_READ: Final = 1 << 16


class ProgramDriver:
    """Runs the program once for each request, with the prompt on its command line.

    ``default_program`` runs if the settings name none; ``install`` says how to get it.
    """

    default_program: tuple[str, ...] = ("gemini",)
    install = "npm install -g @google/gemini-cli"
    model_option = "-m"
    headers: Mapping[str, list[str]] = MappingProxyType({})

    def __init__(self, tape: Tape, settings: Settings) -> None:
        self._tape = tape
        self._settings = settings
        self._program = settings.program or self.default_program
        self._environment = _environment(settings)
        # The output holds no request, so the environment tells the origin.
        urls = [self._environment[name] for name in VARIABLES if self._environment.get(name)]
        tape.origin["kind"] = "loopback" if is_loopback(urls) else "recorded"
        tape.origin["client"] = Path(self._program[0]).name
        if model := settings.model or self._environment.get("HARNESS_MODEL"):
            tape.origin["model"] = model

    def ask(self, ask: GenerateAsk) -> None:
        prompt = ask.body.get("prompt")
        if not isinstance(prompt, str):
            raise ReplayError("a program is given a prompt, which is a text; this request has none")
        model = self._settings.model or ask.model or os.environ.get("HARNESS_MODEL")
        command = [
            *self._program,
            "-p",
            prompt,
            "--output-format",
            "stream-json" if ask.streamed else "json",
        ]
        command += [*([self.model_option, model] if model else []), *self._settings.arguments]
        try:
            run_program(
                self._tape,
                command,
                environ=self._environment,
                time_limit_s=self._settings.timeout_s or TIME_LIMIT_S,
                headers=self.headers,
            )
        except OSError as error:
            raise ReplayError(
                f"{command[0]} does not start: {error.strerror}; {self.install}, or name it with"
                " --program"
            ) from None

    def close(self) -> None:
        pass


def _environment(settings: Settings) -> dict[str, str]:
    """This process's environment, with the base URL and the key of the settings."""
    environment = dict(os.environ)
    if settings.base_url:
        environment |= environment_for(settings.base_url)
    if settings.api_key:
        environment["GEMINI_API_KEY"] = settings.api_key
    return environment


def run_program(
    tape: Tape,
    command: list[str],
    *,
    environ: Mapping[str, str] | None = None,
    time_limit_s: float = TIME_LIMIT_S,
    headers: Mapping[str, list[str]] = MappingProxyType({}),
) -> int:
    """Run a command and record its output, with ``headers`` beside those of its end. Returns its
    exit code; a negative one is the signal that ended it.

    The end is `complete` if the program exited, `cut` if it was killed, `aborted` if it was stopped
    after ``time_limit_s``. Raises OSError if the program does not start.
    """
    exchange = tape.begin(None)
    process = _start(command, environ)
    assert process.stderr is not None
    stderr: list[bytes] = []
    reader = threading.Thread(target=_drain, args=(process.stderr, stderr), daemon=True)
    reader.start()
    with _ending(process, time_limit_s) as late:
        exchange.answered(200, {})
        code = _read_all(process, exchange)
    reader.join()
    lines = b"".join(stderr).decode("utf-8", "replace").splitlines()[:MAX_STDERR_LINES]
    exchange.headers = {
        **headers,
        EXIT_CODE: [str(code)],
        **({STDERR: lines} if lines else {}),
    }
    if late.is_set():
        exchange.failure = f"it ran for {time_limit_s:g} s; --timeout waits longer"
    end: End = "aborted" if late.is_set() else "cut" if code < 0 else "complete"
    exchange.ended(end)
    return code


def _start(command: list[str], environ: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  # the command is the user's own
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env=environ,
        start_new_session=True,
    )


@contextmanager
def _ending(process: subprocess.Popen[bytes], time_limit_s: float) -> Iterator[threading.Event]:
    """Kill the process when its time is over, which sets the event, or when the block raises. All
    processes that it started are killed too, because they hold its pipes open.
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
    with suppress(ProcessLookupError):  # it has ended already
        os.killpg(process.pid, signal.SIGKILL)


def _read_all(process: subprocess.Popen[bytes], exchange: InFlightExchange) -> int:
    assert process.stdout is not None
    with process.stdout as output:
        while data := output.read(_READ):
            exchange.read(data)
        return process.wait()


def _drain(pipe: IO[bytes], into: list[bytes]) -> None:
    with pipe:
        while data := pipe.read(_READ):
            into.append(data)
