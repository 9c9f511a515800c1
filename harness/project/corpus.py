"""Public recordings of other projects: their lock, and the folder of those that were fetched.

The lock has only facts: repository, commit, path, git blob id, licence, wire and counts. The
recordings are not in the package. `harness.project.corpus_fetch` downloads them.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from harness.cassettes import CassetteError

from .folders import nearest_name

LOCK: Final = Path(__file__).with_name("corpus.lock.jsonl")
FOLDER: Final = "HARNESS_CORPUS"
"""The environment variable for the folder of fetched recordings."""
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_][A-Za-z0-9._-]*")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f\\:*?"<>|]')
"""Characters that are not in a name of a file on every system."""


class CorpusFile(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A file of a repository. The numbers of answers are 0 for the output of a program."""

    path: str
    blob: str
    size: int
    """Bytes."""
    wire: str
    exchanges: int
    """The number of answers of a model."""
    streamed: int
    """The number of those that are streamed."""


class Repository(Struct, frozen=True, forbid_unknown_fields=True):
    """The recordings of a repository at one commit. ``licence``: an SPDX expression."""

    name: str
    commit: str
    licence: str
    files: tuple[CorpusFile, ...]

    @property
    def folder(self) -> str:
        """The name of its folder: ``owner+name``."""
        return self.name.replace("/", "+")

    @property
    def exchanges(self) -> int:
        return sum(file.exchanges for file in self.files)

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(file.size for file in self.files)


def read_lock(path: Path | None = None) -> list[Repository]:
    """Return the repositories of a lock, by default that of the package, one JSON object a line.

    Raises `CassetteError` for a line that can't be read, or with a path that leaves its folder.
    """
    path = path or LOCK
    repositories = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            repository = msgspec.json.decode(line, type=Repository)
            _check(repository)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
            raise CassetteError(f"{path}:{number}: {error}; write the lock again") from None
        repositories.append(repository)
    return repositories


def _check(repository: Repository) -> None:
    """Raise `ValueError` for a name that can't be a part of a URL and of a path."""
    if not _REPOSITORY.fullmatch(repository.name):
        raise ValueError(f"{repository.name!r} is not a repository; expected OWNER/NAME")
    if not _COMMIT.fullmatch(repository.commit):
        raise ValueError(f"{repository.commit!r} is not a commit; expected 40 hexadecimal digits")
    for file in repository.files:
        parts = file.path.split("/")
        if _UNSAFE.search(file.path) or any(part in ("", ".", "..", ".git") for part in parts):
            raise ValueError(f"the path {file.path!r} leaves its folder, or is not portable")
        if not _COMMIT.fullmatch(file.blob) or file.size < 0:
            raise ValueError(f"{file.path!r} has no blob id of 40 hexadecimal digits, or no size")


def choose(
    repositories: Sequence[Repository], names: Sequence[str], wires: Sequence[str] = ()
) -> list[Repository]:
    """Return the repositories with the named files. A name is ``owner/name``, or ``owner/name/``
    and the beginning of a path. No name and no wire mean all. Raises `CassetteError` for a name or
    wire that no file has, with the most similar one.
    """
    known = {file.wire for repository in repositories for file in repository.files}
    for wire in wires:
        if wire not in known:
            raise CassetteError(
                f"no recording has the wire {wire}; known: {', '.join(sorted(known))}"
            )
    chosen: dict[str, dict[str, CorpusFile]] = {}
    for name in names or [""]:
        count = 0
        for repository in repositories:
            for file in repository.files:
                full = f"{repository.name}/{file.path}"
                if not name or full == name or full.startswith(f"{name.rstrip('/')}/"):
                    count += 1
                    if not wires or file.wire in wires:
                        chosen.setdefault(repository.name, {})[file.path] = file
        if not count:
            near = nearest_name(name, [repository.name for repository in repositories])
            way_out = f"did you mean {near}?" if near else "`harness corpus list` prints the names"
            raise CassetteError(f"no recording of the corpus has the name {name}; {way_out}")
    return [
        msgspec.structs.replace(repository, files=tuple(chosen[repository.name].values()))
        for repository in repositories
        if repository.name in chosen
    ]


def corpus_folder() -> Path:
    """Return the folder of fetched recordings: that of ``HARNESS_CORPUS``, else in the user's
    cache.
    """
    if given := os.environ.get(FOLDER):
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "gemini-conformance" / "corpus"


def place_of(folder: Path, repository: Repository, file: CorpusFile) -> Path:
    """Return the place of a recording. Raises `CassetteError` if a link leads out of the folder."""
    place = folder / repository.folder / file.path
    if not place.parent.resolve().is_relative_to(folder.resolve()):
        raise CassetteError(f"{place}: a link leads out of {folder}; remove the link")
    return place


def is_fetched(place: Path, file: CorpusFile) -> bool:
    """Return whether a place has the recording, by its size. Its content was verified when it
    came.
    """
    return place.is_file() and not place.is_symlink() and place.stat().st_size == file.size


def fetched(folder: Path, repositories: Sequence[Repository]) -> Iterator[Path]:
    """Yield the recordings that were fetched, in the order of the lock."""
    for repository in repositories:
        for file in repository.files:
            place = place_of(folder, repository, file)
            if is_fetched(place, file):
                yield place


def blob_id(content: bytes) -> str:
    """Return the id that git gives to a file with this content."""
    head = b"blob %d\0" % len(content)
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()
