"""Programs of a user as adapters: one process answers all exchanges, one line in, one line out.

The first line that the program writes says hello: ``{"hello": 1, "name": …, "version": …}``. It
writes its lines to the descriptor that ``HARNESS_OUT`` names, so stdout is free for anything else.
After a hang, a flood, a death or a line that can't be read, the next exchange gets a new process.
When a process is replaced or no longer needed, everything that it started ends with it.
"""

from __future__ import annotations

import json
import os
import selectors
import shlex
import subprocess
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from harness.facts import Raised
from harness.stream.json_codec import decode_json
from harness.stream.printable import shorten

from .adapter import UNKNOWN, AdapterError
from .at import Question, exchange_as_json, line_of
from .environment import adapter_environment
from .process import MARK, MAX_OUTPUT, TAIL, end_session, new_mark
from .reply import Level, Reply, entries_of_json

OUT: Final = "HARNESS_OUT"
START_S: Final = 60.0
"""The time until a program says hello: it may import much."""

_STEP_S: Final = 0.2
"""How often a program that writes nothing is asked whether it is still there. A process that it
forked may hold its pipes open.
"""


class Program:
    """A program that a user names as a command.

    ``with_exchange``: its lines have the recorded exchange even where it asks a served address;
    such a program writes its events as they come. ``function``: the function that it runs; messages
    name that, and not the command. ``served``: it asks a served address. A program that can't be
    started is not started again.
    """

    converses = True
    """It may be asked for a second turn; a started program says if it has none."""

    def __init__(
        self,
        command: Sequence[str],
        level: Level,
        folder: Path,
        *,
        with_exchange: bool = False,
        function: str = "",
        served: bool,
    ) -> None:
        self._command = command
        self._served = served
        self._function = function
        self._level = level
        self._folder = folder
        self._with_exchange = with_exchange
        self._process: _Process | None = None
        self._hello: Mapping[str, Any] = {}
        self._broken: AdapterError | None = None
        self._asked = 0
        self._lock = threading.Lock()

    @property
    def version(self) -> str:
        """The version in the hello line; the program is started for it."""
        with self._lock, suppress(AdapterError):
            self._started()
        return str(self._hello.get("version") or UNKNOWN)

    def ask(self, question: Question, timeout: float) -> Reply:
        """The reply to a question. Raises `AdapterError`."""
        with self._lock:
            process = self._started()
            if question.turn == 2 and self._hello.get("turns") == 1:
                return Reply(skipped="it has no second turn")
            self._asked += 1
            line = line_of(question, self._asked)
            if self._with_exchange and question.base_url:
                line["exchange"] = exchange_as_json(question.exchange)
            try:
                return self._reply(process, line, timeout)
            except _Unusable as error:
                self._close()
                raise AdapterError(str(error)) from None

    def close(self) -> None:
        """End the process, and everything that it started."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None

    def _started(self) -> _Process:
        if self._broken is not None:
            raise self._broken
        if self._process is not None:
            return self._process
        try:
            process = _Process(self._command, self._folder, self._function, served=self._served)
            try:
                self._hello = _read_hello(process)
            except _Unusable:
                process.end()
                raise
        except _Unusable as error:
            self._broken = AdapterError(str(error))
            raise self._broken from None
        self._process = process
        return process

    def _reply(self, process: _Process, line: Mapping[str, Any], timeout: float) -> Reply:
        reply = Reply()
        name = process.name
        for data in process.ask(json.dumps(line).encode() + b"\n", timeout):
            answer = _object(name, data)
            if answer.get("id") != line["id"]:
                raise _Unusable(
                    f"{name} answered {shorten(json.dumps(answer.get('id')), 40)}; expected a line"
                    f' with "id": {line["id"]}, one for each line that it gets'
                )
            if fault := answer.get("fault"):
                raise AdapterError(str(fault))
            try:
                self._add(answer, reply)
            except AdapterError as error:
                if answer.get("more"):
                    raise _Unusable(str(error)) from None
                raise
            if not answer.get("more"):
                reply.raised = _raised(answer.get("raised"), name)
                reply.skipped = str(answer.get("skipped") or "")
                return reply
        raise AssertionError("ask() goes on until the last line, or raises")

    def _add(self, answer: Mapping[str, Any], reply: Reply) -> None:
        facts = [] if self._level == "payloads" else answer.get("facts") or []
        name = self._function or _name(self._command)
        for entry in entries_of_json(answer.get("native") or [], facts, name):
            reply.add(entry, answer.get("at_s"))


def _name(command: Sequence[str]) -> str:
    """The command, as messages name it."""
    return shorten(shlex.join(command), 60)


class _Unusable(Exception):
    """The process can't be asked again; the message says why."""


def _read_hello(process: _Process) -> Mapping[str, Any]:
    (data,) = process.ask(b"", START_S, first=True)
    hello = _object(process.name, data)
    if hello.get("hello") != 1:
        raise _Unusable(
            f"the first line that {process.name} wrote is {shorten(json.dumps(hello), 80)};"
            ' expected {"hello": 1, "name": …, "version": …}'
        )
    return hello


def _object(name: str, data: bytes) -> Mapping[str, Any]:
    try:
        value = decode_json(data)
    except ValueError as error:
        shown = data[:80].decode("utf-8", "backslashreplace")
        raise _Unusable(
            f"a line that {name} wrote is no JSON ({error}): {shown}; expected"
            f" one line of JSON on the descriptor of {OUT} for each line that it gets"
        ) from None
    if not isinstance(value, dict):
        raise _Unusable(
            f"a line that {name} wrote is {shorten(str(value), 80)}; expected an object"
        )
    return value


def _raised(value: Any, name: str) -> Raised | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise AdapterError(
            f'{name}: raised is {shorten(json.dumps(value), 80)}; expected null or {{"type": …,'
            ' "message": …, "code": …}'
        )
    code = value.get("code")
    return Raised(
        str(value.get("type") or "Error"),
        str(value.get("message") or ""),
        code if isinstance(code, int | str) and not isinstance(code, bool) else None,
        str(value.get("traceback") or ""),
        str(value.get("place") or ""),
    )


class _Process:
    """One process of a program, and its four pipes."""

    def __init__(
        self, command: Sequence[str], folder: Path, function: str, *, served: bool
    ) -> None:
        self.name = function or _name(command)
        self._runs_function = bool(function)
        mark = new_mark()
        read_end, write_end = os.pipe()
        environment = adapter_environment(os.environ, served=served)
        environment |= {MARK: mark, OUT: str(write_end)}
        try:
            self._process = subprocess.Popen(  # noqa: S603  # named by the user
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
            raise _Unusable(f"{command[0]} can't be run: {error.strerror or error}") from None
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
        self.end = weakref.finalize(self, _end, self._process, read_end, mark)

    def ask(self, line: bytes, timeout: float, *, first: bool = False) -> Iterator[bytes]:
        """Write a line, and give the lines that come back, until the caller has enough. Raises
        `_Unusable` for a process that has ended, and for one that writes too little or too much.
        """
        until, unwritten = time.monotonic() + timeout, bytearray(line)
        self._received = 0
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
        if self._received > MAX_OUTPUT:
            raise _Unusable(
                f"{self.name} wrote more than {MAX_OUTPUT:,} bytes for one exchange; expected the"
                " events of one answer"
            )
        open_ends = {key.fd for key in selector.get_map().values()}
        if not ready and self._process.poll() is not None:
            raise _Unusable(
                f"{self.name} ended with status {self._process.returncode} before it"
                f" {'said hello' if first else 'answered'}{self._stderr_end()}"
            )
        if self._out not in open_ends and self._process.poll() is None and not ready:
            raise _Unusable(
                f"{self.name} closed the descriptor of {OUT} before it answered{self._stderr_end()}"
            )
        if time.monotonic() > until:
            missing = f"wrote no {'hello line' if first else 'answer'} to the descriptor of {OUT}"
            if self._runs_function:
                missing = "did not return"
            raise _Unusable(f"{self.name} {missing} within {timeout:g} s{self._stderr_end()}")

    def _write(self, selector: selectors.BaseSelector, unwritten: bytearray) -> None:
        try:
            del unwritten[: os.write(self._in, unwritten[: 1 << 16])]
        except BlockingIOError:
            return
        except BrokenPipeError:
            unwritten.clear()  # its end is seen at the next look
        if not unwritten:
            selector.unregister(self._in)

    def _stderr_end(self) -> str:
        """The last bytes of its stderr, as the end of a message."""
        words = self._errors.decode("utf-8", "backslashreplace").strip()
        return f":\n{words}" if "\n" in words else f": {words}" if words else ""


def _end(process: subprocess.Popen[bytes], read_end: int, mark: str) -> None:
    """End a process and everything that it started. Also called when this program ends."""
    end_session(process.pid, mark)
    with suppress(OSError):
        os.close(read_end)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait()
