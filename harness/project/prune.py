"""Finds the cassettes and exchanges of a project that nothing names, and the specs that no run
collects. Moves unused cassettes out of the way.

A text of the project names a cassette, or computes a name, which may be that of any cassette.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from harness.adapters.clients import CLIENTS
from harness.cassettes import CassetteError
from harness.judging.attempts import attempts_after
from harness.pipeline.replay import is_answer
from harness.recording.state_folder import FOLDER, make_state_folder
from harness.specs.models import Case
from harness.specs.spec_error import SpecError
from harness.stream.printable import plural

from .folders import LEFT_OUT, SUFFIXES, yaml_files
from .project import Project, kind_of

_CONFIGURATIONS: Final = frozenset(
    {"pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "pyvenv.cfg"}
)
"""The files that show another project, or a virtual environment, in a folder below."""


@dataclass(frozen=True, slots=True)
class Unused:
    """A cassette that nothing names, or the numbers of its exchanges that nothing names."""

    cassette: str
    exchanges: tuple[int, ...] = ()
    """The numbers from 1; empty for the whole cassette."""
    computed: str = ""
    """The place that computes a name, which may be that of this cassette; "" if there is none."""

    @property
    def sentence(self) -> str:
        """``unused: nothing names exchange 2 of the cassette gemini-api/text``."""
        numbers = list(map(str, self.exchanges))
        *first, last = numbers or [""]
        listed = f"{', '.join(first)} and {last}" if first else last
        noun = "exchanges" if first else "exchange"
        exchanges = f"{noun} {listed} of " if numbers else ""
        return f"unused: nothing names {exchanges}the cassette {self.cassette}"


def unused_of(project: Project, folder: Path) -> list[Unused]:
    """Return each cassette, or its exchanges, that no case names, by name. A text of the project in
    ``folder`` uses all exchanges of a cassette that it names, as a case of a client does, or whose
    test it has, as with pytest-recording.
    """
    cases: dict[str, list[Case]] = {name: [] for name in project.cassette_names}
    for root in project.specs:
        for file in yaml_files(root):
            if kind_of(file) == "spec":
                with suppress(SpecError):  # `harness check` and pytest report it
                    for case in project.cases(file):
                        cases.setdefault(case.cassette, []).append(case)
    candidates = {
        name: Unused(name, tuple(numbers) if cases[name] else ())
        for name in project.cassette_names
        if (numbers := _unused(project, name, cases[name]))
    }

    def is_read(path: Path) -> bool:
        return path.suffix in SUFFIXES and (
            path.resolve().is_relative_to(project.cassettes)
            or (project.root_of(path) is not None and kind_of(path) == "spec")
        )

    mentions = Mentions(folder, project.cassettes, project.cassette_names)
    unnamed, computed = mentions.split(candidates, is_read)
    return [replace(candidates[name], computed=computed.get(name, "")) for name in sorted(unnamed)]


def lines_of(unused: Sequence[Unused]) -> list[str]:
    """Return a line for each that is unused, and one for each place that computes names."""
    lines = [one.sentence for one in unused if not one.computed]
    for place in sorted({one.computed for one in unused} - {""}):
        names = [one.cassette for one in unused if one.computed == place]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        lines.append(
            f"not decided: {place} computes the name of a cassette, which may be"
            f" {', '.join(names[:3])}{more}"
        )
    return lines


def uncollected(project: Project, folder: Path) -> list[Path]:
    """Return the specs below ``folder`` that are in no folder of specs, so that no run collects
    them. The paths are relative to ``folder``. Other projects below are left out.
    """
    collected = (*(root.resolve() for root in project.specs), project.cassettes.resolve())
    specs: list[Path] = []
    for place, folders, files in os.walk(folder):
        if place != str(folder) and _CONFIGURATIONS.intersection(files):
            folders[:], files = [], []
        folders[:] = [name for name in folders if name not in LEFT_OUT and name[:1] != "."]
        for name in files:
            path = Path(place, name)
            if (
                path.suffix in SUFFIXES
                and not any(path.resolve().is_relative_to(root) for root in collected)
                and path.is_file()
                and kind_of(path) == "spec"
            ):
                specs.append(path.relative_to(folder))
    return sorted(specs)


OUTSIDE: Final = "the folder of cassettes is outside of the project, so others may use them"


def is_outside(project: Project, folder: Path) -> bool:
    """Whether the folder of cassettes is not below ``folder``, whose files show what is used."""
    return not project.cassettes.resolve().is_relative_to(folder.resolve())


def prune(project: Project, unused: Sequence[Unused], folder: Path, *, move: bool) -> Iterator[str]:
    """Move the cassettes that nothing names to ``.harness/unused`` in the folder of the project,
    and yield a line for each. A cassette with exchanges that are used keeps all its exchanges,
    because specs name them by number. Without ``move`` nothing is moved. Raises `OSError`.
    """
    names = [one.cassette for one in unused if not one.exchanges and not one.computed]
    if names and not move:
        counted = plural(len(names), "unused cassette")
        yield f"nothing was moved: add --yes to move {counted} to .harness/unused"
        return
    if unused and not names:
        yield "nothing was moved: no cassette is known to be unused"
    for name in names:
        path = project.cassette_path(name)
        inner = path.relative_to(folder.resolve())
        target = folder / FOLDER / "unused" / inner
        make_state_folder(target.parent)
        number = 1
        while target.exists():
            number += 1
            target = target.with_name(f"{path.stem}-{number}{path.suffix}")
        path.rename(target)
        yield f"moved: {inner} to {target.relative_to(folder)}"


def _unused(project: Project, name: str, cases: list[Case]) -> list[int]:
    """Return the numbers of the exchanges that no case uses; [1] for a cassette that no case
    names.
    """
    if not cases:
        return [1]
    if any(client in case.expect for case in cases for client in CLIENTS):
        return []
    try:
        exchanges = project.cassette(name).exchanges
    except CassetteError:
        return []  # `harness check` and pytest report it
    used: set[int] = set()
    for case in cases:
        last = case.exchange + max(len(case.turns), 1) - 1
        used |= {*range(case.exchange, last + 1)}
        if last <= len(exchanges) and is_answer(exchanges[last - 1], case.provider):
            attempts = attempts_after(exchanges[last - 1], exchanges[last:])
            used |= {*range(last + 1, last + len(attempts) + 1)}
    return [
        number
        for number, exchange in enumerate(exchanges, 1)
        if number not in used and is_answer(exchange, exchange.provider)
    ]


_NO_CODE: Final = (".toml", ".ini", ".cfg", ".md", ".rst", ".txt")
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
        for _, text in self._texts(is_read) if unnamed else ():
            unnamed = {name for name in unnamed if not _named(name, text)}
        for path, text in self._texts(is_read) if unnamed else ():
            if path.name[:1] != "." and path.suffix not in _NO_CODE:
                place = os.path.relpath(path, self._folder)
                computed.update(self._computed(text, place, is_python=path.suffix == ".py"))
        undecided = {
            name: one.place
            for one in sorted(computed, reverse=True)
            for name in unnamed
            if name.startswith(one.prefix)
        }
        return unnamed, undecided

    def _texts(self, is_read: Callable[[Path], bool]) -> Iterator[tuple[Path, str]]:
        for path in self._files(is_read):
            data = path.read_bytes()
            if b"\0" not in data[:8192]:
                yield path, data.decode("utf-8", "replace")

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
