"""The environment of adapters under test. It has no real key and no proxy for this machine.
``os._exit`` does not end the process, and stdout and stderr stay open.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, TextIO

from harness.stream.printable import printable_lines

CERTIFICATE: Final = Path(__file__).with_name("no_server.pem")
"""A certificate that no server uses. It replaces the certificates that the system trusts. Many
clients load those for each exchange, which takes most of their time.
"""
NO_KEY: Final = "no-key-in-a-replay"
_KEY: Final = re.compile(r"API_?KEY|(?:ACCESS|AUTH|SESSION)_?TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_FILES: Final = ("GOOGLE_APPLICATION_CREDENTIALS",)
_TRUSTED: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_LOCAL: Final = "127.0.0.1,localhost"


def adapter_environment(environment: Mapping[str, str], *, served: bool) -> dict[str, str]:
    """The environment for an adapter. Every key, including `GEMINI_API_KEY`, is a placeholder.

    ``served``: the adapter sends its requests to an address without TLS. It then trusts only
    `CERTIFICATE`, unless the environment names other certificates.
    """
    safe = {
        name: NO_KEY if _KEY.search(name) else value
        for name, value in environment.items()
        if name not in _FILES
    }
    for name in ("no_proxy", "NO_PROXY"):
        safe[name] = ",".join(filter(None, (environment.get(name), _LOCAL)))
    if served and not any(environment.get(name) for name in _TRUSTED):
        safe["SSL_CERT_FILE"] = str(CERTIFICATE)
    return {**safe, "GEMINI_API_KEY": NO_KEY}


MAX_LOG: Final = 2000
"""The number of characters of an adapter's stderr that are kept."""


@dataclass(slots=True)
class LogsShown:
    """Whether the stderr of adapters is written to that of the harness when it comes."""

    of_functions: bool = True
    of_programs: bool = False

    @contextmanager
    def shown(self, *, wanted: bool) -> Iterator[None]:
        """Shows the logs of all adapters, or of none."""
        before = self.of_functions, self.of_programs
        self.of_functions = self.of_programs = wanted
        try:
            yield
        finally:
            self.of_functions, self.of_programs = before


LOGS: Final = LogsShown()
"""The setting of this process."""


@dataclass(slots=True)
class Log:
    """The text that a user's function writes to stderr."""

    text: str = ""

    def add(self, text: str) -> None:
        """Add a text, and keep the end of all."""
        self.text = (self.text + text)[-MAX_LOG:]

    @property
    def end(self) -> str:
        """The end of the text."""
        return self.text.strip()


_log_of_run: Log | None = None
"""The log of the function that runs now. Several never run at the same time in one process."""


class _KeptOpen:
    """A stream that a user's code can't close."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def close(self) -> None:
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Logged(_KeptOpen):
    """The stderr of a user's function. A handler of `logging` may keep it from run to run."""

    def write(self, text: str) -> int:
        log = _log_of_run
        if log is not None:
            log.add(text)
        if log is None or LOGS.of_functions:
            self._stream.write(text)
        return len(text)


@contextmanager
def kept_streams() -> Iterator[Log]:
    """Protects stdout and stderr while a user's function runs. The function may close or replace
    them. Yields the log, which has the text that it writes to stderr.
    """
    global _log_of_run  # the handlers of `logging` keep their stream, not the log
    streams, before, log = (sys.stdout, sys.stderr), _log_of_run, Log()
    vars(sys).update(stdout=_kept(sys.stdout), stderr=_kept(sys.stderr, _Logged))
    _log_of_run = log
    try:
        yield log
    finally:
        sys.stdout, sys.stderr = streams
        _log_of_run = before


def _kept(stream: TextIO | None, kind: type[_KeptOpen] = _KeptOpen) -> _KeptOpen | None:
    return None if stream is None else kind(stream)


def show_log(text: str) -> None:
    """Write a text of an adapter to the stderr of the harness."""
    sys.stderr.write(printable_lines(text))
    sys.stderr.flush()


class ProcessExit(BaseException):
    """A user's function called ``os._exit``. This is not an `Exception`, so that no adapter handles
    it.
    """


_end: Final = os._exit
_guarded: Final[set[tuple[int, int]]] = set()
"""The process and thread of each running function. Several may run at once, and they may end in any
order.
"""
_lock: Final = threading.Lock()


def _exit(status: int) -> NoReturn:
    if (os.getpid(), threading.get_ident()) in _guarded:
        raise ProcessExit(f"os._exit({status}) ends the process")
    _end(status)


@contextmanager
def without_exit() -> Iterator[None]:
    """Makes ``os._exit`` in this thread raise an exception, so that a user's function does not end
    the run. In other threads and in forked processes, ``os._exit`` works as usual.
    """
    runs = os.getpid(), threading.get_ident()
    if runs in _guarded:
        yield
        return
    with _lock:
        _guarded.add(runs)
        os._exit = _exit
    try:
        yield
    finally:
        with _lock:
            _guarded.discard(runs)
            if not _guarded:
                os._exit = _end


@contextmanager
def without_keys(*, served: bool) -> Iterator[None]:
    """Gives this process the environment of `adapter_environment` while a user's function runs. A
    variable that the function itself sets keeps its value.
    """
    before = dict(os.environ)
    safe = adapter_environment(before, served=served)
    changed = {name for name in before.keys() | safe.keys() if before.get(name) != safe.get(name)}
    _put(changed, safe)
    try:
        yield
    finally:
        _put({name for name in changed if os.environ.get(name) == safe.get(name)}, before)


def _put(names: set[str], values: Mapping[str, str]) -> None:
    for name in names:
        if name in values:
            os.environ[name] = values[name]
        else:
            os.environ.pop(name, None)
