"""pydantic-ai: `GoogleModel` through `pydantic_ai.direct`, which runs no tools."""

from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.google import GoogleModel, GoogleModelSettings
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.tools import ToolDefinition

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "pydantic-ai-slim"


async def replay(at):
    async for event in _ask(at, [ModelRequest([UserPromptPart(at.prompt)])]):
        yield event, list(_facts(event)) if isinstance(event, ModelResponse) else []


async def converse(at):
    messages = [ModelRequest([UserPromptPart(at.prompt)])]
    async for event in _ask(at, messages):
        answer = event  # the last one is the whole response
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
        yield await model_request(**asked)
        return
    async with model_request_stream(**asked) as stream:
        try:
            async for event in stream:
                yield event
        finally:
            yield stream.get()  # also before an error: the parts up to it


def _call(part):
    return Call(part.tool_call_id, part.tool_name, part.args)


def _facts(response):
    for part in response.parts:
        if part.part_kind == "text":
            yield Text(part.content)
        elif part.part_kind == "thinking":
            yield Thought(part.content or "")
        elif part.part_kind == "tool-call":
            yield _call(part)
    yield Finish((response.provider_details or {}).get("finish_reason") or response.finish_reason)
    if response.usage.has_values():
        yield Usage(
            input=response.usage.input_tokens,
            output=response.usage.output_tokens,
            thoughts=response.usage.details.get("thoughts_tokens"),
        )
