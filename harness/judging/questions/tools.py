"""Compares the tools of a question, their schemas and their choice with those of a request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.facts import Finding
from harness.stream.json_codec import Json
from harness.stream.prompt import Choice, Function, ServerTool

from .comparison import Comparison, added, and_others, found, functions_of, red
from .schema_comparison import SchemaDifference, compare_schemas

_NO_PARAMETERS: Final = {"type": "object", "properties": {}}
"""The schema that may be left out: https://ai.google.dev/api/caching#FunctionDeclaration."""


def compare_tools(both: Comparison) -> Iterator[Finding]:
    """Each tool is sent once, with its name and description, and no other tool."""
    sent = functions_of(both.sent.prompt)
    labels = {tool.label for tool in both.sent.prompt.tools if isinstance(tool, ServerTool)}
    for tool in both.asked.tools:
        if isinstance(tool, ServerTool):
            if tool.label not in labels:
                sentence = f"the provider's tool {tool.label} is not sent"
                yield found("tools", "lost", sentence, tool.label, at=(tool.place, ""))
            continue
        same = [function for function in sent if function.name == tool.name]
        if not same:
            sentence = f"tool {tool.name} is not sent"
            yield found("tools", "lost", sentence, tool.name, at=(tool.place, ""))
            continue
        at = (tool.place, same[-1].place)
        if len(same) > 1:
            yield found("tools", "wrong", f"tool {tool.name} is sent twice", tool.name, at=at)
        words = same[0].description
        if tool.description and tool.description not in (words or ""):
            sentence = f"description {tool.description} of {tool.name} is not sent"
            yield found("tools", "lost", sentence, tool.description, words, at=at)
    if both.reads("tools") and both.asked.format is None:
        names = {tool.name for tool in functions_of(both.asked)}
        own = [function for function in sent if function.name not in names]
        for function in own[:1]:
            words = f"tool {function.name}{and_others(own)}"
            yield added(words, function.name, "tool", function.place)


def compare_tool_schemas(both: Comparison) -> Iterator[Finding]:
    """The schema of each tool has the same meaning; see `schema_comparison`."""
    sent = {function.name: function for function in functions_of(both.sent.prompt)}
    for tool in functions_of(both.asked):
        here = sent.get(tool.name)
        if here is None or tool.schema is None:
            continue
        if here.schema is None and tool.schema.value == _NO_PARAMETERS:
            continue
        value = both.sent.json_schema(here.schema.value) if here.schema else {}
        place = here.schema.place if here.schema else here.place
        for each in compare_schemas(tool.schema.value, value):
            if not both.may_lack(*_texts(each.asked)) and not _is_repair(both, each):
                yield finding_of_schema(each, each.aspect, tool.name, place)


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(map(str, value if isinstance(value, list) else [value]))


def _is_repair(both: Comparison, difference: SchemaDifference) -> bool:
    """Return whether the schema of the question is itself faulty there."""
    repaired = "schema.repair" in both.question.features
    return repaired and difference.word not in ("description", "property")


def finding_of_schema(difference: SchemaDifference, aspect: str, name: str, place: str) -> Finding:
    """Return the finding of a difference. ``name``: that of the tool or of the structured answer.
    ``place``: the path of the sent schema.
    """
    path = difference.path.replace("properties.", "")
    holder = path.rpartition(".")[0] if difference.word == "property" else path
    owner = f"{name}.{holder}" if holder else name
    sentence = f"{difference.subject} of {owner} {difference.fact}"
    sent_path = f"{place}.{difference.sent_path}" if difference.sent_path else place
    return found(
        aspect,
        difference.verdict,
        sentence,
        difference.asked,
        difference.sent,
        word=difference.word,
        at=(path or name, sent_path),
    )


def compare_choice(both: Comparison) -> Iterator[Finding]:
    """The model may call the same functions."""
    asked, sent = both.asked.choice, both.sent.prompt.choice
    mode = sent.mode if sent else "auto"
    place = sent.place if sent else ""
    if asked is None:
        if mode != "auto" and both.reads("choice") and not forced_answer(both):
            yield added(f"choice {mode}", mode, "choice", place)
        return
    names = [function.name for function in functions_of(both.sent.prompt)]
    if _is_kept(asked, sent, names) or both.may_lack("choice"):
        return
    wanted = f"{asked.mode} {asked.name}" if asked.name else asked.mode
    given = f"{mode} {sent.name}" if sent and sent.name else mode
    sentence = f"choice {wanted} is " + (f"sent as {given}" if sent else "not sent")
    yield found("choice", red(sent), sentence, wanted, given, at=("choice", place))


def _is_kept(asked: Choice, sent: Choice | None, names: list[str]) -> bool:
    """Return whether a choice has the same effect. ``names``: those of the sent functions."""
    mode = sent.mode if sent else "auto"
    one = sent.name if sent else None
    match asked.mode:
        case "auto":
            return mode == "auto"
        case "none":
            return mode == "none" or not names
        case "required":
            allowed = sent.allowed if sent else ()
            return (mode == "required" and (not allowed or {*allowed} >= {*names})) or (
                mode == "named" and names == [one]
            )
        case "named":
            return (mode == "named" and one == asked.name) or (
                mode == "required" and names == [asked.name]
            )


def forced_answer(both: Comparison) -> Function | None:
    """Return the function that the model must call to give the structured answer, if there is
    one.
    """
    choice = both.sent.prompt.choice
    asked = {tool.name for tool in functions_of(both.asked)}
    own = [tool for tool in functions_of(both.sent.prompt) if tool.name not in asked]
    forced = both.asked.format and choice and choice.mode in ("required", "named")
    return own[0] if own and forced else None
