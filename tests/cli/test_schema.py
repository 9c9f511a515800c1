"""The schema of specs, as ``harness check --schema`` prints it."""

from __future__ import annotations

import json

import pytest

from harness.cli.main import main
from harness.providers import PROVIDERS
from tests.cli.project import FEATURES, write


def test_schema_is_json_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    names = schema["$defs"]["Case"]["properties"]
    assert "tool-calls.parallel" in names["features"]["items"]["enum"]
    assert names["provider"]["enum"] == list(PROVIDERS)
    assert {"frames", "events", "anthropic", "mind-program"} <= names["expect"]["properties"].keys()


def test_schema_offers_the_names_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    write("rules/features.yaml", FEATURES)
    write("pytest.ini", "[pytest]\nharness_adapters = shop = nowhere:replay\n")
    assert main(["check", "--schema", "--specs", "rules"]) == 0
    names = json.loads(capsys.readouterr().out)["$defs"]["Case"]["properties"]
    assert names["features"]["items"]["enum"] == ["own.one"]
    assert names["expect"]["properties"]["shop"] == {"$ref": "#/$defs/Expectation"}
    assert names["expect"]["additionalProperties"] is False
