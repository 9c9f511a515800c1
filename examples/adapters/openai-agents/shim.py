"""openai-agents: `OpenAIChatCompletionsModel`, whose events and items are those of Responses."""

import json
import sys
from pathlib import Path

from agents import FunctionTool, ModelSettings, ModelTracing, OpenAIChatCompletionsModel
from openai import AsyncOpenAI
from openai.types.shared import Reasoning

sys.path.append(str(Path(__file__).parents[1]))

from chat_client import google_of

from harness.facts import Call, Finish, Text, Usage

VERSION_OF = "openai-agents"
PROVIDERS = ("openai-compat",)
THOUGHTS = False  # it has no name for the mark of Google's thoughts


async def replay(at):
    items, given = {}, []  # the ends of all calls come at the end of the answer
    async for event in _ask(at, [{"role": "user", "content": at.prompt}]):
        facts = []
        if not at.stream:
            facts = [fact for item in event.output for fact in _facts(item)]
            facts += _usage(event.usage)
        elif event.type == "response.output_text.delta":
            whole = [_call(item) for item in items.values()]
            before = [call for call in whole if call not in given]  # the text follows them
            given += before
            facts = [*before, Text(event.delta)]
        elif event.type == "response.output_item.added" and event.item.type == "function_call":
            items[event.output_index] = event.item.model_copy()
        elif event.type == "response.function_call_arguments.delta":
            items[event.output_index].arguments += event.delta
        elif event.type == "response.output_item.done" and event.item.type == "function_call":
            facts = [call for call in [_call(event.item)] if call not in given]
        elif event.type == "response.completed":
            facts = [Finish(event.response.status or "completed")]
            facts += [fact for item in event.response.output for fact in _refusal(item)]
            facts += _usage(event.response.usage) if event.response.usage else []
        yield event, facts


async def converse(at):
    if at.turns == 1:
        items = [each for message in at.messages for each in _items(at, message)]
        async for _ in _ask(at, items):
            pass
        return
    items, stored = [{"role": "user", "content": at.prompt}], at.stored
    async for event in _ask(at, items):
        last = event
    output = (last.response if at.stream else last).output
    results = [
        {
            "type": "function_call_output",
            "call_id": item.call_id,
            "output": at.result(_call(item)),
        }
        for item in output
        if item.type == "function_call"
    ]
    items += [item.model_dump(exclude_none=True) for item in output]
    items += results or [{"role": "user", "content": at.say}]
    async for _ in _ask(at, json.loads(json.dumps(items)) if stored else items):
        pass


def _items(at, message):
    """The items of Responses, of which it makes messages."""
    match message:
        case {"system": text}:
            yield {"role": "system", "content": text}
        case {"user": parts}:
            yield {"role": "user", "content": _contents(at, parts)}
        case {"model": parts}:
            for part in parts:
                if isinstance(part, str):
                    yield {"role": "assistant", "content": part}
                elif "call" in part:
                    call = part["call"]
                    yield {
                        "type": "function_call",
                        "call_id": call["id"],
                        "name": call["name"],
                        "arguments": json.dumps(call["arguments"]),
                    }
        case {"results": results}:
            for result in results:
                yield {
                    "type": "function_call_output",
                    "call_id": result["call"],
                    "output": _output(at, result),
                }


def _output(at, result):
    if "parts" in result:
        return _contents(at, result["parts"])
    value = {"error": result["value"]} if result.get("failed") else result["value"]
    return value if isinstance(value, str) else json.dumps(value)


def _contents(at, parts):
    return [words for part in parts if (words := _content(at, part))]


def _content(at, part):
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    ((kind, medium),) = part.items()
    if kind == "video" or (kind == "audio" and "data" not in medium):
        at.skip("its items have no videos")
    place = medium.get("url") or f"data:{medium['type']};base64,{medium['data']}"
    if kind == "image":
        detail = medium.get("detail", "auto")
        return {"type": "input_image", "image_url": place, "detail": detail}
    if kind == "audio":
        sound = {"data": medium["data"], "format": medium["type"].removeprefix("audio/")}
        return {"type": "input_audio", "input_audio": sound}
    if "url" in medium:  # only images can be given by URL
        return None
    return {"type": "input_file", "filename": medium.get("name", "file"), "file_data": place}


async def _ask(at, items):
    client = AsyncOpenAI(api_key="none", base_url=f"{at.base_url}/v1beta/openai", max_retries=0)
    model = OpenAIChatCompletionsModel(at.model, client)
    given, choice, effort = at.settings, at.choice, at.thinking.get("effort")
    rest = {name: given.get(name) for name in ("stop", "seed")}
    rest = {name: value for name, value in rest.items() if value is not None}
    google = google_of(at)
    settings = ModelSettings(
        include_usage=True,
        temperature=given.get("temperature"),
        top_p=given.get("top_p"),
        max_tokens=given.get("max_tokens"),
        presence_penalty=given.get("presence_penalty"),
        frequency_penalty=given.get("frequency_penalty"),
        tool_choice=choice["name"] if isinstance(choice, dict) else choice,
        reasoning=Reasoning(effort=effort) if effort else None,
        extra_args=rest or None,
        extra_body={"extra_body": {"google": google}} if google else None,
    )
    asked = {
        "system_instructions": at.system or None,
        "input": items,
        "model_settings": settings,
        "tools": [
            FunctionTool(
                tool.name,
                tool.description or "",
                tool.parameters or {"type": "object", "properties": {}},
                _not_run,
                strict_json_schema=False,
            )
            for tool in at.tools
        ],
        "output_schema": None,
        "handoffs": [],
        "tracing": ModelTracing.DISABLED,
        "previous_response_id": None,
        "conversation_id": None,
        "prompt": None,
    }
    if at.stream:
        async for event in model.stream_response(**asked):
            yield event
    else:
        yield await model.get_response(**asked)


async def _not_run(_context, _arguments):
    raise NotImplementedError


def _facts(item):
    if item.type == "function_call":
        return [_call(item)]
    parts = item.content if item.type == "message" else ()
    return [Text(part.text) for part in parts if part.type == "output_text"] + _refusal(item)


def _refusal(item):
    """A refusal is how it reports that the answer was filtered, in its own words."""
    parts = item.content if item.type == "message" else ()
    return [Finish("refusal") for part in parts if part.type == "refusal"]


def _call(item):
    return Call(item.call_id, item.name, item.arguments or "{}")  # it runs a tool with "" like this


def _usage(usage):
    return [
        Usage(
            input=usage.input_tokens,
            output=usage.output_tokens,
            thoughts=usage.output_tokens_details.reasoning_tokens,
            total=usage.total_tokens,
        )
    ]
