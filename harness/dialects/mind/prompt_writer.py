"""Writes a neutral prompt as one of mind, with the records of the turns after the first text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.facts import losses_of_model
from harness.stream.generation import ToolOutcome, TranslationError
from harness.stream.prompt import AnyPart, Call, Message, Prompt, Result, Text

from ..dialect import Payload, PromptWriter
from .request import say, tool_result


def write(prompt: Prompt) -> tuple[Payload, Payload]:
    """Return the prompt and the options; see `harness.dialects.dialect.PromptWriter`."""
    first, *later = prompt.messages or (Message("user", ()),)
    texts = [part.text for part in first.parts if isinstance(part, Text)]
    if first.role != "user" or len(texts) < len(first.parts):
        raise TranslationError(first.place, "is no text of the user, with which mind begins")
    own: Payload = {"prompt": "\n\n".join(texts)}
    if prompt.instructions:
        own["system_prompt"] = "\n\n".join(each.text for each in prompt.instructions)
    calls: dict[str, Payload] = {}
    history = [
        record
        for message in later
        for part in message.parts
        for record in _records(part, message.role, calls)
    ]
    return {**own, "history": history} if history else own, {"model_name": prompt.model}


def _records(part: AnyPart, role: str, calls: dict[str, Payload]) -> Iterator[Payload]:
    match part:
        case Text(text=text) if role == "user":
            yield say(text)
        case Text(text=text) if role == "assistant":
            yield {**say(text), "type": "assistant"}
        case Call():
            calls[part.id] = {"type": "tool_code", "name": part.name, "args": part.arguments}
            yield calls[part.id]
        case Result() if part.parts is None and part.id in calls:
            yield tool_result(calls[part.id], ToolOutcome(part.value, part.failed))
        case _:
            raise TranslationError(part.place, "is no record of mind")


WRITER: Final = PromptWriter(
    write,
    frozenset({"system", "messages"}),
    losses_of_model(
        {
            "system": "the system prompt is the first text of the user",
            "invented[text]": "the model answers to the system prompt",
            "ids[stored]": "ids of calls are in the session, which is not saved",
            "signatures[stored]": "and so are their signatures",
            "accepted[call-unsigned]": "Gemini 3 refuses calls without these signatures",
            "other_signatures": "the records have no signatures of texts and thoughts",
            "server_tools": "and no calls of the provider's tools",
        }
    ),
)
