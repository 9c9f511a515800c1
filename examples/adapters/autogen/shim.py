"""autogen-ext: `OpenAIChatCompletionClient` at Google's OpenAI-compatible endpoint."""

import json
import sys
from importlib.metadata import version
from pathlib import Path

from autogen_core import FunctionCall, Image
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    ModelFamily,
    SystemMessage,
    UserMessage,
)
from autogen_ext.models.openai import OpenAIChatCompletionClient

sys.path.append(str(Path(__file__).parents[1]))

from chat_client import google_of

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
    async for item in _ask(at, _first(at)):
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
    if at.turns == 1:
        messages = [each for message in at.messages for each in _messages(at, message)]
        async for _ in _ask(at, [*_system(at), *messages]):
            pass
        return
    messages, stored = _first(at), at.stored
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
    if stored:
        messages = [type(each).model_validate_json(each.model_dump_json()) for each in messages]
    async for _ in _ask(at, messages):
        pass


def _first(at):
    return [*_system(at), UserMessage(content=at.prompt, source="user")]


def _system(at):
    return [SystemMessage(content=at.system)] if at.system else []


def _messages(at, message):
    match message:
        case {"system": text}:
            yield SystemMessage(content=text)
        case {"user": parts}:
            yield UserMessage(content=[_content(at, part) for part in parts], source="user")
        case {"model": parts}:
            calls = [part["call"] for part in parts if isinstance(part, dict) and "call" in part]
            text = "\n".join(part for part in parts if isinstance(part, str))
            called = [
                FunctionCall(call["id"], json.dumps(call["arguments"]), call["name"])
                for call in calls
            ]
            thought = text or None if called else None
            yield AssistantMessage(content=called or text, thought=thought, source="assistant")
        case {"results": results}:
            yield FunctionExecutionResultMessage(
                content=[_result(at, result) for result in results]
            )


def _content(at, part):
    if isinstance(part, str):
        return part
    medium = part.get("image", {})
    if "data" not in medium or "detail" in medium:
        at.skip("it has only images, with their bytes")
    return Image.from_base64(medium["data"])


def _result(at, result):
    if "parts" in result:
        at.skip("it has no results with media")
    value = {"error": result["value"]} if result.get("failed") else result["value"]
    return FunctionExecutionResult(
        content=value if isinstance(value, str) else json.dumps(value),
        name=result["name"],
        call_id=result["call"],
        is_error=bool(result.get("failed")),
    )


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
            "parameters": tool.parameters or {"type": "object", "properties": {}},
        }
        for tool in at.tools
    ]
    given = at.settings
    extra = {
        name: given.get(name)
        for name in ("temperature", "top_p", "max_tokens", "stop", "seed", "presence_penalty")
    }
    extra["frequency_penalty"] = given.get("frequency_penalty")
    extra["reasoning_effort"] = at.thinking.get("effort")
    extra = {name: value for name, value in extra.items() if value is not None}
    if google := google_of(at):
        if version("autogen-ext") < "0.7":
            at.skip("it has no place for values of Google")
        extra["extra_body"] = {"extra_body": {"google": google}}
    asked = {"tools": tools, "extra_create_args": extra}
    choice = at.choice
    if isinstance(choice, dict):
        at.skip("it chooses a tool of its own kind, which it would run")
    if choice and tools:
        asked["tool_choice"] = choice
    if at.stream:
        async for item in model.create_stream(messages, include_usage=True, **asked):
            yield item
    else:
        yield await model.create(messages, **asked)


def _call(call):
    return Call(call.id, call.name, call.arguments)
