"""Base URLs that somebody names: one that no request can be sent to is told before anything is
asked.
"""

from __future__ import annotations

import os
import re
from typing import Final
from urllib.parse import urlsplit

from harness.pipeline.replay import ReplayError

ENVIRONMENT: Final = {
    "gemini-api": "GOOGLE_GEMINI_BASE_URL",
    "vertex-ai": "GOOGLE_VERTEX_BASE_URL",
    "code-assist": "CODE_ASSIST_ENDPOINT",
}
"""Provider → the variable by which Google's own clients are told its address."""


def check_address(provider: str, base_url: str | None) -> None:
    """Raises `ReplayError` where ``base_url``, or what the environment has in its place, is the
    address of no server.
    """
    name = ENVIRONMENT.get(provider, "")
    place, url = (
        ("base_url", base_url) if base_url is not None else (name, os.environ.get(name) or None)
    )
    if url is not None and (fault := fault_of(url)):
        raise ReplayError(f"{place}: {fault}")


def fault_of(url: str) -> str:
    """What is wrong with a base URL; empty where nothing is."""
    try:
        split = urlsplit(url)
        well = (
            split.scheme in ("http", "https")
            and bool(split.hostname)
            and split.port != 0
            and not re.search(r"\s", url)
        )
    except ValueError:  # a port that is none, brackets that do not match
        well = False
    return (
        ""
        if well
        else f"{url!r} is no base URL; it begins with http:// or https:// and names a host, such as http://127.0.0.1:8080"
    )
