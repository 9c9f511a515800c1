"""The page of the compatible endpoint names the evidence of each recording; one without evidence is
a variant.
"""

from __future__ import annotations

import re
from pathlib import Path

from harness.cassettes.load import load
from harness.judging.reading import Reading
from harness.project.suite import CASSETTES

PAGE = Path(__file__).parents[2] / "docs" / "wires-of-gemini.md"
_NAMED = re.compile(r"([a-z-]+):(\d+)(?:–(\d+))?")


def rows() -> dict[str, list[tuple[str, int]]]:
    """The recordings of each row of the table."""
    text = PAGE.read_text(encoding="utf-8")
    table = text.partition("### Evidence")[2]
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line[:2] == "| "]
    return {
        evidence: [
            (name, number)
            for name, first, last in _NAMED.findall(recordings)
            for number in range(int(first), int(last or first) + 1)
        ]
        for evidence, recordings in lines[1:]
    }


def test_each_recording_has_one_evidence_and_one_without_is_a_variant() -> None:
    found = rows()
    exchanges = {
        (path.stem, number): exchange
        for path in (Path(CASSETTES) / "openai-compat").glob("*.yaml")
        for number, exchange in enumerate(load(path).exchanges, 1)
    }
    assert sorted(place for places in found.values() for place in places) == sorted(exchanges)
    none = found["none, or another framing: variants"]
    variants = [place for place, exchange in exchanges.items() if [*Reading(exchange).variants]]
    assert sorted(variants) == sorted(none)
