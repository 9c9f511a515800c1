"""Fills empty expectations in the text of a spec, and changes nothing else. `update` rewrites
expectations with the same machinery.

The text is edited, not serialized again, so comments, order, spacing and line ends stay. The YAML
parser gives the position of a value. Each payload is written on one line, as JSON, because JSON is
YAML too. The result is read again and compared before it is returned.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

import yaml

from harness.cassettes.validation import bare, show
from harness.cassettes.yaml import YamlError, parse

from .spec_error import SpecError

_FOREIGN: Final = re.compile(r"[\x7f-\x9f\u2028\u2029\ufffe\uffff]")
"""Characters that JSON allows and YAML refuses, or folds as a line end."""

_LINE_END: Final = re.compile(r"\r\n|\n|\r")


TextEdit = tuple[int, int, str]
"""The start and the end of a part of the text, and its replacement."""


class ExpectationChange(Protocol):
    """A change of one expectation."""

    @property
    def case(self) -> str:
        """The name of the case."""
        ...

    @property
    def key(self) -> str:
        """The key of the expectation in the case."""
        ...

    def edits(self, body: str, place: ExpectationPlace) -> tuple[list[TextEdit], Any]:
        """Return the edits in the text of the file, and the new expectation as data. Raises
        `SpecError`, or `ValueError`, `TypeError` or `RecursionError` for a value that can't be
        written.
        """
        ...


@dataclass(frozen=True, slots=True)
class Fill:
    """Fills an empty expectation. ``value`` is an expectation."""

    case: str
    key: str
    value: Any

    def edits(self, body: str, place: ExpectationPlace) -> tuple[list[TextEdit], Any]:
        if place.value.tag != "tag:yaml.org,2002:null":
            raise spec_error(
                place.line,
                f"expect.{bare(self.key)} is not empty; to have it filled, delete its value",
            )
        return [_filled(body, place, self.value)], self.value


def accept(text: str, case: str, key: str, value: Any, *, path: str = "") -> str:
    """Return ``text`` with ``value`` as the empty ``expect.<key>`` of a case, and ``reviewed: no``
    below the name of the case.

    ``value`` is JSON data; ``text`` must have the line ends of the file. Raises `SpecError` if the
    text is not YAML, if it has no such case or key, if the expectation isn't empty, or if YAML
    cannot hold the value; ``path`` is only for that error.
    """
    with suppress(RecursionError):  # a value that is too deep can't be written; that is reported
        value = as_read(value)
    text, (error,) = change_all(text, [Fill(case, key, value)], path=path)
    if error is not None:
        raise error
    return text


def change_all(
    text: str, changes: Sequence[ExpectationChange], *, path: str = ""
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


def _change_all(
    body: str, changes: Sequence[ExpectationChange]
) -> tuple[str, list[SpecError | None]]:
    before = read_body(body)
    cases = named_cases(body)
    errors: list[SpecError | None] = []
    edits: set[TextEdit] = set()
    values: list[tuple[ExpectationPlace, str, Any]] = []
    for change in changes:
        try:
            place = _find(cases, change.case, change.key)
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


@dataclass(frozen=True, slots=True)
class ExpectationPlace:
    """The YAML nodes of the edits: the case, its name, its expectation; ``index`` counts the cases
    from 0.
    """

    index: int
    case: yaml.MappingNode
    name_key: yaml.Node
    name: yaml.Node
    reviewed: bool
    cells: yaml.MappingNode
    cell: yaml.Node
    value: yaml.Node

    @property
    def line(self) -> int:
        """The line of the expectation's key."""
        return int(self.cell.start_mark.line) + 1


_Pairs = dict[str, tuple[yaml.Node, yaml.Node]]
"""The keys and values of a case."""


def named_cases(body: str) -> dict[str, tuple[int, yaml.MappingNode, _Pairs]]:
    """Return the cases of a spec, the first with each name."""
    root = yaml.compose(body, Loader=yaml.CSafeLoader)  # `_parse` has bounded its depth
    named: dict[str, tuple[int, yaml.MappingNode, _Pairs]] = {}
    for index, node in _cases(root):
        pairs = {name.value: (name, value) for name, value in node.value}
        if "case" in pairs:
            named.setdefault(pairs["case"][1].value, (index, node, pairs))
    return named


def _find(
    named: Mapping[str, tuple[int, yaml.MappingNode, _Pairs]], case: str, key: str
) -> ExpectationPlace:
    if case in named:
        index, node, pairs = named[case]
        name_key, name = pairs["case"]
        line = node.start_mark.line + 1
        _, cells = pairs.get("expect", (None, None))
        for cell, value in cells.value if isinstance(cells, yaml.MappingNode) else ():
            assert isinstance(cells, yaml.MappingNode), "only a mapping has cells"
            if cell.value == key:
                return ExpectationPlace(
                    index, node, name_key, name, "reviewed" in pairs, cells, cell, value
                )
        raise spec_error(
            line,
            f"case {show(case)} expects nothing of {show(key)}; write the key with no value to have"
            " it filled",
        )
    raise spec_error(1, f"there is no case {show(case)} in this file")


def _cases(root: yaml.Node | None) -> Iterator[tuple[int, yaml.MappingNode]]:
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value == "cases":
            yield from (
                (index, node)
                for index, node in enumerate(value.value)
                if isinstance(node, yaml.MappingNode)
            )


def _filled(body: str, place: ExpectationPlace, written: Any) -> TextEdit:
    """Return the edit that inserts the value: on lines below its key in a block, else in line."""
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


def _marked(body: str, place: ExpectationPlace) -> TextEdit:
    """Return the edit that marks the case as unreviewed."""
    end = place.name.end_mark.index
    if place.case.flow_style:
        return end, end, ", reviewed: no"
    _, right = line_around(body, end)
    return right, right, line_end(body) + " " * place.name_key.start_mark.column + "reviewed: no"


def empty_edit(body: str, key: yaml.Node, value: yaml.Node) -> TextEdit:
    """Return the edit that removes the value of a key, with the lines of a block."""
    end = end_of(body, value)
    colon = body.index(":", key.end_mark.index)
    return (colon + 1, max(end, colon + 1), "")


def end_of(body: str, node: yaml.Node) -> int:
    """Return the end of the text of a node. The parser's end of a block is behind the lines below
    it.
    """
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return end_of(body, last[1] if isinstance(last, tuple) else last)
    start, end = node.start_mark.index, node.end_mark.index
    return start + len(body[start:end].rstrip())


def line_around(body: str, index: int) -> tuple[int, int]:
    left = max(body.rfind("\n", 0, index), body.rfind("\r", 0, index)) + 1
    right = _LINE_END.search(body, index)
    return left, right.start() if right else len(body)


def line_end(body: str) -> str:
    match = _LINE_END.search(body)
    return match[0] if match else "\n"


def as_read(value: Any) -> Any:
    """Return the value as an expectation: a mapping that would be read as an operator, or refused
    for its keys, becomes a ``$literal``.
    """
    match value:
        case dict():
            inner = {str(key): as_read(item) for key, item in value.items()}
            return {"$literal": value} if any(key.startswith("$") for key in inner) else inner
        case list():
            return [as_read(item) for item in value]
        case _:
            return value


def flow(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _FOREIGN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


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


def read_body(body: str) -> Any:
    """Return the data of a spec. Raises `SpecError`."""
    try:
        return parse(body)
    except YamlError as error:
        raise spec_error(error.line, error.reason) from None


def _unwritable(line: int, key: str, why: str) -> SpecError:
    return spec_error(
        line, f"the value of expect.{bare(key)} cannot be written here ({why}); write it by hand"
    )


def spec_error(line: int, message: str) -> SpecError:
    return SpecError("", [(line, message)])
