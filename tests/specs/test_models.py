"""The features file, and the JSON Schema for editors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.dialects import DIALECTS
from harness.facts import ASPECTS
from harness.specs.matching.operators import OPERATORS
from harness.specs.models import Case, json_schema
from harness.specs.reader import read_features
from harness.specs.spec_error import SpecError

FEATURES = Path(__file__).parents[2] / "specs" / "features.yaml"


def test_features_are_complete_and_grouped() -> None:
    features = read_features(FEATURES.read_text("utf-8"), "specs/features.yaml")
    assert len(features) > 40
    assert all(
        feature.id.count(".") == 1
        and feature.meaning.endswith(".")
        and not feature.title.endswith(".")
        for feature in features
    )
    declared = {loss.aspect for dialect in DIALECTS.values() for loss in dialect.losses}
    assert {loss for feature in features for loss in feature.losses} == declared
    asked = {aspect for feature in features for aspect in feature.aspects or ()}
    without = {"fields", "accepted"}
    assert asked == {*ASPECTS} - without, "only other fields and requests have no feature"
    groups = [feature.id.partition(".")[0] for feature in features]
    assert [group for index, group in enumerate(groups) if group not in groups[:index]] == [
        group for index, group in enumerate(groups) if index == 0 or groups[index - 1] != group
    ], "a group stands in one place"


def test_features_are_checked_like_specs() -> None:
    with pytest.raises(SpecError) as caught:
        read_features(
            """\
harness: 1
features:
- {id: a.b, title: A, meaning: It is., link: "https://x.y"}
- {id: a.b, title: A, meaning: It is., link: "https://x.y"}
- {id: A, title: "", mening: x, link: nowhere}
""",
            "f.yaml",
        )
    assert str(caught.value).splitlines() == [
        "f.yaml:4: id 'a.b' is already on line 3; give this one another name",
        "f.yaml:5: id must be lower-case words joined by '.' and '-', not 'A'",
        "f.yaml:5: title must be a sentence, not ''",
        "f.yaml:5: meaning is missing; required keys are id, title, meaning, link",
        "f.yaml:5: link must be a link that begins with http:// or https://, not 'nowhere'",
        "f.yaml:5: unknown key 'mening' (did you mean meaning?); known keys are id, title, meaning, link, aspects, losses",
    ]


def test_the_schema_names_every_key_with_its_meaning() -> None:
    definitions = json_schema()["$defs"]
    assert set(definitions["Case"]["properties"]) == set(Case.model_fields)
    for name in ("Case", "KnownFailing", "Feature"):
        assert definitions[name]["additionalProperties"] is False
        assert all(key["description"] for key in definitions[name]["properties"].values()), name
    assert "null" not in json.dumps(
        {name: definitions[name] for name in ("Case", "KnownFailing")}
    ), "an empty key is an error"


def test_every_reference_of_the_schema_leads_somewhere() -> None:
    schema = json_schema()
    text = json.dumps(schema)
    references = {part.partition('"')[0] for part in text.split('"#/$defs/')[1:]}
    assert references == set(schema["$defs"])
    assert schema["$defs"]["Case"]["properties"]["expect"]["additionalProperties"] == {
        "$ref": "#/$defs/Expectation"
    }


def test_the_schema_describes_every_operator() -> None:
    assert list(json_schema()["$defs"]["Expectation"]["properties"]) == list(OPERATORS)
