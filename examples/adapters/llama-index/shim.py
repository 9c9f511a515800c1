"""llama-index-llms-google-genai: `GoogleGenAI.stream_chat` and `chat`."""

import base64
import json
import sys
from pathlib import Path

from google.genai import types
from llama_index.core.base.llms.types import (
    AudioBlock,
    ChatMessage,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    VideoBlock,
)
from llama_index.llms.google_genai import GoogleGenAI

sys.path.append(str(Path(__file__).parents[1]))

from genai_client import config_of

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "llama-index-llms-google-genai"
PROVIDERS = ("gemini-api", "vertex-ai")
MEDIA = {
    "image": (ImageBlock, "image", "image_mimetype"),
    "audio": (AudioBlock, "audio", "format"),
    "video": (VideoBlock, "video", "video_mimetype"),
    "file": (DocumentBlock, "data", "document_mimetype"),
}


def replay(at):
    given = []
    for answer in _ask(at, _first(at)):
        facts = [fact for block in answer.message.blocks for fact in _facts(block)]
        yield answer, [*_new(facts, given), *_end(answer.raw or {})]
        given = facts


def converse(at):
    if at.turns == 1:
        messages = [each for message in at.messages for each in _messages(at, message)]
        list(_ask(at, [*_system(at), *messages]))
        return
    messages, stored = _first(at), at.stored
    answers = list(_ask(at, messages))
    if not answers:
        at.skip("it gave no answer that could be sent back")
    answer = answers[-1]
    results = [
        ChatMessage(
            role="tool",
            content=at.result(call),
            additional_kwargs={"tool_call_id": call.id, "name": call.name},
        )
        for block in answer.message.blocks
        for call in _facts(block)
        if isinstance(call, Call)
    ]
    messages += [answer.message, *(results or [ChatMessage(role="user", content=at.say)])]
    if stored:
        saved = [message.model_dump_json() for message in messages]
        messages = [ChatMessage.model_validate_json(text) for text in saved]
    for _ in _ask(at, messages):
        pass


def _first(at):
    return [*_system(at), ChatMessage(role="user", content=at.prompt)]


def _system(at):
    return [ChatMessage(role="system", content=at.system)] if at.system else []


def _messages(at, message):
    match message:
        case {"system": text}:
            yield ChatMessage(role="system", content=text)
        case {"results": results}:
            for result in results:
                if "parts" in result:
                    content = [_block(at, part) for part in result["parts"]]
                else:
                    value = {"error": result["value"]} if result.get("failed") else result["value"]
                    content = value if isinstance(value, str) else json.dumps(value)
                yield ChatMessage(
                    role="tool",
                    content=content,
                    additional_kwargs={"tool_call_id": result["call"], "name": result["name"]},
                )
        case {"user": parts}:
            yield ChatMessage(role="user", blocks=[_block(at, part) for part in parts])
        case {"model": parts}:
            signatures = [_signature(part) for part in parts]
            yield ChatMessage(
                role="model",
                blocks=[_block(at, part) for part in parts],
                additional_kwargs={"thought_signatures": signatures},
            )


def _signature(part):
    own = isinstance(part, dict) and part.get("maker", "google") == "google"
    value = part.get("call", part).get("signature") if own else None
    return base64.b64decode(value) if value else None


def _block(at, part):
    match part:
        case str():
            return TextBlock(text=part)
        case {"thought": text}:
            return ThinkingBlock(content=text)
        case {"call": call}:
            return ToolCallBlock(
                tool_call_id=call["id"], tool_name=call["name"], tool_kwargs=call["arguments"]
            )
    ((kind, medium),) = part.items()
    if "start" in medium or "googleapis" in medium.get("url", ""):
        at.skip("it has no part of a video, and no files of Google")
    block, data, type_ = MEDIA[kind]
    place = {"url": medium["url"]} if "url" in medium else {data: base64.b64decode(medium["data"])}
    detail = {"detail": medium["detail"]} if "detail" in medium else {}
    return block(**place, **{type_: medium["type"]}, **detail)


def _ask(at, messages):
    config = config_of(at)
    model = GoogleGenAI(
        model=at.model,
        api_key="none",
        http_options=types.HttpOptions(base_url=at.base_url),
        generation_config=config.model_copy(update={"system_instruction": None, "tools": None}),
        context_window=100_000,  # without both, it requests the limits of the model
        max_tokens=8192,
        max_retries=0,
    )
    asked = {"tools": config.tools} if config.tools else {}
    return model.stream_chat(messages, **asked) if at.stream else [model.chat(messages, **asked)]


def _facts(block):
    if isinstance(block, TextBlock):
        yield Text(block.text)
    elif isinstance(block, ThinkingBlock):
        yield Thought(block.content)
    elif isinstance(block, ToolCallBlock):
        yield Call(block.tool_call_id, block.tool_name, block.tool_kwargs)


def _new(facts, given):
    """The facts that were not given: each answer has all blocks, and its last text grows."""
    for index, fact in enumerate(facts):
        old = given[index] if index < len(given) else None
        if isinstance(fact, Text) and isinstance(old, Text) and fact.text.startswith(old.text):
            fact = Text(fact.text[len(old.text) :])
        if fact not in (old, Text("")):
            yield fact


def _end(raw):
    if reason := raw.get("finish_reason") or raw.get("block_reason"):
        yield Finish(str(getattr(reason, "value", reason)))
    if usage := raw.get("usage_metadata"):
        yield Usage(
            input=usage["prompt_token_count"],
            output=usage["candidates_token_count"],
            thoughts=usage["thoughts_token_count"],
            total=usage["total_token_count"],
        )
