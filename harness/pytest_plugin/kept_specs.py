"""Keeps the data of specs in pytest's cache, so that the next run does not parse their YAML."""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest

import harness.cassettes.yaml
import harness.specs
from harness.specs.kept import Kept

MAX_BYTES: Final = 64 * 1024 * 1024
_CODE: Final = (harness.specs, harness.cassettes.yaml)
"""The packages that read a spec."""


class KeptSpecs:
    """The cache. It has one file for each spec file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.version = _version()

    def read(self, path: str) -> str | None:
        file = self._file(path)
        try:
            return None if file.stat().st_size > MAX_BYTES else file.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None

    def write(self, path: str, text: str) -> None:
        file = self._file(path)
        part = file.with_suffix(f".{os.getpid()}")  # another worker may write the same file
        with suppress(OSError):
            part.write_text(text, encoding="utf-8")
            part.replace(file)

    def _file(self, path: str) -> Path:
        return (
            self._folder / f"{sha256(path.encode(errors='surrogateescape')).hexdigest()[:32]}.json"
        )


def kept_specs(config: pytest.Config) -> Kept | None:
    """Return the specs in pytest's cache; None in a run without the cache."""
    cache = getattr(config, "cache", None)
    try:
        return KeptSpecs(cache.mkdir("harness-specs")) if cache else None
    except OSError:
        return None


def _version() -> str:
    """Return the size and time of each module that reads a spec."""
    files = sorted(file for package in _CODE for file in Path(package.__path__[0]).rglob("*.py"))
    stats = ((file, file.stat()) for file in files)
    return repr([(str(file), stat.st_mtime_ns, stat.st_size) for file, stat in stats])
