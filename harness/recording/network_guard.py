"""Prevents network access in replayed tests: their sockets can connect only to this machine.

The methods of `socket.socket` are replaced. All known Python client libraries use them, and so does
asyncio. An event loop in C that opens its own sockets is not covered.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from harness.pipeline.replay import ReplayError

from .user_code import INSTALLED, is_standard


class NetworkRefused(ReplayError):
    """A replayed test tried to connect to another machine."""


@contextmanager
def refuse_network(why: str) -> Iterator[None]:
    """Refuse connections in the ``with`` block: connecting to another machine or looking up its
    name raises `NetworkRefused`; its message ends with ``why``.
    """

    def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: socket.socket, *arguments: Any) -> Any:
            address = arguments[-1]
            if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_here(str(address[0])):
                self.close()  # the owner of the socket expects an OSError, and would not close it
                raise NetworkRefused(
                    f"a connection to {address[0]} port {address[1]} was refused: {why}{_caller()}"
                )
            return original(self, *arguments)

        return call

    look_up = socket.getaddrinfo

    def look_up_here(host: Any, *arguments: Any, **options: Any) -> Any:
        name = host.decode("idna", "replace") if isinstance(host, bytes) else host
        if name and not _is_address(name) and not _is_here(name):
            raise NetworkRefused(f"looking up {name} was refused: {why}{_caller()}")
        return look_up(host, *arguments, **options)

    methods: dict[str, Any] = {name: guarded(getattr(socket.socket, name)) for name in _METHODS}
    with (
        patch.multiple(socket.socket, **methods),
        patch.object(socket, "getaddrinfo", look_up_here),
    ):
        yield


_METHODS: Final = ("connect", "connect_ex", "sendto")


def _caller() -> str:
    """Return the place in the code that asks, if it is not only that of an HTTP library."""
    frame = sys._getframe(2)  # `inspect.stack` reads the source of each frame
    while frame.f_back is not None:
        path = Path(frame.f_code.co_filename)
        below = [path.parts.index(name) + 1 for name in INSTALLED.intersection(path.parts)]
        library = path.parts[max(below)] if below else ""
        if not is_standard(str(path)) and library not in _HTTP and path.parent != _OURS:
            shown = "/".join(path.parts[max(below) :]) if below else path.name
            return f"; the request is made in {shown}, line {frame.f_lineno}"
        frame = frame.f_back
    return ""


_OURS: Final = Path(__file__).parent
_HTTP: Final = frozenset(
    ("aiohttp", "anyio", "httpcore", "httpcore2", "httpx", "httpx2", "requests", "urllib3", "vcr")
)
"""Libraries that send the requests of others."""


def _is_here(host: str) -> bool:
    if _is_address(host):
        address = ipaddress.ip_address(host.partition("%")[0])
        return address.is_loopback or host in ("0.0.0.0", "::")  # noqa: S104  # these addresses mean this machine
    return host.lower().rstrip(".") in (
        "localhost",
        "localhost.localdomain",
        "",
        socket.gethostname().lower(),
    )


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
