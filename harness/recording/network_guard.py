"""Keeping a replayed test off the network: while it runs, a socket reaches nothing but this
machine.

Python's own sockets are guarded, which is what every client library of Python's that we know of
connects with, asyncio's included; an event loop written in C that opens its own would pass.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from harness.pipeline.replay import ReplayError


class NetworkRefused(ReplayError):
    """A connection that a replayed test may not make."""


@contextmanager
def refuse_network(why: str) -> Iterator[None]:
    """For the time of the block every connection to another machine, and every look-up of its name,
    raises `NetworkRefused`.
    """

    def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: socket.socket, *arguments: Any) -> Any:
            address = arguments[-1]
            if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_here(str(address[0])):
                self.close()  # whoever made it expects an OSError, and then a second try
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

    with (
        mock.patch.object(socket.socket, "connect", guarded(socket.socket.connect)),
        mock.patch.object(socket.socket, "connect_ex", guarded(socket.socket.connect_ex)),
        mock.patch.object(socket.socket, "sendto", guarded(socket.socket.sendto)),
        mock.patch.object(socket, "getaddrinfo", look_up_here),
    ):
        yield


def _is_here(host: str) -> bool:
    if _is_address(host):
        # connects to this machine
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback or host in ("0.0.0.0", "::")  # noqa: S104
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
