"""The client of the shims for AG-UI: keeps the messages of a run, as `@ag-ui/client` does.

An application sends these messages with its next run, and after them the results of the calls.
"""

import json

from ag_ui.core import Tool

from harness import replay
from harness.facts import Call


def next_messages(sent, events, at):
    """The messages of the next run: those that were ``sent``, those of the ``events`` of the run,
    and the results of its calls; without a call that waits for a result, the user's next message.
    """
    messages = [dict(message) for message in sent]
    for event in events:
        _apply(messages, event.model_dump(mode="json", by_alias=True, exclude_none=True))
    answered = {message.get("toolCallId") for message in messages}
    results = [
        {
            "id": f"result-{number}",
            "role": "tool",
            "toolCallId": call["id"],
            "content": at.result(
                Call(call["id"], call["function"]["name"], call["function"]["arguments"])
            ),
        }
        for number, call in enumerate(_calls(messages))
        if call["id"] not in answered
    ]
    return messages + (results or [{"id": "next", "role": "user", "content": at.say}])


def messages_of(at):
    """The messages of a question, as a client of the protocol has them."""
    if not at.stream:
        at.skip("an AG-UI adapter only streams")
    messages = [each for message in at.messages for each in _asked(at, message)]
    return [*_system(at), *({"id": f"asked-{n}", **each} for n, each in enumerate(messages))]


def first_of(at):
    """The messages of a conversation that begins with a prompt."""
    if not at.stream:
        at.skip("an AG-UI adapter only streams")
    return [*_system(at), {"id": "user", "role": "user", "content": at.prompt or "Go on."}]


async def send(run):
    """Read the events of a run to its end. Raises the error that the run reports."""
    async for event in run:
        if event.type == "RUN_ERROR":
            raise RuntimeError(event.message)


def _system(at):
    return [{"id": "system", "role": "system", "content": at.system}] if at.system else []


def tools_of(at):
    """The declared tools, and those that the answer calls: an agent refuses other calls."""
    tools = {
        tool.name: Tool(name=tool.name, description=tool.description, parameters=tool.parameters)
        for tool in at.tools
    }
    for event in replay(at.exchange, layer="events") if at.exchange.reads else ():
        if event["kind"] == "call_start" and event["name"]:
            tools.setdefault(event["name"], Tool(name=event["name"], description="", parameters={}))
    return [*tools.values()]


def _asked(at, message):
    """The messages for one message of a question: a thought and a result each have their own."""
    match message:
        case {"system": text}:
            yield {"role": "system", "content": text}
        case {"user": parts}:
            yield {"role": "user", "content": [_part(at, part) for part in parts]}
        case {"model": parts}:
            texts = [part for part in parts if isinstance(part, str)]
            others = [part for part in parts if not isinstance(part, str)]
            calls = [part["call"] for part in others if "call" in part]
            if any("signature" in each for each in (*others, *calls)):
                at.skip("only the adapter's own messages have signatures, in its own form")
            yield from (
                {"role": "reasoning", "content": part["thought"]}
                for part in others
                if "thought" in part
            )
            yield {"role": "assistant", "content": "\n".join(texts), **_asked_calls(calls)}
        case {"results": results}:
            for result in results:
                yield _result(at, result)


def _asked_calls(calls):
    asked = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
        }
        for call in calls
    ]
    return {"toolCalls": asked} if asked else {}


def _result(at, result):
    value = result.get("value")
    content = value if isinstance(value, str) else json.dumps(value)
    error = {"error": content} if result.get("failed") else {}
    if "parts" in result:
        content = [_part(at, part) for part in result["parts"]]
    return {"role": "tool", "toolCallId": result["call"], "content": content, **error}


def _part(at, part):
    if isinstance(part, str):
        return {"type": "text", "text": part}
    ((kind, medium),) = part.items()
    if medium.keys() & {"detail", "start", "end", "fps"}:
        at.skip("the protocol has no resolution and no part of a video")
    form = "data" if "data" in medium else "url"
    if (kind, form) == ("file", "url") and at.exchange.provider in ("openai", "openai-compat"):
        at.skip("Chat Completions has no file by URL")
    source = {"type": form, "value": medium[form], "mimeType": medium["type"]}
    return {"type": "document" if kind == "file" else kind, "source": source}


def _apply(messages, event):
    match event["type"]:
        case "TEXT_MESSAGE_START":
            _message(messages, event["messageId"], event.get("role", "assistant"), content="")
        case "REASONING_MESSAGE_START":
            _message(messages, event["messageId"], "reasoning", content="")
        case "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT":
            message = _message(messages, event["messageId"], "assistant")
            message["content"] = message.get("content", "") + event["delta"]
        case "TOOL_CALL_START":
            for call in _calls(messages):
                if call["id"] == event["toolCallId"]:
                    call["function"]["name"] = event["toolCallName"]
                    return
            parent = event.get("parentMessageId") or event["toolCallId"]
            message = _message(messages, parent, "assistant")
            if message["role"] != "assistant":
                message = _message(messages, event["toolCallId"], "assistant")
            call = {"name": event["toolCallName"], "arguments": ""}
            calls = message.setdefault("toolCalls", [])
            calls.append({"id": event["toolCallId"], "type": "function", "function": call})
        case "TOOL_CALL_ARGS":
            _call(messages, event["toolCallId"])["function"]["arguments"] += event["delta"]
        case "TOOL_CALL_RESULT":
            result = {"toolCallId": event["toolCallId"], "content": event["content"]}
            at = _place_of_result(messages, event["toolCallId"])
            messages.insert(at, {"id": event["messageId"], "role": "tool", **result})
        case "REASONING_ENCRYPTED_VALUE":
            of_call = event["subtype"] == "tool-call"
            for entity in _calls(messages) if of_call else messages:
                if entity["id"] == event["entityId"]:
                    entity["encryptedValue"] = event["encryptedValue"]
                    break
        case "MESSAGES_SNAPSHOT":
            given = {message["id"]: message for message in event["messages"]}
            kept = [m for m in messages if m["id"] in given or m["role"] == "reasoning"]
            messages[:] = [given.pop(message["id"], message) for message in kept]
            messages += given.values()
    metadata = event.get("metadata") or {}
    for entity in _calls(messages) if "toolCallId" in event else messages:
        if metadata and entity["id"] in (event.get("toolCallId"), event.get("messageId")):
            entity.setdefault("metadata", {}).update(metadata)


def _message(messages, name, role, **fields):
    """The message of this id; a new one if there is none."""
    for message in messages:
        if message["id"] == name:
            return message
    messages.append({"id": name, "role": role, **fields})
    return messages[-1]


def _place_of_result(messages, call):
    """The place after the message with the call, and after the results that are there."""
    for number, message in enumerate(messages):
        if any(each["id"] == call for each in message.get("toolCalls", ())):
            number += 1
            while number < len(messages) and messages[number]["role"] == "tool":
                number += 1
            return number
    return len(messages)


def _calls(messages):
    return [call for message in messages for call in message.get("toolCalls", ())]


def _call(messages, name):
    return next(call for call in _calls(messages) if call["id"] == name)
