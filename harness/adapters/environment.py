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
from pathlib import Path
from typing import Any, Final, NoReturn, TextIO

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


class _KeptOpen:
    """A stream that a user's code can't close."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def close(self) -> None:
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def kept_streams() -> Iterator[None]:
    """Protects stdout and stderr while a user's function runs. The function may close or replace
    them.
    """
    streams = sys.stdout, sys.stderr
    vars(sys).update(stdout=_kept(sys.stdout), stderr=_kept(sys.stderr))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def _kept(stream: TextIO | None) -> _KeptOpen | None:
    return None if stream is None else _KeptOpen(stream)


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
