"""More faults of the siblings of the Go code, for unified-llm: first in answers, then in requests.

The others are in `unified_llm` and `requests`.
"""

from __future__ import annotations

from dataclasses import replace

from harness.stream import events as ev
from harness.stream.framing import Frame
from harness.stream.generation import GenerateRequest
from harness.stream.session import Session

from .pipeline import Items, Json, Table
from .requests import (
    Body,
    calls_with_bad_json,
    messages_with,
    of_asked,
    of_body,
    of_prompt,
    responses,
    schemas,
)
from .unified_llm import OwnReason, of_type

SIBLINGS = Table("unified-llm")
KNOWN_MODELS = ("gemini-3.1-pro-preview", "gemini-3-flash-preview")
"""The Gemini models of the specification's catalogue."""
EFFORTS = {"LOW": 1024, "MEDIUM": 4096, "HIGH": 16384}


# Answers


@SIBLINGS.event
def blocked_is_other(event: ev.Event) -> ev.Event:
    """A blocked prompt is an empty answer that ended for some other reason (a sibling in
    Python).
    """
    return (
        ev.Finish("other", event.reason, event.message) if isinstance(event, ev.Blocked) else event
    )


@SIBLINGS.wrapper
class CallsCountWithStopAlone(OwnReason):
    """A call changes the reason only if the wire has STOP; with any other reason the tool is not
    run (a sibling in Python).
    """

    def is_hidden(self, payloads: Items) -> bool:
        return self.reason != "stop"


@SIBLINGS.event
def missing_total_is_a_sum(event: ev.Event) -> ev.Event:
    """If the wire has no total, it is the sum of input and output (a sibling in Python)."""
    if isinstance(event, ev.Usage) and event.total is None and event.input is not None:
        event.total = event.input + (event.output or 0)
    return event


@SIBLINGS.payloads
def counts_are_an_event(payloads: Items) -> Items:
    """The counts are an event of their own, here if thoughts were counted (a sibling in Python)."""
    changed: Items = []
    for payload in payloads:
        counted = payload.get("usage", {}) if payload["type"] == "FINISH" else {}
        changed += [{"type": "USAGE", "usage": counted}] if counted.get("reasoning_tokens") else []
        changed.append(payload)
    return changed


@SIBLINGS.payloads
def timeouts_are_tried_again(payloads: Items) -> Items:
    """The status 408 counts as retryable (siblings in Python)."""
    for payload in of_type(payloads, "ERROR"):
        if payload["error"].get("status_code") == 408:
            payload["error"]["retryable"] = True
    return payloads


@SIBLINGS.payloads
def timeouts_have_no_class(payloads: Items) -> Items:
    """The status 408 is an unspecific provider error (a sibling in Python)."""
    for payload in of_type(payloads, "ERROR"):
        if payload["error"].get("status_code") == 408:
            payload["error"]["type"] = "ProviderError"
    return payloads


@SIBLINGS.frame
def end_mark_skipped(frame: Frame) -> Frame | None:
    """An end mark that Gemini does not send is ignored, so its sender stays unknown (a sibling in
    TypeScript).
    """
    return None if frame.raw == "[DONE]" else frame


# Requests: system, tools, and thinking effort


@of_body("unified-llm")
def instruction_is_joined(body: Body) -> None:
    """The texts of system and developer become one part, with blank lines between them (a sibling
    in Python).
    """
    if "systemInstruction" in body:
        body["systemInstruction"] = {
            "parts": [
                {
                    "text": "\n\n".join(
                        part.get("text", "") for part in body["systemInstruction"]["parts"]
                    )
                }
            ]
        }


@of_body("unified-llm")
def no_choice_takes_the_tools_away(body: Body) -> None:
    """The choice none removes the declarations too, so calls in the history are of undeclared tools
    (a sibling in Python).
    """
    if body.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode") == "NONE":
        body.pop("tools", None)


@of_prompt("unified-llm")
def any_word_is_a_tool(prompt: Json, options: Json) -> None:
    """An unknown choice is treated as the name of a tool that must be called (a sibling in Python)."""
    choice = prompt.get("tool_choice")
    if isinstance(choice, str) and choice not in ("auto", "none", "required", "named"):
        prompt["tools"] = [*(prompt.get("tools") or []), {"name": choice}]
        prompt["tool_choice"] = {"mode": "named", "tool_name": choice}


@of_body("unified-llm")
def effort_is_not_sent(body: Body) -> None:
    """The reasoning effort is dropped (a sibling in Python)."""
    for name in ("thinkingLevel", "thinkingBudget"):
        body.get("generationConfig", {}).get("thinkingConfig", {}).pop(name, None)


@of_body("unified-llm")
def effort_is_always_a_budget(body: Body) -> None:
    """The reasoning effort is a number of tokens for every model, even for models that take a level
    (siblings in Python and TypeScript).
    """
    config = body.get("generationConfig", {}).get("thinkingConfig", {})
    if config.get("thinkingLevel") in EFFORTS:
        config["thinkingBudget"] = EFFORTS[config.pop("thinkingLevel")]


@of_prompt("unified-llm")
def effort_for_known_models(prompt: Json, options: Json) -> None:
    """The reasoning effort is sent for the models of a catalogue, and dropped for older and newer
    ones (a sibling in Python).
    """
    if not str(prompt.get("model")).endswith(KNOWN_MODELS):
        prompt.pop("reasoning_effort", None)


# Requests: messages, calls and results


@of_prompt("unified-llm")
def empty_messages_have_a_part(prompt: Json, options: Json) -> None:
    """A message without content is sent as one with empty text (a sibling in Python)."""
    for message in messages_with(prompt.get("messages"), "user", "assistant"):
        if message.get("content") == []:
            message["content"] = [{"kind": "text", "text": ""}]


@of_body("unified-llm")
def objects_are_wrapped(body: Body) -> None:
    """A result that is an object is put under a second key ``result`` (siblings in Python and
    TypeScript).
    """
    for response in responses(body):
        if not response.get("response", {}).keys() & {"result", "error"}:
            response["response"] = {"result": response.get("response", {})}


@of_body("unified-llm")
def other_results_are_text(body: Body) -> None:
    """A result that is neither a string nor an object is sent as its Python text (a sibling in
    Python).
    """
    for response in responses(body):
        result = response.get("response", {}).get("result")
        if isinstance(result, list | int | float):
            response["response"]["result"] = str(result)


@of_prompt("unified-llm")
def empty_results_are_text(prompt: Json, options: Json) -> None:
    """An empty list, zero and false are sent as an empty string (a sibling in Python)."""
    for message in messages_with(prompt.get("messages"), "tool"):
        for part in message["content"] if isinstance(message.get("content"), list) else []:
            result = part.get("tool_result") if isinstance(part, dict) else None
            if isinstance(result, dict) and not result.get("content"):
                result["content"] = ""


@of_prompt("unified-llm")
def bad_json_is_raw(prompt: Json, options: Json) -> None:
    """Arguments that are not JSON are sent under a key ``raw`` that no tool has (a sibling in
    Python).
    """
    for call, name in calls_with_bad_json(prompt):
        call[name] = {"raw": call[name]}


# Requests: schemas


@of_prompt("unified-llm", "anthropic")
def constants_are_lost(prompt: Json, options: Json) -> None:
    """The single allowed value of an argument is not sent (the Go code; the proxy)."""
    for schema in schemas(prompt.get("tools") or []):
        if isinstance(schema.get("const"), str):
            del schema["const"]


@of_asked("unified-llm", "anthropic")
def losses_without_a_warning(
    asked: GenerateRequest, prompt: Json, session: Session
) -> GenerateRequest:
    """Fields that Gemini does not support are dropped without a warning (the Go code; the proxy)."""
    return replace(asked, warnings=())
