"""Faults of request translators on wires other than generateContent: the Interactions API and the
OpenAI-compatible endpoint.
"""

from __future__ import annotations

from .requests import REQUEST_FAULTS, Body, of_given, parts, responses, schemas, without_parts

__all__ = ["REQUEST_FAULTS"]


@of_given("unified-llm", "anthropic")
def extras_of_calls_lost(body: Body) -> None:
    """Calls are rebuilt from id, name and arguments, so their other fields are lost
    (open-webui/computer#224, CherryHQ/cherry-studio#12729).
    """
    for part in parts(body, "functionCall"):
        part.pop("thoughtSignature", None)


@of_given("unified-llm", "anthropic")
def thought_steps_dropped(body: Body) -> None:
    """Thoughts are not part of the history, so the step that signs a call is lost
    (allenhutchison/obsidian-gemini#1269).
    """
    without_parts(body, "thought")


@of_given("unified-llm", "anthropic")
def thought_steps_behind_the_calls(body: Body) -> None:
    """The thoughts of an answer go back after its calls (a message that is built by kind of part)."""
    for content in body.get("contents", []):
        content["parts"].sort(key=lambda part: "thought" in part)


@of_given("unified-llm", "anthropic")
def calls_get_new_ids(body: Body) -> None:
    """Calls and results get new numbers, whatever ids the answer has (a client that rebuilds
    tool_calls).
    """
    for kind in ("functionCall", "functionResponse"):
        for number, part in enumerate(parts(body, kind)):
            part[kind]["id"] = f"call-{number}"


@of_given("unified-llm", "anthropic")
def failures_not_sent(body: Body) -> None:
    """The failure of a tool is not sent."""
    for response in responses(body):
        response.pop("isError", None)


@of_given("unified-llm", "anthropic")
def schemas_fitted(body: Body) -> None:
    """A wire that reads JSON Schema gets generateContent's types in capitals."""
    for tool in body.get("tools", []):
        for declaration in tool.get("functionDeclarations", []):
            for schema in schemas(declaration.get("parametersJsonSchema")):
                if isinstance(schema.get("type"), str):
                    schema["type"] = schema["type"].upper()
