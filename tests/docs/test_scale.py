"""The page of sweeps lists every column and every query."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.sweep import diff, row, stream

PAGE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("title", "columns"),
    [("## Input", stream.COLUMNS), ("## Output", row.COLUMNS)],
    ids=["input", "output"],
)
def test_every_column_is_in_its_table(title: str, columns: dict[str, str]) -> None:
    section = PAGE.split(title)[1].split("\n## ")[0]
    shown = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE))
    expected = {name: meaning.replace("``", "`") for name, meaning in columns.items()}
    if "provider" in expected and title == "## Input":
        expected["provider"] = shown["provider"]  # the page does not name every provider
    assert shown == expected


@pytest.mark.parametrize("name", ["PAIRS", "LOSSES", "ERRORS", "COUNTS"])
def test_every_query_is_shown(name: str) -> None:
    assert f"```sql\n{getattr(diff, name)}```" in PAGE
