"""Badges: words, file names and XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from msgspec.structs import replace

from harness.report import (
    Named,
    Run,
    render,
)
from tests.report.document_samples import HEADER, result


def test_badges_state_the_meaning_of_their_colour_in_words() -> None:
    files = render(
        Run(
            HEADER,
            [
                result(),
                result("failed", adapter="unified-llm"),
                result("known-failing", "two", provider="code-assist"),
            ],
        )
    )
    badges = {
        name: ET.fromstring(text).attrib["aria-label"]
        for name, text in files.items()
        if name.startswith("badges/")
    }
    assert badges == {
        "badges/all.svg": "stream conformance: ✕ 1 failed of 3 cells",
        "badges/gemini-api.svg": "Gemini API: ✕ 1 failed of 2 cells",
        "badges/code-assist.svg": "Code Assist: ◐ 0 of 1 feature",
        "badges/gemini-api.anthropic.svg": "Gemini API → anthropic: ✓ 1 of 1 feature",
        "badges/gemini-api.unified-llm.svg": "Gemini API → unified-llm: ✕ 1 failed of 1 cell",
        "badges/code-assist.anthropic.svg": "Code Assist → anthropic: ◐ 0 of 1 feature",
    }


@pytest.mark.parametrize(
    "text",
    ["\ufffe", "\uffff", "\ufdd0", "\x00\x0b\x1b", "\ud83d", "<&\"'>", "\u202e", "\U0001fffe"],
)
def test_badges_and_junit_are_xml_for_any_name(text: str) -> None:
    header = replace(
        HEADER,
        providers=(Named("gemini-api", f"P{text}", 0),),
        adapters=(Named(f"a{text}", f"A{text}", 0),),
    )
    files = render(Run(header, [result("failed", adapter=f"a{text}", reason=text)]))
    labels = [
        ET.fromstring(svg).attrib["aria-label"]
        for name, svg in files.items()
        if name.startswith("badges/")
    ]
    assert len(labels) == 3
    assert all(label.startswith(("P", "stream")) for label in labels)
    assert ET.fromstring(files["junit.xml"]).attrib["failures"] == "1"


def test_no_badge_overwrites_another() -> None:
    names = ["a b", "a-b", "a?b", "A-b", "a-b-2", "x" * 130, "x" * 131]
    header = replace(
        HEADER,
        adapters=tuple(Named(name, name, 0) for name in names),
        providers=(*HEADER.providers, Named("all", "All", 2)),
    )
    results = [result(adapter=name) for name in names]
    badges, again = (
        {
            name[7:]: ET.fromstring(svg).attrib["aria-label"]
            for name, svg in render(run).items()
            if name.startswith("badges/")
        }
        for run in (
            Run(header, results),
            Run(replace(header, adapters=header.adapters[::-1]), results[::-1]),
        )
    )
    assert badges == again
    assert len({name.lower() for name in badges}) == 1 + 3 + len(names)
    assert {
        name: label.partition(" → ")[2].partition(":")[0]
        for name, label in badges.items()
        if "gemini-api.a" in name.lower()
    } == {
        "gemini-api.A-b.svg": "A-b",
        "gemini-api.a-b-2.svg": "a-b-2",
        "gemini-api.a-b-3.svg": "a-b",
        "gemini-api.a-b-4.svg": "a b",
        "gemini-api.a-b-5.svg": "a?b",
    }
    assert badges["all.svg"].startswith("stream conformance")
    assert badges["all-2.svg"].startswith("All")


def test_a_badge_without_compared_cells_is_not_green() -> None:
    badge = render(Run(HEADER, [result("not-run")]))["badges/all.svg"]
    assert "○ nothing compared" in badge
    assert "#0b5d4b" not in badge
