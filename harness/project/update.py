"""Fills empty expectations in the text of a spec, and rewrites the parts of others that no longer
hold.

Parts that hold keep their text, with comments, order and operators. An operator that refuses the
new value is never rewritten, because a person chose it. A new part is written as JSON, because JSON
is YAML too; each item of an expectation that was empty has a line. The new text is read again and
compared before it is written.

The cells run in any process of pytest-xdist and only report their values. The controller writes
each file once, at the end of the run: a file that a person wrote is changed in one process and in
one step. The text before that is kept for `harness review`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import yaml

from harness.cassettes import CassetteError
from harness.cassettes.redaction.secrets import guard
from harness.cassettes.validation import bare
from harness.cassettes.yaml import YamlError, parse
from harness.recording.atomic_file import save
from harness.specs.matching import compare
from harness.specs.matching.lists import align_lists
from harness.specs.matching.operators import ABSENT, Bindings, operator_of
from harness.specs.spec_error import SpecError
from harness.specs.spec_text import (
    ExpectationPlace,
    TextEdit,
    end_of,
    find_place,
    flow,
    line_around,
    line_end,
    named_cases,
    read_body,
    spec_error,
)
from harness.stream.json_path import readable_path
from harness.stream.printable import listed

from .folders import read_text
from .review import before_update, keep_before


@dataclass(frozen=True, slots=True)
class Update:
    """Makes an expectation hold for an output: fills it, or rewrites parts of it."""

    case: str
    key: str
    before: Any
    """The expectation as data; None for an empty one, which is filled."""
    got: Any
    """The output."""
    value: Any
    """An expectation of ``got`` as a whole; the changed parts are taken from it."""

    def edits(self, body: str, place: ExpectationPlace) -> tuple[list[TextEdit], Any]:
        """Return the edits in the text of the file, and the new expectation as data. Raises
        `SpecError`, or `ValueError`, `TypeError` or `RecursionError` for a value that can't be
        written.
        """
        if self.before is None:
            return [self._filled(body, place)], self.value
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

    def _filled(self, body: str, place: ExpectationPlace) -> TextEdit:
        """Return the edit that inserts the value: below its key in a block, else in line."""
        if place.value.tag != "tag:yaml.org,2002:null":
            raise spec_error(
                place.line,
                f"expect.{bare(self.key)} is not empty; to have it filled, delete its value",
            )
        written = self.value
        start, end = place.value.start_mark.index, place.value.end_mark.index
        items = [flow(item) for item in written] if isinstance(written, list) else []
        if not items or place.cells.flow_style:
            inline = f"[{', '.join(items)}]" if isinstance(written, list) else flow(written)
            return start, end, inline if body[start - 1] in " \t" else " " + inline
        left, right = line_around(body, start)
        rest = (body[left:start] + body[end:right]).rstrip(" \t")
        indent = " " * (place.cell.start_mark.column + 2)
        lines = [*([rest] if rest else []), *(f"{indent}- {item}" for item in items)]
        return left, right, line_end(body).join(lines)


class Proposal(NamedTuple):
    """An update of an expectation in a file, which a worker sends to the controller."""

    path: str
    update: Update
    named: str
    """The id of its item, for messages."""

    def encode(self) -> str:
        """Return it as JSON. Raises `CassetteError` for a value that shows a secret."""
        guard().refuse(msgspec.json.encode(self.update.value).decode(), self.path)
        return msgspec.json.encode(self).decode()


class Filled(NamedTuple):
    """The result of writing one value: ``fault`` is empty if it is in the file."""

    named: str
    file: str
    fault: str = ""
    is_update: bool = False

    @property
    def verb(self) -> str:
        """What was done to the expectation."""
        return "updated" if self.is_update else "filled in"


def write_all(encoded: Mapping[str, str]) -> dict[str, Filled]:
    """Write the proposals of items, by their ids. Every file is written once, and atomically."""
    by_file: dict[str, dict[str, Proposal]] = {}
    for nodeid, text in encoded.items():
        proposal = msgspec.json.decode(text, type=Proposal)
        by_file.setdefault(proposal.path, {})[nodeid] = proposal
    filled: dict[str, Filled] = {}
    for path, proposals in by_file.items():
        faults = _write(Path(path), [proposal.update for proposal in proposals.values()])
        for (nodeid, proposal), fault in zip(proposals.items(), faults, strict=True):
            is_update = proposal.update.before is not None
            filled[nodeid] = Filled(proposal.named, Path(path).name, fault, is_update)
    return {nodeid: filled[nodeid] for nodeid in encoded}


def _write(path: Path, changes: Sequence[Update]) -> list[str]:
    """Make the changes in one file; returns the fault of each, or ""."""
    try:
        old = read_text(path)
        text, errors = change_all(old, changes, path=str(path))
        if not all(errors):
            with suppress(OSError):  # the review then shows each expectation as a whole
                if before_update(path) is None:
                    keep_before(path, old)
            save(path.resolve(), [guard().refuse(text, str(path)).encode()])
    except (CassetteError, SpecError, OSError) as error:
        return [str(error)] * len(changes)
    return [str(error or "") for error in errors]


def change_all(
    text: str, changes: Sequence[Update], *, path: str = ""
) -> tuple[str, list[SpecError | None]]:
    """Make many changes in linear time, and mark their cases with ``reviewed: no``: the new text,
    and for each change the error because of which it was not made, or None. Raises `SpecError` if
    the text is not YAML.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    try:
        # the parser does not count the mark
        after, errors = _change_all(text.removeprefix(mark), changes)
    except SpecError as error:
        raise SpecError(path, error.problems) from None
    return mark + after, [error and SpecError(path, error.problems) for error in errors]


def _change_all(body: str, changes: Sequence[Update]) -> tuple[str, list[SpecError | None]]:
    before = read_body(body)
    cases = named_cases(body)
    errors: list[SpecError | None] = []
    edits: set[TextEdit] = set()
    values: list[tuple[ExpectationPlace, str, Any]] = []
    for change in changes:
        try:
            place = find_place(cases, change.case, change.key)
            try:
                own, written = change.edits(body, place)
            except (TypeError, ValueError, RecursionError) as error:
                if isinstance(error, SpecError):
                    raise
                raise _unwritable(place.line, change.key, str(error)) from None
            edits.update(own)
            if not place.reviewed:
                edits.add(_marked(body, place))
        except SpecError as error:
            errors.append(error)
        else:
            errors.append(None)
            values.append((place, change.key, written))
    pieces: list[str] = []
    at = 0
    for start, end, new in sorted(edits):
        pieces += body[at:start], new
        at = end
    after = "".join([*pieces, body[at:]])
    try:
        _verify(before, after, values)
    except SpecError as error:
        if len(changes) == 1:
            return body, [error]
        half = len(changes) // 2
        body, first = _change_all(body, changes[:half])
        body, second = _change_all(body, changes[half:])
        return body, first + second
    return after, errors


def _marked(body: str, place: ExpectationPlace) -> TextEdit:
    """Return the edit that marks the case as unreviewed."""
    end = place.name.end_mark.index
    if place.case.flow_style:
        return end, end, ", reviewed: no"
    _, right = line_around(body, end)
    return right, right, line_end(body) + " " * place.name_key.start_mark.column + "reviewed: no"


def _verify(before: Any, after: str, values: Sequence[tuple[ExpectationPlace, str, Any]]) -> None:
    """Read the new text: it must differ from the old in the values and the marks only."""
    if not values:
        return
    for place, key, written in values:
        case = before["cases"][place.index]
        case["expect"][key] = written
        case.setdefault("reviewed", "no")
    place, key, _ = values[0]
    try:
        data = parse(after)
    except YamlError as error:
        raise _unwritable(place.line, key, error.reason) from None
    if _canonical(data) != _canonical(before):
        raise _unwritable(place.line, key, "it reads back as something else")


def _canonical(data: Any) -> str:
    """Return a text that is equal for equal data only: 1, 1.0 and true differ."""
    return json.dumps(data, sort_keys=True)


def _unwritable(line: int, key: str, why: str) -> SpecError:
    return spec_error(
        line, f"the value of expect.{bare(key)} cannot be written here ({why}); write it by hand"
    )


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
