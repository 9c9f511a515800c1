"""A shim for a client of Chat Completions: here the official one, ``openai``.

``harness judge "serve: openai_chat:replay" --cassettes openai`` in this folder judges it.
"""

from collections.abc import Iterator
from typing import Any

from openai import OpenAI

from harness import At
from harness.facts import Call, Fact, Finish, Text, Usage

VERSION_OF = "openai"
PROVIDERS = ("openai",)
THOUGHTS = False  # OpenAI's models give no thoughts on this API


def replay(at: At) -> Iterator[tuple[object, list[Fact]]]:
    messages = [{"role": "user", "content": at.prompt}]
    if not at.stream:
        whole = completions(at).create(**asked(at, messages))
        yield whole, list(facts(whole))
        return
    with stream_of(at, messages) as stream:
        for event in stream:
            if event.type == "chunk":
                yield event, list(facts(event.chunk))
            if at.cancel:
                return
        final = stream.get_final_completion()
        yield final, [call(each) for choice in final.choices[:1] for each in calls_of(choice)]


def converse(at: At) -> None:
    messages: list[Any] = [{"role": "user", "content": at.prompt}]
    if at.stream:
        with stream_of(at, messages) as stream:
            message = stream.get_final_completion().choices[0].message
    else:
        message = completions(at).create(**asked(at, messages)).choices[0].message
    messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
    results = [
        {"role": "tool", "tool_call_id": each.id, "content": at.result(call(each))}
        for each in message.tool_calls or ()
    ]
    messages += results or [{"role": "user", "content": at.say}]
    completions(at).create(**asked(at, messages))


def completions(at: At) -> Any:
    """The API of the client; its base URL ends in ``/v1``."""
    return OpenAI(api_key="none", base_url=f"{at.base_url}/v1", max_retries=0).chat.completions


def stream_of(at: At, messages: list[Any]) -> Any:
    return completions(at).stream(**asked(at, messages), stream_options={"include_usage": True})


def asked(at: At, messages: list[Any]) -> dict[str, Any]:
    """The arguments of a request."""
    request = at.exchange.request
    if request and not request.url.endswith("/chat/completions"):
        at.skip("it asks Chat Completions only")
    tools = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description or "",
                "parameters": tool.parameters,
            },
        }
        for tool in at.tools
    ]
    values: dict[str, Any] = {"model": at.model, "messages": messages}
    return {**values, "tools": tools} if tools else values


def facts(answer: Any) -> Iterator[Fact]:
    """The facts of a chunk or of a whole answer."""
    for choice in answer.choices[:1]:
        if choice.index:
            continue
        piece = getattr(choice, "delta", None) or choice.message
        for text in (piece.content, piece.refusal):
            if text:
                yield Text(text)
        if hasattr(choice, "message"):
            yield from map(call, calls_of(choice))
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


def calls_of(choice: Any) -> list[Any]:
    return list(choice.message.tool_calls or ())


def call(each: Any) -> Call:
    """The call of a function, or of a custom tool: its text is the argument ``input``."""
    if each.type == "custom":
        return Call(each.id, each.custom.name, {"input": each.custom.input})
    return Call(each.id, each.function.name, each.function.arguments)
