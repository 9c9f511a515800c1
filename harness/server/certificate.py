"""The certificate of a server with TLS: made for each server, for the names of this machine."""

from __future__ import annotations

import ssl
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from harness.pipeline.replay import ReplayError

from .session import EXTRA

FILE: Final = "harness-ca.pem"
_NAMES: Final = ("localhost", "127.0.0.1", "::1")


def make_certificate(host: str) -> tuple[ssl.SSLContext, TemporaryDirectory[str]]:
    """Return the context of a server, and the folder with the file `FILE` of the authority, which
    its clients trust.
    """
    try:
        import trustme
    except ImportError:
        raise ReplayError(EXTRA) from None
    authority = trustme.CA(organization_name="harness serve")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*dict.fromkeys((*_NAMES, host))).configure_cert(context)
    folder = TemporaryDirectory(prefix="harness-")
    authority.cert_pem.write_to_path(Path(folder.name) / FILE)
    return context, folder
