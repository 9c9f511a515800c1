"""The places of expectations in the text of a spec, and edits of that text.

The YAML parser gives the position of a value. The text is edited, not serialized again, so
comments, order, spacing and line ends stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from harness.cassettes.validation import show
from harness.cassettes.yaml import YamlError, parse

from .spec_error import SpecError

_FOREIGN: Final = re.compile(r"[\x7f-\x9f\u2028\u2029\ufffe\uffff]")
"""Characters that JSON allows and YAML refuses, or folds as a line end."""

_LINE_END: Final = re.compile(r"\r\n|\n|\r")


TextEdit = tuple[int, int, str]
"""The start and the end of a part of the text, and its replacement."""


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


def find_place(
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


def flow(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _FOREIGN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def read_body(body: str) -> Any:
    """Return the data of a spec. Raises `SpecError`."""
    try:
        return parse(body)
    except YamlError as error:
        raise spec_error(error.line, error.reason) from None


def spec_error(line: int, message: str) -> SpecError:
    return SpecError("", [(line, message)])
