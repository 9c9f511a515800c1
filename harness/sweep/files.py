"""The files of a sweep: local files, and files at URLs, which need fsspec."""

from __future__ import annotations

import os
from dataclasses import dataclass
from glob import glob, has_magic
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Final

from harness.recording.atomic_file import UNFINISHED, save

from .stream import SweepError

EXTRA: Final = "pip install 'gemini-conformance[scale]'"


@dataclass(frozen=True, slots=True)
class File:
    """A file, with the data that shows whether it has changed."""

    path: str
    size: int
    changed: str


def need(*packages: str) -> None:
    """Raise `SweepError` if a package of the extra is not installed."""
    for package in packages:
        if find_spec(package) is None:
            raise SweepError(f"{package} is not installed; install it: {EXTRA}")


def is_url(path: str) -> bool:
    """Return whether a path is a URL."""
    return "://" in path


def list_files(argument: str) -> tuple[list[File], bool]:
    """Return the files of an argument (a file, a folder, a glob, or a URL of one of them), in
    order, and whether they are from a folder. Hidden files of a folder are skipped. Raises
    `SweepError`.
    """
    files, in_folder = _list_url(argument) if is_url(argument) else _list_local(argument)
    if not files:
        raise SweepError(f"{argument}: there is no such file, and no folder with files")
    return sorted(files, key=lambda file: file.path), in_folder


def _list_local(argument: str) -> tuple[list[File], bool]:
    path = Path(argument)
    if path.is_dir():
        return [_local(place) for place in path.rglob("*") if _is_shown(place, path)], True
    names = [argument]
    if not path.exists() and has_magic(argument):
        names = glob(argument, recursive=True)  # noqa: PTH207  # a pattern may be absolute
    return [_local(Path(name)) for name in names if Path(name).is_file()], False


def _is_shown(place: Path, root: Path) -> bool:
    inside = place.relative_to(root).parts
    return place.is_file() and not any(part.startswith(".") for part in inside)


def _local(path: Path) -> File:
    status = path.stat()
    return File(path.as_posix(), status.st_size, str(status.st_mtime_ns))


def _list_url(argument: str) -> tuple[list[File], bool]:
    system, path = file_system(argument)
    in_folder = system.isdir(path)
    if in_folder:
        entries = system.find(path, detail=True)
    elif has_magic(path):
        entries = system.glob(path, detail=True)
    else:
        entries = {path: system.info(path)} if system.exists(path) else {}
    files = [
        File(system.unstrip_protocol(name), int(info.get("size") or 0), _change_of(info))
        for name, info in entries.items()
        if info.get("type") == "file" and not (in_folder and "/." in name.removeprefix(path))
    ]
    return files, in_folder


def _change_of(info: dict[str, Any]) -> str:
    names = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "created")
    return next((str(info[name]) for name in names if info.get(name)), "")


def file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path on it. Raises `SweepError`."""
    need("fsspec")
    from fsspec.core import url_to_fs  # only URLs need fsspec

    try:
        system, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise SweepError(f"{url}: {error}") from None
    return system, path


def open_file(path: str) -> IO[bytes]:
    """Open a file for reading."""
    if is_url(path):
        system, place = file_system(path)
        opened: IO[bytes] = system.open(place, "rb")
        return opened
    return Path(path).open("rb")


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of a sweep's output. It is local or at a URL."""

    path: str

    def at(self, name: str) -> str:
        """Return the path of a file in the folder."""
        return f"{self.path.rstrip('/')}/{name}"

    def names(self) -> list[str]:
        """Return the names of all files in the folder, in order."""
        if is_url(self.path):
            system, place = file_system(self.path)
            paths = system.ls(place, detail=False) if system.isdir(place) else []
            return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)
        path = Path(self.path)
        return sorted(file.name for file in path.iterdir()) if path.is_dir() else []

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with open_file(self.at(name)) as file:
            return file.read()

    def write(self, name: str, content: bytes) -> None:
        """Write a file. The file has a temporary name until it is complete. The name is unique,
        because two workers may write the same file.
        """
        if not is_url(self.path):
            save(Path(self.at(name)), [content], flush=False)
            return
        unfinished = self.at(f"{name}.{os.getpid()}-{os.urandom(4).hex()}{UNFINISHED}")
        system, place = file_system(unfinished)
        system.makedirs(file_system(self.path)[1], exist_ok=True)
        system.pipe_file(place, content)
        system.mv(place, file_system(self.at(name))[1])

    def delete(self, name: str) -> None:
        """Delete a file."""
        if is_url(self.path):
            system, place = file_system(self.at(name))
            system.rm_file(place)
        else:
            Path(self.at(name)).unlink(missing_ok=True)
