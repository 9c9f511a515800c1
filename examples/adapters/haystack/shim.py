"""google-genai-haystack: `GoogleGenAIChatGenerator`, its chunks and its reply."""

import json
import os
import sys
from pathlib import Path

from haystack.dataclasses import (
    ChatMessage,
    FileContent,
    ImageContent,
    ReasoningContent,
    TextContent,
    ToolCall,
)
from haystack.tools import Tool
from haystack.utils import Secret
from haystack_integrations.components.generators.google_genai import GoogleGenAIChatGenerator

sys.path.append(str(Path(__file__).parents[1]))

from genai_client import config_of

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "google-genai-haystack"
PROVIDERS = ("gemini-api", "vertex-ai")


def replay(at):
    chunks, reply, error = _ask(at, _first(at))
    waiting = None if reply is None else [_call(call) for call in reply.tool_calls]
    for chunk in chunks:
        facts = [Thought(chunk.reasoning.reasoning_text)] if chunk.reasoning else []
        facts += [Text(chunk.content)] if chunk.content else []
        for call in map(_streamed, chunk.tool_calls or ()):
            if waiting is None:  # there is no reply
                facts.append(call)
            elif call in waiting:  # an agent runs the calls of the reply
                waiting.remove(call)
                facts.append(call)
        yield chunk, facts
    if error:
        raise error
    facts = []
    if not at.stream:
        facts += [Thought(reply.reasoning.reasoning_text)] if reply.reasoning else []
        facts += [Text(text) for text in reply.texts]
    facts += waiting
    if reason := reply.meta.get("finish_reason"):
        facts.append(Finish(reason))
    usage = reply.meta.get("usage") or {}
    if any(usage.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")):
        facts.append(
            Usage(
                input=usage["prompt_tokens"],
                output=usage["completion_tokens"],
                thoughts=usage.get("thoughts_token_count"),
                total=usage["total_tokens"],
            )
        )
    yield reply.to_dict(), facts


def converse(at):
    if at.turns == 1:
        messages = [each for message in at.messages for each in _messages(at, message)]
        *_, error = _ask(at, [*_system(at), *messages])
        if error:
            raise error
        return
    messages, stored = _first(at), at.stored
    _, reply, error = _ask(at, messages)
    if error:
        raise error
    results = [
        ChatMessage.from_tool(at.result(_call(call)), origin=call) for call in reply.tool_calls
    ]
    messages += [reply, *(results or [ChatMessage.from_user(at.say)])]
    if stored:
        saved = [json.dumps(message.to_dict()) for message in messages]
        messages = [ChatMessage.from_dict(json.loads(text)) for text in saved]
    *_, error = _ask(at, messages)
    if error:
        raise error


def _first(at):
    return [*_system(at), ChatMessage.from_user(at.prompt)]


def _system(at):
    return [ChatMessage.from_system(at.system)] if at.system else []


def _messages(at, message):
    match message:
        case {"system": text}:
            yield ChatMessage.from_system(text)
        case {"user": parts}:
            yield ChatMessage.from_user(content_parts=[_content(at, part) for part in parts])
        case {"model": parts}:
            yield _answer(parts)
        case {"results": results}:
            for result in results:
                call = ToolCall(tool_name=result["name"], arguments={}, id=result["call"])
                failed = bool(result.get("failed"))
                yield ChatMessage.from_tool(_result(at, result), origin=call, error=failed)


def _answer(parts):
    calls, signed, thoughts = [], [], []
    for index, part in enumerate(parts):
        if isinstance(part, dict) and "call" in part:
            call = part["call"]
            calls.append(ToolCall(call["name"], call["arguments"], call["id"]))
            if "signature" in call:
                signed.append({"part_index": index, "has_function_call": True, **_signature(call)})
        elif isinstance(part, dict):
            thoughts.append(part["thought"])
    texts = [part for part in parts if isinstance(part, str)]
    return ChatMessage.from_assistant(
        "\n".join(texts) if texts else None,
        tool_calls=calls,
        reasoning=ReasoningContent("\n".join(thoughts)) if thoughts else None,
        meta={"thought_signatures": signed} if signed else {},
    )


def _signature(call):
    return {"signature": call["signature"], "has_text": False, "is_thought": False}


def _content(at, part):
    if isinstance(part, str):
        return TextContent(part)
    ((kind, medium),) = part.items()
    if "url" in medium or "start" in medium:
        at.skip("it has no media by URL, and no part of a video")
    if kind == "image":
        return ImageContent(medium["data"], mime_type=medium["type"], detail=medium.get("detail"))
    return FileContent(medium["data"], mime_type=medium["type"], filename=medium.get("name"))


def _result(at, result):
    if "parts" in result:
        return [_content(at, part) for part in result["parts"]]
    return result["value"] if isinstance(result["value"], str) else json.dumps(result["value"])


def _ask(at, messages):
    """The chunks, the reply or None, and the error or None."""
    os.environ["GOOGLE_GEMINI_BASE_URL"] = at.base_url  # the component has no parameter for it
    tools = [
        Tool(
            name=tool.name,
            description=tool.description or "",
            parameters=tool.parameters or {"type": "object", "properties": {}},
            function=_not_run,
        )
        for tool in at.tools
    ]
    config = config_of(at, native=False).model_dump(exclude_none=True)
    for name in ("system_instruction", "tools", "automatic_function_calling"):
        config.pop(name, None)  # the component has parameters for them
    chunks = []
    model = GoogleGenAIChatGenerator(
        model=at.model,
        api_key=Secret.from_token("none"),
        streaming_callback=chunks.append if at.stream else None,
        tools=tools or None,
        generation_kwargs=config,
    )
    try:
        return chunks, model.run(messages)["replies"][0], None
    except Exception as error:  # noqa: BLE001  # the chunks before it are judged too
        return chunks, None, error


def _not_run(**_arguments):
    raise NotImplementedError


def _call(call):
    return Call(call.id, call.tool_name, call.arguments)


def _streamed(call):
    return Call(call.id, call.tool_name, call.arguments or "{}")
