"""Finds the cassettes that the texts of a project name, and the places that compute a name, which
may be that of any cassette.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from harness.recording.part_file import FOLDER

from .folders import LEFT_OUT

_CONFIGURATION: Final = (".toml", ".ini", ".cfg", ".md", ".rst", ".txt")
"""The endings of texts that compute nothing: configuration and prose. They can name a cassette."""
_REPORTS: Final = (".html", ".xml", "results.json")
"""The endings of reports of earlier runs, which name what was judged then."""
_FIXTURES: Final = frozenset({"harness_replay", "harness_server"})
_OPENERS: Final = frozenset({"load", "load_recording", "use_cassette", "serve", "harness_replay"})
_PARAMETERS: Final = ("recording", "path", "cassettes")
"""Functions of the package that take the path of a recording first."""
_NAME = r"[\w./-]*"


class Computed(NamedTuple):
    """A place that computes a name which begins with ``prefix``."""

    prefix: str
    place: str
    """``tests/test_a.py:12``"""


class Mentions:
    """The texts of the project in ``folder``, and of the git repository that contains it."""

    def __init__(self, folder: Path, root: Path, names: Sequence[str]) -> None:
        """``root``: the folder of cassettes. ``names``: the names of all cassettes in it."""
        self._folder, self._root, self._names = folder, root, frozenset(names)
        parents = {name.rpartition("/")[0] for name in names} - {""}
        folders = "|".join(map(re.escape, sorted(parents, key=len, reverse=True)))
        self._folders = parents
        self._below = re.compile(
            rf"(?<![\w-])(?:{re.escape(root.name)}(?![\w-])/?(?P<below>{_NAME})"
            rf"|(?P<name>(?:{folders or '(?!)'})(?![\w-]){_NAME}))"
        )
        self._listed = re.compile(
            rf"\b(?:cd|ls|find|in|pushd)\s+[^\s;|&]*(?<![\w-]){re.escape(root.name)}(?![\w-])"
            rf"|\bharness\s+\w+[^\n]*[$*]"
        )

    def split(
        self, cassettes: Iterable[str], is_read: Callable[[Path], bool]
    ) -> tuple[set[str], dict[str, str]]:
        """Return the cassettes that no text names, and of these each that a computed name may mean,
        with the place. ``is_read``: whether the project itself reads a file, such as a spec.
        """
        unnamed, computed = set(cassettes), set[Computed]()
        for path in self._files(is_read) if unnamed else ():
            data = path.read_bytes()
            if b"\0" in data[:8192]:
                continue
            text = data.decode("utf-8", "replace")
            unnamed = {name for name in unnamed if not _named(name, text)}
            if path.name[:1] != "." and path.suffix not in _CONFIGURATION:
                place = os.path.relpath(path, self._folder)
                computed.update(self._computed(text, place, is_python=path.suffix == ".py"))
        undecided = {
            name: one.place
            for one in sorted(computed, reverse=True)
            for name in unnamed
            if name.startswith(one.prefix)
        }
        return unnamed, undecided

    def _files(self, is_read: Callable[[Path], bool]) -> Iterator[Path]:
        above = (self._folder, *self._folder.parents)
        top = next((place for place in above if (place / ".git").exists()), self._folder)
        for place, folders, files in os.walk(top):
            if "pyvenv.cfg" in files:
                folders[:], files = [], []
            folders[:] = [
                name
                for name in folders
                if name not in LEFT_OUT and name != FOLDER and not name.endswith("_cache")
            ]
            for name in files:
                path = Path(place, name)
                if path.is_file() and not name.endswith(_REPORTS) and not is_read(path):
                    yield path

    def _computed(self, text: str, place: str, *, is_python: bool) -> Iterator[Computed]:
        places = [(prefix, text.count("\n", 0, at) + 1) for prefix, at in self._prefixes(text)]
        if is_python:
            places += [("", line) for line in self._computed_calls(text)]
        else:
            listed = self._listed.finditer(text)
            places += [("", text.count("\n", 0, match.start()) + 1) for match in listed]
        for prefix, line in places:
            yield Computed(prefix, f"{place}:{line}")

    def _prefixes(self, text: str) -> Iterator[tuple[str, int]]:
        """Yield the beginnings of names that the text continues, as in ``f"gemini-api/{name}"`` or
        ``Path("cassettes")``, each with its offset.
        """
        for match in self._below.finditer(text):
            name = (
                (match["name"] or match["below"] or "").removesuffix(".yaml").removesuffix(".yml")
            )
            before, after = text[: match.start()][-30:], text[match.end() :][:12].lstrip("\\")
            if after[:1] and after[:1] in "{$*?[%<":
                yield name, match.start()
            elif after[:1] and after[:1] in "\"'`":
                is_joined = re.match(r".\s*[+%]", after)
                is_folder = name.rstrip("/") in self._folders | {""}
                is_value = before[-1:] in ("/", '"', "'", "`") and not re.search(
                    r"provider\W{0,3}\s*[:=]\s*.$", before
                )
                if is_joined or (is_value if is_folder else name not in self._names):
                    yield name, match.start()

    def _computed_calls(self, text: str) -> Iterator[int]:
        """Yield the lines of Python code that pass a computed name to a function or marker of
        ours.
        """
        try:
            nodes = list(ast.walk(ast.parse(text)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            yield 1  # code that can't be read may compute a name
            return
        ours = {name: name for name in _FIXTURES} | {
            alias.asname or alias.name.partition(".")[0]: alias.name
            for node in nodes
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
            if (getattr(node, "module", None) or alias.name).partition(".")[0] == "harness"
        }
        used = {
            id(node.func if isinstance(node, ast.Call) else node.value)
            for node in nodes
            if isinstance(node, (ast.Call, ast.Attribute))
        }
        for node in nodes:
            match node:
                case ast.Call(func=function) if _opens(function, ours):
                    values = [
                        *node.args,
                        *(item.value for item in node.keywords if item.arg in _PARAMETERS),
                    ]
                    if values and not self._has_beginning(values[0]):
                        yield node.lineno
                case ast.Name(id=name, ctx=ast.Load()) if (
                    name in _FIXTURES and id(node) not in used
                ):
                    yield node.lineno

    def _has_beginning(self, value: ast.expr) -> bool:
        """Return whether a value is a text, or begins with the folder of a name. `_prefixes` finds
        that.
        """
        match value:
            case ast.Constant():
                return True
            case ast.Call(args=[argument], keywords=[]):  # Path("…")
                return self._has_beginning(argument)
            case (
                ast.JoinedStr(values=[ast.Constant(value=str(text)), *_])
                | ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Add() | ast.Mod())
            ):
                return self._below.search(text) is not None
        return False


def _named(cassette: str, text: str) -> bool:
    """Return whether a text has the name of a cassette, or the test that pytest-recording names it
    for.
    """
    test = cassette.rpartition("/")[2].partition("[")[0].rpartition(".")[2]
    return cassette in text or f"def {test}(" in text


def _opens(function: ast.expr, ours: Mapping[str, str]) -> bool:
    """Return whether a function, method or marker reads the cassette that its first argument
    names. ``ours``: what the code calls the functions and modules of the package.
    """
    names = [node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)]
    if names[:1] == ["harness_cassette"]:
        return True
    root = next((node.id for node in ast.walk(function) if isinstance(node, ast.Name)), "")
    if root not in ours:
        return False
    name = names[0] if names else ours[root]
    return name in _OPENERS or (root, name) == ("harness_server", "add")
