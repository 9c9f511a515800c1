"""The words of a wire that the exchanges of its cases contain, for the tests that require every
word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pytest

from harness.cassettes import Exchange
from harness.cassettes.yaml import parse
from tests.providers.test_wire_coverage import ROOT, exchanges

Words = dict[str, set[str]]
"""The words of an exchange, by the name of their table."""
Vocabulary = Mapping[str, tuple[str, list[str]]]
"""The words that must be shown, by the name of their table, and the page that lists them."""
Shown = tuple[tuple[str, Words], ...]


def words_of_cases(spec: str, read_words: Callable[[Exchange], Words]) -> Shown:
    """Every case of a folder of specs/ about an answer, with the words of its exchange."""
    rows = []
    for path in sorted((ROOT / "specs" / spec).glob("*.yaml")):
        for case in parse(path.read_bytes()).get("cases", ()):
            if "cassette" in case and "turns" not in case:
                exchange = exchanges(case["cassette"])[case.get("exchange", 1) - 1]
                rows.append((f"{path.stem}::{case['case']}", read_words(exchange)))
    return tuple(rows)


def naming(table: str, word: str, among: Iterable[tuple[str, Words]]) -> list[str]:
    """The cases whose exchange contains a word."""
    return [name for name, words in among if word in words[table]]


def all_words(vocabulary: Vocabulary) -> list[tuple[str, str]]:
    return [(table, word) for table, (_, words) in vocabulary.items() for word in words]


def assert_shown(spec: str, shown: Shown, vocabulary: Vocabulary, table: str, word: str) -> None:
    if not naming(table, word, shown):
        page = vocabulary[table][0]
        pytest.fail(f"no case of specs/{spec} has the {table} {word}; see {page}", pytrace=False)
