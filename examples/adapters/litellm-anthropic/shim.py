"""litellm's Anthropic interface, `anthropic.messages.acreate`: Anthropic's events from Gemini."""

import json
import os

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it downloads prices

import litellm

from harness.facts import Call, Error, Finish, Text, Thought, Usage

VERSION_OF = "litellm"
PROVIDERS = ("gemini-api", "vertex-ai")  # with others it retries repeatedly
litellm.suppress_debug_info = True
CHOICES = {"auto": "auto", "none": "none", "required": "any"}
SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "stop": "stop_sequences",
}
MAX_TOKENS = 4096
DELTAS = {"text": "text", "thinking": "thinking", "signature": "signature", "partial_json": "json"}


async def replay(at):
    block, usage = {}, {}
    async for event in _ask(at, [{"role": "user", "content": at.prompt}]):
        yield event, list(_facts(event, block, usage))


async def converse(at):
    if at.turns == 1:
        messages = [each for message in at.messages for each in _messages(at, message)]
        answer = await _request(at, messages, **_options(at))
        if at.stream:
            async for _ in answer:
                pass
        return
    messages, blocks, options = [{"role": "user", "content": at.prompt}], [], _options(at)
    stored = at.stored
    async for event in _ask(at, messages, **options):
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
    messages.append({"role": "assistant", "content": blocks})
    messages.append({"role": "user", "content": results or at.say})
    async for _ in _ask(at, json.loads(json.dumps(messages)) if stored else messages, **options):
        pass


def _messages(at, message):
    match message:
        case {"system": text}:
            yield {"role": "system", "content": text}
        case {"user": parts}:
            yield {"role": "user", "content": [_block(at, part) for part in parts]}
        case {"model": parts}:
            yield {"role": "assistant", "content": [_block(at, part) for part in parts]}
        case {"results": results}:
            yield {"role": "user", "content": [_result(at, result) for result in results]}


def _block(at, part):
    match part:
        case str():
            return {"type": "text", "text": part}
        case {"thought": text}:
            return {"type": "thinking", "thinking": text, "signature": part.get("signature", "")}
        case {"call": call}:
            block = {"type": "tool_use", "id": call["id"], "name": call["name"]}
            signed = {"signature": call["signature"]} if "signature" in call else {}
            own = {"provider_specific_fields": signed} if signed else {}
            return {**block, "input": call["arguments"], **own}
    ((kind, medium),) = part.items()
    if kind in ("audio", "video") or "detail" in medium:
        at.skip("the API has no sound, no video and no resolution")
    source = {"type": "url", "url": medium.get("url")}
    if "data" in medium:
        source = {"type": "base64", "media_type": medium["type"], "data": medium["data"]}
    return {"type": "image" if kind == "image" else "document", "source": source}


def _result(at, result):
    value = result.get("value")
    content = value if isinstance(value, str) else json.dumps(value)
    if "parts" in result:
        content = [_block(at, part) for part in result["parts"]]
    block = {"type": "tool_result", "tool_use_id": result["call"], "content": content}
    return {**block, "is_error": True} if result.get("failed") else block


def _options(at):
    """The rest of a request, without what is not given. The API requires ``max_tokens``."""
    choice, output, effort = at.choice, at.output, at.thinking.get("effort")
    if choice is not None:
        named = isinstance(choice, dict)
        choice = {"type": "tool", **choice} if named else {"type": CHOICES[choice]}
    if output and output.schema is None:
        at.skip("the API has no JSON without a schema")
    config = {"effort": effort} if effort else {}
    if output:
        config["format"] = {"type": "json_schema", "schema": output.schema}
    budget = at.thinking.get("budget")
    thinking = {"type": "adaptive"} if effort else None
    if budget is not None:
        thinking = {"type": "enabled", "budget_tokens": budget}
    given = {
        "system": at.system or None,
        "tool_choice": choice,
        "thinking": thinking,
        "output_config": config or None,
        "max_tokens": at.settings.get("max_tokens", MAX_TOKENS),
        **{own: at.settings.get(name) for name, own in SETTINGS.items()},
    }
    return {name: value for name, value in given.items() if value is not None}


async def _ask(at, messages, **options):
    if not at.stream:
        at.skip("this shim reads only streams")
    pieces = await _request(at, messages, **options)
    buffer = b""
    async for piece in pieces:
        buffer += piece
        while b"\n\n" in buffer:
            message, buffer = buffer.split(b"\n\n", 1)
            yield json.loads(message.split(b"data: ", 1)[1])


def _request(at, messages, **options):
    tools = [
        {
            "name": tool.name,
            "description": tool.description or "",
            "input_schema": tool.parameters or {"type": "object", "properties": {}},
        }
        for tool in at.tools
    ]
    shown = {"thinking": {"type": "enabled", "budget_tokens": 1024}} if at.thoughts else {}
    asked = {"max_tokens": MAX_TOKENS, **({"tools": tools} if tools else {}), **shown, **options}
    return litellm.anthropic.messages.acreate(
        model=f"gemini/{at.model}",
        api_base=f"{at.base_url}/v1beta",
        api_key="none",
        messages=messages,
        drop_params=True,  # for models without thoughts
        stream=at.stream,
        **asked,
    )


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
