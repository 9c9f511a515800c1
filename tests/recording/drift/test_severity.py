"""The tables of drift: features, severities, and the messages that have counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import load
from harness.project.project import shipped_features
from harness.providers import PROVIDERS
from harness.recording.drift import compare_cassettes
from harness.recording.drift.severity import (
    ENDS,
    FINISH,
    KINDS,
    PLACES,
    SIGNED,
    place_of,
)
from harness.recording.drift.shape import AnswerShape, presence_of, shape_of
from harness.specs.reader import read_features
from harness.stream.exchange import Exchange
from harness.stream.framing import make_frame


# The tables
def test_every_named_feature_is_on_the_checklist() -> None:
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


def test_the_input_of_a_tool_is_not_part_of_the_shape() -> None:
    def shape(given: str) -> AnswerShape:
        line = f'{{"event":"step_update","step_update":{{"tool_info":{{"name":"f","parameters":{given},"output":"x"}}}}}}'
        exchange = Exchange(None, 200, {}, ((None, line.encode()),), "complete")
        return shape_of(exchange, [make_frame(line.encode(), 0, None)])

    assert shape('{"a": 1}') == shape('{"b": "c"}')
    assert shape("{}") != shape("[]")


@pytest.mark.parametrize(
    ("stands", "presence"),
    [
        ("x", {"final", "running"}),
        (".x", {"final", "running"}),
        ("..x", {"final"}),
        (".xx", {"running"}),
        ("x.x", {"in some"}),
        ("xx.", {"not in the last"}),
        ("...", set()),
    ],
)
def test_the_messages_that_have_counts(stands: str, presence: set[str]) -> None:
    assert presence_of([stand == "x" for stand in stands]) == presence


def shipped() -> Iterator[Path]:
    return (Path(__file__).parents[3] / "cassettes").rglob("*.yaml")


@pytest.mark.slow
def test_no_shipped_cassette_drifts_from_itself() -> None:
    cassettes = [load(path) for path in shipped()]
    assert len(cassettes) > 90
    assert {exchange.provider for cassette in cassettes for exchange in cassette.exchanges} >= {
        *PROVIDERS
    }
    assert [
        compare_cassettes(cassette, cassette)
        for cassette in cassettes
        if compare_cassettes(cassette, cassette)
    ] == []
