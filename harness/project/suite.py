"""The suite in the package: its cassettes, its specs, the checklist of features, and its version.

The suite has a version of its own, because a change of a recording or requirement can change a
verdict. Its lock freezes a version: the digest of all files of the suite. A file for each frozen
version names its cassettes and questions, so a later package judges by those that are still there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, Self

import msgspec
import yaml
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
FROZEN: Final = Path(__file__).with_name("suites")
_QUESTIONS: Final = _PACKAGE / "judging" / "questions" / "questions.yaml"
_SHOWN: Final = 12
"""The digits of a digest in the name of a suite."""


class Frozen(Struct, frozen=True, forbid_unknown_fields=True):
    """A version that was released. ``digest``: that of its files; ``rules``: the version of the
    rules; ``ledger``: the digest of the verdicts in the repository that the rules gave.
    """

    digest: str
    rules: int
    ledger: str


class SuiteLock(Struct, frozen=True, forbid_unknown_fields=True):
    """The version of the suite and the SHA-256 of its files. ``frozen``: the versions that were
    released. A frozen version never changes.
    """

    version: str
    digest: str
    files: int
    frozen: dict[str, Frozen] = {}


class Members(Struct, frozen=True, forbid_unknown_fields=True):
    """The cassettes and the questions of a version of the suite, by name, each with the beginning
    of its SHA-256.
    """

    cassettes: dict[str, str]
    questions: dict[str, str]

    def __bool__(self) -> bool:
        return bool(self.cassettes or self.questions)

    def without(self, other: Self) -> Members:
        """Return the members that are not in another version, or that are different there."""
        return Members(
            dict(self.cassettes.items() - other.cassettes.items()),
            dict(self.questions.items() - other.questions.items()),
        )


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


def members() -> Members:
    """Return the cassettes and questions of the package as they are now."""
    from harness.judging.questions.service_faults import SERVICE_FAULTS  # slow to import

    items = yaml.load(_QUESTIONS.read_bytes(), Loader=yaml.CSafeLoader)["questions"]
    contents = {item["question"]: msgspec.json.encode(item, order="sorted") for item in items}
    for fault in SERVICE_FAULTS:
        contents[fault.name] = f"{fault.fault} {fault.times}".encode()
    cassettes = {
        path.relative_to(CASSETTES).with_suffix("").as_posix(): path.read_bytes()
        for path in sorted(CASSETTES.rglob("*.yaml"))
    }
    return Members(
        {name: _short_digest(content) for name, content in cassettes.items()},
        {name: _short_digest(content) for name, content in contents.items()},
    )


def _short_digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_SHOWN]


def read_frozen(version: str) -> Members:
    """Return the members of a frozen version. Raises `ValueError` for one that is not frozen."""
    versions = sorted(read_suite_lock().frozen)
    if version not in versions:
        known = ", ".join(versions) or "none"
        raise ValueError(f"no suite {version} was frozen; the frozen versions are {known}")
    return msgspec.json.decode((FROZEN / f"{version}.json").read_bytes(), type=Members)


def frozen_name(version: str) -> str:
    """Return a frozen version and the beginning of its digest: ``2026.11 (0123456789ab)``."""
    return f"{version} ({read_suite_lock().frozen[version].digest[:_SHOWN]})"


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
