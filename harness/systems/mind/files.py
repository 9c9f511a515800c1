"""The mind program's tools for files, which can't leave the project folder.

A path comes from the model and is not trusted. It is resolved first, through every symlink, and
refused if it is outside the folder. Paths that a search finds are checked in the same way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import re2

MAX_FILE: Final = 1_000_000
"""Bytes; a tool reads no larger file."""
MAX_WALKED: Final = 20_000
"""Files; a search reads no more."""
MAX_MATCHES: Final = 50
MAX_NAMES: Final = 1000
MAX_ANY_DEPTH: Final = 2
"""The maximum number of ``**`` in a pattern; each multiplies the time of a search by the depth of
the folders.
"""
MAX_RELEVANT: Final = 10

Arguments = Mapping[str, str]


class ToolError(ValueError):
    """A tool failed; the text is sent to the model."""


class Files:
    """The tools of one project folder: each returns a JSON object or raises ToolError or
    OSError.
    """

    def __init__(self, project: Path) -> None:
        self.project = project.resolve()
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
        """Return the resolved path; raises `ToolError` if it is outside the project folder."""
        try:
            resolved = (self.project / path).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop of symlinks, a null character
            raise ToolError(f"{path!r} is not a path: {error}") from None
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
        options = re2.Options()
        options.log_errors = False
        try:
            # RE2 takes linear time for any pattern of the model
            pattern = re2.compile(arguments["pattern"], options)
        except re2.error as error:
            reason = error.args[0].decode(errors="replace")
            message = f"{arguments['pattern']!r} is not a regular expression: {reason}"
            raise ToolError(message) from None
        start = self.inside(arguments.get("path", "."))
        matches = list(islice(self._matches(pattern, start), MAX_MATCHES))
        return {"matches": matches, "count": len(matches)}

    def _matches(self, pattern: Any, start: Path) -> Iterator[dict[str, Any]]:
        for path in self._walk(start):
            try:
                lines = self._read(path, path.name).splitlines()
            except (ToolError, OSError):
                continue  # not text, or too large
            for number, line in enumerate(lines, 1):
                if pattern.search(line):
                    yield {"path": self._name(path), "line": number, "text": line}

    def glob(self, arguments: Arguments) -> dict[str, Any]:
        pattern = arguments["pattern"]
        if not pattern or Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            raise ToolError(f"{pattern!r} is not a pattern inside the project folder")
        if pattern.count("**") > MAX_ANY_DEPTH:
            raise ToolError(f"{pattern!r} has more than {MAX_ANY_DEPTH} `**`")
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
            raise ToolError(f"{name} is not UTF-8 text") from None

    def _walk(self, start: Path) -> Iterator[Path]:
        """Return the files in a folder and below, sorted by name, or the file; at most
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


def _files(start: Path) -> Iterator[Path]:
    if start.is_file():
        yield start
    for folder, folders, names in os.walk(start):
        folders[:] = sorted(name for name in folders if name != ".git")
        yield from (Path(folder, name) for name in sorted(names))
