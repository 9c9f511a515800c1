"""Decides who may send requests to a listener: programs of this machine, but no web page.

A page in a browser can send requests to a loopback address. It can't choose the headers that
identify it: ``Origin`` names the page, and after DNS rebinding ``Host`` names the page's domain.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Collection, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

TOKEN_HEADER: Final = "X-Harness-Token"  # noqa: S105  # the name of a header
"""The header by which a local tool proves that it knows the token of this process."""

Headers = Sequence[tuple[bytes, bytes]]


class Callers:
    """``host`` is the address of the listener; ``allowed`` are more names that ``Host`` and
    ``Origin`` may have. ``token`` is new in each process.
    """

    def __init__(self, host: str, allowed: Collection[str] = ()) -> None:
        self.token = secrets.token_urlsafe(16)
        self._names = {"localhost", host.lower(), *(name.lower() for name in allowed)}
        address = _address_of(host)
        # Then ``Host`` may be any IP address, because a page can't make a browser send another
        # ``Host`` than its own.
        self._listens_everywhere = address is not None and address.is_unspecified

    def find_stranger(self, target: str, headers: Headers) -> str | None:
        """The header with a foreign name, and its value; None for a caller that may ask."""
        for name, value in headers:
            text = value.decode("latin-1").strip()
            match name.lower():
                # Only clients of a proxy send a whole address, and no page can make a browser use
                # this listener as a proxy.
                case b"host" if target.startswith("/") and not self._knows(_name_of(text)):
                    return f"Host: {text}"
                case b"origin" if not self._knows(_name_of(text.partition("://")[2])):
                    return f"Origin: {text}"
        return None

    def proves_to_be_local(self, headers: Headers) -> bool:
        """Whether a request has the token of this process."""
        given = next(
            (value for name, value in headers if name.lower() == TOKEN_HEADER.lower().encode()), b""
        )
        return hmac.compare_digest(given, self.token.encode())

    def _knows(self, name: str) -> bool:
        # RFC 6761, section 6.3: a name below localhost is a loopback address
        if name and (name in self._names or name.endswith(".localhost")):
            return True
        address = _address_of(name)
        return address is not None and (address.is_loopback or self._listens_everywhere)


def _address_of(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


def _name_of(place: str) -> str:
    """The name in ``name:port`` or ``[address]:port``; empty if there is anything else."""
    parts = _PLACE.fullmatch(place)
    return (parts[1] or parts[2]).rstrip(".").lower() if parts else ""


_PLACE: Final = re.compile(r"(?:\[([^\]]+)\]|([^:@/\[]*))(?::[0-9]*)?")
