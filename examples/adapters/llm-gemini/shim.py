"""llm-gemini, the Gemini plugin of Simon Willison's `llm`.

Its URL is fixed, and it sends no ``alt=sse``, so Google answers with a JSON array. Therefore the
shim redirects its HTTP client, httpx, to the recording, and the recorded events become elements of
an array.
"""

import base64
import json

import httpx
import llm
from llm.parts import ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from llm_gemini import GeminiPro

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "llm-gemini"
PROVIDERS = ("gemini-api", "vertex-ai")
_send = httpx.HTTPTransport.handle_request


def replay(at):
    response, name = _conversation(at).prompt(at.prompt, **_asked(at)), ""
    for event in response.stream_events():
        facts = []
        if event.type == "tool_call_name":
            name = event.chunk
        elif event.type == "tool_call_args" and not event.server_executed:
            facts = [Call(event.tool_call_id, name, event.chunk)]
        elif event.type == "reasoning":
            facts = [Thought(event.chunk)]
        elif event.type == "text":
            facts = [Text(event.chunk)]
        yield event, facts
    last, usage = response.response_json, response.usage()
    reasons = [candidate.get("finishReason") for candidate in last.get("candidates", ())[:1]]
    reasons.append(last.get("promptFeedback", {}).get("blockReason"))
    yield (
        {**last, "usage": usage},
        [
            *(Finish(str(reason)) for reason in reasons if reason is not None),
            Usage(
                input=usage.input,
                output=usage.output,
                thoughts=(usage.details or {}).get("thoughtsTokenCount"),
            ),
        ],
    )


def converse(at):
    if at.turns == 1:
        messages = [_message(at, message) for message in at.messages]
        _conversation(at).prompt(messages=messages, **_asked(at)).text()
        return
    conversation = _conversation(at)
    results = [
        llm.ToolResult(
            name=call.name,
            output=at.result(Call(call.tool_call_id, call.name, call.arguments)),
            tool_call_id=call.tool_call_id,
        )
        for call in conversation.prompt(at.prompt, **_asked(at)).tool_calls_or_raise()
    ]
    next_text = None if results else at.say
    conversation.prompt(next_text, tool_results=results or None, **_asked(at)).text()


def _message(at, message):
    if "system" in message:
        return llm.system(message["system"])
    if "results" in message:
        return llm.tool_message(*(_result(at, result) for result in message["results"]))
    ((role, parts),) = message.items()
    make = llm.assistant if role == "model" else llm.user
    return make(*(_part(at, part) for part in parts))


def _part(at, part):
    match part:
        case str():
            return TextPart(part)
        case {"thought": text}:
            return ReasoningPart(text)
        case {"call": call}:
            signed = None
            if "signature" in call:
                signed = {"gemini": {"thoughtSignature": call["signature"]}}
            return ToolCallPart(
                call["name"], call["arguments"], call["id"], provider_metadata=signed
            )
    (medium,) = part.values()
    if "start" in medium or "detail" in medium or "googleapis" in medium.get("url", ""):
        at.skip("it has no details of media, and no files of Google")
    data = base64.b64decode(medium["data"]) if "data" in medium else None
    return llm.Attachment(type=medium["type"], url=medium.get("url"), content=data)


def _result(at, result):
    if "parts" in result:
        at.skip("it has no results with media")
    value = result["value"]
    return ToolResultPart(
        result["name"],
        value if isinstance(value, str) else json.dumps(value),
        result["call"],
        exception=str(value) if result.get("failed") else None,
    )


def _conversation(at):
    if not at.stream:
        at.skip("llm-gemini requests only streams")

    def send(transport, request):
        target = httpx.URL(f"{at.base_url}{request.url.path}?alt=sse")
        headers = {**request.headers, "host": f"{target.host}:{target.port}"}
        moved = httpx.Request(request.method, target, headers=headers, stream=request.stream)
        moved.extensions = request.extensions
        response = _send(transport, moved)
        response.stream = _Array(response.stream)
        return response

    httpx.HTTPTransport.handle_request = send
    thinks = not at.model.startswith("gemini-2.0")  # as the plugin registers its models
    model = GeminiPro(
        at.model,
        can_thinking_budget=thinks,
        thinking_levels=["minimal", "low", "medium", "high"] if thinks else None,
        can_schema=True,
    )
    return model.conversation()


class _Array(httpx.SyncByteStream):
    """The recorded events, and an error among them, as elements of one JSON array."""

    def __init__(self, stream):
        self.stream, self.close = stream, stream.close

    def __iter__(self):
        pieces, line, mark, inside = iter(self.stream), b"", b"[", False
        for data in pieces:
            if mark == b"[" and not line and data.startswith(b"["):
                yield data  # it is already an array
                yield from pieces
                return
            *lines, line = (line + data).split(b"\n")
            for text in lines:
                inside = inside and text not in (b"", b"\r")
                if text.startswith((b"data:", b"{", b"}", b" ", b'"', b"<")):
                    yield (b"" if inside else mark) + text.removeprefix(b"data:")
                    mark, inside = b",", True
        if line:
            yield (b"" if inside else mark) + line.removeprefix(b"data:")
        if line or mark == b",":
            yield b"]"


def _asked(at):
    tools = [llm.Tool(tool.name, tool.description, tool.parameters) for tool in at.tools]
    settings, output, level = at.settings, at.output, at.google.get("thinking_level")
    options = {
        "temperature": settings.get("temperature"),
        "top_p": settings.get("top_p"),
        "top_k": settings.get("top_k"),
        "max_output_tokens": settings.get("max_tokens"),
        "json_object": True if output and output.schema is None else None,
        "thinking_budget": at.thinking.get("budget"),
        "thinking_level": level and level.lower(),
    }
    return {
        "tools": tools or None,
        "system": at.system or None,
        "schema": output.schema if output else None,
        "key": "none",
        **{name: value for name, value in options.items() if value is not None},
    }
