"""Every field of every wire is under an aspect, or is listed as no fact with the reason.

The vocabularies of the wires are those of `tests.providers`. `UNDER` names the aspect of a field,
`NO_FACT` the reason of each other field.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from harness.facts import ASPECTS, Entry, Finish, Text, Transcript
from tests.providers import test_wire_coverage as gemini
from tests.providers.openai_compat.test_coverage import VOCABULARY as CHAT
from tests.providers.test_anthropic_coverage import VOCABULARY as MESSAGES
from tests.providers.test_interactions_coverage import VOCABULARY as INTERACTIONS
from tests.providers.test_openai_coverage import VOCABULARY as OPENAI
from tests.support.wire_answers import answer, frame, verdicts

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


NO_FACT: Final = {
    "it is part of the framing": """index object type role event_type event_id interaction metadata response obfuscation""",
    "it identifies the answer for the provider, not its content": """responseId interaction_id traceId system_fingerprint""",
    "it is a time": "createTime created updated",
    "it names the model, which the application chose": """modelVersion modelStatus model agent""",
    "it is the account of the user of Code Assist": "consumedCredits remainingCredits",
    "it follows from other fields": "tokenCount avgLogprobs",
    "it divides a count that is under `usage`, or counts runs of a tool": """promptTokensDetails cacheTokensDetails candidatesTokensDetails
        toolUsePromptTokensDetails input_tokens_by_modality output_tokens_by_modality
        cached_tokens_by_modality tool_use_tokens_by_modality grounding_tool_count
        initial_input_tokens raw_prompt_token cache_creation server_tool_use iterations
        audio_tokens accepted_prediction_tokens rejected_prediction_tokens""",
    "it explains a refusal, which is under `blocked` or `finish`": "safetyRatings",
    "only the next request uses it": """continuationToken continuation_token continuation_ids""",
    "it describes a part whose content is under another aspect": """videoMetadata mediaResolution partMetadata audioTranscription mediaProcessing
        speechMetadata documentMetadata spreadsheetMetadata audioMetadata mime_type resolution
        sample_rate channels""",
    "it describes a source that is found by its URI": """title start_index end_index file_name page_number media_id source place_id
        review_snippets start_offset end_offset speaker style""",
    "it is a detail of a tool that the server ran": """search_type retrieval_type server_name""",
    "it repeats the request": """previous_interaction_id environment environment_id agent_config input system_instruction
        tools generation_config response_format labels webhook_config""",
    "it is the part of the request that ended the answer; law 10 compares it": """stop_sequence""",
    "it describes the treatment of the request, not the content of the answer": """container context_management diagnostics input_transformations inference_geo""",
}
"""The fields that are no fact, by the reason. The page what-is-judged.md has the reasons."""


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


FIELDS: Final = vocabulary()
ASPECT_OF: Final = {field: aspect for aspect, fields in UNDER.items() for field in fields.split()}
UNASKED: Final = " ".join(NO_FACT.values()).split()


@pytest.mark.parametrize("wire", FIELDS)
def test_every_field_is_under_an_aspect_or_listed_as_no_fact(wire: str) -> None:
    missing = FIELDS[wire] - ASPECT_OF.keys() - {*UNASKED}
    assert not missing, "decide whether these fields are facts: a row of UNDER, or of NO_FACT"


def test_the_lists_name_only_aspects_and_fields_that_exist() -> None:
    every = set().union(*FIELDS.values())
    assert set(UNDER) <= set(ASPECTS)
    assert every >= {*UNASKED}
    assert len(UNASKED) == len({*UNASKED} - ASPECT_OF.keys())
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
