"""The site: each page has its place in the navigation, and the reference is made from the code."""

from __future__ import annotations

import importlib.util
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.cli.main import COMMANDS
from harness.facts import REASONS
from harness.project.project import shipped_features
from harness.report import schema
from harness.specs.matching import compare
from harness.specs.matching.operators import OPERATORS
from harness.specs.models import Case, json_schema
from harness.specs.reader import read_features
from tests.docs.test_pages import anchors

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def reference() -> Any:
    spec = importlib.util.spec_from_file_location("reference", DOCS / "site" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(reference: Any) -> dict[str, str]:
    written: dict[str, str] = reference.pages()
    return written


def navigation() -> Iterator[str]:
    """The pages that mkdocs.yml names. The file has tags, so it is read by lines."""
    lines = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").splitlines()
    for line in lines[lines.index("nav:") + 1 :]:
        if line.endswith(".md"):
            yield line.strip().removeprefix("- ")


def test_each_page_has_one_place_in_the_navigation(pages: dict[str, str]) -> None:
    written = {path.name for path in DOCS.glob("*.md")}
    made = {f"reference/{name}" for name in pages}
    assert sorted(navigation()) == sorted(written | made)


def test_each_old_page_leads_to_its_new_place() -> None:
    moved = tomllib.loads((DOCS / "site" / "moved.toml").read_text(encoding="utf-8"))
    assert moved
    for old, new in moved.items():
        page, _, heading = new.partition("#")
        assert not (DOCS / f"{old}.md").exists()
        assert heading in anchors(DOCS / f"{page}.md") | {""}, f"{old}: {new}"


def test_each_command_has_a_section_with_its_options(pages: dict[str, str]) -> None:
    page = pages["command-line.md"]
    for name in COMMANDS:
        assert f"\n## harness {name}\n" in page
    assert "`--cassettes PATH [PATH ...]`" in page
    assert "0: everything is kept or declared" in page


def test_each_option_setting_and_fixture_of_pytest_is_listed(pages: dict[str, str]) -> None:
    page = pages["pytest.md"]
    for name in ("--harness-accept", "--harness-report DIR", "harness_adapters", "harness_replay"):
        assert f"| `{name}` |" in page


def test_each_key_and_operator_is_listed_with_a_failure(
    reference: Any, pages: dict[str, str]
) -> None:
    page = pages["spec-keys.md"]
    for key in Case.model_fields:
        assert f"| `{key}`" in page
    assert set(reference.FAILURES) == set(OPERATORS)
    for name, (expected, actual) in reference.FAILURES.items():
        assert compare(expected, actual), name
        assert f"\n### {name}\n" in page
        assert f"expect: {json.dumps(expected)}" in page


def test_each_feature_is_listed_below_a_heading(pages: dict[str, str]) -> None:
    page = pages["features.md"]
    features = read_features(shipped_features()[1], "features.yaml")
    for feature in features:
        assert page.count(f"| [`{feature.id}`]({feature.link}) | ") == 1
    assert page.count("\n| [`") == len(features)
    assert page.index("\n## Content of an answer\n") < page.index("`text.streaming`")


def test_each_reason_of_a_finding_has_its_sentence(pages: dict[str, str]) -> None:
    for reason in filter(None, REASONS):
        assert f"| `{reason}` |" in pages["findings.md"]
    assert "| `calls-missing` | *wire* of *wire* calls lost: *wire* |" in pages["findings.md"]


def test_the_types_of_results_are_linked(pages: dict[str, str]) -> None:
    assert "| `plan` | [Plan](#plan) |" in pages["results.md"]


def test_the_fields_of_results_have_a_meaning(pages: dict[str, str]) -> None:
    row = "| `case` | integer |  | An index into the cases of the document, from 0. |"
    assert row in pages["results.md"].splitlines()


def test_every_public_name_has_an_entry(pages: dict[str, str]) -> None:
    for name in harness.__all__:
        if not name.startswith("__"):
            assert f"::: harness.{name}\n" in pages["python.md"]


def test_the_schemas_are_files_of_the_site() -> None:
    (site,) = (
        line.removeprefix("site_url: ")
        for line in (ROOT / "mkdocs.yml").read_text(encoding="utf-8").splitlines()
        if line.startswith("site_url: ")
    )
    assert json_schema()["$id"] == f"{site}spec.schema.json"
    assert schema()["$id"] == f"{site}results.schema.json"


def test_the_site_needs_no_other_host() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in text
    assert "- offline" not in text  # it loads a script from another host
