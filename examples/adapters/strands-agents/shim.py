"""strands-agents: the events of `GeminiModel.stream`; `process_stream` makes a message of them."""

import base64
import json
import sys
from pathlib import Path

from strands.event_loop.streaming import process_stream
from strands.models.gemini import GeminiModel

sys.path.append(str(Path(__file__).parents[1]))

from genai_client import config_of

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "strands-agents"
PROVIDERS = ("gemini-api", "vertex-ai")
CHOICES = {"auto": {"auto": {}}, "required": {"any": {}}}


async def replay(at):
    call = None
    async for event in _ask(at, [_user(at.prompt)]):
        facts = []
        if tool := event.get("contentBlockStart", {}).get("start", {}).get("toolUse"):
            call = Call(tool["toolUseId"], tool["name"], "")
        delta = event.get("contentBlockDelta", {}).get("delta", {})
        if "toolUse" in delta:
            call = Call(call.id, call.name, call.arguments + delta["toolUse"]["input"])
        if text := delta.get("text"):
            facts.append(Text(text))
        if thought := delta.get("reasoningContent", {}).get("text"):
            facts.append(Thought(thought))
        if "contentBlockStop" in event and call:
            facts.append(call)
            call = None
        if "messageStop" in event:
            facts.append(Finish(event["messageStop"]["stopReason"]))
        if usage := event.get("metadata", {}).get("usage"):
            facts.append(
                Usage(
                    input=usage["inputTokens"],
                    output=usage["outputTokens"],
                    total=usage["totalTokens"],
                )
            )
        yield event, facts


async def converse(at):
    if at.turns == 1:
        async for _ in _ask(at, [_message(at, message) for message in at.messages]):
            pass
        return
    messages, stored = [_user(at.prompt)], at.stored
    async for event in process_stream(_ask(at, messages)):
        if "stop" in event:
            _, message, *_ = event["stop"]
    calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
    results = [
        {
            "toolResult": {
                "toolUseId": call["toolUseId"],
                "status": "success",
                "content": [
                    {"text": at.result(Call(call["toolUseId"], call["name"], call["input"]))}
                ],
            }
        }
        for call in calls
    ]
    second = {"role": "user", "content": results} if results else _user(at.say)
    messages += [message, second]
    async for _ in _ask(at, json.loads(json.dumps(messages)) if stored else messages):
        pass


def _message(at, message):
    if "system" in message:  # its messages have no later system text
        return _user(message["system"])
    if "results" in message:
        return {"role": "user", "content": [_result(at, each) for each in message["results"]]}
    ((role, parts),) = message.items()
    role = "assistant" if role == "model" else role
    return {"role": role, "content": [_block(at, part) for part in parts]}


def _block(at, part):
    match part:
        case str():
            return {"text": part}
        case {"thought": text}:
            own = part.get("maker", "google") == "google"
            signature = {"signature": part["signature"]} if own and "signature" in part else {}
            return {"reasoningContent": {"reasoningText": {"text": text, **signature}}}
        case {"call": call}:
            signature = {"reasoningSignature": call["signature"]} if "signature" in call else {}
            use = {"toolUseId": call["id"], "name": call["name"], "input": call["arguments"]}
            return {"toolUse": {**use, **signature}}
    ((kind, medium),) = part.items()
    if kind == "audio" or "url" in medium or "detail" in medium:
        at.skip("it has no sounds, no media by URL, and no details of media")
    kind = "document" if kind == "file" else kind
    named = {"name": medium.get("name", "file")} if kind == "document" else {}
    source = {"bytes": base64.b64decode(medium["data"])}
    return {kind: {"format": medium["type"].split("/")[1], "source": source, **named}}


def _result(at, result):
    if "parts" in result:
        content = [_block(at, part) for part in result["parts"]]
    else:
        value = result["value"]
        content = [{"text": value} if isinstance(value, str) else {"json": value}]
    status = "error" if result.get("failed") else "success"
    return {"toolResult": {"toolUseId": result["call"], "status": status, "content": content}}


def _user(text):
    return {"role": "user", "content": [{"text": text}]}


def _ask(at, messages):
    if not at.stream:
        at.skip("this client knows streams only")
    config = config_of(at)
    native = [tool for tool in config.tools or () if not tool.function_declarations]
    params = config.model_dump(exclude_none=True)
    for name in ("system_instruction", "tools", "tool_config", "automatic_function_calling"):
        params.pop(name, None)  # the model has arguments for them
    model = GeminiModel(
        client_args={"api_key": "none", "http_options": {"base_url": at.base_url}},
        model_id=at.model,
        params=params,
        **({"gemini_tools": native} if native else {}),
    )
    tools = [
        {
            "name": tool.name,
            "description": tool.description or "",
            "inputSchema": {"json": tool.parameters or {"type": "object", "properties": {}}},
        }
        for tool in at.tools
    ]
    choice = at.choice
    if choice == "none":
        at.skip("its choice has no word for none")
    chosen = {"tool": choice} if isinstance(choice, dict) else CHOICES.get(choice)
    return model.stream(messages, tools or None, at.system or None, tool_choice=chosen)
