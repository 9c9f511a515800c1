"""The tables of drift: features, severities, and in which messages counts stand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import load
from harness.conformance.project import shipped_features
from harness.providers import PROVIDERS
from harness.recording.drift import compare_cassettes
from harness.recording.drift.severity import ENDS, FINISH, KINDS, PLACES, SIGNED, place_of
from harness.recording.drift.shape import presence_of
from harness.specs import read_features


# The tables
def test_every_feature_that_is_named_is_on_the_checklist() -> None:
    name, text = shipped_features()
    known = {feature.id for feature in read_features(text, name)}
    named = {place.feature for _, place in PLACES} | {
        *FINISH.values(),
        *ENDS.values(),
        *KINDS.values(),
        *SIGNED.values(),
    }
    assert named - known == set()


def test_a_path_is_known_in_either_spelling() -> None:
    assert place_of("usage_metadata.total_token_count") == place_of("usageMetadata.totalTokenCount")
    assert place_of("response.usageMetadata.thoughtsTokenCount").feature == "usage.thoughts"


@pytest.mark.parametrize(
    ("stands", "found"),
    [
        ("x", {"final", "running"}),
        (".x", {"final", "running"}),
        ("..x", {"final"}),
        (".xx", {"running"}),
        ("x.x", {"here and there"}),
        ("xx.", {"not in the last"}),
        ("...", set()),
    ],
)
def test_in_which_messages_counts_stand(stands: str, found: set[str]) -> None:
    assert presence_of([one == "x" for one in stands]) == found


def shipped() -> Iterator[Path]:
    return (Path(__file__).parents[3] / "cassettes").rglob("*.yaml")


def test_no_shipped_cassette_drifts_from_itself() -> None:
    cassettes = [load(path) for path in shipped()]
    assert len(cassettes) > 90
    assert {one.provider for cassette in cassettes for one in cassette.exchanges} >= {*PROVIDERS}
    assert [
        compare_cassettes(cassette, cassette)
        for cassette in cassettes
        if compare_cassettes(cassette, cassette)
    ] == []
