"""semantic-kernel: `GoogleAIChatCompletion`, without a kernel that would run the tools."""

from functools import reduce
from operator import add

from google import genai
from semantic_kernel.connectors.ai.google.google_ai import (
    GoogleAIChatCompletion,
    GoogleAIChatPromptExecutionSettings,
)
from semantic_kernel.contents import (
    ChatHistory,
    ChatMessageContent,
    FunctionCallContent,
    FunctionResultContent,
)

from harness.facts import Call, Finish, Text, Usage

VERSION_OF = "semantic-kernel"
PROVIDERS = ("gemini-api", "vertex-ai")
THOUGHTS = False  # its settings can't ask for them


async def replay(at):
    history = ChatHistory()
    history.add_user_message(at.prompt)
    async for piece in _ask(at, history):
        facts = [_call(item) if _is_call(item) else Text(item.text) for item in _items(piece)]
        if piece.finish_reason:
            facts.append(Finish(piece.finish_reason.value))
        usage = piece.metadata.get("usage")
        if usage and usage.prompt_tokens is not None:
            facts.append(Usage(input=usage.prompt_tokens, output=usage.completion_tokens))
        yield piece.model_dump(exclude=_WIRE), facts


async def converse(at):
    history = ChatHistory()
    history.add_user_message(at.prompt)
    whole = reduce(add, [piece async for piece in _ask(at, history)])
    history.add_message(ChatMessageContent(role="assistant", items=list(whole.items)))
    calls = [item for item in whole.items if _is_call(item)]
    for call in calls:
        result = FunctionResultContent.from_function_call_content_and_result(
            call, at.result(_call(call))
        )
        history.add_message(result.to_chat_message_content())
    if not calls:
        history.add_user_message(at.say)
    async for _ in _ask(at, history):
        pass


_WIRE = {"inner_content": True, "items": {"__all__": {"inner_content"}}}
"""The answers of google-genai, which each piece has."""


async def _ask(at, history):
    client = genai.Client(api_key="none", http_options={"base_url": at.base_url})
    model = GoogleAIChatCompletion(gemini_model_id=at.model, api_key="none", client=client)
    declared = [
        {
            "name": tool.name,
            "description": tool.description or "",
            "parameters_json_schema": tool.parameters,
        }
        for tool in at.tools
    ]
    tools = [{"function_declarations": declared}] if declared else None
    settings = GoogleAIChatPromptExecutionSettings(tools=tools)
    if at.stream:
        async for pieces in model.get_streaming_chat_message_contents(history, settings):
            for piece in pieces[:1]:
                yield piece
    else:
        yield (await model.get_chat_message_contents(history, settings))[0]


def _items(piece):
    return [item for item in piece.items if _is_call(item) or getattr(item, "text", None)]


def _is_call(item):
    return isinstance(item, FunctionCallContent)


def _call(call):
    return Call(call.id, call.name, call.arguments)
