"""pydantic-ai: `GoogleModel` through `pydantic_ai.direct`, which runs no tools."""

from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelRequest, PartStartEvent, ToolReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.google import GoogleModel, GoogleModelSettings
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.tools import ToolDefinition

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "pydantic-ai-slim"


async def replay(at):
    given = 0
    async for event, response in _ask(at, [ModelRequest([UserPromptPart(at.prompt)])]):
        ended = event is response  # before the end, a call whose arguments are text is incomplete
        calls = [_call(part) for part in response.parts if part.part_kind == "tool-call"]
        calls = [call for call in calls if ended or isinstance(call.arguments, dict)]
        facts = [*_texts(event), *calls[given:], *(_end(response) if ended else ())]
        given = len(calls)
        yield event, facts


async def converse(at):
    messages = [ModelRequest([UserPromptPart(at.prompt)])]
    async for _, response in _ask(at, messages):
        answer = response
    results = [
        ToolReturnPart(part.tool_name, at.result(_call(part)), part.tool_call_id)
        for part in answer.parts
        if part.part_kind == "tool-call"
    ]
    messages += [answer, ModelRequest(results or [UserPromptPart(at.say)])]
    async for _ in _ask(at, messages):
        pass


async def _ask(at, messages):
    tools = [
        ToolDefinition(
            name=tool.name, description=tool.description, parameters_json_schema=tool.parameters
        )
        for tool in at.tools
    ]
    asked = {
        "model": GoogleModel(
            at.model, provider=GoogleProvider(api_key="none", base_url=at.base_url)
        ),
        "messages": messages,
        "model_settings": GoogleModelSettings(google_thinking_config={"include_thoughts": True}),
        "model_request_parameters": ModelRequestParameters(function_tools=tools),
    }
    if not at.stream:
        response = await model_request(**asked)
        for index, part in enumerate(response.parts):
            yield PartStartEvent(index=index, part=part), response
        yield response, response
        return
    async with model_request_stream(**asked) as stream:
        try:
            async for event in stream:
                yield event, stream.get()
        finally:
            yield (response := stream.get()), response  # also before an error


def _call(part):
    return Call(part.tool_call_id, part.tool_name, part.args)


def _texts(event):
    if getattr(event, "event_kind", None) == "part_start":
        kind, text = event.part.part_kind, getattr(event.part, "content", None)
    elif getattr(event, "event_kind", None) == "part_delta":
        kind, text = event.delta.part_delta_kind, getattr(event.delta, "content_delta", None)
    else:
        return
    if text and kind in ("text", "thinking"):
        yield Text(text) if kind == "text" else Thought(text)


def _end(response):
    yield Finish((response.provider_details or {}).get("finish_reason") or response.finish_reason)
    if response.usage.has_values():
        yield Usage(
            input=response.usage.input_tokens,
            output=response.usage.output_tokens,
            thoughts=response.usage.details.get("thoughts_tokens"),
        )
