"""The page about requests has every request field of the wires."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.providers.interactions import request as interactions
from harness.providers.openai_compat import request as compat

PAGE = Path(__file__).parents[2] / "docs" / "requests.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip().strip("|").split("|")]
    for line in TEXT.partition("## Settings")[2].partition("\n## ")[0].splitlines()
    if line.startswith("| `")
]
_CODE = re.compile(r"`([^`]+)`")


def first_words(column: int) -> dict[str, str]:
    """Field of generateContent → the first code word of a column."""
    return {
        field: words[0]
        for row in ROWS
        for field in _CODE.findall(row[0])
        if (words := _CODE.findall(row[column]))
    }


@pytest.mark.parametrize(
    ("column", "names"),
    [
        (1, {**interactions.SETTINGS, **interactions.FIELDS}),
        (2, {**compat.SETTINGS, **compat.GOOGLE}),
    ],
)
def test_each_field_of_a_wire_has_its_row(column: int, names: Mapping[str, str]) -> None:
    assert names.items() <= first_words(column).items()
    special = {"thinkingLevel", "thinkingBudget", "includeThoughts", "responseMimeType"}
    special |= {"responseJsonSchema", "responseModalities", "functionCallingConfig"}
    special |= {"safetySettings"}
    assert first_words(column).keys() <= names.keys() | special


def test_each_tool_of_the_server_has_its_row() -> None:
    (tools,) = [row for row in ROWS if "`googleSearch`" in row[0]]
    assert set(_CODE.findall(tools[0])) == set(interactions.TOOLS)
