"""Marks the branches of a package's source at import, so that a run records the branches it takes.

Each way out of a branch is an edge with a number. The imported code sets ``__taken__[number]`` to 1
when it takes that edge.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import TypeVar

TAKEN = bytearray(1 << 14)
"""Edge → 1 if it was ever taken; a mark is never reset here."""
WORDS: list[list[bytes]] = []
"""Edge → the strings in the source of its file; they become words of inputs."""
WORD = re.compile(rb"\S{2,24}")
Node = TypeVar("Node", bound=ast.AST)


class Watcher(SourceFileLoader):
    """Loads a module with marks; it neither reads nor writes the bytecode cache."""

    def get_code(self, fullname: str) -> CodeType:
        return marked(Path(self.path).read_bytes(), self.path)


class _Finder:
    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] != self._package:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = Watcher(spec.loader.name, spec.loader.path)
        return spec


def watch(package: str) -> None:
    """Mark all modules of this package that are imported from now on."""
    if package in sys.modules:
        raise RuntimeError(
            f"{package} is imported already; its branches can be marked only while it is; call watch before"
        )
    sys.meta_path.insert(0, _Finder(package))


def marked(source: bytes, path: str) -> CodeType:
    """The code of a source, with marks."""
    vars(builtins).update(__taken__=TAKEN, __take__=TAKEN.__setitem__)
    tree = ast.parse(source, path)
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    strings = {
        constant.encode("utf-8", "replace") if isinstance(constant, str) else constant
        for constant in constants
        if isinstance(constant, str | bytes)
    }
    words = sorted(filter(WORD.fullmatch, strings))
    return compile(_Marker(words).visit(tree), path, "exec")


class _Marker(ast.NodeTransformer):
    def __init__(self, words: list[bytes]) -> None:
        self._words = words

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        match node:
            case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
                body.insert(
                    1 if ast.get_docstring(node, clean=False) is not None else 0,
                    self._statement(node),
                )
            case ast.If() | ast.For() | ast.AsyncFor() | ast.While():
                node.body.insert(0, self._statement(node))
                node.orelse.insert(0, self._statement(node))
            case ast.ExceptHandler(body=body):
                body.insert(0, self._statement(node))
            case ast.Match(cases=cases):
                for case in cases:
                    case.body.insert(0, self._statement(case.body[0]))
                if not any(
                    isinstance(case.pattern, ast.MatchAs)
                    and not case.pattern.pattern
                    and not case.guard
                    for case in cases
                ):
                    cases.append(
                        ast.match_case(_at(node, ast.MatchAs()), None, [self._statement(node)])
                    )
            case ast.IfExp():
                node.body, node.orelse = self._expression(node.body), self._expression(node.orelse)
            case ast.BoolOp():
                node.values[1:] = [self._expression(value) for value in node.values[1:]]
            case ast.comprehension(ifs=[*_, last]):
                node.ifs.append(self._expression(ast.copy_location(ast.Constant(True), last)))
            case ast.Lambda():
                node.body = self._expression(node.body)
        return node

    def _statement(self, beside: ast.AST) -> ast.stmt:
        return _at(beside, ast.parse(f"__taken__[{self._number()}] = 1").body[0])

    def _expression(self, value: ast.expr) -> ast.expr:
        taking = ast.parse(f"__take__({self._number()}, 1)", mode="eval").body  # it returns None
        return _at(value, ast.BoolOp(ast.Or(), [taking, value]))

    def _number(self) -> int:
        if len(WORDS) == len(TAKEN):
            raise RuntimeError(f"the source has more than {len(TAKEN)} edges; make TAKEN longer")
        WORDS.append(self._words)
        return len(WORDS) - 1


def _at(beside: ast.AST, node: Node) -> Node:
    return ast.fix_missing_locations(ast.copy_location(node, beside))
