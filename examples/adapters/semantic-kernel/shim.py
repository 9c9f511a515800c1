"""semantic-kernel: `GoogleAIChatCompletion`, without a kernel that would run the tools."""

import base64
import json
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
    ImageContent,
    TextContent,
)

from harness.facts import Call, Finish, Text, Usage

VERSION_OF = "semantic-kernel"
PROVIDERS = ("gemini-api", "vertex-ai")
THOUGHTS = False  # its settings can't ask for them
MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


async def replay(at):
    history = _history(at)
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
    history, stored = _history(at), at.stored
    if at.turns == 1:
        for message in at.messages:
            history.add_message(_message(at, message))
        async for _ in _ask(at, history):
            pass
        return
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
    if stored:
        history = ChatHistory.restore_chat_history(history.serialize())
    async for _ in _ask(at, history):
        pass


def _history(at):
    return ChatHistory(system_message=at.system or None)


def _message(at, message):
    if "system" in message:
        return ChatMessageContent(role="system", content=message["system"])
    if "results" in message:
        results = [_result(at, result) for result in message["results"]]
        return ChatMessageContent(role="tool", items=results)
    ((role, parts),) = message.items()
    items = [_item(at, part) for part in parts if isinstance(part, str) or "thought" not in part]
    return ChatMessageContent(role="assistant" if role == "model" else role, items=items)


def _item(at, part):
    match part:
        case str():
            return TextContent(text=part)
        case {"call": call}:
            signed = {}
            if "signature" in call:
                signed["metadata"] = {"thought_signature": base64.b64decode(call["signature"])}
            return FunctionCallContent(
                id=call["id"], name=call["name"], arguments=call["arguments"], **signed
            )
        case {"image": {"data": data, "type": type_, **rest}} if "detail" not in rest:
            return ImageContent(data_uri=f"data:{type_};base64,{data}", mime_type=type_)
    at.skip("it has only images, with their bytes")


def _result(at, result):
    if "parts" in result:
        at.skip("it has no results with media")
    value = {"error": result["value"]} if result.get("failed") else result["value"]
    text = value if isinstance(value, str) else json.dumps(value)
    return FunctionResultContent(id=result["call"], name=result["name"], result=text)


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
    given, choice, output = at.settings, at.choice, at.output
    calling = {"mode": MODES.get(choice)} if isinstance(choice, str) else None
    if isinstance(choice, dict):
        calling = {"mode": "ANY", "allowed_function_names": [choice["name"]]}
    settings = GoogleAIChatPromptExecutionSettings(
        tools=tools,
        tool_config={"function_calling_config": calling} if calling else None,
        temperature=given.get("temperature"),
        top_p=given.get("top_p"),
        top_k=given.get("top_k"),
        max_output_tokens=given.get("max_tokens"),
        stop_sequences=given.get("stop"),
        response_mime_type="application/json" if output else None,
        response_schema=output.schema if output else None,
    )
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
