"""The suite in the package: its cassettes, its specs, the checklist of features, and its version.

The suite has a version of its own, because a change of a recording or requirement can change a
verdict. Its lock freezes a version: the digest of all files of the suite.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

_PACKAGE: Final = Path(__file__).parents[1]


def _find() -> Path:
    """Return the folder of the suite. It is in the package of a wheel, or the repository of a
    checkout.
    """
    inside = _PACKAGE / "suite"
    return inside if inside.is_dir() else _PACKAGE.parent


_SUITE: Final = _find()
CASSETTES: Final = _SUITE / "cassettes"
SPECS: Final = _SUITE / "specs"
FEATURES: Final = SPECS / "features.yaml"
LOCK: Final = Path(__file__).with_name("suite.lock.json")
_SHOWN: Final = 12
"""The digits of a digest in the name of a suite."""


class SuiteLock(Struct, frozen=True, forbid_unknown_fields=True):
    """The version of the suite and the SHA-256 of its files. ``frozen``: the versions that were
    released, each with its digest. A frozen version never changes.
    """

    version: str
    digest: str
    files: int
    frozen: dict[str, str] = {}


def read_suite_lock(path: Path = LOCK) -> SuiteLock:
    """Return the lock of the suite. Raises `ValidationError` for a damaged one."""
    return msgspec.json.decode(path.read_bytes(), type=SuiteLock)


def suite_files(root: Path = _SUITE) -> Iterator[Path]:
    """Yield the files of the suite, in order. Hidden files do not belong to it."""
    for folder in ("cassettes", "specs"):
        for path in sorted((root / folder).rglob("*"), key=lambda path: path.as_posix()):
            parts = path.relative_to(root).parts
            if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in parts):
                yield path


def suite_digest(root: Path = _SUITE) -> str:
    """Return the SHA-256 of the paths and contents of the suite, in hexadecimal digits."""
    whole = hashlib.sha256()
    for path in suite_files(root):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        whole.update(f"{content}  {path.relative_to(root).as_posix()}\n".encode())
    return whole.hexdigest()


@cache
def suite_name() -> str:
    """Return the version of the suite and the beginning of its digest: ``2026.11 (0123456789ab)``.
    A suite that differs from the lock is ``2026.11+changed (…)``.
    """
    lock, digest = read_suite_lock(), suite_digest()
    changed = "" if digest == lock.digest else "+changed"
    return f"{lock.version}{changed} ({digest[:_SHOWN]})"


def is_of_suite(cassette: str) -> bool:
    """Return whether a name in results, without a suffix, is that of a cassette of the suite."""
    return (CASSETTES / f"{cassette}.yaml").is_file()


def is_suite(cassettes: Path) -> bool:
    """Return whether a project's folder of cassettes is that of the suite."""
    return cassettes.resolve() == CASSETTES.resolve()
