"""any-llm's `completion` with its gemini provider: OpenAI's chunks."""

import json
import sys
from pathlib import Path

from any_llm import completion

sys.path.append(str(Path(__file__).parents[1]))

from chat_client import first_of, messages_of, options_of

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "any-llm-sdk"
PROVIDERS = ("gemini-api", "vertex-ai")


def replay(at):
    calls = {}
    for answer in _ask(at, first_of(at)):
        yield answer, list(_facts(answer, at.stream, calls))


def converse(at):
    if at.turns == 1:
        list(_ask(at, messages_of(at, _signed, file="file_data")))
        return
    messages, message, calls = first_of(at), {"role": "assistant"}, {}
    stored = at.stored
    for answer in _ask(at, messages):
        for choice in answer.choices:
            piece = choice.delta if at.stream else choice.message
            message["content"] = message.get("content", "") + (piece.content or "")
            for number, call in enumerate(piece.tool_calls or ()):
                index = call.index if at.stream else number
                calls[index] = _join(calls.get(index), call.model_dump(exclude_none=True))
    results = [
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": at.result(Call(call["id"], call["function"]["name"])),
        }
        for call in calls.values()
    ]
    if calls:
        message["tool_calls"] = list(calls.values())
    messages += [message, *(results or [{"role": "user", "content": at.say}])]
    list(_ask(at, json.loads(json.dumps(messages)) if stored else messages))


def _signed(signature):
    return {"extra_content": {"google": {"thought_signature": signature}}}


def _ask(at, messages):
    asked = options_of(at)
    native = [dict(tool) for tool in at.server_tools if "retrieval" not in tool]
    asked["tools"] = [*asked.get("tools", ()), *native] or None
    if effort := at.thinking.get("effort"):
        asked["reasoning_effort"] = effort
    if tier := at.google.get("tier"):
        asked["service_tier"] = tier
    answer = completion(
        model=at.model,
        provider="gemini",
        api_base=at.base_url,
        api_key="none",
        messages=messages,
        stream=at.stream,
        **asked,
    )
    return answer if at.stream else [answer]


def _join(call, piece):
    """One call, joined from its pieces as OpenAI's clients do."""
    if call is None:
        return piece
    for name, text in piece.get("function", {}).items():
        call["function"][name] = call["function"].get(name, "") + text
    return {**piece, **call}


def _facts(answer, stream, calls):
    for choice in answer.choices:
        message = choice.delta if stream else choice.message
        if choice.index:
            continue
        if thought := getattr(message, "reasoning", None):
            yield Thought(thought.content)
        if message.content:
            yield Text(message.content)
        for number, piece in enumerate(message.tool_calls or ()):
            index = piece.index if stream else number
            call = calls[index] = _join(calls.get(index), piece.model_dump(exclude_none=True))
            name, arguments = call["function"].get("name"), call["function"].get("arguments")
            if name and _is_whole(arguments or ""):
                yield Call(call.get("id"), name, arguments)
        if choice.finish_reason:
            yield Finish(choice.finish_reason)
    if usage := answer.usage:
        details = usage.completion_tokens_details
        yield Usage(
            input=usage.prompt_tokens,
            output=usage.completion_tokens,
            thoughts=details and details.reasoning_tokens,
            total=usage.total_tokens,
        )


def _is_whole(arguments):
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False
