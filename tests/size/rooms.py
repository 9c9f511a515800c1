"""Counts the nodes of code and data in each room of the house, and the files with words of wires."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

WORDS: Final = (
    *("candidates", "functionCall", "tool_use", "content_block"),
    *("tool_calls", "choices", "output_item", "function_result"),
)
"""Two words of each main wire: generateContent, Messages, Chat Completions, and one each of
Responses and Interactions.
"""
ROOMS: Final = ("harness", "examples/plugins")
"""Each folder in the first one is a room; the second is a room as a whole."""
_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    ".json": json.loads,
    ".yaml": lambda text: yaml.load(text, Loader=yaml.CSafeLoader),
    ".toml": tomllib.loads,
}


_SKIPPED: Final = frozenset({"__pycache__", "node_modules", ".venv"})


def count_rooms(root: Path) -> Counter[str]:
    """Return the number of nodes of each room: those of the syntax tree without docstrings, and the
    values of data files.
    """
    nodes: Counter[str] = Counter()
    for path in _files(root):
        nodes[_room(path, root)] += nodes_of(path)
    return nodes


def nodes_of(path: Path) -> int:
    """Return the number of nodes of one file; 0 for a file that is neither code nor data."""
    if path.suffix == ".py":
        return _code_nodes(ast.parse(path.read_text(encoding="utf-8")))
    if reader := _READERS.get(path.suffix):
        return _data_nodes(reader(path.read_text(encoding="utf-8")))
    return 0


def count_words(root: Path) -> dict[str, int]:
    """Return the number of files of the package with each word."""
    counts = dict.fromkeys(WORDS, 0)
    for path in _files(root):
        text = path.read_text(encoding="utf-8") if path.suffix == ".py" else ""
        for word in WORDS:
            counts[word] += re.search(rf"\b{word}\b", text) is not None
    return counts


def count_providers(root: Path) -> dict[str, int]:
    """Return the number of lines of code of each wire in its folder or file, without docstrings
    and blank lines: those with a statement.
    """
    return {
        path.stem: sum(
            sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(file.read_text())))
            for file in (path.rglob("*.py") if path.is_dir() else [path])
        )
        for path in sorted((root / "harness/providers").iterdir())
        if path.is_dir() or path.suffix == ".py"
    }


def find_gone(root: Path, names: list[str]) -> list[str]:
    """Return the names that are gone and stand in a file again, each with the file. ``Class.name``
    is the member of a class.
    """
    places = [root / name for name in ("README.md", "Makefile", "action.yml", "mkdocs.yml")]
    folders = [root / name for name in ("harness", "docs", "examples", ".github")]
    places += [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    found = []
    for path in places:
        if path.suffix in (".py", ".md", ".yml", ".yaml", ".toml", ".js", "") and path.exists():
            text = path.read_text(encoding="utf-8", errors="replace")
            members = {*_members(ast.parse(text))} if path.suffix == ".py" else set()
            found += [
                f"{path.relative_to(root)} has {name}, which is gone"
                for name in names
                if name in members
                or (name in text and re.search(rf"(?<![\w/.-]){re.escape(name)}(?![\w/-])", text))
            ]
    return found


def _members(tree: ast.Module) -> Iterator[str]:
    """Yield the fields and functions of the classes of a module, each as ``Class.name``."""
    for holder in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for member in holder.body:
            match member:
                case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                    yield f"{holder.name}.{name}"


def _files(root: Path) -> Iterator[Path]:
    for room in ROOMS:
        skipped = _SKIPPED if room == "harness" else _SKIPPED | {"cassettes", "specs", "tests"}
        for path in sorted((root / room).rglob("*")):
            if path.is_file() and not skipped & {*path.relative_to(root).parts}:
                yield path


def _room(path: Path, root: Path) -> str:
    parts = path.relative_to(root).parts
    return parts[1] if parts[0] == "harness" and len(parts) > 2 else "/".join(parts[:1])


def _code_nodes(tree: ast.AST) -> int:
    docstrings = sum(
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for node in ast.walk(tree)
    )
    nodes = sum(not isinstance(node, ast.expr_context) for node in ast.walk(tree))
    return nodes - 2 * docstrings


def _data_nodes(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_data_nodes, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(_data_nodes, value))
    return 1
