"""A page of the documentation takes at most five minutes to read, and its lines fit a screen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGES: Final = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))]
MOST_WORDS: Final = 1300
"""The words that a person reads in about five minutes. Words of code are not counted."""
LONGER: Final = {"what-is-asked.md": 2100, "what-is-judged.md": 2800}
"""Pages with a section for each aspect, to look up, and their limits."""
MOST_COLUMNS: Final = 100
LISTS: Final = {
    "can-gemini-take-it.md": "generated from models.tsv: one row for each fact, to look up",
    "findings.md": "generated from findings.yaml: one entry for each finding, to look up",
    "refused-requests.md": "one row for each rule of the served APIs, to look up",
    "request-findings.md": "generated from request_findings.yaml: one entry for each finding",
    "threads.md": "generated from threads.yaml: one row for each public thread, to look up",
}
"""The pages without a limit, each with the reason."""
_CODE: Final = re.compile(r"^ *```.*?^ *```\n|^    [^\n]*\n|<!--.*?-->\n", re.DOTALL | re.MULTILINE)
_TARGET: Final = re.compile(r"\]\([^)]*\)")


def words_of(text: str) -> int:
    """The number of words on a page, without its code."""
    return len(re.findall(r"\S*\w\S*", _CODE.sub("", text)))


def long_lines(text: str) -> list[str]:
    """The lines of prose that are too long. Tables, headings, pictures, code and the targets of
    links are no prose.
    """
    prose = [
        _TARGET.sub("]", line)
        for line in _CODE.sub("", text).splitlines()
        if not line.lstrip().startswith(("|", "#", "!["))
    ]
    return [line for line in prose if len(line) > MOST_COLUMNS]


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name not in LISTS],
    ids=lambda page: page.name,
)
def test_a_page_is_read_in_five_minutes(page: Path) -> None:
    words = words_of(page.read_text(encoding="utf-8"))
    assert words <= LONGER.get(page.name, MOST_WORDS), (
        f"{page.name} has {words} words: shorten it, or split it by task"
    )


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name not in LISTS],
    ids=lambda page: page.name,
)
def test_the_lines_of_a_page_fit_a_screen(page: Path) -> None:
    assert long_lines(page.read_text(encoding="utf-8")) == []


def test_the_pages_with_another_limit_are_there() -> None:
    assert {page.name for page in PAGES} >= LISTS.keys() | LONGER.keys()


def test_what_is_counted() -> None:
    code = "```console\n$ harness demo and many more words of code\n```\n"
    line = "x" * MOST_COLUMNS
    assert words_of(f"Two words.\n\n{code}\n    harness demo\n\nTwo more.\n") == 4
    assert (
        long_lines(f"| {line} |\n# {line}\n{code}    {line}\n[x](https://{line})\n{line}\n") == []
    )
    assert long_lines(f"- {line}\n") == [f"- {line}"]
