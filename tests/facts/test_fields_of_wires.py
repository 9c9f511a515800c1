"""Every field of every wire is under an aspect, or the page lists it as no fact with the reason.

The vocabularies of the wires are those of `tests.providers`. `UNDER` names the aspect of a field.
The page `docs/proofs.md` has the other fields in its table "no fact".
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest

from harness.facts import ASPECTS, Entry, Finish, Text, Transcript
from tests.providers import test_wire_coverage as gemini
from tests.providers.openai_compat.test_coverage import VOCABULARY as CHAT
from tests.providers.test_anthropic_coverage import VOCABULARY as MESSAGES
from tests.providers.test_interactions_coverage import VOCABULARY as INTERACTIONS
from tests.providers.test_openai_coverage import VOCABULARY as OPENAI
from tests.support.wire_answers import answer, frame, verdicts

PAGE: Final = Path(__file__).parents[2] / "docs" / "proofs.md"

UNDER: Final = {
    "text": "text parts content candidates choices delta message step steps output_text refusal",
    "thoughts": "thought summary extra_content reasoning reasoning_content",
    "calls": """functionCall name args arguments partialArgs willContinue jsonPath stringValue numberValue
        boolValue nullValue tool_calls function function_call""",
    "ids": "id call_id",
    "signatures": "thoughtSignature thought_signature signature reasoning_details",
    "finish": "finishReason finish_reason status stop_reason",
    "finish_message": "finishMessage stop_details",
    "blocked": "promptFeedback",
    "error": "error errors",
    "usage": """usageMetadata usage total_usage promptTokenCount cachedContentTokenCount
        candidatesTokenCount thoughtsTokenCount toolUsePromptTokenCount totalTokenCount
        total_input_tokens total_output_tokens total_thought_tokens total_cached_tokens
        total_tool_use_tokens total_tokens input_tokens output_tokens cache_read_input_tokens
        cache_creation_input_tokens output_tokens_details input_tokens_details prompt_tokens
        completion_tokens prompt_tokens_details completion_tokens_details cached_tokens
        cache_write_tokens reasoning_tokens""",
    "billing": "serviceTier trafficType service_tier",
    "media": """inlineData fileData image audio video document data uri output_image output_audio
        output_video""",
    "code": "executableCode codeExecutionResult",
    "server_tools": "toolCall toolResponse functionResponse result is_error",
    "grounding": "groundingMetadata",
    "citations": "citationMetadata citationSources citations url document_uri annotations",
    "urls": "urlContextMetadata",
    "logprobs": "logprobsResult logprobs",
}


def vocabulary() -> dict[str, set[str]]:
    """The fields of each wire."""
    names = (
        "PART_KINDS CALL_FIELDS PIECE_FIELDS REPLY_FIELDS ENVELOPE_FIELDS CANDIDATE_FIELDS"
        " CITATION_KEYS USAGE_FIELDS"
    )
    return {
        "gemini": {field for name in names.split() for field in getattr(gemini, name).split()},
        **{
            wire: {
                word
                for kind, (_, words) in table.items()
                if "field" in kind or kind == "content"
                for word in words
            }
            for wire, table in (
                ("interactions", INTERACTIONS),
                ("openai-compat", CHAT),
                ("anthropic", MESSAGES),
                ("openai", OPENAI),
            )
        },
    }


def no_facts() -> dict[str, str]:
    """The fields in the table of the page, each with its reason."""
    text = PAGE.read_text(encoding="utf-8")
    rows = re.search(r"\| field \| why it is no fact \|\n\|[-|]+\n((?:\|.*\n)+)", text)
    assert rows, "the page has no table of fields that are no fact"
    listed: dict[str, str] = {}
    for row in rows[1].splitlines():
        fields, reason = (cell.strip() for cell in row.strip("|").split("|"))
        for name in re.findall(r"`([^`]+)`", fields):
            assert name not in listed, f"{name} is listed twice"
            listed[name] = reason
    return listed


FIELDS: Final = vocabulary()
ASPECT_OF: Final = {field: aspect for aspect, fields in UNDER.items() for field in fields.split()}


@pytest.mark.parametrize("wire", FIELDS)
def test_every_field_is_under_an_aspect_or_listed_as_no_fact(wire: str) -> None:
    listed = no_facts()
    missing = FIELDS[wire] - ASPECT_OF.keys() - listed.keys()
    assert not missing, "decide whether these fields are facts: a row of UNDER, or of the page"
    assert not ASPECT_OF.keys() & listed.keys()


def test_the_lists_name_only_aspects_and_fields_that_exist() -> None:
    every = set().union(*FIELDS.values())
    assert set(UNDER) <= set(ASPECTS)
    assert no_facts().keys() <= every
    assert all(no_facts().values())
    assert ASPECT_OF.keys() - every == {"parts"}


GROUNDED: dict[str, Any] = {
    "groundingMetadata": {
        "groundingChunks": [
            {"retrievedContext": {"title": "chapter-4", "text": "Close the valve first."}}
        ]
    }
}


@pytest.mark.parametrize(
    ("aspect", "message", "values"),
    [
        ("billing", {"usageMetadata": {"serviceTier": "priority"}}, ["priority"]),
        ("billing", {"usageMetadata": {"trafficType": "ON_DEMAND_FLEX"}}, ["ON_DEMAND_FLEX"]),
        (
            "logprobs",
            frame(logprobsResult={"chosenCandidates": [{"token": "a", "logProbability": -0.25}]}),
            [-0.25],
        ),
        ("grounding", frame(**GROUNDED), ["chapter-4", "Close the valve first."]),
    ],
)
def test_an_adapter_that_loses_the_values_of_a_new_aspect_is_red(
    aspect: str, message: dict[str, Any], values: list[Any]
) -> None:
    wire = answer(frame({"text": "a"}, finishReason="STOP"), message)
    stated = (Text("a"), Finish("STOP"))
    assert verdicts(wire, Transcript((Entry({}, stated),)))[aspect] == "lost"
    assert verdicts(wire, Transcript((Entry({"x": values}, stated),)))[aspect] == "kept"


def test_billing_that_the_wire_leaves_open_is_not_asked() -> None:
    usage = {"usageMetadata": {"trafficType": "TRAFFIC_TYPE_UNSPECIFIED", "serviceTier": ""}}
    wire = answer(frame({"text": "a"}, finishReason="STOP"), usage)
    stated = (Text("a"), Finish("STOP"))
    assert "billing" not in verdicts(wire, Transcript((Entry({}, stated),)))


@pytest.mark.parametrize(
    ("usage", "ending"),
    [
        ({"serviceTier": "standard"}, {"finishReason": "STOP"}),
        ({"serviceTier": "default"}, {"finishReason": "STOP"}),
        ({"serviceTier": "SERVICE_TIER_STANDARD"}, {"finishReason": "STOP"}),
        ({"trafficType": "ON_DEMAND"}, {"finishReason": "STOP"}),
        ({"serviceTier": "priority"}, {}),
    ],
)
def test_the_default_tier_and_that_of_an_answer_without_a_good_end_are_not_asked(
    usage: dict[str, Any], ending: dict[str, Any]
) -> None:
    wire = answer(frame({"text": "a"}, **ending), {"usageMetadata": usage})
    assert verdicts(wire, Transcript((Entry({}, (Text("a"),)),)))["billing"] == "not_asked"


def test_billing_beside_an_error_is_not_asked() -> None:
    usage = {"usageMetadata": {"serviceTier": "priority"}}
    wire = answer(frame({"text": "a"}), usage, {"error": {"code": 500, "message": "Late."}})
    assert verdicts(wire, Transcript((Entry({}, (Text("a"),)),)))["billing"] == "not_asked"
