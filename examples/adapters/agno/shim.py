"""agno: the model `Gemini`, above its retries and below its agent, which would run the tools."""

import base64
import json
import sys
from pathlib import Path

from agno.media import Audio, File, Image, Video
from agno.models.base import MessageData
from agno.models.google import Gemini
from agno.models.message import Message
from agno.models.response import ModelResponse

sys.path.append(str(Path(__file__).parents[1]))

from genai_client import config_of

from harness.facts import Call, Text, Thought, Usage

VERSION_OF = "agno"
PROVIDERS = ("gemini-api", "vertex-ai")


def replay(at):
    answer = Message(role="assistant")
    for event in _ask(at, _first(at), answer):
        facts = [Thought(event.reasoning_content)] if event.reasoning_content else []
        facts += [Text(event.content)] if event.content else []
        yield event, facts + [_call(call) for call in event.tool_calls or ()]
    calls = [] if at.stream else [_call(call) for call in answer.tool_calls or ()]
    yield answer, calls + _usage(answer.metrics)


def converse(at):
    answer, stored = Message(role="assistant"), at.stored
    if at.turns == 1:
        messages = [each for message in at.messages for each in _messages(at, message)]
        list(_ask(at, [*_system(at), *messages], answer, at.choice))
        return
    messages = _first(at)
    for _ in _ask(at, messages, answer):
        pass
    results = [
        Message(
            role="tool",
            tool_call_id=call["id"],
            tool_name=call["function"]["name"],
            content=at.result(_call(call)),
        )
        for call in answer.tool_calls or ()
    ]
    messages += [answer, *(results or [Message(role="user", content=at.say)])]
    if stored:
        saved = [json.dumps(message.to_dict()) for message in messages]
        messages = [Message.from_dict(json.loads(text)) for text in saved]
    for _ in _ask(at, messages, Message(role="assistant")):
        pass


def _first(at):
    return [*_system(at), Message(role="user", content=at.prompt)]


def _system(at):
    return [Message(role="system", content=at.system)] if at.system else []


def _messages(at, message):
    match message:
        case {"system": text}:
            yield Message(role="system", content=text)
        case {"user": parts}:
            yield Message(role="user", content=_text(parts), **_media(at, parts))
        case {"model": parts}:
            yield _answer(parts)
        case {"results": results}:
            for result in results:
                parts = result.get("parts", ())
                value = _text(parts) if parts else result["value"]
                yield Message(
                    role="tool",
                    tool_call_id=result["call"],
                    tool_name=result["name"],
                    content=value if isinstance(value, str) else json.dumps(value),
                    tool_call_error=bool(result.get("failed")),
                    **_media(at, parts),
                )


def _text(parts):
    return "\n".join(part for part in parts if isinstance(part, str))


def _answer(parts):
    calls = [part["call"] for part in parts if isinstance(part, dict) and "call" in part]
    thoughts = [part["thought"] for part in parts if isinstance(part, dict) and "thought" in part]
    called = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
            **({"thought_signature": call["signature"]} if "signature" in call else {}),
        }
        for call in calls
    ]
    texts = any(isinstance(part, str) for part in parts)
    return Message(
        role="assistant",
        content=_text(parts) if texts else None,
        tool_calls=called or None,
        reasoning_content="\n".join(thoughts) or None,
    )


def _media(at, parts):
    kinds = {"image": ("images", Image), "audio": ("audio", Audio), "video": ("videos", Video)}
    found = {}
    for part in parts:
        if isinstance(part, str):
            continue
        ((kind, medium),) = part.items()
        if "start" in medium:
            at.skip("it has no part of a video")
        name, make = kinds.get(kind, ("files", File))
        place = {"url": medium.get("url")}
        if "data" in medium:
            place = {"content": base64.b64decode(medium["data"])}
        detail = {"detail": medium["detail"]} if kind == "image" and "detail" in medium else {}
        found.setdefault(name, []).append(make(mime_type=medium["type"], **place, **detail))
    return found


def _ask(at, messages, answer, choice=None):
    settings, thinking, google, output = at.settings, at.thinking, at.google, at.output
    rest = {"labels": google.get("labels"), "service_tier": google.get("tier")}
    if output:
        rest |= {"response_mime_type": "application/json", "response_json_schema": output.schema}
    given = at.server_tools if at.turns == 1 else ()  # it has not all of the recorded requests
    native = {name for tool in given for name in tool}
    model = Gemini(
        id=at.model,
        api_key="none",
        client_params={"http_options": {"base_url": at.base_url}},
        include_thoughts=thinking.get("shown") or at.thoughts or None,
        thinking_budget=thinking.get("budget"),
        thinking_level=google.get("thinking_level"),
        temperature=settings.get("temperature"),
        top_p=settings.get("top_p"),
        top_k=settings.get("top_k"),
        max_output_tokens=settings.get("max_tokens"),
        seed=settings.get("seed"),
        stop_sequences=settings.get("stop"),
        presence_penalty=settings.get("presence_penalty"),
        frequency_penalty=settings.get("frequency_penalty"),
        cached_content=google.get("cached"),
        safety_settings=config_of(at, native=False).safety_settings,
        generative_model_kwargs={name: value for name, value in rest.items() if value} or None,
        search="googleSearch" in native,
        url_context="urlContext" in native,
    )
    if isinstance(choice, dict):
        choice = {"type": "function", "function": choice}
    choice = "any" if choice == "required" else choice
    tools = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description or "",
                "parameters": tool.parameters or {"type": "object", "properties": {}},
            },
        }
        for tool in at.tools
    ]
    if at.stream:
        data = MessageData()
        yield from model.process_response_stream(
            messages, answer, data, tools=tools or None, tool_choice=choice
        )
    else:
        event = ModelResponse()
        model._process_model_response(
            messages, answer, event, tools=tools or None, tool_choice=choice
        )
        yield event


def _call(call):
    function = call["function"]
    return Call(call["id"], function["name"], function["arguments"] or "{}")


def _usage(counts):
    if counts is None or not (counts.total_tokens or counts.input_tokens):
        return []
    return [
        Usage(
            input=counts.input_tokens,
            output=counts.output_tokens,
            thoughts=counts.reasoning_tokens,
            total=counts.total_tokens,
        )
    ]
