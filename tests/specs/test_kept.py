"""A spec from the cache gives the same cases; any change leads to a new reading."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.cassettes.yaml import parse_located
from harness.specs import kept, reader
from harness.specs.checks import KnownNames
from harness.specs.lines import DEPTH, Lines
from harness.specs.models import SpecFile

SPECS = Path(__file__).parents[2] / "specs"
KNOWN = KnownNames(
    {"art": 1}, ["gemini-api"], {"text.streaming"}, {"art": ["loss"]}, None, {"a": "b"}
)
TEXT = """\
harness: 1
cases:
- case: hello
  requirement: Text arrives.
  features: [text.streaming]
  source: https://ai.google.dev/api/generate-content
  cassette: hello
  expect:
    art:
    - {a: 1.0, b: 1, c: true, d: -0.0, e: "1", f: 123456789012345678901234567890, g: 1e-7}
    - {text: "\\0 \\u2028 \\U0001F600 \\xe9"}
"""


def read(text: str) -> tuple[dict[str, object], Lines]:
    return reader._parse(text, "x")


@pytest.mark.slow
def test_shipped_specs_are_the_same() -> None:
    paths = [path for path in sorted(SPECS.rglob("*.yaml")) if path.name != "features.yaml"]
    assert len(paths) > 200
    for path in paths:
        text = path.read_text(encoding="utf-8")
        data, lines = read(text)
        recalled = kept.recall(kept.keep("key", data, lines), "key", text)
        assert recalled is not None
        assert repr(recalled[0]) == repr(SpecFile.model_validate(data)), path
        assert recalled[1].first == lines.first, path
        everything = parse_located(text)[1]
        assert all(lines(place) == line for place, line in everything.items()), path


def test_values_keep_their_types() -> None:
    data, lines = read(TEXT)
    recalled = kept.recall(kept.keep("key", data, lines), "key", TEXT)
    assert recalled is not None
    (case,) = recalled[0].cases
    assert repr(case.expect) == repr(data["cases"][0]["expect"])  # type: ignore[index]  # the YAML is a literal above
    assert recalled[1](("cases", 0, "expect", "art", 1, "text")) == 11


@pytest.mark.parametrize(
    ("text", "known", "version"),
    [
        (TEXT + " ", KNOWN, "1"),
        (TEXT, KNOWN, "2"),
        (TEXT, replace(KNOWN, features={"text"}), "1"),
        (TEXT, replace(KNOWN, dialects={"mind": 1}), "1"),
        (TEXT, replace(KNOWN, providers=["vertex-ai"]), "1"),
        (TEXT, replace(KNOWN, losses={"art": ["other"]}), "1"),
        (TEXT, replace(KNOWN, adapters={"a": "art"}), "1"),
    ],
)
def test_another_text_name_or_version_is_read_again(
    text: str, known: KnownNames, version: str
) -> None:
    key = kept.key_of(TEXT, KNOWN, "1")
    other = kept.key_of(text, known, version)
    data, lines = read(TEXT)
    assert kept.recall(kept.keep(key, data, lines), other, text) is None
    assert kept.key_of(TEXT, replace(KNOWN, dialects=["art"]), "1") == key


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "{",
        "null",
        "[]",
        '["key", {}, []]',
        '["key", {"harness": 1, "cases": []}, []]',
        '["key", 1, 2]',
        '["key", ' + "[" * 100_000 + "]" * 100_000 + ", []]",
    ],
)
def test_damaged_text_is_not_used(damaged: str) -> None:
    assert kept.recall(damaged, "key", TEXT) is None


def test_only_the_lines_of_cases_and_their_keys_are_read_at_once() -> None:
    _, lines = read(TEXT)
    everything = parse_located(TEXT)[1]
    assert lines.first == {place: line for place, line in everything.items() if len(place) <= DEPTH}
    assert parse_located(TEXT, 0)[1] == {(): 1}
