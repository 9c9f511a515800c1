"""Rewrites the parts of an expectation that no longer hold, in the text of a spec.

Parts that hold keep their text, with comments, order and operators. A new part is written in line,
as JSON. An operator that refuses the new value is never rewritten, because a person chose it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from harness.cassettes.validation import bare
from harness.stream.json_path import readable_path
from harness.stream.printable import listed

from .accept import ExpectationPlace, TextEdit, end_of, flow, line_around, line_end, spec_error
from .matching import compare
from .matching.lists import align_lists
from .matching.operators import ABSENT, Bindings, operator_of


@dataclass(frozen=True, slots=True)
class Update:
    """Makes an expectation hold for an output."""

    case: str
    key: str
    before: Any
    """The expectation as data."""
    got: Any
    """The output."""
    value: Any
    """An expectation of ``got`` as a whole; the changed parts are taken from it."""

    def edits(self, body: str, place: ExpectationPlace) -> tuple[list[TextEdit], Any]:
        merge = _Merge(body)
        try:
            merged = merge.merge((), place.value, self.before, self.got, self.value)
        except (LookupError, ValueError):  # the file has other keys or items than the run has read
            raise spec_error(
                place.line,
                f"expect.{bare(self.key)}: another run has changed it; run the update again",
            ) from None
        if merge.refused:
            paths = listed(merge.refused, _MOST_PATHS)
            raise spec_error(
                place.line,
                f"expect.{bare(self.key)}: an operator at {paths} refuses the new value; change it"
                " by hand",
            )
        if compare(merged, self.got):
            raise spec_error(
                place.line, f"expect.{bare(self.key)} can't be rewritten; change it by hand"
            )
        return merge.edits, merged


_MOST_PATHS: Final = 3
_Path = tuple[str | int, ...]


@dataclass(slots=True)
class _Merge:
    """The edits of one expectation. ``refused``: paths of operators that refuse the new value."""

    body: str
    edits: list[TextEdit] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def merge(self, path: _Path, node: yaml.Node, want: Any, got: Any, value: Any) -> Any:
        """Return the new expectation for ``got``. ``want`` is the data of ``node``."""
        if Bindings(loose=True).meets(want, got):
            return want
        operator = operator_of(want)
        if operator and operator != "$literal":
            self.refused.append(readable_path(path))
            return want
        match node, want, got, value:
            case yaml.MappingNode(), dict(), dict(), dict() if not operator_of(value):
                if not operator:
                    return self._mapping(path, node, want, got, value)
            case yaml.SequenceNode(), list(), list(), list():
                return self._sequence(path, node, want, got, value)
        self._replace(node, value)
        return value

    def _mapping(
        self,
        path: _Path,
        node: yaml.MappingNode,
        want: dict[str, Any],
        got: dict[str, Any],
        value: dict[str, Any],
    ) -> dict[str, Any]:
        inner = _Merge(self.body)
        pairs = {key.value: (key, item) for key, item in node.value}
        merged: dict[str, Any] = {}
        gone: list[str] = []
        for key, old in want.items():
            if key in got:
                merged[key] = inner.merge((*path, key), pairs[key][1], old, got[key], value[key])
            elif old == ABSENT:
                merged[key] = old
            else:
                gone.append(key)
        new = {key: value[key] for key in got if key not in want}
        merged |= new
        self.refused += inner.refused
        if not pairs or len(gone) == len(pairs) or (gone and node.flow_style):
            self._replace(node, merged)
            return merged
        self.edits += inner.edits
        for key in gone:
            self._remove_lines(pairs[key][0].start_mark.index, end_of(self.body, pairs[key][1]))
        if new:
            last_key, last = list(node.value)[-1]
            self._append(node, last_key, last, new)
        return merged

    def _append(
        self, node: yaml.MappingNode, last_key: yaml.Node, last: yaml.Node, new: dict[str, Any]
    ) -> None:
        """Insert new keys after the last one."""
        items = [f"{flow(key)}: {flow(item)}" for key, item in new.items()]
        end = end_of(self.body, last)
        if node.flow_style:
            self.edits.append((end, end, "".join(f", {item}" for item in items)))
            return
        _, right = line_around(self.body, end)
        start = line_end(self.body) + " " * last_key.start_mark.column
        self.edits.append((right, right, "".join(start + item for item in items)))

    def _sequence(
        self,
        path: _Path,
        node: yaml.SequenceNode,
        want: list[Any],
        got: list[Any],
        value: list[Any],
    ) -> list[Any]:
        inner = _Merge(self.body)
        merged: list[Any] = []
        runs: list[tuple[int, int, list[Any]]] = []
        start = at = 0
        for step in align_lists(want, got, Bindings(loose=True)):
            stop = start + len(step.expected)
            new = value[at : at + len(step.actual)]
            if step.is_pairs:
                for place, item, (_, old, actual) in zip(
                    range(start, stop), new, step.pairs(()), strict=True
                ):
                    merged.append(inner.merge((*path, place), node.value[place], old, actual, item))
            elif runs and runs[-1][1] == start:
                runs[-1] = (runs[-1][0], stop, [*runs[-1][2], *new])
                merged += new
            else:
                runs.append((start, stop, new))
                merged += new
            start, at = stop, at + len(step.actual)
        self.refused += inner.refused
        if not merged or not want or (runs and node.flow_style):
            self._replace(node, merged)
            return merged
        self.edits += inner.edits
        for start, stop, new in runs:
            self._replace_items(node, start, stop, new)
        return merged

    def _replace_items(
        self, node: yaml.SequenceNode, start: int, stop: int, new: Sequence[Any]
    ) -> None:
        """Replace the lines of some items of a block. Without items, lines are inserted."""
        indent = " " * node.start_mark.column + "- "
        lines = [indent + flow(item) for item in new]
        end = line_end(self.body)
        if start == stop:
            if start:
                _, place = line_around(self.body, end_of(self.body, node.value[start - 1]))
                text = "".join(end + line for line in lines)
            else:
                place, _ = line_around(self.body, node.value[0].start_mark.index)
                text = "".join(line + end for line in lines)
            self.edits.append((place, place, text))
            return
        first, last = node.value[start].start_mark.index, end_of(self.body, node.value[stop - 1])
        if not lines:
            self._remove_lines(first, last)
            return
        left, _ = line_around(self.body, first)
        _, right = line_around(self.body, last)
        self.edits.append((left, right, end.join(lines)))

    def _remove_lines(self, first: int, last: int) -> None:
        """Remove the lines of a part, with one line end."""
        left, _ = line_around(self.body, first)
        _, right = line_around(self.body, last)
        rest = self.body[right : right + 2]
        self.edits.append((left, right + (2 if rest == "\r\n" else len(rest[:1])), ""))

    def _replace(self, node: yaml.Node, value: Any) -> None:
        self.edits.append((node.start_mark.index, end_of(self.body, node), flow(value)))
