"""any-llm's `completion` with its gemini provider: OpenAI's chunks."""

import json

from any_llm import completion

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "any-llm-sdk"


def replay(at):
    calls = {}
    for answer in _ask(at, [{"role": "user", "content": at.prompt}]):
        yield answer, list(_facts(answer, at.stream, calls))


def converse(at):
    messages, message, calls = [{"role": "user", "content": at.prompt}], {"role": "assistant"}, {}
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
    list(_ask(at, [*messages, message, *(results or [{"role": "user", "content": at.say}])]))


def _ask(at, messages):
    tools = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in at.tools
    ]
    answer = completion(
        model=at.model,
        provider="gemini",
        api_base=at.base_url,
        api_key="none",
        messages=messages,
        tools=tools or None,
        stream=at.stream,
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
