"""The figures on the page docs/hostile-input.md are those of the tests."""

from __future__ import annotations

import re
from pathlib import Path

from tests.recording.test_bad_answers import BAD, WAYS
from tests.security import test_bombs, test_broken_recordings
from tests.security.hostile_answers import BEHAVIOURS
from tests.security.leak_places import KINDS, RECORDED
from tests.security.test_malformed_requests import REQUESTS

PAGE = Path(__file__).parents[2] / "docs" / "hostile-input.md"


def figures() -> dict[str, list[int]]:
    """The first words of each row below *Figures*, and the numbers in its second column."""
    table = PAGE.read_text(encoding="utf-8").partition("## Figures")[2]
    rows = re.findall(r"^\| ([a-z].+?) \| (.*?[0-9].*?) \|", table, re.MULTILINE)
    return {
        title: [int(number.replace(",", "")) for number in re.findall(r"[0-9][0-9,]*", numbers)]
        for title, numbers in rows
    }


def test_the_figures_of_the_page_are_those_of_the_tests() -> None:
    depths = [*test_bombs.DEPTHS, len(test_bombs.deep_files(1)), len(test_bombs.COMMANDS)]
    expected = {
        "answers that are none of a model, over a good cassette": [len(BAD), len(WAYS)],
        "behaviours of a provider": [len(BEHAVIOURS), 4],
        "places × kinds of a secret in a recording": [len(RECORDED), len(KINDS)],
        "kills of a recording": [test_broken_recordings.KILLS],
        "malformed requests of clients": [len(REQUESTS)],
        "depths of JSON in a file": depths,
    }
    page = figures()
    assert {title: page[title] for title in expected} == expected
    assert len(page) == len(expected) + 2
