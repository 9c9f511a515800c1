"""autogen-ext: `OpenAIChatCompletionClient` at Google's OpenAI-compatible endpoint."""

from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    ModelFamily,
    UserMessage,
)
from autogen_ext.models.openai import OpenAIChatCompletionClient

from harness.facts import Call, Finish, Text, Usage

VERSION_OF = "autogen-ext"
PROVIDERS = ("openai-compat",)
THOUGHTS = False  # it has no name for the mark of Google's thoughts
MODEL_INFO = {
    "vision": True,
    "function_calling": True,
    "json_output": True,
    "structured_output": True,
    "family": ModelFamily.UNKNOWN,
}


async def replay(at):
    streamed = False
    async for item in _ask(at, [UserMessage(content=at.prompt, source="user")]):
        if isinstance(item, str):
            streamed = True
            yield item, [Text(item)]
            continue
        is_text = isinstance(item.content, str)
        facts = [] if is_text else [_call(call) for call in item.content]
        text = item.content if is_text else item.thought
        if text and not streamed:
            facts.insert(0, Text(text))
        counts = Usage(input=item.usage.prompt_tokens, output=item.usage.completion_tokens)
        yield item, [*facts, Finish(item.finish_reason), counts]


async def converse(at):
    messages = [UserMessage(content=at.prompt, source="user")]
    async for item in _ask(at, messages):
        last = item
    messages.append(
        AssistantMessage(content=last.content, thought=last.thought, source="assistant")
    )
    if isinstance(last.content, str):
        messages.append(UserMessage(content=at.say, source="user"))
    else:
        results = [
            FunctionExecutionResult(
                content=at.result(_call(call)), name=call.name, call_id=call.id, is_error=False
            )
            for call in last.content
        ]
        messages.append(FunctionExecutionResultMessage(content=results))
    async for _ in _ask(at, messages):
        pass


async def _ask(at, messages):
    model = OpenAIChatCompletionClient(
        model=at.model,
        api_key="none",
        base_url=f"{at.base_url}/v1beta/openai/",
        model_info=MODEL_INFO,
        max_retries=0,
    )
    tools = [
        {
            "name": tool.name,
            "description": tool.description or "",
            "parameters": tool.parameters,
        }
        for tool in at.tools
    ]
    if at.stream:
        async for item in model.create_stream(messages, tools=tools, include_usage=True):
            yield item
    else:
        yield await model.create(messages, tools=tools)


def _call(call):
    return Call(call.id, call.name, call.arguments)
