"""A user's programs as adapters: one process answers all exchanges, one line in, one line out.

The first line that the program writes is the hello line: ``{"hello": 1, "name": …, "version": …}``.
Its ``providers`` are the wires that the program reads; without them it reads all,
and has no sessions at a served address.
If the program hangs, writes too much, ends, or writes a line that can't be read, the next exchange
gets a new process. When a process is replaced or no longer needed, all processes that it started
end with it.
"""

from __future__ import annotations

import json
import shlex
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec import to_builtins

from harness.facts import Raised
from harness.providers import PROVIDERS
from harness.stream.json_codec import (
    MAX_NESTING,
    decode_json,
    finite_json,
    nests_deeply,
    without_deep_values,
)
from harness.stream.printable import shorten

from .adapter import UNKNOWN, AdapterError
from .at import Question, line_of, usual_wires
from .crash import CRASHES, is_crash_by_name
from .process import OUT, LineProcess, Unusable
from .reply import Reply, ReplyLevel, entries_of_json

PLAIN: Final = frozenset({"prompt", "tools"})
"""The values that a program reads if its hello line does not name them."""
ONLY_DOUBLES: Final = ("javascript",)
"""The languages in which every number is a double."""
_LEVELS: Final = 10
"""The levels of a line around the arguments of a call, and some more, so that arguments that nest
too deeply still do.
"""
START_S: Final = 60.0
"""The time limit for the hello line, if that of an exchange is not longer. A program may import
large modules before it.
"""


class Program:
    """A program that a user names as a command.

    ``timeout``: the time limit of one exchange, in seconds. ``served``: the program sends its
    requests to a served address. ``function``: the function that the program runs. Messages have
    its name instead of the command, its lines have the recorded exchange even if it is served, and
    it writes each event when it arrives. If a program can't be started, it is not started again.
    """

    def __init__(
        self,
        command: Sequence[str],
        level: ReplyLevel,
        folder: Path,
        *,
        timeout: float,
        function: str = "",
        served: bool,
    ) -> None:
        self._command = command
        self._served = served
        self._runs_function = bool(function)
        self._name = function or shorten(shlex.join(command), 60)
        self._level = level
        self._folder = folder
        self._start_s = max(START_S, timeout)
        self._process: LineProcess | None = None
        self._hello: Mapping[str, Any] = {}
        self._certificate = ""
        """That of the environment of the process."""
        self._broken = ""
        self._asked = 0
        self._lock = threading.Lock()

    @property
    def version(self) -> str:
        """The version in the hello line. The program is started to read it."""
        with self._lock, suppress(AdapterError):
            self._started()
        return str(self._hello.get("version") or UNKNOWN)

    @property
    def providers(self) -> Sequence[str]:
        """The wires in the hello line, else the usual ones. The program is started to read them."""
        with self._lock, suppress(AdapterError):
            self._started()
        return self._hello.get("providers") or usual_wires(served=self._served)

    @property
    def converses(self) -> bool:
        """Whether the hello line does not say that the program has no second turn. Before the
        program is started, it may have one.
        """
        return self._hello.get("turns") != 1

    @property
    def asks_thoughts(self) -> bool:
        """Whether the hello line does not say that the program can't ask for thoughts."""
        return self._hello.get("thoughts") is not False

    def start(self) -> None:
        """Start the program. Raises `AdapterError` if it can't be started."""
        with self._lock:
            self._started()

    def ask(self, question: Question, timeout: float) -> Reply:
        """Return the reply to a question. Raises `AdapterError`."""
        with self._lock:
            if question.certificate != self._certificate:
                self._close()
                self._certificate = question.certificate
            process = self._started()
            self._asked += 1
            line = line_of(question, self._asked)
            if self._runs_function and question.base_url:
                line["exchange"] = to_builtins(question.exchange)
            try:
                return self._reply(process, line, timeout)
            except Unusable:
                self._close()
                raise

    def close(self) -> None:
        """End the process, and all processes that it started."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None

    def _started(self) -> LineProcess:
        if self._broken:
            raise AdapterError(self._broken)
        if self._process is None:
            try:
                self._process = LineProcess(
                    self._command,
                    self._folder,
                    self._name,
                    served=self._served,
                    runs_function=self._runs_function,
                    certificate=self._certificate,
                )
                self._hello = _read_hello(self._process, self._start_s)
            except Unusable as error:
                self._close()
                self._broken = str(error)
                raise
        return self._process

    def _reply(self, process: LineProcess, line: Mapping[str, Any], timeout: float) -> Reply:
        language = str(self._hello.get("language") or "")
        reply = Reply(doubles=language in ONLY_DOUBLES)
        if not self._runs_function:
            reply.address = "base_url of the line on stdin"
        name = process.name
        for data in process.ask(json.dumps(line).encode() + b"\n", timeout):
            answer = _object(name, data)
            if answer.get("id") != line["id"]:
                raise Unusable(
                    f"{name} answered {shorten(json.dumps(answer.get('id')), 40)}; expected a line"
                    f' with "id": {line["id"]}, one for each line that it gets'
                )
            if fault := answer.get("fault"):
                raise AdapterError(str(fault), str(answer.get("group", "")))
            try:
                self._add(answer, reply)
            except AdapterError as error:
                if answer.get("more"):
                    raise Unusable(str(error)) from None
                raise
            if not answer.get("more"):
                reply.log = process.log
                reply.raised = _raised(answer.get("raised"), name, language)
                reply.skipped = str(answer.get("skipped") or "")
                read = answer.get("read", self._hello.get("reads"))
                reply.read = frozenset(map(str, read)) if isinstance(read, list) else PLAIN
                return reply
        raise AssertionError("ask() continues until the last line, or raises")

    def _add(self, answer: Mapping[str, Any], reply: Reply) -> None:
        facts = [] if self._level != "facts" else answer.get("facts") or []
        for entry in entries_of_json(answer.get("native") or [], facts, self._name):
            reply.add(entry, answer.get("at_s"))


def _read_hello(process: LineProcess, timeout: float) -> Mapping[str, Any]:
    (data,) = process.ask(b"", timeout, first=True)
    hello = _object(process.name, data)
    if fault := hello.get("fault"):
        raise Unusable(str(fault))
    if hello.get("hello") != 1:
        raise Unusable(
            f"the first line that {process.name} wrote is {shorten(json.dumps(hello), 80)};"
            ' expected {"hello": 1, "name": …, "version": …}'
        )
    language = hello.get("language")
    if language is not None and language not in [*CRASHES]:  # it may be any JSON
        raise Unusable(
            f"the hello line of {process.name} names the language"
            f" {shorten(json.dumps(language), 40)}; expected one of {', '.join(CRASHES)}, or none"
        )
    wires = hello.get("providers") or []
    if not isinstance(wires, list) or not all(wire in [*PROVIDERS] for wire in wires):
        raise Unusable(
            f"providers in the hello line of {process.name} is {shorten(json.dumps(wires), 80)};"
            f" expected a list with some of {', '.join(PROVIDERS)}"
        )
    return hello


def _object(name: str, data: bytes) -> Mapping[str, Any]:
    try:
        if nests_deeply(data):  # its arguments may be those of the wire
            value = finite_json(without_deep_values(data, MAX_NESTING + _LEVELS).decode())
        else:
            value = decode_json(data)
    except ValueError as error:
        shown = data[:80].decode("utf-8", "backslashreplace")
        raise Unusable(
            f"a line that {name} wrote is not JSON ({error}): {shown}; expected"
            f" one line of JSON on the descriptor of {OUT} for each line that it gets"
        ) from None
    if not isinstance(value, dict):
        raise Unusable(f"a line that {name} wrote is {shorten(str(value), 80)}; expected an object")
    return value


def _raised(value: Any, name: str, language: str) -> Raised | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise AdapterError(
            f'{name}: raised is {shorten(json.dumps(value), 80)}; expected null or {{"type": …,'
            ' "message": …, "code": …}'
        )
    code, crash = value.get("code"), value.get("crash")
    kind = str(value.get("type") or "Error")
    return Raised(
        kind,
        str(value.get("message") or ""),
        code if isinstance(code, int | str) and not isinstance(code, bool) else None,
        str(value.get("traceback") or ""),
        str(value.get("place") or ""),
        crash if isinstance(crash, bool) else is_crash_by_name(kind, language),
        value.get("in_shim") is True,
    )
