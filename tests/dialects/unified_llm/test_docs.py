"""The pages about the unified-llm dialect agree with the code: each of their tables is compared
with the table in the code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import harness
from harness import Session, TranslationError
from harness.dialects import DIALECTS
from harness.dialects.unified_llm import DIALECT as UNIFIED_LLM
from harness.dialects.unified_llm import request as requests
from harness.dialects.unified_llm.messages import KINDS, ROLES
from harness.dialects.unified_llm.protocol import (
    ERROR_TYPES,
    FINAL_ERRORS,
    FINISH_REASONS,
    STATUS_TYPES,
)
from harness.providers.gemini import request as gemini
from harness.providers.gemini.schema import to_gemini_schema
from harness.providers.gemini.schema.convert import FORMATS
from harness.providers.gemini.schema.references import MAX_DEPTH, MAX_SIZE
from harness.stream import events as ev
from harness.systems.unified_llm import RetryPolicy

ROOT = Path(__file__).parents[3]
PAGES = ("dialect-unified-llm", "requests")
TEXT = "\n".join((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8") for page in PAGES)
_CODE = re.compile(r"`([^`]+)`")


def tables() -> dict[str, list[list[str]]]:
    """Each table of the pages, by the first cell of its head."""
    by_head: dict[str, list[list[str]]] = {}
    for table in re.findall(r"(?:^\|.*\n)+", TEXT, re.MULTILINE):
        head, _, *rows = [
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in table.splitlines()
        ]
        assert head[0] not in by_head, f"two tables of {head[0]}"
        by_head[head[0]] = rows
    return by_head


TABLES = tables()


def words(cell: str) -> list[str]:
    return _CODE.findall(cell) or cell.split()


def spread(name: str) -> dict[str, str]:
    """A table as a mapping: every word of the first cell → the first word of the second."""
    return {word: words(row[1])[0] for row in TABLES[name] for word in words(row[0])}


SIMPLE: dict[str, Mapping[Any, Any]] = {
    "finish": FINISH_REASONS,
    "status": ERROR_TYPES,
    "word of the error": STATUS_TYPES,
    "choice": gemini.MODES,
    "effort": gemini.EFFORTS,
}


@pytest.mark.parametrize("name", SIMPLE)
def test_tables_of_words_are_those_of_the_code(name: str) -> None:
    assert spread(name) == {str(word): str(meaning) for word, meaning in SIMPLE[name].items()}


def test_every_canonical_event_has_a_row() -> None:
    documented = [word for row in TABLES["canonical event"] for word in words(row[0])]
    assert sorted(documented) == sorted(ev.KINDS)


@pytest.mark.slow
def test_the_keys_of_every_event() -> None:
    """Each type has the keys of its row in some recording, or in the events of a wire without
    recordings, and no type has another key.
    """
    seen: dict[str, set[str]] = {}
    stage = DIALECTS["unified-llm"].translator((), Session())
    for event in (
        ev.Text("I can't.", refusal=True),
        ev.Reasoning("", "c2VjcmV0", id="rs_1", redacted=True),
        ev.BlockEnd({}),
    ):
        for payload in stage.feed(event):
            seen.setdefault(payload["type"], set()).update(payload.keys() - {"type"})
    for path in sorted((ROOT / "cassettes").glob("*/*.yaml")):
        for exchange in harness.load(path).exchanges:
            for payload in harness.replay(exchange) if exchange.generates else ():
                seen.setdefault(payload["type"], set()).update(payload.keys() - {"type"})
    assert {words(row[0])[0]: set(words(row[1])) for row in TABLES["type"]} == seen


def test_every_field_of_a_request_has_a_row() -> None:
    with pytest.raises(TranslationError) as raised:
        requests.translate(
            {"messages": [{"role": "user", "content": "x"}], "typo": 1}, {}, Session()
        )
    known = str(raised.value).partition("expected one of ")[2].split(", ")
    assert sorted(
        word for row in TABLES["field of the Request"] for word in words(row[0])
    ) == sorted(known)
    settings = {row[0].strip("`"): words(row[1])[0] for row in TABLES["field of the Request"]}
    for field, (setting, _) in requests.SETTINGS.items():
        assert settings[field] == f"generationConfig.{gemini.SETTINGS[setting]}"


def test_roles_and_kinds() -> None:
    documented = {
        word: words(row[1])[0] if row[1].startswith("a content") else ""
        for row in TABLES["role"]
        for word in words(row[0])
    }
    contents = {
        role: next(iter(_CODE.findall(row[1]))) for row in TABLES["role"] for role in words(row[0])
    }
    assert set(documented) == set(ROLES)
    assert contents == {
        role: gemini.ROLES[neutral] if neutral else "systemInstruction"
        for role, neutral in ROLES.items()
    }
    assert {word: words(row[1]) for row in TABLES["kind"] for word in words(row[0])} == {
        kind: list(roles) for kind, (roles, _) in KINDS.items()
    }


JSON_SCHEMA_KEYWORDS = [
    "$anchor",
    "$comment",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$schema",
    "$vocabulary",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "deprecated",
    "else",
    "if",
    "maxContains",
    "minContains",
    "multipleOf",
    "not",
    "patternProperties",
    "propertyNames",
    "readOnly",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "writeOnly",
]
"""The keywords that have no row on the page, because Gemini's Schema has no counterpart."""


def test_every_keyword_that_is_converted_has_a_row() -> None:
    def is_converted(keyword: str) -> bool:
        _, warnings = to_gemini_schema({keyword: [False]}, place="P")
        return not any("has no word for it" in warning for warning in warnings)

    documented = [word for row in TABLES["keyword"] for word in words(row[0])]
    assert [word for word in documented if not is_converted(word)] == ["additionalProperties"]
    assert not any(map(is_converted, JSON_SCHEMA_KEYWORDS))
    (formats,) = [row[1] for row in TABLES["keyword"] if row[0] == "`format`"]
    assert _CODE.findall(formats) == [name for names in FORMATS.values() for name in names]
    assert f"At most {MAX_DEPTH} levels and {MAX_SIZE} values" in " ".join(TEXT.split())


def test_the_errors_that_a_retry_does_not_help() -> None:
    sentence = re.search(r"A retry does not help after (.*?); every other", TEXT, re.DOTALL)
    assert sentence
    assert set(_CODE.findall(sentence[1])) == FINAL_ERRORS


def test_nothing_is_declared_lost() -> None:
    assert "**Declared losses**: none." in TEXT
    assert not UNIFIED_LLM.losses
    assert DIALECTS["unified-llm"] is UNIFIED_LLM


def test_the_retries_are_those_of_the_policy() -> None:
    policy = RetryPolicy()
    assert (policy.max_retries, policy.base_delay, policy.multiplier, policy.max_delay) == (
        2,
        1,
        2,
        60,
    )
    assert "is retried twice" in TEXT
    assert "after 1 and 2 seconds" in TEXT
    assert "up to 60 seconds" in TEXT
