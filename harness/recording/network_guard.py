"""Prevents network access in replayed tests: their sockets can connect only to this machine.

The methods of `socket.socket` are replaced. All known Python client libraries use them, and so does
asyncio. An event loop in C that opens its own sockets is not covered.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

from harness.pipeline.replay import ReplayError


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
                    f"a connection to {address[0]} port {address[1]} was refused: {why}"
                )
            return original(self, *arguments)

        return call

    look_up = socket.getaddrinfo

    def look_up_here(host: Any, *arguments: Any, **options: Any) -> Any:
        name = host.decode("idna", "replace") if isinstance(host, bytes) else host
        if name and not _is_address(name) and not _is_here(name):
            raise NetworkRefused(f"looking up {name} was refused: {why}")
        return look_up(host, *arguments, **options)

    methods: dict[str, Any] = {name: guarded(getattr(socket.socket, name)) for name in _METHODS}
    with (
        patch.multiple(socket.socket, **methods),
        patch.object(socket, "getaddrinfo", look_up_here),
    ):
        yield


_METHODS: Final = ("connect", "connect_ex", "sendto")


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
