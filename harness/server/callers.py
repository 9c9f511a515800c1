"""Decides which clients may send requests to a listener: programs on this machine may, web pages
may not.

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
"""The header in which a local tool sends the token of this process."""

RawHeaders = Sequence[tuple[bytes, bytes]]


class Callers:
    """``host`` is the address of the listener; ``allowed`` are further names that ``Host`` and
    ``Origin`` may contain. Each process has a new ``token``.
    """

    def __init__(self, host: str, allowed: Collection[str] = ()) -> None:
        self.token = secrets.token_urlsafe(16)
        self._names = {"localhost", host.lower(), *(name.lower() for name in allowed)}
        address = _address_of(host)
        # In this case ``Host`` may be any IP address, because a page can't make a browser send a
        # ``Host`` other than the page's own.
        self._listens_everywhere = address is not None and address.is_unspecified

    def find_stranger(self, target: str, headers: RawHeaders) -> str | None:
        """Return the header that has a foreign name, with its value; None if the caller is
        allowed.
        """
        for name, value in headers:
            text = value.decode("latin-1").strip()
            match name.lower():
                # Only clients of a proxy send an absolute URL as the target, and a page can't make
                # a browser use this listener as a proxy.
                case b"host" if target.startswith("/") and not self._knows(_name_of(text)):
                    return f"Host: {text}"
                case b"origin" if not self._knows(_name_of(text.partition("://")[2])):
                    return f"Origin: {text}"
        return None

    def proves_to_be_local(self, headers: RawHeaders) -> bool:
        """Return whether a request contains the token of this process."""
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
    """Return the name in ``name:port`` or ``[address]:port``; empty for any other text."""
    parts = _PLACE.fullmatch(place)
    return (parts[1] or parts[2]).rstrip(".").lower() if parts else ""


# RFC 9110, section 7.2: Host = uri-host [ ":" port ]. An IPv6 address is in brackets.
_PLACE: Final = re.compile(r"(?:\[([^\]]+)\]|([^:@/\[]*))(?::[0-9]*)?")
