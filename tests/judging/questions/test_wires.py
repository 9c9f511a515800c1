"""Questions on the wires of other vendors: the reader gives back what the writer wrote, a request
with everything is green, and each fault is red by its own aspect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from harness.judging.questions.comparison import Comparison, SentPrompt
from harness.judging.questions.prompt_comparison import asked_aspects, compare_prompts
from harness.judging.questions.question import Question, own_questions
from harness.judging.questions.wire_form import body_of, without_place
from harness.providers import PROVIDERS, Api, Provider
from harness.stream.generation import TranslationError
from harness.stream.prompt import Prompt

QUESTIONS = {question.name: question for question in own_questions() if question.turns == 1}
EVERYTHING = (
    *("system", "messages", "tools", "choice", "output", "settings", "thinking", "google"),
)
Body = dict[str, Any]
Change = Callable[[Body], object]

WIRES: Final = {
    api.name: (provider, api)
    for provider in PROVIDERS.values()
    if provider.reads_whole and provider.wire != "generateContent"
    for api in provider.apis
}
ASKED = [
    (wire, name)
    for wire in WIRES
    for name, question in QUESTIONS.items()
    if question.is_for(wire) and "tools.provider" not in question.features
]


def wire_of(wire: str) -> tuple[Provider, Api]:
    return WIRES[wire]


def prompt_of(question: Question, provider: Provider) -> Prompt:
    return replace(question.prompt, model=provider.asked_model or question.model)


def written(wire: str, name: str) -> Body:
    provider, api = wire_of(wire)
    body = body_of(prompt_of(QUESTIONS[name], provider), provider, api)
    assert isinstance(body, dict)
    return body


def compared(wire: str, name: str, body: Body) -> tuple[Comparison, Provider, Api]:
    provider, api = wire_of(wire)
    question = QUESTIONS[name]
    sent = SentPrompt(provider.prompt_of(body), body, json_schema=provider.json_schema)
    return Comparison(question, prompt_of(question, provider), sent, EVERYTHING), provider, api


def reds(wire: str, name: str, body: Body) -> set[str]:
    both, provider, api = compared(wire, name, body)
    findings = without_place(both, provider, api, compare_prompts(both))
    assert {finding.subject for finding in findings} >= {*asked_aspects(both.asked)}
    shown = [finding for finding in findings if finding.red and finding.place.sent]
    assert all(finding.adapter is not None for finding in shown)
    return {
        " ".join(filter(None, (finding.subject, finding.verdict, finding.word)))
        for finding in findings
        if finding.red
    }


UNSIGNED: Final = {
    name: {"signatures lost"} for name, question in QUESTIONS.items() if question.group == "history"
}
NO_PLACE: Final[dict[str, dict[str, set[str]]]] = {
    "messages": {
        **{name: {"invented wrong max_tokens"} for name in QUESTIONS},
        "settings-values": {"settings lost seed"},
        "settings-zero": {"settings lost seed", "invented wrong max_tokens"},
        **{
            name: {"signatures lost", "invented wrong max_tokens"}
            for name, question in QUESTIONS.items()
            if question.group == "history"
        },
    },
    "responses": {
        "settings-values": {f"settings lost {name}" for name in ("top_k", "seed", "stop")},
        "settings-zero": {"settings lost seed"},
        **UNSIGNED,
    },
    "chat": {
        "settings-values": {"settings lost top_k"},
        "thinking-effort": {"thinking lost shown"},
        "media-kinds": {"media lost"},
        "media-by-url": {"media lost"},
        **UNSIGNED,
    },
    "openai-compat": {
        "settings-values": {"settings lost top_k"},
        "google-tier": {"google lost tier"},
        "history-result-media": {"media lost"},
        "media-kinds": {"media lost"},
        "media-by-url": {"media lost"},
    },
    "interactions": {
        "settings-values": {"settings lost top_k"},
    },
}
"""Wire → question → what the wire has no place for, or needs beside the question."""
OWN: Final = {"include", "store"}
"""The fields that a writer adds to keep the history itself."""
REFUSED: Final = {("messages", "schema-sloppy")}
"""The questions that the writer of a wire refuses."""


@pytest.mark.parametrize(("wire", "name"), ASKED)
def test_the_prompt_of_a_written_body_is_written_as_the_same_body(wire: str, name: str) -> None:
    provider, api = wire_of(wire)
    if (wire, name) in REFUSED:
        with pytest.raises(TranslationError):
            written(wire, name)
        return
    body = written(wire, name)
    both, _, _ = compared(wire, name, body)
    differences = {
        " ".join(filter(None, (finding.subject, finding.verdict, finding.word)))
        for finding in compare_prompts(both)
        if finding.red
    }

    assert body_of(both.sent.prompt, provider, api) == body
    assert differences == NO_PLACE[wire].get(name, set())
    assert both.sent.prompt.more.keys() <= OWN
    assert reds(wire, name, body) == set()


def blocks(body: Body, index: int) -> list[Body]:
    content = body["messages"][index]["content"]
    if isinstance(content, str):
        body["messages"][index]["content"] = content = [{"type": "text", "text": content}]
    found: list[Body] = content
    return found


def system_of_the_user(body: Body) -> None:
    blocks(body, 0).append({"type": "text", "text": body.pop("system")})


def results_by_place(body: Body) -> None:
    first, second = blocks(body, 2)
    first["content"], second["content"] = second["content"], first["content"]


def schema_of(body: Body) -> Body:
    found: Body = body["tools"][0]["input_schema"]
    return found


MESSAGES: dict[str, tuple[str, Change, str]] = {
    "a system text is lost": ("system-parts", lambda body: body.update(system="SYS-al1"), "system lost"),
    "a system text of the user": ("system-parts", system_of_the_user, "system wrong"),
    "a text is lost": ("system-parts", lambda body: blocks(body, 0).pop(), "messages lost"),
    "a text is sent twice": ("settings-none", lambda body: blocks(body, 0).append(blocks(body, 0)[0]), "messages wrong"),
    "a text of the wrong role": ("messages-repeated-roles", lambda body: body["messages"][1].update(role="user"), "messages wrong"),
    "texts in another order": ("messages-repeated-roles", lambda body: body["messages"].reverse(), "messages wrong"),
    "a text is added": ("settings-none", lambda body: blocks(body, 0).append({"type": "text", "text": "Be brief."}), "invented wrong text"),
    "the second image is lost": ("media-image", lambda body: blocks(body, 0).pop(3), "media lost"),
    "another media type": ("media-image", lambda body: blocks(body, 0)[1]["source"].update(media_type="image/webp"), "media wrong"),
    "an address as a text": ("media-by-url", lambda body: blocks(body, 0).__setitem__(1, {"type": "text", "text": "web:png-3"}), "media wrong"),
    "a tool is lost": ("tools-plain", lambda body: body["tools"].pop(), "tools lost"),
    "a description is lost": ("tools-plain", lambda body: body["tools"][0].pop("description"), "tools lost"),
    "another tool": ("tools-plain", lambda body: body["tools"].append({"name": "x", "input_schema": {"type": "object"}}), "invented wrong tool"),
    "const dropped": ("schema-enums", lambda body: schema_of(body)["properties"]["kind"].pop("const"), "schema lost const"),
    "null dropped": ("schema-nullable", lambda body: schema_of(body)["properties"]["a"].update(type="string"), "schema lost null"),
    "a pattern dropped": ("schema-limits", lambda body: schema_of(body)["properties"]["s"].pop("pattern"), "limits lost pattern"),
    "a forced choice becomes auto": ("choice-required", lambda body: body["tool_choice"].update(type="auto"), "choice wrong"),
    "a forced choice is lost": ("choice-named", lambda body: body.pop("tool_choice"), "choice lost"),
    "another tool is forced": ("choice-named", lambda body: body["tool_choice"].update(name="tool_s1"), "choice wrong"),
    "no choice becomes auto": ("choice-none", lambda body: body.update(tool_choice={"type": "auto"}), "choice wrong"),
    "a choice is added": ("tools-plain", lambda body: body.update(tool_choice={"type": "any"}), "invented wrong choice"),
    "no schema of the answer": ("output-schema", lambda body: body["output_config"]["format"].pop("schema"), "output lost schema"),
    "no structured answer": ("output-schema", lambda body: body.pop("output_config"), "output lost"),
    "a structured answer is added": ("settings-none", lambda body: body.update(output_config={"format": {"type": "json_schema", "schema": {}}}), "invented wrong output"),
    "zeros dropped": ("settings-zero", lambda body: body.pop("temperature"), "settings lost temperature"),
    "a setting is changed": ("settings-values", lambda body: body.update(top_p=0.5), "settings wrong top_p"),
    "the limit is changed": ("settings-values", lambda body: body.update(max_tokens=4096), "settings wrong max_tokens"),
    "a setting is added": ("settings-none", lambda body: body.update(temperature=1), "invented wrong temperature"),
    "effort is lost": ("thinking-effort", lambda body: body.pop("output_config"), "thinking lost effort"),
    "thoughts are not asked for": ("thinking-effort", lambda body: body.pop("thinking"), "thinking lost shown"),
    "thoughts are left out": ("thinking-effort", lambda body: body["thinking"].update(display="omitted"), "thinking wrong shown"),
    "a budget is changed": ("thinking-budget", lambda body: body["thinking"].update(budget_tokens=1024), "thinking wrong budget"),
    "thinking is added": ("settings-none", lambda body: body.update(thinking={"type": "enabled", "budget_tokens": 1024}), "invented wrong thinking"),
    "a call is lost": ("history-calls", lambda body: blocks(body, 1).pop(), "calls lost"),
    "arguments are changed": ("history-calls", lambda body: blocks(body, 1)[1].update(input={}), "calls wrong"),
    "arguments as a text": ("history-calls", lambda body: blocks(body, 1)[1].update(input='{"city": "ARG-ar1"}'), "calls wrong"),
    "an id is changed": ("history-calls", lambda body: blocks(body, 1)[1].update(id="other"), "ids wrong"),
    "a signature is lost": ("switch-from-anthropic", lambda body: blocks(body, 1)[0].pop("signature"), "signatures lost"),
    "results by place although ids say otherwise": ("history-results-by-id", results_by_place, "results wrong"),
    "a result is lost": ("history-calls", lambda body: blocks(body, 2).pop(), "results lost"),
    "a result is changed": ("history-result-values", lambda body: blocks(body, 2)[0].update(content='{"k": "RES-at1 and more"}'), "results wrong"),
    "a failed result as a success": ("history-result-failed", lambda body: blocks(body, 2)[0].pop("is_error"), "results wrong failed"),
    "an image of a result is lost": ("history-result-media", lambda body: blocks(body, 2)[0]["content"].pop(), "media lost"),
}  # fmt: skip


def chat_parts(body: Body, index: int) -> list[Body]:
    content = body["messages"][index]["content"]
    if isinstance(content, str):
        body["messages"][index]["content"] = content = [{"type": "text", "text": content}]
    found: list[Body] = content
    return found


def function(body: Body) -> Body:
    found: Body = body["tools"][0]
    inner: Body = found.get("function", found)
    return inner


def properties(body: Body) -> Body:
    found: Body = function(body)["parameters"]["properties"]
    return found


def contents_by_place(body: Body) -> None:
    first, second = (each for each in body["messages"] if each["role"] == "tool")
    first["content"], second["content"] = second["content"], first["content"]


def chat_system_of_the_user(body: Body) -> None:
    body["messages"][0]["role"] = "user"


CHAT: dict[str, tuple[str, Change, str]] = {
    "a system text is lost": ("system-parts", lambda body: body["messages"].pop(0), "system lost"),
    "a system text of the user": ("system-parts", chat_system_of_the_user, "system wrong"),
    "a text is lost": ("system-parts", lambda body: chat_parts(body, 2).pop(), "messages lost"),
    "a text of the wrong role": ("messages-repeated-roles", lambda body: body["messages"][2].update(role="user"), "messages wrong"),
    "texts in another order": ("messages-repeated-roles", lambda body: body["messages"].reverse(), "messages wrong"),
    "a text is added": ("settings-none", lambda body: chat_parts(body, 0).append({"type": "text", "text": "Be brief."}), "invented wrong text"),
    "the second image is lost": ("media-image", lambda body: chat_parts(body, 0).pop(3), "media lost"),
    "an address as a text": ("media-by-url", lambda body: chat_parts(body, 0).__setitem__(1, {"type": "text", "text": "web:png-3"}), "media wrong"),
    "a sound of another type": ("media-kinds", lambda body: chat_parts(body, 0)[2]["input_audio"].update(format="mp3"), "media wrong"),
    "a document is lost": ("media-kinds", lambda body: chat_parts(body, 0).pop(1), "media lost"),
    "a tool is lost": ("tools-plain", lambda body: body["tools"].pop(), "tools lost"),
    "a description is lost": ("tools-plain", lambda body: function(body).pop("description"), "tools lost"),
    "const dropped": ("schema-enums", lambda body: properties(body)["kind"].pop("const"), "schema lost const"),
    "a pattern dropped": ("schema-limits", lambda body: properties(body)["s"].pop("pattern"), "limits lost pattern"),
    "a forced choice becomes auto": ("choice-required", lambda body: body.update(tool_choice="auto"), "choice wrong"),
    "a forced choice is lost": ("choice-named", lambda body: body.pop("tool_choice"), "choice lost"),
    "another tool is forced": ("choice-named", lambda body: body["tool_choice"]["function"].update(name="tool_s1"), "choice wrong"),
    "a choice is added": ("tools-plain", lambda body: body.update(tool_choice="required"), "invented wrong choice"),
    "no schema of the answer": ("output-schema", lambda body: body.update(response_format={"type": "json_object"}), "output lost schema"),
    "no structured answer": ("output-json", lambda body: body.pop("response_format"), "output lost"),
    "zeros dropped": ("settings-zero", lambda body: (body.pop("temperature"), body.pop("seed")), "settings lost seed"),
    "a setting is changed": ("settings-values", lambda body: body.update(top_p=0.5), "settings wrong top_p"),
    "a setting is added": ("settings-none", lambda body: body.update(max_tokens=4096), "invented wrong max_tokens"),
    "choices are added": ("settings-none", lambda body: body.update(n=2), "invented wrong n"),
    "effort is lost": ("thinking-effort", lambda body: body.pop("reasoning_effort"), "thinking lost effort"),
    "effort is changed": ("thinking-effort", lambda body: body.update(reasoning_effort="high"), "thinking wrong effort"),
    "a call is lost": ("history-calls", lambda body: body["messages"][1]["tool_calls"].pop(), "calls lost"),
    "arguments are changed": ("history-calls", lambda body: body["messages"][1]["tool_calls"][0]["function"].update(arguments="{}"), "calls wrong"),
    "an id is changed": ("history-calls", lambda body: body["messages"][1]["tool_calls"][0].update(id="other"), "ids wrong"),
    "results by place although ids say otherwise": ("history-results-by-id", contents_by_place, "results wrong"),
    "a result is lost": ("history-calls", lambda body: body["messages"].pop(2), "results lost"),
    "a result is changed": ("history-result-values", lambda body: body["messages"][2].update(content='{"k": "RES-at1 and more"}'), "results wrong"),
}  # fmt: skip

COMPATIBLE: dict[str, tuple[str, Change, str]] = {
    **CHAT,
    "a budget is changed": ("thinking-budget", lambda body: body["extra_body"]["google"]["thinking_config"].update(thinking_budget=1), "thinking wrong budget"),
    "thoughts are not asked for": ("thinking-effort", lambda body: body.pop("extra_body"), "thinking lost shown"),
    "a threshold is lost": ("google-safety", lambda body: body["extra_body"]["google"]["safety_settings"].pop(), "google wrong safety"),
    "a signature is lost": ("history-calls", lambda body: body["messages"][1]["tool_calls"][0].pop("extra_content"), "signatures lost"),
}  # fmt: skip


def items(body: Body, index: int) -> list[Body]:
    content = body["input"][index]["content"]
    if isinstance(content, str):
        body["input"][index]["content"] = content = [{"type": "input_text", "text": content}]
    found: list[Body] = content
    return found


def outputs_by_place(body: Body) -> None:
    first, second = (each for each in body["input"] if each.get("type") == "function_call_output")
    first["output"], second["output"] = second["output"], first["output"]


def of_kind(body: Body, kind: str) -> Body:
    return next(each for each in body["input"] if each.get("type") == kind)


RESPONSES: dict[str, tuple[str, Change, str]] = {
    "a system text is lost": ("system-parts", lambda body: body.update(instructions="SYS-al1"), "system lost"),
    "a system text of the user": ("system-parts", lambda body: items(body, 0).append({"type": "input_text", "text": body.pop("instructions")}), "system wrong"),
    "a text is lost": ("system-parts", lambda body: items(body, 0).pop(), "messages lost"),
    "a text of the wrong role": ("messages-repeated-roles", lambda body: body["input"][2].update(role="user"), "messages wrong"),
    "texts in another order": ("messages-repeated-roles", lambda body: body["input"].reverse(), "messages wrong"),
    "a text is added": ("settings-none", lambda body: items(body, 0).append({"type": "input_text", "text": "Be brief."}), "invented wrong text"),
    "the second image is lost": ("media-image", lambda body: items(body, 0).pop(3), "media lost"),
    "an address as a text": ("media-by-url", lambda body: items(body, 0).__setitem__(1, {"type": "input_text", "text": "web:png-3"}), "media wrong"),
    "a tool is lost": ("tools-plain", lambda body: body["tools"].pop(), "tools lost"),
    "a description is lost": ("tools-plain", lambda body: function(body).pop("description"), "tools lost"),
    "const dropped": ("schema-enums", lambda body: properties(body)["kind"].pop("const"), "schema lost const"),
    "a forced choice becomes auto": ("choice-required", lambda body: body.update(tool_choice="auto"), "choice wrong"),
    "a forced choice is lost": ("choice-named", lambda body: body.pop("tool_choice"), "choice lost"),
    "a choice is added": ("tools-plain", lambda body: body.update(tool_choice="required"), "invented wrong choice"),
    "no schema of the answer": ("output-schema", lambda body: body["text"].update(format={"type": "json_object"}), "output lost schema"),
    "no structured answer": ("output-json", lambda body: body.pop("text"), "output lost"),
    "a zero dropped": ("settings-zero", lambda body: body.pop("temperature"), "settings lost temperature"),
    "a setting is changed": ("settings-values", lambda body: body.update(max_output_tokens=1), "settings wrong max_tokens"),
    "a setting is added": ("settings-none", lambda body: body.update(max_output_tokens=4096), "invented wrong max_tokens"),
    "effort is lost": ("thinking-effort", lambda body: body["reasoning"].pop("effort"), "thinking lost effort"),
    "a summary is not asked for": ("thinking-effort", lambda body: body["reasoning"].pop("summary"), "thinking lost shown"),
    "the tier is lost": ("google-tier", lambda body: body.pop("service_tier"), "google lost tier"),
    "a call is lost": ("history-calls", lambda body: body["input"].remove(of_kind(body, "function_call")), "calls lost"),
    "arguments are changed": ("history-calls", lambda body: of_kind(body, "function_call").update(arguments="{}"), "calls wrong"),
    "an id is changed": ("history-calls", lambda body: of_kind(body, "function_call").update(call_id="other"), "ids wrong"),
    "results by place although ids say otherwise": ("history-results-by-id", outputs_by_place, "results wrong"),
    "a result is lost": ("history-calls", lambda body: body["input"].remove(of_kind(body, "function_call_output")), "results lost"),
    "an image of a result is lost": ("history-result-media", lambda body: of_kind(body, "function_call_output")["output"].pop(), "media lost"),
}  # fmt: skip


def step(body: Body, kind: str) -> Body:
    return next(each for each in body["input"] if each["type"] == kind)


def values_by_place(body: Body) -> None:
    first, second = (each for each in body["input"] if each["type"] == "function_result")
    first["result"], second["result"] = second["result"], first["result"]


def config(body: Body) -> Body:
    found: Body = body["generation_config"]
    return found


INTERACTIONS: dict[str, tuple[str, Change, str]] = {
    "a system text is lost": ("system-parts", lambda body: body.update(system_instruction="SYS-al1"), "system lost"),
    "a system text of the user": ("system-parts", lambda body: items(body, 0).append({"type": "text", "text": body.pop("system_instruction")}), "system wrong"),
    "a text is lost": ("system-parts", lambda body: items(body, 0).pop(), "messages lost"),
    "a text of the wrong role": ("messages-repeated-roles", lambda body: body["input"][2].update(type="user_input"), "messages wrong"),
    "texts in another order": ("messages-repeated-roles", lambda body: body["input"].reverse(), "messages wrong"),
    "a text is added": ("settings-none", lambda body: items(body, 0).append({"type": "text", "text": "Be brief."}), "invented wrong text"),
    "the second image is lost": ("media-image", lambda body: items(body, 0).pop(3), "media lost"),
    "an address as a text": ("media-by-url", lambda body: items(body, 0).__setitem__(1, {"type": "text", "text": "web:png-3"}), "media wrong"),
    "an image of another type": ("media-image", lambda body: items(body, 0)[1].update(mime_type="image/gif"), "media wrong"),
    "the resolution is lost": ("media-details", lambda body: items(body, 0)[1].pop("resolution"), "media lost details"),
    "a part of a video becomes all": ("media-details", lambda body: items(body, 0)[2].pop("processing"), "media lost details"),
    "a tool is lost": ("tools-plain", lambda body: body["tools"].pop(), "tools lost"),
    "a description is lost": ("tools-plain", lambda body: function(body).pop("description"), "tools lost"),
    "const dropped": ("schema-enums", lambda body: properties(body)["kind"].pop("const"), "schema lost const"),
    "a pattern dropped": ("schema-limits", lambda body: properties(body)["s"].pop("pattern"), "limits lost pattern"),
    "a forced choice becomes auto": ("choice-required", lambda body: config(body).update(tool_choice="auto"), "choice wrong"),
    "a forced choice is lost": ("choice-named", lambda body: config(body).pop("tool_choice"), "choice lost"),
    "another tool is forced": ("choice-named", lambda body: config(body)["tool_choice"]["allowed_tools"].update(tools=["tool_s1"]), "choice wrong"),
    "a choice is added": ("tools-plain", lambda body: body.update(generation_config={"tool_choice": "any"}), "invented wrong choice"),
    "no schema of the answer": ("output-schema", lambda body: body["response_format"].pop("schema"), "output lost schema"),
    "no media type of the answer": ("output-schema", lambda body: body["response_format"].pop("mime_type"), "output lost json"),
    "no structured answer": ("output-json", lambda body: body.pop("response_format"), "output lost"),
    "an answer as JSON is added": ("settings-none", lambda body: body.update(response_format={"type": "text", "mime_type": "application/json"}), "invented wrong output"),
    "zeros dropped": ("settings-zero", lambda body: body.pop("generation_config"), "settings lost seed"),
    "a setting is changed": ("settings-values", lambda body: config(body).update(top_p=0.5), "settings wrong top_p"),
    "a setting is added": ("settings-none", lambda body: body.update(generation_config={"max_output_tokens": 4096}), "invented wrong max_tokens"),
    "an image is requested": ("settings-none", lambda body: body.update(response_modalities=["text", "image"]), "invented wrong response_modalities"),
    "effort is lost": ("thinking-effort", lambda body: config(body).pop("thinking_level"), "thinking lost effort"),
    "effort is changed": ("thinking-effort", lambda body: config(body).update(thinking_level="high"), "thinking wrong effort"),
    "a summary is not asked for": ("thinking-effort", lambda body: config(body).update(thinking_summaries="none"), "thinking wrong shown"),
    "a threshold is lost": ("google-safety", lambda body: body["safety_settings"].pop(), "google wrong safety"),
    "the tier is lost": ("google-tier", lambda body: body.pop("service_tier"), "google lost tier"),
    "labels are lost": ("google-labels", lambda body: body.pop("labels"), "google lost labels"),
    "a call is lost": ("history-calls", lambda body: body["input"].remove(step(body, "function_call")), "calls lost"),
    "arguments are changed": ("history-calls", lambda body: step(body, "function_call").update(arguments={}), "calls wrong"),
    "arguments as a text": ("history-calls", lambda body: step(body, "function_call").update(arguments='{"city": "ARG-ar1"}'), "calls wrong"),
    "an id is changed": ("history-calls", lambda body: step(body, "function_call").update(id="other"), "ids wrong"),
    "a signature is lost": ("history-calls", lambda body: step(body, "function_call").pop("signature"), "signatures lost"),
    "a signature at another call": ("history-calls", lambda body: body["input"].insert(3, {"type": "thought", "signature": step(body, "function_call").pop("signature")}), "signatures wrong"),
    "results by place although ids say otherwise": ("history-results-by-id", values_by_place, "results wrong"),
    "a result is lost": ("history-calls", lambda body: body["input"].remove(step(body, "function_result")), "results lost"),
    "a result is changed": ("history-result-values", lambda body: step(body, "function_result").update(result={"k": "RES-at1 and more"}), "results wrong"),
    "a failed result as a success": ("history-result-failed", lambda body: step(body, "function_result").pop("is_error"), "results wrong failed"),
    "an image of a result is lost": ("history-result-media", lambda body: step(body, "function_result")["result"].pop(), "media lost"),
}  # fmt: skip

TABLES: Final = {
    "messages": MESSAGES, "chat": CHAT, "openai-compat": COMPATIBLE, "responses": RESPONSES,
    "interactions": INTERACTIONS,
}  # fmt: skip
FAULTS: Final = [(wire, fault, *row) for wire, rows in TABLES.items() for fault, row in rows.items()]  # fmt: skip


@pytest.mark.parametrize(
    ("wire", "name", "change", "expected"),
    [(wire, *row) for wire, _, *row in FAULTS],
    ids=[f"{wire}: {fault}" for wire, fault, *_ in FAULTS],
)
def test_each_fault_is_red_by_its_own_aspect(
    wire: str, name: str, change: Change, expected: str
) -> None:
    body = written(wire, name)

    change(body)

    assert expected in reds(wire, name, body)


ODD_MESSAGES: dict[str, tuple[str, Change]] = {
    "a block for each system text": ("system-parts", lambda body: body.update(system=[{"type": "text", "text": text} for text in body["system"].split("\n\n")])),
    "a message for each text": ("system-parts", lambda body: body.update(messages=[{"role": "user", "content": [block]} for block in blocks(body, 0)])),
    "a cache mark": ("settings-none", lambda body: blocks(body, 0)[0].update(cache_control={"type": "ephemeral"})),
    "fields that are null": ("settings-none", lambda body: body.update(thinking=None, tools=None, metadata=None, stop_sequences=[])),
    "any limit": ("settings-none", lambda body: body.update(max_tokens=64000)),
    "a tool that is strict": ("tools-plain", lambda body: body["tools"][0].update(strict=True, type="custom")),
    "results as blocks": ("history-calls", lambda body: [block.update(content=[{"type": "text", "text": block["content"]}]) for block in blocks(body, 2)]),
    "the older field of a structured answer": ("output-schema", lambda body: body.update(output_format=body.pop("output_config")["format"])),
    "a forced function of a structured answer": ("output-schema", lambda body: body.update(tools=[{"name": "answer", "input_schema": body.pop("output_config")["format"]["schema"]}], tool_choice={"type": "tool", "name": "answer"})),
    "a budget in place of an effort": ("thinking-effort", lambda body: (body.pop("output_config"), body.update(thinking={"type": "enabled", "budget_tokens": 1024}))),
}  # fmt: skip
ODD_CHAT: dict[str, tuple[str, Change]] = {
    "a developer": ("system-parts", lambda body: [each.update(role="developer") for each in body["messages"] if each["role"] == "system"]),
    "a system text after the messages": ("system-parts", lambda body: body["messages"].append(body["messages"].pop(1))),
    "contents as lists": ("messages-repeated-roles", lambda body: [chat_parts(body, index) for index in range(5)]),
    "the older limit": ("settings-values", lambda body: body.update(max_tokens=body.pop("max_completion_tokens", body.get("max_tokens")))),
    "one stop as a text": ("settings-none", lambda body: body.update(stop=None, n=1, tools=None)),
    "all tools are allowed": ("choice-required", lambda body: body.update(tool_choice={"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": body["tools"]}})),
    "results as lists": ("history-calls", lambda body: [chat_parts(body, index) for index in (2, 3)]),
}  # fmt: skip
ODD_RESPONSES: dict[str, tuple[str, Change]] = {
    "a developer": ("system-parts", lambda body: body["input"].insert(0, {"role": "developer", "content": body.pop("instructions")})),
    "a text as the input": ("settings-none", lambda body: body.update(input="USER-z1")),
    "typed messages": ("messages-repeated-roles", lambda body: [item.update(type="message") for item in body["input"]]),
    "fields that are null": ("settings-none", lambda body: body.update(reasoning=None, text=None, tools=[], instructions=None, metadata={})),
    "the usual tier": ("settings-none", lambda body: body.update(service_tier="auto", store=True)),
}  # fmt: skip


def signatures_before_calls(body: Body) -> None:
    """As official clients send them: a call has no field for its signature."""
    steps: list[Body] = []
    for each in body["input"]:
        if signature := each.pop("signature", None):
            steps.append({"type": "thought", "signature": signature})
        steps.append(each)
    body["input"] = steps


ODD_INTERACTIONS: dict[str, tuple[str, Change]] = {
    "a text as the input": ("settings-none", lambda body: body.update(input="USER-z1")),
    "one content as the input": ("settings-none", lambda body: body.update(input={"type": "text", "text": "USER-z1"})),
    "contents as the input": ("media-image", lambda body: body.update(input=items(body, 0))),
    "signatures in thoughts before the calls": ("history-calls", signatures_before_calls),
    "results in a content of the user": ("history-result-failed", lambda body: body.update(input=[*body["input"][:-1], {"type": "user_input", "content": [body["input"][-1]]}])),
    "results without names": ("history-calls", lambda body: [each.pop("name") for each in body["input"] if each["type"] == "function_result"]),
    "results as contents": ("history-calls", lambda body: [each.update(result=[{"type": "text", "text": each["result"]}]) for each in body["input"] if each["type"] == "function_result"]),
    "results under a key": ("history-calls", lambda body: [each.update(result={"output": each["result"]}) for each in body["input"] if each["type"] == "function_result"]),
    "a list of formats": ("output-schema", lambda body: body.update(response_format=[body["response_format"]])),
    "the older field of the media type": ("output-json", lambda body: body.update(response_mime_type=body.pop("response_format")["mime_type"])),
    "all tools are allowed": ("choice-required", lambda body: config(body).update(tool_choice={"allowed_tools": {"mode": "any", "tools": ["tool_s1", "tool_s2"]}})),
    "validated": ("tools-plain", lambda body: body.update(generation_config={"tool_choice": "validated"})),
    "only text": ("settings-none", lambda body: body.update(response_modalities=["text"], tools=[], labels={}, safety_settings=[], system_instruction=None)),
    "a stored answer": ("settings-none", lambda body: body.pop("store")),
    "a whole number as a fraction": ("settings-values", lambda body: config(body).update(max_output_tokens=1781.0, seed="4177")),
}  # fmt: skip
FORMS: Final = {
    "messages": ODD_MESSAGES, "chat": ODD_CHAT, "openai-compat": ODD_CHAT, "responses": ODD_RESPONSES,
    "interactions": ODD_INTERACTIONS,
}  # fmt: skip
ODD: Final = [(wire, form, *row) for wire, rows in FORMS.items() for form, row in rows.items()]  # fmt: skip


@pytest.mark.parametrize(
    ("wire", "name", "change"),
    [(wire, *row) for wire, _, *row in ODD],
    ids=[f"{wire}: {form}" for wire, form, *_ in ODD],
)
def test_an_odd_but_right_request_is_green(wire: str, name: str, change: Change) -> None:
    body = written(wire, name)

    change(body)

    assert reds(wire, name, body) == set()
