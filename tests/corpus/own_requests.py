"""Judges an answered request as if it had been asked for what it says: nothing in it is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from harness.judging.questions.comparison import Comparison, SentPrompt, all_parts
from harness.judging.questions.prompt_comparison import compare_prompts
from harness.judging.questions.question import Question
from harness.providers import PROVIDERS, Provider
from harness.stream.exchange import Exchange
from harness.stream.json_codec import decode_object
from harness.stream.prompt import Call, Function, Message, Prompt, Result

EVERYTHING = (
    *("system", "messages", "tools", "choice", "output", "settings", "thinking", "google"),
)


def accusations(exchange: Exchange) -> list[str] | None:
    """The red findings about a request, as sentences; None for a request that is no question: it
    was not answered, is not read as a whole, or says something twice.
    """
    request, provider = exchange.request, PROVIDERS.get(exchange.provider or "")
    if request is None or exchange.status != 200 or provider is None or not provider.reads_whole:
        return None
    body = decode_object(request.body)
    if body is None:
        return None
    sent = provider.prompt_of(body)
    if not _is_question(sent):
        return None
    asked = _asked(sent, provider)
    question = Question(name="own", group="messages", asks="", prompt=asked)
    both = Comparison(
        question,
        asked,
        # a question has no place for other fields
        SentPrompt(replace(sent, more={}), body, json_schema=provider.json_schema),
        EVERYTHING,
    )
    return [finding.sentence for finding in compare_prompts(both) if finding.red]


def _is_question(prompt: Prompt) -> bool:
    """Whether each text of the system, signature and id of a call is there once."""
    system = "\n\n".join(each.text for each in prompt.instructions)
    pieces = [piece.text.strip() for each in prompt.instructions for piece in each.pieces]
    signatures = [part.signature.value for part in all_parts(prompt) if part.signature]
    ids = [part.wire_id for part in all_parts(prompt) if isinstance(part, Call) and part.wire_id]
    return (
        all(system.count(piece) == 1 for piece in pieces if piece)
        and len({*signatures}) == len(signatures)
        and len({*ids}) == len(ids)
        and not (prompt.choice and prompt.choice.allowed)
    )


def _asked(sent: Prompt, provider: Provider) -> Prompt:
    """The prompt as a question has it: with ids and JSON Schemas, and without results whose calls
    are stored elsewhere.
    """
    calls = [part for part in all_parts(sent) if isinstance(part, Call)]
    results = [part for part in all_parts(sent) if isinstance(part, Result)]

    def asked_part(part: Any) -> Iterator[Any]:
        if isinstance(part, Call):
            number = next(at for at, call in enumerate(calls) if call is part)
            yield replace(part, id=f"call-{number}")
        elif isinstance(part, Result):
            at = next(at for at, result in enumerate(results) if result is part)
            own = [number for number, call in enumerate(calls) if call.wire_id == part.wire_id]
            place = own[0] if part.wire_id and own else None if part.wire_id else at
            if place is not None:
                yield replace(part, id=f"call-{place}")
        else:
            yield part

    def asked_message(message: Message) -> Message:
        parts = tuple(each for part in message.parts for each in asked_part(part))
        return replace(message, parts=parts)

    def with_json_schema(holder: Any) -> Any:
        if holder is None or holder.schema is None:
            return holder
        value = provider.json_schema(holder.schema.value)
        return replace(holder, schema=replace(holder.schema, value=value))

    return replace(
        sent,
        messages=tuple(map(asked_message, sent.messages)),
        tools=tuple(
            with_json_schema(tool) if isinstance(tool, Function) else tool for tool in sent.tools
        ),
        format=with_json_schema(sent.format),
    )
