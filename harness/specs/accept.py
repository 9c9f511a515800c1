"""Fills one empty expectation in the text of a spec, and changes nothing else.

The text is edited, not serialized again, so comments, order, spacing and line ends stay. The YAML
parser gives the position of a value. Each payload is written on one line, as JSON, because JSON is
YAML too. The result is read again and compared before it is returned.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from harness.cassettes.validation import bare, show
from harness.cassettes.yaml import YamlError, parse

from .models import SpecError

_FOREIGN: Final = re.compile(r"[\x7f-\x9f\u2028\u2029\ufffe\uffff]")
"""Characters that JSON allows and YAML refuses, or folds as a line end."""

_LINE_END: Final = re.compile(r"\r\n|\n|\r")


def accept(text: str, case: str, key: str, value: Any, *, path: str = "") -> str:
    """``text`` with ``value`` as the empty ``expect.<key>`` of a case, and ``reviewed: no`` below
    the name of the case.

    ``value`` is JSON data; ``text`` must have the line ends of the file. Raises `SpecError` if the
    text is not YAML, if it has no such case or key, if the expectation isn't empty, or if YAML
    cannot hold the value; ``path`` is only for that error.
    """
    try:
        return _accept(text, case, key, value)
    except SpecError as error:
        raise SpecError(path, error.problems) from None


def _accept(text: str, case: str, key: str, value: Any) -> str:
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(mark)  # the parser does not count the mark
    before = _parse(body)
    place = _find(body, case, key)
    try:
        written = as_read(value)
        edits = [_filled(body, place, written)]
    except (TypeError, ValueError, RecursionError) as error:
        raise _unwritable(place.line, key, str(error)) from None
    if not place.reviewed:
        edits.append(_marked(body, place))
    after = body
    for start, end, new in sorted(edits, reverse=True):
        after = after[:start] + new + after[end:]
    _verify(before, after, place, key, written)
    return mark + after


@dataclass(frozen=True, slots=True)
class _Place:
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


def _find(body: str, case: str, key: str) -> _Place:
    root = yaml.compose(body, Loader=yaml.CSafeLoader)  # `_parse` has bounded its depth
    for index, node in _cases(root):
        pairs = {name.value: (name, value) for name, value in node.value}
        name_key, name = pairs.get("case", (None, None))
        if name is None or name.value != case:
            continue
        _, cells = pairs.get("expect", (None, None))
        line = node.start_mark.line + 1
        for cell, value in cells.value if isinstance(cells, yaml.MappingNode) else ():
            if cell.value == key:
                if value.tag != "tag:yaml.org,2002:null":
                    raise _error(
                        cell.start_mark.line + 1,
                        f"expect.{bare(key)} is not empty; to have it filled, delete its value",
                    )
                return _Place(index, node, name_key, name, "reviewed" in pairs, cells, cell, value)
        raise _error(
            line,
            f"case {show(case)} expects nothing of {show(key)}; write the key with no value to have"
            " it filled",
        )
    raise _error(1, f"there is no case {show(case)} in this file")


def _cases(root: yaml.Node | None) -> Iterator[tuple[int, yaml.MappingNode]]:
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value == "cases":
            yield from (
                (index, node)
                for index, node in enumerate(value.value)
                if isinstance(node, yaml.MappingNode)
            )


def _filled(body: str, place: _Place, written: Any) -> tuple[int, int, str]:
    """The edit that inserts the value: on lines below its key in a block, else in line."""
    start, end = place.value.start_mark.index, place.value.end_mark.index
    items = [_flow(item) for item in written] if isinstance(written, list) else []
    if not items or place.cells.flow_style:
        inline = f"[{', '.join(items)}]" if isinstance(written, list) else _flow(written)
        return start, end, inline if body[start - 1] in " \t" else " " + inline
    left, right = _line_around(body, start)
    rest = (body[left:start] + body[end:right]).rstrip(" \t")
    indent = " " * (place.cell.start_mark.column + 2)
    lines = [*([rest] if rest else []), *(f"{indent}- {item}" for item in items)]
    return left, right, _line_end(body).join(lines)


def _marked(body: str, place: _Place) -> tuple[int, int, str]:
    """The edit that marks the case as unreviewed."""
    end = place.name.end_mark.index
    if place.case.flow_style:
        return end, end, ", reviewed: no"
    _, right = _line_around(body, end)
    return right, right, _line_end(body) + " " * place.name_key.start_mark.column + "reviewed: no"


def _line_around(body: str, index: int) -> tuple[int, int]:
    left = max(body.rfind("\n", 0, index), body.rfind("\r", 0, index)) + 1
    right = _LINE_END.search(body, index)
    return left, right.start() if right else len(body)


def _line_end(body: str) -> str:
    match = _LINE_END.search(body)
    return match[0] if match else "\n"


def as_read(value: Any) -> Any:
    """The value as an expectation: a mapping that would be read as an operator, or refused for its
    keys, becomes a ``$literal``.
    """
    match value:
        case dict():
            inner = {str(key): as_read(item) for key, item in value.items()}
            return {"$literal": value} if any(key.startswith("$") for key in inner) else inner
        case list():
            return [as_read(item) for item in value]
        case _:
            return value


def _flow(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _FOREIGN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _verify(before: Any, after: str, place: _Place, key: str, written: Any) -> None:
    """Read the new text: it must differ from the old in the value and the mark only."""
    case = before["cases"][place.index]
    case["expect"][key] = written
    case.setdefault("reviewed", "no")
    try:
        data = parse(after)
    except YamlError as error:
        raise _unwritable(place.line, key, error.reason) from None
    if _canonical(data) != _canonical(before):
        raise _unwritable(place.line, key, "it reads back as something else")


def _canonical(data: Any) -> str:
    """A text that is equal for equal data only: 1, 1.0 and true differ."""
    return json.dumps(data, sort_keys=True)


def _parse(body: str) -> Any:
    try:
        return parse(body)
    except YamlError as error:
        raise _error(error.line, error.reason) from None


def _unwritable(line: int, key: str, why: str) -> SpecError:
    return _error(
        line, f"the value of expect.{bare(key)} cannot be written here ({why}); write it by hand"
    )


def _error(line: int, message: str) -> SpecError:
    return SpecError("", [(line, message)])
