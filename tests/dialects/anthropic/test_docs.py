"""The page about the anthropic dialect agrees with the code: each of its tables is compared with
the table in the code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.dialects.anthropic import request as requests
from harness.dialects.anthropic.contents import _READERS
from harness.dialects.anthropic.response import BARE_PAYLOADS, OPENED
from harness.dialects.anthropic.stream import ERROR_TYPES, LOSSES, STOP_REASONS
from harness.dialects.anthropic.tools import CHOICES, HINTS, MAX_NAME, SILENT
from harness.providers.gemini import request as gemini
from harness.stream import events as ev

PAGE = Path(__file__).parents[3] / "docs" / "dialect-anthropic.md"
TEXT = PAGE.read_text(encoding="utf-8")
_CODE = re.compile(r"`([^`]+)`")

Row = list[str]
ERROR = "error"
"""An answer whose class of finish reasons has no stop reason ends with this event."""


def tables() -> dict[str, list[Row]]:
    """Each table of the page, by the first cell of its head."""
    by_head: dict[str, list[Row]] = {}
    for table in re.findall(r"(?:^\|.*\n)+", TEXT, re.MULTILINE):
        head, _, *rows = [
            [cell.strip() for cell in line.strip("|").split(" | ")]
            for line in table.replace(" |\n", "\n").splitlines()
        ]
        assert head[0] not in by_head, f"two tables of {head[0]}"
        by_head[head[0]] = rows
    return by_head


TABLES = tables()


def words(cell: str) -> list[str]:
    return _CODE.findall(cell)


def spread(name: str) -> dict[str, str]:
    """A table as a mapping: every word of the first cell → the word in the second."""
    return {word: words(row[1])[0] for row in TABLES[name] for word in words(row[0])}


SIMPLE: dict[str, Mapping[Any, Any]] = {
    "finish": STOP_REASONS,
    "status": ERROR_TYPES,
    "`tool_choice.type`": {word: gemini.MODES[mode] for word, mode in CHOICES.items()},
    "`thinking.type`": {word: mode != "off" for word, mode in requests.THINKING.items()},
}


@pytest.mark.parametrize("name", SIMPLE)
def test_tables_of_words_are_those_of_the_code(name: str) -> None:
    assert spread(name) == {
        str(word): str(meaning).lower() if meaning in (True, False) else meaning or ERROR
        for word, meaning in SIMPLE[name].items()
    }


def test_losses() -> None:
    assert {words(row[0])[0]: row[1] for row in TABLES["loss"]} == {
        str(loss): loss.meaning for loss in LOSSES
    }


def test_every_kind_of_event_has_a_row_and_is_tried() -> None:
    kinds = [word for row in TABLES["canonical event"] for word in words(row[0])]
    assert sorted(kinds) == sorted(ev.KINDS)
    assert {ev.KINDS[kind] for kind in kinds} == set(OPENED)


def test_bare_payloads() -> None:
    assert [(frozenset(words(row[0])), words(row[1])[0]) for row in TABLES["keys"]] == list(
        BARE_PAYLOADS
    )


def test_blocks() -> None:
    assert [(words(row[0])[0], words(row[1])[0]) for row in TABLES["role"]] == [
        (role, kind) for role, kinds in _READERS.items() for kind in kinds
    ]


def test_keywords_that_become_words() -> None:
    hints, enum, silent = TABLES["keyword"]
    assert (set(words(hints[0])), words(enum[0]), set(words(silent[0]))) == (
        set(HINTS),
        ["enum"],
        set(SILENT),
    )


def test_session_keys_and_levels() -> None:
    keys = TEXT.partition("\nKeys of the session: ")[2].partition(".\n")[0]
    assert tuple(words(keys)) == requests.SESSION_KEYS
    *levels, above = TABLES["budget up to"]
    assert (
        tuple((int(words(row[0])[0]), words(row[1])[0].lower()) for row in levels)
        == requests.LEVELS
    )
    assert above == ["above", "`HIGH`"]
    assert f"at most {MAX_NAME} letters" in TEXT


BODY: dict[str, Any] = {
    "model": "gemini-2.5-pro",
    "stream": True,
    "system": "s",
    "messages": [{"role": "user", "content": "a"}],
    "tools": [{"name": "f", "input_schema": {}}],
    "tool_choice": {"type": "any"},
    "max_tokens": 1,
    "temperature": 1,
    "top_p": 1,
    "top_k": 1,
    "stop_sequences": ["x"],
    "thinking": {"type": "enabled"},
    "output_config": {"format": {"type": "json_schema", "schema": {}}},
    "metadata": {"thread_id": "t"},
}


@pytest.mark.filterwarnings("ignore:tool_choice.type. left out")
@pytest.mark.parametrize("row", TABLES["field of the body"], ids=lambda row: words(row[0])[0])
def test_a_changed_field_changes_the_places_that_the_page_names(row: Row) -> None:
    [field], whole = words(row[0]), places(BODY)
    changed = (
        {**BODY, field: [{"role": "user", "content": "b"}]}
        if field == "messages"
        else {**BODY, field: None}
    )
    without = places(changed)
    assert {place for place in whole if whole[place] != without.get(place)} == {
        word for word in words(row[1]) if word in whole
    }
    assert all(word in whole or word == "format" for word in words(row[1]))


def test_every_field_that_is_read_is_on_the_page() -> None:
    assert {words(row[0])[0] for row in TABLES["field of the body"]} == set(BODY)
    with pytest.warns(harness.TranslationWarning, match=r"^other: left out"):
        harness.request({**BODY, "other": 1}, dialect="anthropic")


def places(body: dict[str, Any]) -> dict[str, Any]:
    """The fields of the request; the fields of its two configurations are listed one by one."""
    by_place: dict[str, Any] = {}
    for key, value in harness.request(body, dialect="anthropic").items():
        by_place |= (
            {f"{key}.{name}": inner for name, inner in value.items()}
            if key.endswith("Config")
            else {key: value}
        )
    return by_place
