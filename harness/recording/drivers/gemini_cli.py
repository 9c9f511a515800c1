"""Runs a program and records its output: each read of stdout with its time, and the end of the
process.

The program is usually the Gemini CLI, and its output is the wire
(https://github.com/google-gemini/gemini-cli/blob/main/docs/cli/headless.md). Any program that reads
a prompt from its command line works. Exit code and stderr are stored as headers.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

from harness.pipeline.replay import ReplayError
from harness.providers import EXIT_CODE, STDERR

from ..endpoints import VERSIONS, environment_for
from ..settings import GenerateAsk, Settings
from ..tape import Tape
from ..vcr_values import is_loopback

TIME_LIMIT_S: Final = 600.0
MAX_STDERR_LINES: Final = 200
_READ: Final = 1 << 16
_PAUSE_S: Final = 0.05
"""Seconds between two checks of the time limit."""

Take = Callable[[bytes], object]


class ProgramDriver:
    """Runs the program once for each request, with the prompt on its command line."""

    default_program: tuple[str, ...] = ("gemini",)
    """Runs if the settings do not name a program."""
    install = "npm install -g @google/gemini-cli"
    """The command that installs it."""
    model_option = "-m"
    headers: Mapping[str, list[str]] = MappingProxyType({})

    def __init__(self, tape: Tape, settings: Settings) -> None:
        self._tape = tape
        self._settings = settings
        self._program = settings.program or self.default_program
        self._environment = _environment(settings)
        # The output has no request, so the environment determines the origin.
        urls = [self._environment[name] for name in VERSIONS if self._environment.get(name)]
        tape.origin["kind"] = "loopback" if is_loopback(urls) else "recorded"
        tape.origin["client"] = Path(self._program[0]).name
        if model := settings.model or self._environment.get("HARNESS_MODEL"):
            tape.origin["model"] = model

    def ask(self, ask: GenerateAsk) -> None:
        prompt = ask.body.get("prompt")
        if not isinstance(prompt, str):
            raise ReplayError(
                "a program needs a prompt, which must be a text; this request has no text"
            )
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
    """Return this process's environment, with the base URL and the key of the settings."""
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
    """Run a command and record its output; ``headers`` are added to those of its end. Returns its
    exit code; a negative code is the signal that ended the command.

    The end is `complete` if the program exited, `cut` if it was killed, `aborted` if it was stopped
    after ``time_limit_s``. Raises OSError if the program does not start.
    """
    exchange = tape.begin(None)
    process = subprocess.Popen(  # noqa: S603  # the command is the user's own
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
        start_new_session=True,
    )
    exchange.answered(200, {})
    stderr = bytearray()
    code, late = _read_all(process, exchange.read, stderr.extend, time_limit_s)
    lines = stderr.decode("utf-8", "replace").splitlines()[:MAX_STDERR_LINES]
    exchange.headers = {
        **headers,
        EXIT_CODE: [str(code)],
        **({STDERR: lines} if lines else {}),
    }
    if late:
        exchange.failure = f"it ran for {time_limit_s:g} s; allow more time with --timeout"
    exchange.ended("aborted" if late else "cut" if code < 0 else "complete")
    return code


def _read_all(
    process: subprocess.Popen[bytes], stdout: Take, stderr: Take, time_limit_s: float
) -> tuple[int, bool]:
    """Forward the output of a process read by read. Returns its exit code, and whether it ran too
    long. Such a process is killed with all processes that it started, because they keep its pipes
    open.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    deadline, late = time.monotonic() + time_limit_s, False
    with process, selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, stdout)
        selector.register(process.stderr, selectors.EVENT_READ, stderr)
        try:
            while selector.get_map() or process.poll() is None:
                ready = selector.select(_PAUSE_S)
                if not late and time.monotonic() > deadline:
                    late = True
                    _kill(process)
                for key, _ in ready:
                    if data := os.read(key.fd, _READ):
                        key.data(data)
                    else:
                        selector.unregister(key.fileobj)
        except BaseException:  # also an interrupt
            _kill(process)
            raise
    return process.returncode, late


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):  # it has ended already
        os.killpg(process.pid, signal.SIGKILL)
