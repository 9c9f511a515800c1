"""A request with all values of a question is green, and each fault is red by its own aspect."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.judging.questions.comparison import Comparison, SentPrompt
from harness.judging.questions.prompt_comparison import asked_aspects, compare_prompts
from harness.judging.questions.question import Question, own_questions
from harness.providers import PROVIDERS
from harness.stream.prompt import AnswerFormat, Function, Prompt, Schema
from harness.stream.session import Session

QUESTIONS = {question.name: question for question in own_questions()}
EVERYTHING = (
    *("system", "messages", "tools", "choice", "output", "settings", "thinking", "google"),
)
GEMINI = PROVIDERS["gemini-api"]
Body = dict[str, Any]
Change = Callable[[Body], object]


def exact(schema: Schema | None) -> Schema | None:
    return replace(schema, exact=True) if schema else None


def with_json_schemas(prompt: Prompt) -> Prompt:
    tools = tuple(
        replace(tool, schema=exact(tool.schema)) if isinstance(tool, Function) else tool
        for tool in prompt.tools
    )
    output = prompt.format and AnswerFormat(exact(prompt.format.schema), prompt.format.name)
    return replace(prompt, tools=tools, format=output)


def body_of(question: Question) -> Body:
    request = GEMINI.request(with_json_schemas(question.prompt), Session())
    return json.loads(json.dumps(request.body))  # type: ignore[no-any-return]  # an object


def reds(question: Question, body: Body, read: tuple[str, ...] = EVERYTHING) -> set[str]:
    sent = SentPrompt(GEMINI.prompt_of(body), body, json_schema=GEMINI.json_schema)
    findings = compare_prompts(Comparison(question, question.prompt, sent, read))
    assert {finding.subject for finding in findings} >= {*asked_aspects(question.prompt)}
    return {
        " ".join(filter(None, (finding.subject, finding.verdict, finding.word)))
        for finding in findings
        if finding.red
    }


WRITTEN = [
    name
    for name, question in QUESTIONS.items()
    if question.turns == 1 and not question.prompt.google and "tools.provider" not in question.features
]  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_a_request_with_everything_is_green(name: str) -> None:
    question = QUESTIONS[name]

    assert reds(question, body_of(question)) == set()


def generation(body: Body) -> Body:
    settings: Body = body.setdefault("generationConfig", {})
    return settings


def declaration(body: Body, index: int = 0) -> Body:
    found: Body = body["tools"][0]["functionDeclarations"][index]
    return found


def parameters(body: Body) -> Body:
    schema: Body = declaration(body)["parametersJsonSchema"]
    return schema


def parts(body: Body, index: int) -> list[Body]:
    found: list[Body] = body["contents"][index]["parts"]
    return found


def zeros_dropped(body: Body) -> None:
    body["generationConfig"] = {key: value for key, value in generation(body).items() if value}


def results_by_place(body: Body) -> None:
    first, second = (part["functionResponse"] for part in parts(body, 2))
    first["response"], second["response"] = second["response"], first["response"]


def signature_at_another_call(body: Body) -> None:
    _, first, second = parts(body, 1)
    second["thoughtSignature"] = first.pop("thoughtSignature")


FAULTS: dict[str, tuple[str, Change, str]] = {
    "a system text is lost": ("system-parts", lambda body: body["systemInstruction"]["parts"].pop(), "system lost"),
    "a system text of the user": ("system-parts", lambda body: parts(body, 0).append(body["systemInstruction"]["parts"].pop()), "system wrong"),
    "a text is lost": ("system-parts", lambda body: parts(body, 0).pop(), "messages lost"),
    "a text is sent twice": ("settings-none", lambda body: parts(body, 0).append(parts(body, 0)[0]), "messages wrong"),
    "a text of the wrong role": ("messages-repeated-roles", lambda body: body["contents"][2].update(role="user"), "messages wrong"),
    "texts in another order": ("messages-repeated-roles", lambda body: body["contents"].reverse(), "messages wrong"),
    "a text is changed": ("messages-exact-text", lambda body: parts(body, 0)[0].update(text="USER-ao1"), "messages wrong"),
    "a text is added": ("settings-none", lambda body: parts(body, 0).append({"text": "Be brief."}), "invented wrong text"),
    "the second image is lost": ("media-image", lambda body: parts(body, 0).pop(3), "media lost"),
    "another media type": ("media-image", lambda body: parts(body, 0)[1]["inlineData"].update(mimeType="image/webp"), "media wrong"),
    "an address as a text": ("media-by-url", lambda body: parts(body, 0).__setitem__(1, {"text": "web:png-3"}), "media wrong"),
    "a tool is lost": ("tools-plain", lambda body: body["tools"][0]["functionDeclarations"].pop(), "tools lost"),
    "a description is lost": ("tools-plain", lambda body: declaration(body).pop("description"), "tools lost"),
    "another tool": ("tools-plain", lambda body: body["tools"][0]["functionDeclarations"].append({"name": "x"}), "invented wrong tool"),
    "const dropped": ("schema-enums", lambda body: parameters(body)["properties"]["kind"].pop("const"), "schema lost const"),
    "null dropped": ("schema-nullable", lambda body: parameters(body)["properties"]["a"].update(type="string"), "schema lost null"),
    "nested names made required": ("tools-plain", lambda body: parameters(body)["properties"]["place"]["required"].append("zip"), "schema wrong required"),
    "a pattern dropped": ("schema-limits", lambda body: parameters(body)["properties"]["s"].pop("pattern"), "limits lost pattern"),
    "a forced choice becomes AUTO": ("choice-required", lambda body: body["toolConfig"]["functionCallingConfig"].update(mode="AUTO"), "choice wrong"),
    "a forced choice is lost": ("choice-named", lambda body: body.pop("toolConfig"), "choice lost"),
    "no choice becomes AUTO": ("choice-none", lambda body: body["toolConfig"]["functionCallingConfig"].update(mode="AUTO"), "choice wrong"),
    "a choice is added": ("tools-plain", lambda body: body.update(toolConfig={"functionCallingConfig": {"mode": "ANY"}}), "invented wrong choice"),
    "no schema of the answer": ("output-schema", lambda body: generation(body).pop("responseJsonSchema"), "output lost schema"),
    "no JSON": ("output-schema", lambda body: generation(body).pop("responseMimeType"), "output lost json"),
    "no structured answer": ("output-json", lambda body: body.pop("generationConfig"), "output lost"),
    "names in another order": ("output-schema", lambda body: generation(body)["responseJsonSchema"].update(propertyOrdering=["alpha", "zeta"]), "output wrong order"),
    "zeros dropped": ("settings-zero", zeros_dropped, "settings lost temperature"),
    "a setting is changed": ("settings-values", lambda body: generation(body).update(topP=0.5), "settings wrong top_p"),
    "a setting is added": ("settings-none", lambda body: generation(body).update(maxOutputTokens=4096), "invented wrong max_tokens"),
    "candidates are added": ("settings-none", lambda body: generation(body).update(candidateCount=2), "invented wrong candidateCount"),
    "effort is lost": ("thinking-effort", lambda body: generation(body)["thinkingConfig"].pop("thinkingLevel"), "thinking lost effort"),
    "a budget is changed": ("thinking-budget", lambda body: generation(body)["thinkingConfig"].update(thinkingBudget=0), "thinking wrong budget"),
    "thinking is added": ("settings-none", lambda body: generation(body).update(thinkingConfig={"thinkingBudget": 0}), "invented wrong thinking"),
    "safety is added": ("settings-none", lambda body: body.update(safetySettings=[{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]), "invented wrong safety"),
    "a call is lost": ("history-calls", lambda body: parts(body, 1).pop(), "calls lost"),
    "arguments are changed": ("history-calls", lambda body: parts(body, 1)[1]["functionCall"].update(args={}), "calls wrong"),
    "an id is changed": ("history-calls", lambda body: parts(body, 1)[1]["functionCall"].update(id="other"), "ids wrong"),
    "a signature is lost": ("history-calls", lambda body: parts(body, 1)[1].pop("thoughtSignature"), "signatures lost"),
    "a signature at another call": ("history-calls", signature_at_another_call, "signatures wrong"),
    "results by place although ids say otherwise": ("history-results-by-id", results_by_place, "results wrong"),
    "a result is lost": ("history-calls", lambda body: parts(body, 2).pop(), "results lost"),
    "a result is changed": ("history-result-values", lambda body: parts(body, 2)[0]["functionResponse"].update(response={"k": "RES-at1 and more"}), "results wrong"),
    "a failed result as a success": ("history-result-failed", lambda body: parts(body, 2)[0]["functionResponse"].update(response={"output": "RES-au1"}), "results wrong failed"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_red_by_its_own_aspect(fault: str) -> None:
    name, change, expected = FAULTS[fault]
    question = QUESTIONS[name]
    body = body_of(question)

    change(body)

    assert expected in reds(question, body)


ODD: dict[str, tuple[str, Change]] = {
    "a content for each part": ("system-parts", lambda body: body.update(contents=[{"role": "user", "parts": [part]} for part in parts(body, 0)])),
    "parts in one": ("system-parts", lambda body: body.update(contents=[{"role": "user", "parts": [{"text": "USER-al1\n\nUSER-al2"}]}])),
    "other keys for results": ("history-calls", lambda body: [part["functionResponse"].update(response={"content": part["functionResponse"]["response"]["result"]}) for part in parts(body, 2)]),
    "results in blocks": ("history-result-values", lambda body: [part["functionResponse"].update(response={"output": [{"json": part["functionResponse"]["response"]}]}) for part in parts(body, 2)[:1]]),
    "a failed result with details": ("history-result-failed", lambda body: parts(body, 2)[0]["functionResponse"].update(response={"error": {"details": "RES-au1"}})),
    "the text of a result as a text file": ("history-result-media", lambda body: parts(body, 2)[0]["functionResponse"].update(response={"result": ""}, parts=[{"inlineData": {"mimeType": "text/plain", "data": "UkVTLWF3MQ=="}}, *parts(body, 2)[0]["functionResponse"]["parts"]])),
    "numbers as floats and texts": ("settings-values", lambda body: generation(body).update(maxOutputTokens=1781.0, seed="4177")),
    "a mode in lower case with all names": ("choice-required", lambda body: body["toolConfig"].update(functionCallingConfig={"mode": "any", "allowedFunctionNames": ["tool_s1", "tool_s2"]})),
    "a tool for each function": ("tools-plain", lambda body: body.update(tools=[{"function_declarations": [each]} for each in body["tools"][0]["functionDeclarations"]])),
    "fields that ask for nothing": ("settings-none", lambda body: body.update(safetySettings=[], generationConfig={"candidateCount": 1, "responseModalities": ["TEXT"]})),
    "base64 for URLs, without padding": ("media-image", lambda body: parts(body, 0)[1]["inlineData"].update(data=parts(body, 0)[1]["inlineData"]["data"].translate(str.maketrans("+/", "-_")).rstrip("="))),
    "another spelling of JPEG": ("media-image", lambda body: parts(body, 0)[3]["inlineData"].update(mimeType="image/jpg")),
    "no schema for a function without parameters": ("tools-without-parameters", lambda body: [body["tools"][0]["functionDeclarations"][1].pop(name, None) for name in ("parameters", "parametersJsonSchema")]),
    "a placeholder in place of a foreign signature": ("switch-from-anthropic", lambda body: parts(body, 1)[-1].update(thoughtSignature="skip_thought_signature_validator")),
    "ids left out": ("history-calls", lambda body: [part.get("functionCall", part.get("functionResponse", {})).pop("id", None) for content in body["contents"] for part in content["parts"]]),
    "a text file as a text": ("media-kinds", lambda body: parts(body, 0).__setitem__(4, {"text": "name,number\nCSV-1,1"})),
}  # fmt: skip


@pytest.mark.parametrize("form", ODD)
def test_an_odd_but_right_request_is_green(form: str) -> None:
    name, change = ODD[form]
    question = QUESTIONS[name]
    body = body_of(question)

    change(body)

    assert reds(question, body) == set()


def test_what_the_adapter_has_not_read_is_not_invented() -> None:
    question = QUESTIONS["settings-none"]
    body = body_of(question)
    generation(body).update(maxOutputTokens=4096)

    assert reds(question, body, ("messages",)) == set()


def test_a_finding_has_the_question_and_the_place_of_the_value() -> None:
    question = QUESTIONS["tools-plain"]
    body = body_of(question)
    del parameters(body)["properties"]["place"]["properties"]["town"]
    sent = SentPrompt(GEMINI.prompt_of(body), body, json_schema=GEMINI.json_schema)

    findings = compare_prompts(Comparison(question, question.prompt, sent, EVERYTHING))

    [finding] = (each for each in findings if each.word == "property")
    assert finding.sentence == 'schema lost: property "town" of tool_a1.place is not sent'
    assert finding.place.asked == "place.town"
    path = "tools[0].functionDeclarations[0].parametersJsonSchema.properties.place"
    assert finding.place.sent == path
