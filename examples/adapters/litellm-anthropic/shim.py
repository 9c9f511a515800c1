"""litellm's Anthropic interface, `anthropic.messages.acreate`: Anthropic's events from Gemini."""

import json
import os

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it downloads prices

import litellm

from harness.facts import Call, Error, Finish, Text, Thought, Usage

VERSION_OF = "litellm"
PROVIDERS = ("gemini-api", "vertex-ai")  # with others it retries repeatedly
litellm.suppress_debug_info = True
DELTAS = {"text": "text", "thinking": "thinking", "signature": "signature", "partial_json": "json"}


async def replay(at):
    block, usage = {}, {}
    async for event in _ask(at, [{"role": "user", "content": at.prompt}]):
        yield event, list(_facts(event, block, usage))


async def converse(at):
    messages, blocks = [{"role": "user", "content": at.prompt}], []
    async for event in _ask(at, messages):
        if event["type"] == "content_block_start":
            blocks.append({**event["content_block"], "json": ""})
        for name, value in event.get("delta", {}).items():
            if event["type"] == "content_block_delta" and name in DELTAS:
                blocks[-1][DELTAS[name]] = blocks[-1].get(DELTAS[name], "") + value
    for block in blocks:
        text = block.pop("json")
        if block["type"] == "tool_use" and text:
            try:
                block["input"] = json.loads(text)
            except ValueError:  # the first turn reports that calls were merged
                at.skip("the arguments of a call are not JSON")
    results = [
        {
            "type": "tool_result",
            "tool_use_id": block["id"],
            "content": at.result(Call(block["id"], block["name"], block["input"])),
        }
        for block in blocks
        if block["type"] == "tool_use"
    ]
    blocks = [block for block in blocks if block != {"type": "text", "text": ""}]
    messages += [{"role": "assistant", "content": blocks}]
    async for _ in _ask(at, [*messages, {"role": "user", "content": results or at.say}]):
        pass


async def _ask(at, messages):
    if not at.stream:
        at.skip("this shim reads only streams")
    tools = [
        {
            "name": tool.name,
            "description": tool.description or "",
            "input_schema": tool.parameters or {"type": "object", "properties": {}},
        }
        for tool in at.tools
    ]
    pieces = await litellm.anthropic.messages.acreate(
        model=f"gemini/{at.model}",
        api_base=f"{at.base_url}/v1beta",
        api_key="none",
        messages=messages,
        max_tokens=4096,
        drop_params=True,  # for models without thoughts
        stream=True,
        **({"tools": tools} if tools else {}),
        **({"thinking": {"type": "enabled", "budget_tokens": 1024}} if at.thoughts else {}),
    )
    buffer = b""
    async for piece in pieces:
        buffer += piece
        while b"\n\n" in buffer:
            message, buffer = buffer.split(b"\n\n", 1)
            yield json.loads(message.split(b"data: ", 1)[1])


def _facts(event, block, usage):
    match event:
        case {"type": "message_start"}:
            usage.update(event["message"].get("usage") or {})
        case {"type": "content_block_start"}:
            block.update({"json": "", **event["content_block"]})
        case {"delta": {"type": "text_delta", "text": text}}:
            yield Text(text)
        case {"delta": {"type": "thinking_delta", "thinking": thinking}}:
            yield Thought(thinking)
        case {"delta": {"type": "input_json_delta", "partial_json": text}}:
            block["json"] += text
        case {"type": "content_block_stop"}:
            if block.get("type") == "tool_use":
                yield Call(block["id"], block["name"], block["json"])
            block.clear()
        case {"type": "message_delta"}:
            usage.update(event.get("usage") or {})
            yield Finish(event["delta"].get("stop_reason"))
            cached = usage.get("cache_read_input_tokens") or 0
            yield Usage(
                input=(usage.get("input_tokens") or 0) + cached, output=usage.get("output_tokens")
            )
        case {"type": "error"}:
            yield Error(event["error"].get("type"), event["error"].get("message") or "")
