"""The mind program's tools for files, none of which reaches anything outside the project folder.

A path comes from the model, so it is not believed: it is resolved first, through every symlink, and
refused where it leads out. What is found while walking is looked at the same way.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any, Final

MAX_FILE: Final = 1_000_000
"""Bytes of a file that a tool reads."""
MAX_WALKED: Final = 20_000
"""Files that a search looks at."""
MAX_MATCHES: Final = 50
MAX_NAMES: Final = 1000
MAX_RELEVANT: Final = 10
SEARCH_SECONDS: Final = 20.0

Arguments = Mapping[str, str]


class ToolError(ValueError):
    """A tool could not do what it was asked; the text is for the model."""


class Files:
    """The tools, for one project folder. Each takes its arguments and gives a JSON object, or
    raises `ToolError` or OSError.
    """

    def __init__(self, project: Path, search_seconds: float = SEARCH_SECONDS) -> None:
        self.project = project.resolve()
        self._search_seconds = search_seconds
        self.tools: Mapping[str, Callable[[Arguments], dict[str, Any]]] = {
            "read_file": self.read_file,
            "list_directory": self.list_directory,
            "search_file_content": self.search_file_content,
            "glob": self.glob,
            "codebase_investigator": self.codebase_investigator,
            "write_file": self.write_file,
            "replace": self.replace,
        }

    def inside(self, path: str) -> Path:
        """The path below the project folder, resolved; raises `ToolError` if it leads out."""
        try:
            resolved = (self.project / path).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop of symlinks, a null character
            raise ToolError(f"{path!r} is no path: {error}") from None
        if not resolved.is_relative_to(self.project):
            raise ToolError(f"{path!r} is outside the project folder")
        return resolved

    def read_file(self, arguments: Arguments) -> dict[str, Any]:
        return {"content": self._read(self.inside(arguments["path"]), arguments["path"])}

    def list_directory(self, arguments: Arguments) -> dict[str, Any]:
        folder = self.inside(arguments.get("path", "."))
        entries = [
            {"name": entry.name, "type": "dir" if entry.is_dir() else "file"}
            for entry in folder.iterdir()
        ]
        return {"entries": sorted(entries, key=lambda entry: entry["name"]), "count": len(entries)}

    def search_file_content(self, arguments: Arguments) -> dict[str, Any]:
        try:
            pattern = re.compile(arguments["pattern"])
        except (re.error, RecursionError, OverflowError) as error:
            raise ToolError(f"{arguments['pattern']!r} is no regular expression: {error}") from None
        start = self.inside(arguments.get("path", "."))
        try:
            with _time_limit(self._search_seconds):
                matches = list(islice(self._matches(pattern, start), MAX_MATCHES))
        except _OutOfTime:
            raise ToolError(
                f"the search took longer than {self._search_seconds:g} s; use a simpler pattern, or"
                " name a folder in path"
            ) from None
        return {"matches": matches, "count": len(matches)}

    def _matches(self, pattern: re.Pattern[str], start: Path) -> Iterator[dict[str, Any]]:
        for path in self._walk(start):
            try:
                lines = self._read(path, path.name).splitlines()
            except (ToolError, OSError):
                continue  # no text, or too large to search
            for number, line in enumerate(lines, 1):
                if pattern.search(line):
                    yield {"path": self._name(path), "line": number, "text": line}

    def glob(self, arguments: Arguments) -> dict[str, Any]:
        pattern = arguments["pattern"]
        if not pattern or Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            raise ToolError(f"{pattern!r} is no pattern below the project folder")
        names = sorted(
            islice(
                (self._name(path) for path in self.project.glob(pattern) if self._is_inside(path)),
                MAX_NAMES,
            )
        )
        return {"matches": names, "count": len(names)}

    def codebase_investigator(self, arguments: Arguments) -> dict[str, Any]:
        words = arguments["query"].lower().split()
        names = (self._name(path) for path in self._walk(self.project))
        fitting = [
            name for name in names if any(word in name.rpartition("/")[2].lower() for word in words)
        ]
        return {"relevant_files": fitting[:MAX_RELEVANT]}

    def write_file(self, arguments: Arguments) -> dict[str, Any]:
        path = self.inside(arguments["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        return {"path": arguments["path"], "bytes": path.write_bytes(arguments["content"].encode())}

    def replace(self, arguments: Arguments) -> dict[str, Any]:
        path = self.inside(arguments["path"])
        text, old = self._read(path, arguments["path"]), arguments["old_string"]
        if not old or old not in text:
            raise ToolError(f"String not found in {arguments['path']}")
        path.write_bytes(text.replace(old, arguments["new_string"]).encode())
        return {"path": arguments["path"], "success": True}

    def _read(self, path: Path, name: str) -> str:
        if path.is_file() and path.stat().st_size > MAX_FILE:
            raise ToolError(f"{name} is longer than {MAX_FILE:,} bytes")
        try:
            return path.read_bytes().decode()
        except UnicodeDecodeError:
            raise ToolError(f"{name} is no text in UTF-8") from None

    def _walk(self, start: Path) -> Iterator[Path]:
        """The files below a folder, or the file itself, in the order of their names; at most
        `MAX_WALKED`.
        """
        return islice(
            (path for path in _files(start) if self._is_inside(path) and path.is_file()), MAX_WALKED
        )

    def _is_inside(self, path: Path) -> bool:
        try:
            return path.resolve().is_relative_to(self.project)
        except (OSError, RuntimeError):  # a loop of symlinks
            return False

    def _name(self, path: Path) -> str:
        return path.relative_to(self.project).as_posix()


class _OutOfTime(Exception):
    """Raised in a block of `_time_limit`."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Ends its block after so many seconds, also inside a regular expression that backtracks.

    Python's `re` handles signals while it matches. Only the main thread may set a signal handler.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise _OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _files(start: Path) -> Iterator[Path]:
    if start.is_file():
        yield start
    for folder, folders, names in os.walk(start):
        folders[:] = sorted(name for name in folders if name != ".git")
        yield from (Path(folder, name) for name in sorted(names))
