"""Downloads recordings of the corpus, over HTTP or with git. A file gets its name only after its
git blob id was verified.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Final
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from harness.cassettes import CassetteError
from harness.recording.atomic_file import save

from .corpus import CorpusFile, Repository, blob_id, is_fetched, place_of

RAW: Final = "https://raw.githubusercontent.com"
"""The files of public repositories: ``/OWNER/NAME/COMMIT/PATH``."""
GIT: Final = "https://github.com"
"""Public repositories: ``/OWNER/NAME``."""
_GIT: Final = {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "https:http:ssh:file"}
_PIECE: Final = 1 << 16
_AT_ONCE: Final = 4
_SILENT_S: Final = 20.0
"""The longest wait for the next bytes of a server."""
_ENOUGH: Final = 8
"""After so many failures without a success, the rest is not asked for."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A recording and what became of it: ``problem`` is "" if the file is there."""

    repository: Repository
    file: CorpusFile
    problem: str = ""
    was_there: bool = False

    @property
    def name(self) -> str:
        return f"{self.repository.name}/{self.file.path}"


@dataclass(frozen=True, slots=True)
class _Wanted:
    repository: Repository
    file: CorpusFile
    place: Path

    def ended(self, problem: str = "") -> Fetched:
        return Fetched(self.repository, self.file, problem)


def fetch_over_http(
    repositories: Sequence[Repository], folder: Path, base: str, timeout: float
) -> Iterator[Fetched]:
    """Download the missing recordings, four at a time. ``timeout``: seconds for one file.

    A download that broke continues where it ended, also in a later run. No answer is read beyond
    the size in the lock. Raises `CassetteError` for a base that is no HTTP URL.
    """
    if urlsplit(base).scheme not in ("https", "http") or not urlsplit(base).netloc:
        raise CassetteError(f"{base} is not the URL of a server; expected https://HOST")
    failures = 0

    def download(wanted: _Wanted) -> Fetched:
        nonlocal failures
        if failures >= _ENOUGH:
            return wanted.ended(f"not asked for, after {_ENOUGH} failures")
        problem = _download(wanted, base, timeout)
        failures = failures + 1 if problem else 0
        return wanted.ended(problem)

    missing: list[_Wanted] = []
    yield from _present(repositories, folder, missing.append)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            yield from pool.map(download, missing)
        finally:
            failures = _ENOUGH  # after Ctrl-C, the rest ends at once


def _present(
    repositories: Sequence[Repository], folder: Path, add: Callable[[_Wanted], None]
) -> Iterator[Fetched]:
    """Yield the recordings that are there; the others are added."""
    for repository in repositories:
        for file in repository.files:
            place = place_of(folder, repository, file)
            if is_fetched(place, file) and blob_id(place.read_bytes()) == file.blob:
                yield Fetched(repository, file, was_there=True)
            else:
                add(_Wanted(repository, file, place))


def _download(wanted: _Wanted, base: str, timeout: float) -> str:
    """Download one file. Returns the problem, or ""."""
    file, place = wanted.file, wanted.place
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f"{file.blob}.part")
    path = quote(f"{wanted.repository.name}/{wanted.repository.commit}/{file.path}")
    deadline = time.monotonic() + timeout
    try:
        _read_into(part, f"{base.rstrip('/')}/{path}", file.size, deadline)
    except HTTPError as error:
        return f"status {error.code}"
    except (OSError, HTTPException) as error:  # a `URLError` is an `OSError`
        return f"the download broke: {error}; the next run continues it"
    return _accept(part.read_bytes(), wanted, part)


def _read_into(part: Path, url: str, size: int, deadline: float) -> None:
    """Complete the file ``part``, which has the beginning of a download or does not exist. Raises
    `OSError` or `HTTPException`.
    """
    start = part.stat().st_size if part.exists() else 0
    if start >= size:  # of another run, or of a damaged one
        start = 0
    headers = {"User-Agent": "gemini-conformance", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    with urlopen(Request(url, headers=headers), timeout=_SILENT_S) as answer:  # noqa: S310  # HTTP
        continued = start and answer.status == 206
        with part.open("ab" if continued else "wb") as output:
            count = start if continued else 0
            while piece := answer.read(min(_PIECE, size + 1 - count)):
                output.write(piece)
                count += len(piece)
                if time.monotonic() > deadline:
                    raise TimeoutError("it took too long")
    if count < size:
        raise ConnectionError(f"{count:,} of {size:,} bytes came")


def _accept(content: bytes, wanted: _Wanted, part: Path | None = None) -> str:
    """Give a file its name if its blob id is that of the lock. Returns the problem, or ""."""
    given = blob_id(content)
    if given != wanted.file.blob:
        if part:
            part.unlink()
        return f"refused: its blob id is {given}, expected {wanted.file.blob}"
    if part:
        part.replace(wanted.place)
    else:
        save(wanted.place, [content], flush=False)
    return ""


def fetch_with_git(
    repositories: Sequence[Repository], folder: Path, base: str, timeout: float
) -> Iterator[Fetched]:
    """Fetch the missing blobs of each repository with one call of git, without its history.
    ``timeout``: seconds for one repository.
    """
    missing: dict[str, list[_Wanted]] = {}
    yield from _present(
        repositories,
        folder,
        lambda item: missing.setdefault(item.repository.folder, []).append(item),
    )
    for name, group in missing.items():
        store = folder / ".git-objects" / name
        url = f"{base.rstrip('/')}/{group[0].repository.name}"
        blobs = list(dict.fromkeys(item.file.blob for item in group))
        try:
            _git(["init", "--quiet", "--bare", str(store)], timeout)
            options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"]
            command = ["-C", str(store), "fetch", *options, "--stdin", "--", url]
            _git(command, timeout, "\n".join(blobs).encode())
        except (OSError, subprocess.SubprocessError) as error:
            yield from (item.ended(f"git: {_told(error)}") for item in group)
            continue
        for item in group:
            yield item.ended(_from_store(store, item, timeout))


def _from_store(store: Path, item: _Wanted, timeout: float) -> str:
    """Write a file from its blob. Returns the problem, or ""."""
    try:
        content = _git(["-C", str(store), "cat-file", "blob", item.file.blob], timeout)
    except (OSError, subprocess.SubprocessError) as error:
        return f"git: {_told(error)}"
    return _accept(content, item)


def _git(arguments: Sequence[str], timeout: float, data: bytes = b"") -> bytes:
    """Return the output of a git command. Raises `OSError` or `SubprocessError`."""
    environment = {**os.environ, "LC_ALL": "C", **_GIT}
    return subprocess.run(  # noqa: S603  # arguments of our own, no shell
        ["git", "-c", "fetch.negotiationAlgorithm=noop", *arguments],  # noqa: S607  # the git of the user
        input=data,
        capture_output=True,
        check=True,
        timeout=timeout,
        env=environment,
    ).stdout


def _told(error: Exception) -> str:
    """Return the first line of git's message."""
    if isinstance(error, subprocess.CalledProcessError):
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        return lines[0] if lines else f"status {error.returncode}"
    return str(error)
