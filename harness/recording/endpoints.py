"""Chooses the base URLs for requests: from settings, from the environment, or the providers' public
ones.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from harness.pipeline.replay import ReplayError
from harness.providers import PROVIDERS, Endpoint

ENDPOINTS: Final[dict[str, Endpoint]] = {
    name: provider.endpoint for name, provider in PROVIDERS.items() if provider.endpoint
}
"""Provider → its public base URL."""

VERSIONS: Final = {endpoint.variable: endpoint.version for endpoint in ENDPOINTS.values()}
"""The environment variables that set another base URL for the providers' clients → the path that
their values have.
"""

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})

Upstream = Callable[[str], str]
"""Request path → base URL."""


def upstream_by_path(environment: Mapping[str, str] = os.environ) -> Upstream:
    """Route a request path to its provider's base URL: of the environment, else the public one."""
    configured = {
        name: environment.get(name, "").rstrip("/").removesuffix(version)
        for name, version in VERSIONS.items()
    }

    def upstream(path: str) -> str:
        endpoint = _endpoint_of(path)
        return configured[endpoint.variable] or endpoint.regional(path) or endpoint.base_url

    return upstream


def _endpoint_of(path: str) -> Endpoint:
    usual = next(endpoint for endpoint in ENDPOINTS.values() if not endpoint.paths)
    matching = (known for known in ENDPOINTS.values() if known.paths and known.paths.search(path))
    return next(matching, usual)


def check_base_url(provider: str, base_url: str | None) -> None:
    """Raise `ReplayError` if ``base_url``, or else the provider's environment variable, is not a
    usable base URL.
    """
    place, url = "base_url", base_url
    if url is None and provider in ENDPOINTS:
        place = ENDPOINTS[provider].variable
        url = os.environ.get(place) or None
    if url is not None and (fault := find_fault(url)):
        raise ReplayError(f"{place}: {fault}")


def find_fault(url: str) -> str:
    """Return a message about the error in a base URL; empty for a valid URL."""
    try:
        split = urlsplit(url)
        usable = (
            split.scheme in ("http", "https")
            and bool(split.hostname)
            and split.port != 0
            and not re.search(r"\s", url)
        )
    except ValueError:  # the port is not a number, or brackets do not match
        usable = False
    if usable:
        return ""
    return (
        f"{url!r} is not a base URL; a base URL begins with http:// or https:// and names a host,"
        " such as http://127.0.0.1:8080"
    )


def environment_for(url: str) -> dict[str, str]:
    """Return the environment variables that direct the providers' clients to ``url``."""
    return {name: url + version for name, version in VERSIONS.items()}
