"""A process that answers lines, with limits of time and size.

It writes its lines to the file descriptor in ``HARNESS_OUT``, so it may use stdout for other
output. It runs in its own process group. When it ends, all processes of the group are killed.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from .adapter import AdapterError
from .environment import LOGS, adapter_environment

OUT: Final = "HARNESS_OUT"
MAX_OUTPUT: Final = 64 * 1024 * 1024
TAIL: Final = 2000
"""The number of bytes of stderr that are kept."""
FUNCTION_WAY_OUT: Final = "; --timeout S gives it more, --pdb shows where it is"
"""The options of `harness judge` for a function that does not return."""
START_WAY_OUT: Final = "; --timeout S above {:g} gives it more"
"""The option of `harness judge` for a program that starts slowly."""

_STEP_S: Final = 0.2
"""The interval of the checks whether a silent program still runs. Its pipes may stay open after its
end, because a forked process also has them.
"""


class Unusable(AdapterError):
    """The process can't be used again. The message has the reason."""


class TimedOut(Unusable):
    """The adapter did not end within the time limit."""


class LineProcess:
    """One process of a program, and its four pipes. ``name``: its name in messages.
    ``runs_function``: the process runs a function with this name. ``certificate``: as in
    `adapter_environment`.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        name: str,
        *,
        served: bool = False,
        runs_function: bool = False,
        certificate: str = "",
    ) -> None:
        self.name = name
        self._log = bytearray()
        self._runs_function = runs_function
        read_end, write_end = os.pipe()
        environment = adapter_environment(os.environ, served=served, certificate=certificate)
        environment[OUT] = str(write_end)
        try:
            self._process = subprocess.Popen(  # noqa: S603  # the user names the program
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=environment,
                pass_fds=(write_end,),
                start_new_session=True,
            )
        except OSError as error:
            os.close(read_end)
            raise Unusable(f"{command[0]} can't be run: {error.strerror or error}") from None
        finally:
            os.close(write_end)
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        descriptors = [pipe.fileno() for pipe in pipes if pipe]
        self._in, self._stdout, self._stderr = descriptors
        self._out = read_end
        os.set_blocking(self._in, False)
        self._lines = bytearray()
        self._errors = bytearray()
        self._searched = 0
        self._received = 0
        self.end = weakref.finalize(self, _end, self._process, read_end)

    def ask(self, line: bytes, timeout: float, *, first: bool = False) -> Iterator[bytes]:
        """Write a line, and yield the lines of the answer until the caller stops. Raises `Unusable`
        if the process has ended, or writes too little or too much.
        """
        until, unwritten = time.monotonic() + timeout, bytearray(line)
        self._received = 0
        self._log.clear()
        with selectors.DefaultSelector() as selector:
            for descriptor in (self._out, self._stdout, self._stderr):
                selector.register(descriptor, selectors.EVENT_READ)
            if unwritten:
                selector.register(self._in, selectors.EVENT_WRITE)
            while True:
                while (end := self._lines.find(b"\n", self._searched)) >= 0:
                    data = bytes(self._lines[:end])
                    del self._lines[: end + 1]
                    self._searched = 0
                    if data.strip():
                        yield data
                        if first:
                            return
                self._searched = len(self._lines)
                self._exchange_bytes(selector, unwritten, until, timeout, first=first)

    @property
    def log(self) -> str:
        """The last bytes that it wrote to stderr since it was asked."""
        return self._log.decode("utf-8", "backslashreplace").strip()

    def _exchange_bytes(
        self,
        selector: selectors.BaseSelector,
        unwritten: bytearray,
        until: float,
        timeout: float,
        *,
        first: bool,
    ) -> None:
        ready = selector.select(max(0.0, min(_STEP_S, until - time.monotonic())))
        for key, _ in ready:
            if key.fd == self._in:
                self._write(selector, unwritten)
                continue
            data = os.read(key.fd, 1 << 16)
            if not data:
                selector.unregister(key.fd)
                continue
            self._received += len(data)
            if key.fd == self._out:
                self._lines += data
            elif key.fd == self._stderr:
                self._errors = (self._errors + data)[-TAIL:]
                self._log = (self._log + data)[-TAIL:]
                LOGS.write(data.decode("utf-8", "backslashreplace"))
        if self._received > MAX_OUTPUT:
            raise Unusable(
                f"{self.name} wrote more than {MAX_OUTPUT:,} bytes for one exchange; expected the"
                " events of one answer"
            )
        open_ends = {key.fd for key in selector.get_map().values()}
        if not ready and self._process.poll() is not None:
            raise Unusable(
                f"{self.name} ended with status {self._process.returncode} before it"
                f" {'wrote its hello line' if first else 'answered'}{self._stderr_end()}"
            )
        if self._out not in open_ends and self._process.poll() is None and not ready:
            raise Unusable(
                f"{self.name} closed the descriptor of {OUT} before it answered{self._stderr_end()}"
            )
        if time.monotonic() > until:
            way_out = START_WAY_OUT.format(timeout) if first else ""
            missing = f"wrote no {'hello line' if first else 'answer'} to the descriptor of {OUT}"
            if self._runs_function and first:
                missing = "was not imported"
            elif self._runs_function:
                missing, way_out = "did not return", FUNCTION_WAY_OUT
            raise TimedOut(
                f"{self.name} {missing} within {timeout:g} s{way_out}{self._stderr_end()}"
            )

    def _write(self, selector: selectors.BaseSelector, unwritten: bytearray) -> None:
        try:
            del unwritten[: os.write(self._in, unwritten[: 1 << 16])]
        except BlockingIOError:
            return
        except BrokenPipeError:
            unwritten.clear()  # the next read shows that the process has ended
        if not unwritten:
            selector.unregister(self._in)

    def _stderr_end(self) -> str:
        """Return the last bytes of stderr, as the end of a message."""
        words = self._errors.decode("utf-8", "backslashreplace").strip()
        return f":\n{words}" if "\n" in words else f": {words}" if words else ""


def _end(process: subprocess.Popen[bytes], read_end: int) -> None:
    """Kill all processes of its group. This is also called when the harness ends."""
    with suppress(ProcessLookupError, PermissionError):  # all processes have ended
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(OSError):
        os.close(read_end)
    with process:  # closes the pipes, and waits for the end
        pass
