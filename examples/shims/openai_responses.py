"""A shim for a client of OpenAI's Responses API: here the official one, ``openai``.

``harness judge "serve: openai_responses:replay" --cassettes openai`` in this folder judges it.
"""

from collections.abc import Iterator
from typing import Any

from openai import OpenAI

from harness import At
from harness.facts import Call, Error, Fact, Finish, Text, Thought, Usage

VERSION_OF = "openai"
PROVIDERS = ("openai",)
THOUGHTS = {"effort": "low", "summary": "auto"}
CALLS = ("function_call", "custom_tool_call")
ENDS = ("response.completed", "response.incomplete", "response.failed")


def replay(at: At) -> Iterator[tuple[object, list[Fact]]]:
    given = [{"role": "user", "content": at.prompt}]
    if not at.stream:
        whole = responses(at).create(**asked(at, given))
        yield whole, [*(fact for item in whole.output for fact in facts_of_item(item)), *end(whole)]
        return
    with responses(at).create(**asked(at, given), stream=True) as stream:
        for event in stream:
            yield event, list(facts(event))
            if at.cancel:
                return


def converse(at: At) -> None:
    given: list[Any] = [{"role": "user", "content": at.prompt}]
    if at.stream:
        with responses(at).stream(**asked(at, given)) as stream:
            answer = stream.get_final_response()
    else:
        answer = responses(at).create(**asked(at, given))
    results = []
    for item in answer.output:
        given.append(item.model_dump(exclude_none=True, exclude={"parsed", "parsed_arguments"}))
        if item.type in CALLS:
            output = at.result(call(item))
            kind = f"{item.type}_output"
            results.append({"type": kind, "call_id": item.call_id, "output": output})
    given += results or [{"role": "user", "content": at.say}]
    responses(at).create(**asked(at, given))


def responses(at: At) -> Any:
    """The API of the client; its base URL ends in ``/v1``."""
    return OpenAI(api_key="none", base_url=f"{at.base_url}/v1", max_retries=0).responses


def asked(at: At, given: list[Any]) -> dict[str, Any]:
    """The arguments of a request."""
    request = at.exchange.request
    if request and not request.url.endswith("/responses"):
        at.skip("it asks the Responses API only")
    tools = [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description or "",
            "parameters": tool.parameters,
            "strict": False,
        }
        for tool in at.tools
    ]
    values: dict[str, Any] = {"model": at.model, "input": given, "store": False}
    values["include"] = ["reasoning.encrypted_content"]
    if at.thoughts:
        values["reasoning"] = THOUGHTS
    return {**values, "tools": [*tools, *at.server_tools]} if tools or at.server_tools else values


def facts(event: Any) -> Iterator[Fact]:
    """The facts of an event of the stream."""
    match event.type:
        case "response.output_text.delta" | "response.refusal.delta":
            yield Text(event.delta)
        case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
            yield Thought(event.delta)
        case "response.output_item.done" if event.item.type in CALLS:
            yield call(event.item)
        case "error":
            yield Error(event.code, event.message or "")
        case kind if kind in ENDS:
            yield from end(event.response)


def facts_of_item(item: Any) -> Iterator[Fact]:
    """The facts of an output item."""
    match item.type:
        case "message":
            for part in item.content:
                yield Text(part.text if part.type == "output_text" else part.refusal)
        case "reasoning":
            for part in [*(item.summary or ()), *(item.content or ())]:
                yield Thought(part.text)
        case kind if kind in CALLS:
            yield call(item)


def call(item: Any) -> Call:
    """The call of a function, or of a custom tool: its text is the argument ``input``."""
    is_custom = item.type == "custom_tool_call"
    return Call(item.call_id, item.name, {"input": item.input} if is_custom else item.arguments)


def end(response: Any) -> Iterator[Fact]:
    """The facts about the end."""
    if response.error:
        yield Error(response.error.code, response.error.message)
    details = response.incomplete_details
    yield Finish(details.reason if details and details.reason else response.status)
    if usage := response.usage:
        of_output = usage.output_tokens_details
        yield Usage(
            input=usage.input_tokens,
            output=usage.output_tokens,
            thoughts=of_output and of_output.reasoning_tokens,
            total=usage.total_tokens,
        )
