"""google-genai on our transports: the one place that imports it."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from ..replaying import ReplayError
from .transport import Source, transports

if TYPE_CHECKING:
    from google.genai.types import HttpOptions

MISSING: Final = "google-genai is not installed; pip install 'gemini-conformance[record]'"


class MissingLibrary(ReplayError):
    """A library that recording needs is not installed; the message has the command."""


def import_genai() -> Any:
    """The module `google.genai`; raises `MissingLibrary`."""
    try:
        from google import genai
    except ImportError:
        raise MissingLibrary(MISSING) from None
    return genai


def library() -> str:
    """The HTTP library that google-genai uses here, by its own rule: what GOOGLE_GENAI_HTTP_CLIENT says, else httpx2, else httpx."""
    import_genai()
    asked = os.environ.get("GOOGLE_GENAI_HTTP_CLIENT", "").lower().strip()
    return asked if asked in ("httpx2", "httpx") else "httpx2" if find_spec("httpx2") else "httpx"


def http_options(source: Source, **options: Any) -> tuple[HttpOptions, Callable[[], None]]:
    """Options whose transports, sync and async, take and answer by ``source``; and what closes the sync one's connections.

    ``options`` are HttpOptions' own. Raises `MissingLibrary`.
    """
    genai = import_genai()
    made = transports(library())
    sync = made.sync(source)
    asynchronous = made.asynchronous(source)
    told = genai.types.HttpOptions(client_args={"transport": sync}, async_client_args={"transport": asynchronous}, **options)
    return told, sync.close
