"""Token counts."""

from __future__ import annotations

import pytest

from tests.support.normalizing import Json, content

COUNTS = {
    "promptTokenCount": "input",
    "candidatesTokenCount": "output",
    "responseTokenCount": "output",
    "thoughtsTokenCount": "reasoning",
    "cachedContentTokenCount": "cached",
    "toolUsePromptTokenCount": "tool_use",
    "totalTokenCount": "total",
}


@pytest.mark.parametrize(("wire", "name"), COUNTS.items())
@pytest.mark.parametrize("value", [5, "5", 5.0, 2**70])
def test_counts(wire: str, name: str, value: Json) -> None:
    raw = {wire: value}
    assert content({"usageMetadata": raw}) == [{"kind": "usage", "raw": raw, name: int(value)}]


@pytest.mark.parametrize(
    "raw",
    [
        {"promptTokensDetails": [{"modality": "TEXT", "tokenCount": 12}]},
        {"cacheTokensDetails": []},
        {"candidatesTokensDetails": []},
        {"toolUsePromptTokensDetails": []},
        {"trafficType": "ON_DEMAND"},
        {"serviceTier": "standard"},
        {"billablePromptUsage": {}},
        {"rawPromptTokenCount": 5, "initial_prompt_token_count": 4},
        {"promptTokenCount": True},
        {"promptTokenCount": "many"},
        {"promptTokenCount": 1.5},
    ],
)
def test_other_usage_is_kept_raw(raw: Json) -> None:
    assert content({"usageMetadata": raw}) == [{"kind": "usage", "raw": raw}]


def test_an_unknown_count_is_an_unknown_event_once() -> None:
    count = {"usageMetadata": {"promptTokenCount": 1, "dreamTokenCount": 7}}
    events = content(count, {"usageMetadata": {"dreamTokenCount": 8}})
    assert [event["where"] for event in events if event["kind"] == "unknown"] == [
        "field usageMetadata.dreamTokenCount"
    ]
