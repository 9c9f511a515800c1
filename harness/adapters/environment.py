"""The environment of adapters under test. It has no real key and no proxy for this machine."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.stream.printable import printable_lines

CERTIFICATE: Final = Path(__file__).with_name("no_server.pem")
"""A certificate that no server uses. It replaces the certificates that the system trusts. Many
clients load those for each exchange, which takes most of their time.
"""
NO_KEY: Final = "no-key-in-a-replay"
_KEY: Final = re.compile(r"API_?KEY|(?:ACCESS|AUTH|SESSION)_?TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_FILES: Final = ("GOOGLE_APPLICATION_CREDENTIALS",)
_TRUSTED: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")
OF_TLS: Final = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
"""The variables that name the certificate of an address with TLS."""
_LOCAL: Final = "127.0.0.1,localhost"


@dataclass(slots=True)
class Logs:
    """Whether the stderr of adapters is written to that of the harness when it comes."""

    shown: bool = False

    @contextmanager
    def setting(self, *, shown: bool) -> Iterator[None]:
        """Show the logs of all adapters, or of none."""
        before, self.shown = self.shown, shown
        try:
            yield
        finally:
            self.shown = before

    def write(self, text: str) -> None:
        """Write a text of an adapter, if logs are shown."""
        if self.shown:
            sys.stderr.write(printable_lines(text))
            sys.stderr.flush()


LOGS: Final = Logs()
"""The setting of this process."""


def adapter_environment(
    environment: Mapping[str, str], *, served: bool, certificate: str = ""
) -> dict[str, str]:
    """Return the environment for an adapter. Every key, including `GEMINI_API_KEY`, is a
    placeholder.

    ``served``: the adapter sends its requests to an address without TLS. It then trusts only
    `CERTIFICATE`, unless the environment names other certificates. ``certificate``: the file of
    the certificate of an address with TLS, which it then trusts alone.
    """
    safe = {
        name: NO_KEY if _KEY.search(name) else value
        for name, value in environment.items()
        if name not in _FILES
    }
    for name in ("no_proxy", "NO_PROXY"):
        safe[name] = ",".join(filter(None, (environment.get(name), _LOCAL)))
    if certificate:
        safe |= dict.fromkeys(OF_TLS, certificate)
    elif served and not any(environment.get(name) for name in _TRUSTED):
        safe["SSL_CERT_FILE"] = str(CERTIFICATE)
    return {**safe, "GEMINI_API_KEY": NO_KEY}


@contextmanager
def without_keys(*, served: bool, certificate: str = "") -> Iterator[None]:
    """Give this process the environment of `adapter_environment` while a user's function runs. A
    variable that the function itself sets keeps its value.
    """
    before = dict(os.environ)
    safe = adapter_environment(before, served=served, certificate=certificate)
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
