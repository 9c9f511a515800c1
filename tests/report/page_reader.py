"""Renders pages and reads them back."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

from harness.judging.rows import (
    Row,
)
from harness.report import Header, Run, render
from tests.support.report_samples import (
    HEADER,
)


def pages(*results: Row, header: Header = HEADER) -> dict[str, str]:
    return {
        name: text for name, text in render(Run(header, results)).items() if name.endswith(".html")
    }


CELLS = {"td", "th", "tr", "tbody"}


ENDED_BY = {
    "li": {"li"},
    "dt": {"dd"},
    "dd": {"dt"},
    "td": CELLS,
    "th": CELLS,
    "tr": {"tr", "tbody"},
    "tbody": {"tbody"},
}


ENDED_IN = {
    "li": {"ul", "ol"},
    "dt": {"dl"},
    "dd": {"dl"},
    "td": {"table", "tr"},
    "th": {"table", "tr", "thead"},
    "tr": {"table", "tbody"},
    "tbody": {"table"},
}


ENDED_BY["p"] = {"p", "ul", "ol", "li", "pre", "div", "section", "h4", "h5"}
ENDED_IN["p"] = {"ul", "section", "div", "header"}


class Page(HTMLParser):
    """A parsed page: tags with their nesting, attributes, ids, the text, and the JSON for its
    script.
    """

    VOID = frozenset({"meta", "input", "br"})

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.open: list[str] = []
        self.data: dict[str, Any] = {}
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []
        self.ids = [attributes["id"] for _, attributes in self.tags if "id" in attributes]
        self.text = re.sub(r"\s+", " ", "".join(self.words))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.words.append(" ")
        while self.open and tag in ENDED_BY.get(
            self.open[-1], ()
        ):  # an item, a cell or a row ends at the start of the next one
            self.open.pop()
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while tag in ENDED_IN.get(self.open[-1], ()):
            self.open.pop()
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append("" if {"style", "script"} & set(self.open) else data)
        if (
            self.tags[-1:] == [("script", {"type": "application/json", "id": "data"})]
            and self.open[-1] == "script"
        ):
            self.data = json.loads(data)

    def cells(self) -> list[str]:
        """The verdict of every cell. Cells without further content are in lists of names, and the
        others have their own anchors.
        """
        marks = [mark for (tag, link), mark in pairwise(self.tags) if tag == "a" and "id" in link]
        listed = re.findall(
            r"<p>(?:passed:|<i class=([a-z-]+)>[a-z ]+</i>) ([\w., -]+)", self.source
        )
        in_lists = [verdict or "passed" for verdict, names in listed for _ in names.split(",")]
        return [mark.get("class", "passed") for tag, mark in marks if tag == "i"] + in_lists
