"""Adapters of a user, as lines of configuration name them: a Python function, a program over pipes,
a client at a base URL.

    myproxy = mypackage.adapter:replay
    shim: anthropic = run: node shim.js
    client: unified-llm = serve: python client.py

Before ``=`` comes the adapter's name and, after a colon, the event model whose expectations apply;
without one it has an event model of its own with its own name. After ``=`` comes the target.
"""

from __future__ import annotations

import inspect
import math
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from harness.stream.exchange import Exchange

from .adapter import FUNCTION, PROGRAM, Adapter, AdapterError, Output, RunOptions
from .own import user_adapter
from .process import MAX_PAYLOADS, run_at_base_url, run_over_pipes

_LINE: Final = re.compile(
    r"(?P<name>[a-z0-9]+(?:-[a-z0-9]+)*)\s*(?::\s*(?P<dialect>[a-z0-9-]+)\s*)?=\s*(?P<target>\S.*)"
)
_FUNCTION: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
MAX_DEPTH: Final = 200
MAX_WIDTH: Final = 1_000_000
_SHAPE: Final = (
    "NAME = TARGET or NAME: DIALECT = TARGET; a name is lower-case words joined by -, "
    "a target module:function, run: COMMAND or serve: COMMAND"
)


@dataclass(frozen=True, slots=True)
class NamedAdapter:
    """One line of configuration; ``dialect`` is the event model whose expectations apply to it."""

    name: str
    dialect: str
    target: str


def read_line(line: str) -> NamedAdapter:
    """Read one line of configuration. Raises `AdapterError`."""
    match = _LINE.fullmatch(line.strip())
    if match is None:
        raise AdapterError(f"{line.strip()!r} names no adapter; expected {_SHAPE}")
    named = NamedAdapter(match["name"], match["dialect"] or match["name"], match["target"].strip())
    if not _FUNCTION.fullmatch(named.target) and not _command(named.target):
        raise AdapterError(
            f"adapter {named.name}: {named.target!r} is nothing that can be called; expected"
            f" {_SHAPE}"
        )
    return named


def make_adapter(named: NamedAdapter, folder: Path, *, timeout: float = 30.0) -> Adapter:
    """The adapter of one line. ``folder`` is where programs run and modules are found; ``timeout``
    is the time for one exchange in seconds.

    A function is called in this process with an `Exchange`, and gives its payloads as JSON data.
    Raises `AdapterError` where there is no such module or function. A run raises it where the
    adapter hangs, floods, crashes, or gives anything but JSON.
    """
    kind, arguments = _command(named.target) or ("", [])
    if kind:
        run_program = run_over_pipes if kind == "run" else run_at_base_url

        def start(exchange: Exchange, options: RunOptions) -> Output:
            return Output(run_program(arguments, exchange, options, folder, timeout))

        return user_adapter(named.name, named.dialect, start, PROGRAM)
    function = _find(named, folder)

    def call(exchange: Exchange, options: RunOptions) -> Output:
        ours = os.getpid()
        try:
            with _alarm(named.name, timeout):
                return Output(_gather(function(exchange), named.name))
        finally:
            if os.getpid() != ours:  # the function forked, and its child would go on with the tests
                os._exit(1)

    return user_adapter(named.name, named.dialect, call, FUNCTION)


class _Expired(BaseException):
    """The time is over. Not an `Exception`, so that an adapter that retries after every exception
    does not retry after this one.
    """


@contextmanager
def _alarm(name: str, timeout: float) -> Iterator[None]:
    """Stops a function that does not return. Threads and Windows have no alarms, so there nothing
    stops it; a program can be stopped everywhere.
    """
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    def stop(*_: object) -> None:
        raise _Expired

    before = signal.signal(signal.SIGALRM, stop)
    rest, _ = signal.setitimer(signal.ITIMER_REAL, timeout)
    try:
        yield
    except _Expired:
        raise AdapterError(f"adapter {name} did not return within {timeout:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, rest)  # the alarm of others, such as pytest-timeout
        signal.signal(signal.SIGALRM, before)


def _command(target: str) -> tuple[str, list[str]] | None:
    """``run: node "my shim.js"`` → ``("run", ["node", "my shim.js"])``; None without a command."""
    kind, colon, rest = target.partition(":")
    if kind not in ("run", "serve") or not colon or not rest.startswith((" ", "\t")):
        return None
    try:
        return (kind, shlex.split(rest)) if rest.strip() else None
    except ValueError as error:
        raise AdapterError(f"{target!r} can't be read as a command: {error}") from None


def _find(named: NamedAdapter, folder: Path) -> Any:
    module, _, path = named.target.partition(":")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))  # as `python -m pytest` does for the tests themselves
    try:
        target: Any = import_module(module)
        for part in path.split("."):
            target = getattr(target, part)
    except (ImportError, AttributeError) as error:
        raise AdapterError(
            f"adapter {named.name}: {named.target} can't be imported: {error}"
        ) from None
    if not callable(target):
        raise AdapterError(f"adapter {named.name}: {named.target} is no function")
    return target


def _gather(payloads: Any, name: str) -> list[Any]:
    """The payloads of a function as a list of JSON data."""
    if (
        payloads is None
        or isinstance(payloads, str | bytes | Mapping)
        or not isinstance(payloads, Iterable)
    ):
        hint = (
            "; an async function is called by asyncio.run in one that is not"
            if inspect.iscoroutine(payloads)
            else ""
        )
        raise AdapterError(
            f"adapter {name} returned {_called(payloads)}; expected a list or generator of"
            f" payloads{hint}"
        )
    gathered: list[Any] = []
    for payload in payloads:
        if odd := _find_odd(payload):
            raise AdapterError(
                f"payload {len(gathered)} of adapter {name} holds {odd}; expected JSON data (of"
                " pydantic: model_dump())"
            )
        gathered.append(payload)
        if len(gathered) > MAX_PAYLOADS:
            raise AdapterError(
                f"adapter {name} gave more than {MAX_PAYLOADS:,} payloads for one exchange"
            )
    return gathered


def _called(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def _find_odd(payload: Any) -> str:
    """The part of a payload that is no JSON data, in words; "" if all of it is."""
    left, depth = [payload], 0
    while left:
        depth += 1
        if depth > MAX_DEPTH or len(left) > MAX_WIDTH:
            return (
                f"values nested deeper than {MAX_DEPTH} levels, or more than {MAX_WIDTH:,} of them"
            )
        inner: list[Any] = []
        for value in left:
            if type(value) is dict:
                odd = [key for key in value if type(key) is not str]
                if odd:
                    return f"the key {odd[0]!r}, which is {_called(odd[0])}"
                inner += value.values()
            elif type(value) is list:
                inner += value
            elif type(value) is float and not math.isfinite(value):
                return f"the number {value}"
            elif value is not None and type(value) not in (str, int, float, bool):
                return _called(value)
        left = inner
    return ""
