"""The client of the shims for AG-UI: keeps the messages of a run, as `@ag-ui/client` does.

An application sends these messages with its next run, and after them the results of the calls.
"""

from ag_ui.core import Tool

from harness import replay
from harness.facts import Call


def next_messages(sent, events, at):
    """The messages of the next run: those that were ``sent``, those of the ``events`` of the run,
    and the results of its calls; without a call that waits for a result, the user's next message.
    """
    messages = [message.model_dump(by_alias=True, exclude_none=True) for message in sent]
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


def tools_of(at):
    """The declared tools, and those that the answer calls: an agent refuses other calls."""
    tools = {
        tool.name: Tool(name=tool.name, description=tool.description, parameters=tool.parameters)
        for tool in at.tools
    }
    for event in replay(at.exchange, layer="events"):
        if event["kind"] == "call_start" and event["name"]:
            tools.setdefault(event["name"], Tool(name=event["name"], description="", parameters={}))
    return [*tools.values()]


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
