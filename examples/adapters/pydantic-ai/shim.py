"""pydantic-ai: `GoogleModel` through `pydantic_ai.direct`, which runs no tools."""

import base64
from importlib.metadata import version

from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    DocumentUrl,
    ImageUrl,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    VideoUrl,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.google import GoogleModel, GoogleModelSettings
from pydantic_ai.native_tools import CodeExecutionTool, WebFetchTool, WebSearchTool
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.tools import ToolDefinition

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "pydantic-ai-slim"
PROVIDERS = ("gemini-api", "vertex-ai")
URLS = {"image": ImageUrl, "audio": AudioUrl, "video": VideoUrl, "file": DocumentUrl}
SERVER_TOOLS = {
    "googleSearch": WebSearchTool,
    "codeExecution": CodeExecutionTool,
    "urlContext": WebFetchTool,
}


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
    if at.turns == 1:
        async for _ in _ask(at, [*_system(at), *(_message(at, each) for each in at.messages)]):
            pass
        return
    messages, stored = [*_system(at), ModelRequest([UserPromptPart(at.prompt)])], at.stored
    async for _, response in _ask(at, messages):
        answer = response
    results = [
        ToolReturnPart(part.tool_name, at.result(_call(part)), part.tool_call_id)
        for part in answer.parts
        if part.part_kind == "tool-call"
    ]
    messages += [answer, ModelRequest(results or [UserPromptPart(at.say)])]
    if stored:
        saved = ModelMessagesTypeAdapter.dump_json(messages)
        messages = ModelMessagesTypeAdapter.validate_json(saved)
    async for _ in _ask(at, messages):
        pass


def _system(at):
    return [ModelRequest([SystemPromptPart(at.system)])] if at.system else []


def _message(at, message):
    match message:
        case {"system": text}:
            return ModelRequest([SystemPromptPart(text)])
        case {"results": results}:
            return ModelRequest([_result(at, result) for result in results])
        case {"user": parts}:
            return ModelRequest([UserPromptPart([_content(at, part) for part in parts])])
    return ModelResponse([_answered(part) for part in message["model"]], provider_name="google")


def _answered(part):
    match part:
        case str():
            return TextPart(part)
        case {"thought": text}:
            maker = part.get("maker", "google")
            return ThinkingPart(text, signature=part.get("signature"), provider_name=maker)
    call = part["call"]
    signed = {"thought_signature": call["signature"]} if "signature" in call else None
    return ToolCallPart(
        call["name"],
        call["arguments"],
        call["id"],
        provider_name="google" if signed else None,
        provider_details=signed,
    )


def _content(at, part):
    if isinstance(part, str):
        return part
    ((kind, medium),) = part.items()
    details = {f"{name}_offset": f"{medium[name]}s" for name in ("start", "end") if name in medium}
    details |= {"fps": medium["fps"]} if "fps" in medium else {}
    if "detail" in medium:
        if version(VERSION_OF).startswith("1."):
            at.skip("its media have no resolution")
        details["media_resolution"] = {"level": f"MEDIA_RESOLUTION_{medium['detail'].upper()}"}
    given = {"media_type": medium["type"], "vendor_metadata": details or None}
    if "url" in medium:
        return URLS[kind](medium["url"], **given)
    return BinaryContent(base64.b64decode(medium["data"]), **given)


def _result(at, result):
    value = (
        [_content(at, part) for part in result["parts"]] if "parts" in result else result["value"]
    )
    outcome = "failed" if result.get("failed") else "success"
    return ToolReturnPart(result["name"], value, result["call"], outcome=outcome)


async def _ask(at, messages):
    asked = {
        "model": GoogleModel(
            at.model, provider=GoogleProvider(api_key="none", base_url=at.base_url)
        ),
        "messages": messages,
        "model_settings": _settings(at),
        "model_request_parameters": _parameters(at),
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


def _settings(at):
    settings, google, choice = at.settings, at.google, at.choice
    thinking = {
        "include_thoughts": at.thinking.get("shown") or at.thoughts or None,
        "thinking_budget": at.thinking.get("budget"),
        "thinking_level": google.get("thinking_level"),
    }
    thinking = {name: value for name, value in thinking.items() if value is not None}
    effort = at.thinking.get("effort")  # Google's own configuration replaces it
    given = {
        "temperature": settings.get("temperature"),
        "top_p": settings.get("top_p"),
        "top_k": settings.get("top_k"),
        "max_tokens": settings.get("max_tokens"),
        "seed": settings.get("seed"),
        "stop_sequences": settings.get("stop"),
        "presence_penalty": settings.get("presence_penalty"),
        "frequency_penalty": settings.get("frequency_penalty"),
        "tool_choice": [choice["name"]] if isinstance(choice, dict) else choice,
        "service_tier": google.get("tier"),
        "google_labels": google.get("labels"),
        "google_cached_content": google.get("cached"),
        "google_safety_settings": [
            {"category": category, "threshold": threshold}
            for category, threshold in google.get("safety", {}).items()
        ]
        or None,
        "thinking": effort,
        "google_thinking_config": thinking if thinking and not effort else None,
    }
    return GoogleModelSettings(**{k: value for k, value in given.items() if value is not None})


def _parameters(at):
    tools = [
        ToolDefinition(
            name=tool.name,
            description=tool.description,
            **({"parameters_json_schema": tool.parameters} if tool.parameters else {}),
        )
        for tool in at.tools
    ]
    names = [name for tool in at.server_tools for name in SERVER_TOOLS if name in tool]
    native = [SERVER_TOOLS[name]() for name in names]
    output = {}
    if at.output:
        if at.output.schema is None:
            at.skip("it has no JSON without a schema")
        schema = OutputObjectDefinition(json_schema=at.output.schema, name=at.output.name)
        output = {"output_mode": "native", "output_object": schema}
    return ModelRequestParameters(function_tools=tools, native_tools=native, **output)


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
