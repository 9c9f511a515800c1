"""langchain-google-genai: `ChatGoogleGenerativeAI.stream` and `invoke`."""

import json
import re

from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from langchain_google_genai import ChatGoogleGenerativeAI

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "langchain-google-genai"
PROVIDERS = ("gemini-api", "vertex-ai")
CHOICES = {"required": "any", "auto": "auto", "none": "none"}
SIGNATURES = "__gemini_function_call_thought_signatures__"


def replay(at):
    whole, given = None, []
    for piece in _ask(at, [*_system(at), HumanMessage(at.prompt)]):
        whole = piece if whole is None else whole + piece
        calls = list(_calls(whole))  # the application reads them from the sum of the pieces
        new = [call for index, call in enumerate(calls) if given[index : index + 1] != [call]]
        yield piece, [*_facts(piece), *new]
        given = calls
    if whole is not None:
        yield whole, list(_end(whole))


def converse(at):
    if at.turns == 1:
        messages = [each for message in at.messages for each in _messages(message)]
        list(_ask(at, [*_system(at), *messages]))
        return
    messages, whole, stored = [*_system(at), HumanMessage(at.prompt)], None, at.stored
    for piece in _ask(at, messages):
        whole = piece if whole is None else whole + piece
    results = [
        ToolMessage(content=at.result(call), tool_call_id=call.id, name=call.name)
        for call in _calls(whole)
    ]
    messages += [whole, *(results or [HumanMessage(at.say)])]
    if stored:
        messages = messages_from_dict(json.loads(json.dumps(messages_to_dict(messages))))
    list(_ask(at, messages))


def _system(at):
    return [SystemMessage(at.system)] if at.system else []


def _messages(message):
    match message:
        case {"system": text}:
            yield SystemMessage(text)
        case {"user": parts}:
            yield HumanMessage([_block(part) for part in parts])
        case {"model": parts}:
            yield _answer(parts)
        case {"results": results}:
            for result in results:
                yield _result(result)


def _answer(parts):
    calls = [part["call"] for part in parts if isinstance(part, dict) and "call" in part]
    makers = {part.get("maker") for part in parts if isinstance(part, dict)} - {None}
    blocks = [_block(part) for part in parts if isinstance(part, str) or "call" not in part]
    return AIMessage(
        blocks,
        tool_calls=[
            {"id": call["id"], "name": call["name"], "args": call["arguments"]} for call in calls
        ],
        additional_kwargs={
            SIGNATURES: {call["id"]: call["signature"] for call in calls if "signature" in call}
        },
        response_metadata={"model_provider": next(iter(makers), "google_genai")},
    )


def _block(part):
    match part:
        case str():
            return {"type": "text", "text": part}
        case {"thought": text}:
            signature = {"signature": part["signature"]} if "signature" in part else {}
            return {"type": "thinking", "thinking": text, **signature}
    ((kind, medium),) = part.items()
    given = {"mime_type": medium["type"]}
    video = {f"{name}_offset": f"{medium[name]}s" for name in ("start", "end") if name in medium}
    video |= {"fps": medium["fps"]} if "fps" in medium else {}
    if "detail" in medium:
        given["media_resolution"] = f"MEDIA_RESOLUTION_{medium['detail'].upper()}"
    if video:
        return {"type": "media", "data": medium["data"], "video_metadata": video, **given}
    place = {"url": medium["url"]} if "url" in medium else {"base64": medium["data"]}
    if "/files/" in medium.get("url", ""):
        place = {"file_id": medium["url"]}  # an uploaded file; version 4.3 downloads other URLs
    return {"type": kind, **place, **given}


def _result(result):
    if "parts" in result:
        content = [_block(part) for part in result["parts"]]
    else:
        value = result["value"]
        content = value if isinstance(value, str) else json.dumps(value)
    return ToolMessage(
        content,
        tool_call_id=result["call"],
        name=result["name"],
        status="error" if result.get("failed") else "success",
    )


def _ask(at, messages):
    settings, google = at.settings, at.google
    level = google.get("thinking_level")
    given = {
        "temperature": settings.get("temperature"),
        "top_p": settings.get("top_p"),
        "top_k": settings.get("top_k"),
        "max_output_tokens": settings.get("max_tokens"),
        "seed": settings.get("seed"),
        "stop": settings.get("stop"),
        "presence_penalty": settings.get("presence_penalty"),
        "frequency_penalty": settings.get("frequency_penalty"),
        "include_thoughts": at.thinking.get("shown") or at.thoughts or None,
        "thinking_budget": at.thinking.get("budget"),
        "reasoning_effort": at.thinking.get("effort"),
        "thinking_level": level and level.lower(),
        "safety_settings": google.get("safety"),
        "labels": google.get("labels"),
        "cached_content": google.get("cached"),
        "response_mime_type": "application/json" if at.output else None,
        "response_schema": at.output.schema if at.output else None,
    }
    model = ChatGoogleGenerativeAI(
        model=at.model,
        google_api_key="none",
        base_url=at.base_url,
        max_retries=1,
        **{name: value for name, value in given.items() if value is not None},
    )
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            **({"parameters": tool.parameters} if tool.parameters else {}),
        }
        for tool in at.tools
    ]
    native = [
        {re.sub("[A-Z]", _lower, name): value}
        for tool in at.server_tools
        for name, value in tool.items()
        if name != "retrieval"
    ]
    choice = at.choice
    name = choice["name"] if isinstance(choice, dict) else CHOICES.get(choice)
    bound = {"tool_choice": name} if name else {}
    if tools and native:
        bound["tool_config"] = {"include_server_side_tool_invocations": True}
    if tools or native:
        model = model.bind_tools([*tools, *native], **bound)
    return model.stream(messages) if at.stream else [model.invoke(messages)]


def _lower(letter):
    return f"_{letter[0].lower()}"


def _facts(piece):
    for block in [piece.content] if isinstance(piece.content, str) else piece.content:
        if isinstance(block, str):
            yield Text(block)
        elif block.get("type") == "text":
            yield Text(block.get("text") or "")
        elif block.get("type") in ("thinking", "reasoning"):
            yield Thought(block.get("thinking") or block.get("reasoning") or "")


def _calls(whole):
    for call in whole.tool_calls:
        yield Call(call["id"], call["name"], call["args"])


def _end(whole):
    blocked = whole.response_metadata.get("prompt_feedback") or {}
    if reason := blocked.get("block_reason") or whole.response_metadata.get("finish_reason"):
        yield Finish(str(reason))
    if usage := whole.usage_metadata:
        yield Usage(
            input=usage["input_tokens"],
            output=usage["output_tokens"],
            thoughts=usage.get("output_token_details", {}).get("reasoning"),
            total=usage["total_tokens"],
        )
