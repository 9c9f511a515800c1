"""Spec files that were read before: their data as JSON, under a digest of everything that
influences the reading of a file. A file with a fault is not kept, so only shapes are checked again.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, Protocol

from pydantic import ValidationError

from .checks import KnownNames
from .lines import Lines
from .models import SpecFile


class Kept(Protocol):
    """A store of texts, by the path of a spec file; it may lose them. ``version`` differs for
    another version of this package.
    """

    @property
    def version(self) -> str: ...

    def read(self, path: str) -> str | None: ...

    def write(self, path: str, text: str) -> None: ...


def key_of(text: str, known: KnownNames, version: str) -> str:
    """Return a digest of everything that influences the reading of a file."""
    names = [
        sorted(known.dialects),
        sorted(known.providers),
        sorted(known.features),
        sorted((dialect, sorted(losses)) for dialect, losses in known.losses.items()),
        sorted(known.adapters.items()),
        str(known.today),
    ]
    digest = sha256(json.dumps([version, names]).encode())
    digest.update(text.encode(errors="surrogatepass"))
    return digest.hexdigest()


def keep(key: str, data: dict[str, Any], lines: Lines) -> str:
    """Return the text to keep for a file without a fault."""
    return json.dumps([key, data, [[*path, line] for path, line in lines.first.items()]])


def recall(kept: str | None, key: str, text: str) -> tuple[SpecFile, Lines] | None:
    """Return the file and its lines from a text of `keep`; None for another key or a damaged
    text.
    """
    try:
        given, data, places = json.loads(kept or "")
        if given != key:
            return None
        first = {tuple(path): int(line) for *path, line in places}
        return SpecFile.model_validate(data), Lines(text, first)
    except (ValueError, TypeError, RecursionError, ValidationError):
        return None
