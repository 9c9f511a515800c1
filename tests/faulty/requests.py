"""Faults of request translators.

The systems from which the event models come had them, or their siblings had them. A fault changes
the event model's prompt before our translation, the neutral prompt after it, or the request that a
provider writes from that. Its docstring describes the fault and its source.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, TypeVar

from harness.adapters import ADAPTERS, Adapter
from harness.dialects import DIALECTS
from harness.dialects.dialect import RequestTranslator
from harness.providers import Provider
from harness.stream.generation import GenerateRequest
from harness.stream.prompt import Prompt
from harness.stream.session import Session

from .faults import Fault, file_fault

Json = Any
Body = dict[str, Any]
OfPrompt = Callable[[Json, Json], None]
OfBody = Callable[[Body], None]
F = TypeVar("F")
OfNeutral = Callable[[Prompt], Prompt]
OfAsked = Callable[[GenerateRequest, Json, Session], GenerateRequest]


@dataclass(frozen=True, slots=True)
class RequestFault(Fault):
    """An adapter with a fault in its request half.

    ``prompt`` changes (prompt, options), and ``body`` a body of generateContent, both in place.
    ``neutral`` changes the neutral prompt, for wires other than generateContent. ``asked`` replaces
    the written request; the translation has already changed the session.
    """

    prompt: OfPrompt | None = None
    body: OfBody | None = None
    asked: OfAsked | None = None
    neutral: OfNeutral | None = None

    @property
    def adapter(self) -> Adapter:
        """The fault as an adapter under test."""
        return replace(ADAPTERS[self.dialect], request=self.half)

    @property
    def half(self) -> RequestTranslator:
        """The request half to be judged instead of ours."""
        own = DIALECTS[self.dialect].request
        assert own is not None

        def translate(prompt: Any, options: Mapping[str, Any], session: Session) -> Prompt:
            prompt, chosen = copy.deepcopy(prompt), copy.deepcopy(dict(options))
            if self.prompt:
                self.prompt(prompt, chosen)
            translated = own.translate(prompt, chosen, session)
            return FaultyPrompt(fault=self, given=prompt, **_fields(translated))

        return replace(own, translate=translate)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyPrompt(Prompt):
    """A translated prompt with the fault of the request that is written from it. ``given``: the
    prompt of the event model.
    """

    fault: RequestFault
    given: Json


def _fields(prompt: Prompt) -> dict[str, Any]:
    return {field.name: getattr(prompt, field.name) for field in fields(Prompt)}


_our_request = Provider.request


def _request(self: Provider, prompt: Prompt, session: Session) -> GenerateRequest:
    """As `Provider.request`, with the fault of the prompt."""
    if not isinstance(prompt, FaultyPrompt):
        return _our_request(self, prompt, session)
    fault, is_ours = prompt.fault, self.wire == "generateContent"
    neutral = Prompt(**_fields(prompt))
    if fault.neutral and not is_ours:
        neutral = fault.neutral(neutral)
    request = _our_request(self, neutral, session)
    body = copy.deepcopy(request.body)
    if fault.body and is_ours:
        fault.body(body.get("request", body))
    request = replace(request, body=body)
    return fault.asked(request, prompt.given, session) if fault.asked else request


Provider.request = _request  # type: ignore[method-assign]  # a fault of any request is there


REQUEST_FAULTS: dict[str, RequestFault] = {}


def _filing(stage: str, dialects: Sequence[str]) -> Callable[[F], F]:
    def filed(fault: F) -> F:
        stages: dict[str, Any] = {stage: fault}
        for dialect in dialects:
            file_fault(REQUEST_FAULTS, dialect, fault, partial(RequestFault, **stages))
        return fault

    return filed


def of_prompt(*dialects: str) -> Callable[[OfPrompt], OfPrompt]:
    return _filing("prompt", dialects)


def of_body(*dialects: str) -> Callable[[OfBody], OfBody]:
    return _filing("body", dialects)


def of_neutral(*dialects: str) -> Callable[[OfNeutral], OfNeutral]:
    return _filing("neutral", dialects)


def of_asked(*dialects: str) -> Callable[[OfAsked], OfAsked]:
    return _filing("asked", dialects)


def parts(body: Body, kind: str) -> Iterator[Body]:
    """Every part that has ``kind``."""
    for content in body.get("contents", []):
        yield from (part for part in content["parts"] if kind in part)


def responses(body: Body) -> Iterator[Body]:
    yield from (part["functionResponse"] for part in parts(body, "functionResponse"))


def schemas(value: Json) -> Iterator[Body]:
    """Every schema of every declared tool, at any depth."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from schemas(item)
    elif isinstance(value, list):
        for item in value:
            yield from schemas(item)


def without_parts(body: Body, kind: str) -> None:
    """The body without these parts, and without contents that are then empty."""
    for content in body.get("contents", []):
        content["parts"] = [part for part in content["parts"] if kind not in part]
    body["contents"] = [content for content in body.get("contents", []) if content["parts"]]


# art


def messages_with(prompt: Json, *roles: str) -> list[Body]:
    """The messages with these roles; values that are no messages are skipped."""
    return (
        [
            message
            for message in prompt
            if isinstance(message, dict) and message.get("role") in roles
        ]
        if isinstance(prompt, list)
        else []
    )


@of_body("art")
def tools_never_sent(body: Body) -> None:
    """The tools of the options are not read (both states)."""
    body.pop("tools", None)


@of_prompt("art")
def system_before_the_next_user(prompt: Json, options: Json) -> None:
    """A system message is put before the next user message, and not before the first one (both
    states).
    """
    pending: list[Json] = []
    for message in messages_with(prompt, "system", "user"):
        if message["role"] == "system":
            pending.append(message)
            prompt.remove(message)
        elif pending and isinstance(message.get("content"), str):
            texts = [
                earlier["content"] for earlier in pending if isinstance(earlier.get("content"), str)
            ]
            message["content"], pending = "\n\n".join([*texts, message["content"]]), []
    if pending:
        prompt[:0] = pending


@of_prompt("art")
def last_system_wins(prompt: Json, options: Json) -> None:
    """Of several system messages only the last is sent (both states)."""
    for message in messages_with(prompt, "system")[:-1]:
        prompt.remove(message)


@of_prompt("art")
def role_tool_dropped(prompt: Json, options: Json) -> None:
    """A message with the role tool is dropped, though the model's own check allows it (both
    states).
    """
    for message in messages_with(prompt, "tool"):
        prompt.remove(message)


@of_prompt("art")
def bad_arguments_are_none(prompt: Json, options: Json) -> None:
    """Arguments that are not JSON are sent as no arguments (the contract of the event model forbids
    this).
    """
    for message in messages_with(prompt, "assistant"):
        for call in message["tool_calls"] if isinstance(message.get("tool_calls"), list) else []:
            try:
                json.loads(call["function"]["arguments"] or "{}")
            except ValueError:
                call["function"]["arguments"] = "{}"
            except (TypeError, KeyError):
                continue


@of_body("art")
def no_thinking(body: Body) -> None:
    """The setting for thoughts is not sent (the first version)."""
    body.get("generationConfig", {}).pop("thinkingConfig", None)


@of_body("art")
def zeros_lost(body: Body) -> None:
    """A setting of zero counts as missing (both states, for all but the temperature)."""
    settings = body.get("generationConfig", {})
    for name in [
        name
        for name, value in settings.items()
        if value == 0 and value is not False and name != "temperature"
    ]:
        del settings[name]


@of_body("art")
def no_user_first(body: Body) -> None:
    """A history that begins with the model is sent as it is (the document forbids this)."""
    if body.get("contents") and body["contents"][0] == {
        "role": "user",
        "parts": [{"text": "(Initial context)"}],
    }:
        del body["contents"][0]


@of_body("art")
def text_trimmed(body: Body) -> None:
    """Text loses the blanks around it (the contract of the event model forbids this)."""
    for part in parts(body, "text"):
        part["text"] = part["text"].strip()


@of_asked("art")
def the_default_is_the_example(
    asked: GenerateRequest, prompt: Json, session: Session
) -> GenerateRequest:
    """Without a model, the model of the document's example is asked instead of the document's
    default (the document).
    """
    if asked.model != "gemini-1.5-flash-latest":
        return asked
    model = "gemini-2.5-pro-preview-05-06"
    named = {"model": model} if "model" in asked.body else {}
    return replace(asked, model=model, body={**asked.body, **named})


@of_prompt("art")
def provider_config_is_not_read(prompt: Json, options: Json) -> None:
    """The model of providerConfig is ignored, though the document requires it (both states)."""
    options.pop("providerConfig", None)


# unified-llm: the Go code and its siblings


@of_body("unified-llm")
def result_named_by_its_id(body: Body) -> None:
    """The name in functionResponse is the call's id (a sibling in Python)."""
    for response in responses(body):
        response["name"] = response.get("id", response["name"])


@of_body("unified-llm")
def result_without_a_name(body: Body) -> None:
    """The name of a result is empty (a sibling in Python)."""
    for response in responses(body):
        response["name"] = ""


@of_body("unified-llm")
def calls_never_sent(body: Body) -> None:
    """The calls of an earlier answer are dropped, so the results have no calls (a sibling in
    TypeScript).
    """
    without_parts(body, "functionCall")


@of_body("unified-llm", "anthropic")
def failure_looks_like_a_result(body: Body) -> None:
    """The failure of a tool is not sent (the Go code; the proxy)."""
    for response in responses(body):
        if "error" in (response.get("response") or {}):
            response["response"] = {"result": response["response"]["error"]}


@of_body("unified-llm", "anthropic", "mind")
def signatures_never_sent(body: Body) -> None:
    """No signature goes back: the second turn with tools is refused (the Go code; the proxy, which
    loses its session; the agent).
    """
    for part in parts(body, "thoughtSignature"):
        del part["thoughtSignature"]


@of_prompt("unified-llm")
def bad_json_is_no_arguments(prompt: Json, options: Json) -> None:
    """Arguments that are not JSON are sent as no arguments (a sibling in Python)."""
    for call, name in calls_with_bad_json(prompt):
        call[name] = {}


def calls_with_bad_json(prompt: Json) -> Iterator[tuple[Body, str]]:
    """The calls whose arguments are a text that is not JSON, with the name of the field."""
    for call in tool_calls(prompt):
        for name in ("arguments", "input"):
            if isinstance(call.get(name), str):
                try:
                    json.loads(call[name])
                except ValueError:
                    yield call, name


def tool_calls(prompt: Json) -> Iterator[Body]:
    for message in prompt.get("messages") or []:
        for part in message.get("content") if isinstance(message.get("content"), list) else []:
            if isinstance(part, dict):
                call = part.get("tool_call")
                yield (
                    call
                    if isinstance(call, dict)
                    else part
                    if part.get("type") == "tool_use"
                    else {}
                )


@of_body("unified-llm")
def same_roles_merged(body: Body) -> None:
    """Consecutive contents of the same role are merged (a sibling in Python)."""
    merged: list[Body] = []
    for content in body.get("contents", []):
        if merged and merged[-1]["role"] == content["role"]:
            merged[-1]["parts"] += content["parts"]
        else:
            merged.append(content)
    body["contents"] = merged


@of_prompt("unified-llm")
def developers_ignored(prompt: Json, options: Json) -> None:
    """A developer's message is dropped (the Go code supports only the system role)."""
    if isinstance(prompt.get("messages"), list):
        prompt["messages"] = [
            message
            for message in prompt["messages"]
            if not (isinstance(message, dict) and message.get("role") == "developer")
        ]


@of_body("unified-llm")
def named_choice_is_any(body: Body) -> None:
    """A choice of a specific tool is sent as any tool (the specification's list of choices guards
    against this).
    """
    body.get("toolConfig", {}).get("functionCallingConfig", {}).pop("allowedFunctionNames", None)


@of_body("unified-llm", "anthropic")
def thoughts_sent_as_text(body: Body) -> None:
    """A thought of an earlier answer goes back as ordinary text (a sibling in Python; the proxy)."""
    for part in parts(body, "thought"):
        del part["thought"]


@of_body("unified-llm")
def structure_not_asked_for(body: Body) -> None:
    """The requested JSON format and its schema are not sent (the Go code)."""
    for name in ("responseMimeType", "responseSchema"):
        body.get("generationConfig", {}).pop(name, None)


@of_body("unified-llm")
def pictures_never_sent(body: Body) -> None:
    """Images, audio and documents are dropped (the Go code)."""
    without_parts(body, "inlineData")
    without_parts(body, "fileData")


@of_body("unified-llm")
def flat_schemas(body: Body) -> None:
    """The schemas inside an array or an object of a tool's schema are lost (a converter without
    recursion).
    """
    for tool in body.get("tools", []):
        for declaration in tool.get("functionDeclarations", []):
            for field in (declaration.get("parameters") or {}).get("properties", {}).values():
                for name in ("items", "properties", "required"):
                    field.pop(name, None)


@of_body("unified-llm")
def enumerations_lost(body: Body) -> None:
    """The allowed values of a tool's argument are not sent (the Go code's converter)."""
    for schema in schemas(body.get("tools")):
        schema.pop("enum", None)


@of_prompt("unified-llm")
def unknown_results_dropped(prompt: Json, options: Json) -> None:
    """The result of an unknown call is dropped without a warning (a sibling in TypeScript)."""
    known = {call.get("id") for call in tool_calls(prompt)}
    messages = prompt.get("messages")
    for message in list(messages) if isinstance(messages, list) else []:
        content = message.get("content") if isinstance(message, dict) else None
        results = (
            [part.get("tool_result") for part in content if isinstance(part, dict)]
            if isinstance(content, list)
            else []
        )
        if any(
            isinstance(result, dict) and result.get("tool_call_id") not in known
            for result in results
        ):
            messages.remove(message)


# anthropic: the proxy


@of_prompt("anthropic")
def references_not_resolved(prompt: Json, options: Json) -> None:
    """A ``$ref`` of a tool's schema becomes an empty schema (both states)."""
    for schema in schemas(prompt.get("tools") or []):
        schema.pop("$ref", None)


@of_body("anthropic")
def mode_not_validated(body: Body) -> None:
    """Tools without a choice are not sent in the mode of Code Assist's own client (the first
    state).
    """
    if "tools" in body:
        body.setdefault("toolConfig", {"functionCallingConfig": {"mode": "AUTO"}})


@of_body("anthropic")
def settings_invented(body: Body) -> None:
    """A prompt with a temperature is sent with a top-k that the caller did not set (both states)."""
    if "temperature" in body.get("generationConfig", {}):
        body["generationConfig"].setdefault("topK", 64)


@of_body("anthropic")
def placeholder_arguments(body: Body) -> None:
    """A tool without arguments gets a useless required argument (both states)."""
    for tool in body.get("tools", []):
        for declaration in tool.get("functionDeclarations", []):
            if not (declaration.get("parameters") or {}).get("properties"):
                field = {"_placeholder": {"type": "BOOLEAN"}}
                declaration["parameters"] = {
                    "type": "OBJECT",
                    "properties": field,
                    "required": ["_placeholder"],
                }


@of_body("anthropic")
def results_of_unknown_functions(body: Body) -> None:
    """A result whose call had no id on the wire is assigned to "unknown_function" (both states)."""
    for response in responses(body):
        response["name"] = response["name"] if "id" in response else "unknown_function"


@of_body("anthropic")
def text_after_results_lost(body: Body) -> None:
    """The user's text beside the results of tools is dropped (both states guard against this)."""
    for content in body.get("contents", []):
        if any("functionResponse" in part for part in content["parts"]):
            content["parts"] = [part for part in content["parts"] if "functionResponse" in part]


# mind: the agent


@of_body("mind")
def system_instead_of_the_prompt(body: Body) -> None:
    """With a system prompt the prompt itself is never sent (the second state)."""
    if len(body["contents"]) == 3 and body["contents"][1] == {
        "role": "model",
        "parts": [{"text": "ok"}],
    }:
        del body["contents"][1:]


@of_body("mind")
def another_answer_to_the_system(body: Body) -> None:
    """The model's answer to the system prompt has other words (the last state)."""
    for part in parts(body, "text"):
        part["text"] = "OK. I will follow the protocol." if part["text"] == "ok" else part["text"]


@of_prompt("mind")
def allowed_tools_ignored(prompt: Json, options: Json) -> None:
    """The list of allowed tools is ignored (all states)."""
    options.pop("allowed_tools", None)


@of_body("mind")
def only_the_first_result(body: Body) -> None:
    """Of the results of parallel calls only the first one is sent (the last state)."""
    for content in body["contents"]:
        answers = [part for part in content["parts"] if "functionResponse" in part]
        content["parts"] = [part for part in content["parts"] if part not in answers[1:]]


@of_body("mind")
def calls_and_results_in_turns(body: Body) -> None:
    """Parallel calls go back one by one, each followed by its result, which the API refuses (the
    last state's loop).
    """
    apart: list[Body] = []
    for call, answer in zip(
        body["contents"], [*body["contents"][1:], {"role": "", "parts": []}], strict=True
    ):
        calls = [part for part in call["parts"] if "functionCall" in part]
        results = [part for part in answer["parts"] if "functionResponse" in part]
        if len(calls) > 1 and len(calls) == len(results):
            before = [part for part in call["parts"] if "functionCall" not in part]
            for part, result in zip(calls, results, strict=True):
                apart += [
                    {"role": "model", "parts": [*before, part]},
                    {"role": "user", "parts": [result]},
                ]
                before = []
            answer["parts"] = []
        elif call["parts"]:
            apart.append(call)
    body["contents"] = apart


@of_body("mind")
def failing_tool_says_nothing(body: Body) -> None:
    """A failed tool has an empty result (the second state)."""
    for response in responses(body):
        response["response"] = (
            {} if "error" in (response.get("response") or {}) else response.get("response")
        )
