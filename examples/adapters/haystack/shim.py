"""google-genai-haystack: `GoogleGenAIChatGenerator`, its chunks and its reply."""

import os

from haystack.dataclasses import ChatMessage
from haystack.tools import Tool
from haystack.utils import Secret
from haystack_integrations.components.generators.google_genai import GoogleGenAIChatGenerator

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "google-genai-haystack"
PROVIDERS = ("gemini-api", "vertex-ai")


def replay(at):
    chunks, reply, error = _ask(at, [ChatMessage.from_user(at.prompt)])
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
    messages = [ChatMessage.from_user(at.prompt)]
    _, reply, error = _ask(at, messages)
    if error:
        raise error
    results = [
        ChatMessage.from_tool(at.result(_call(call)), origin=call) for call in reply.tool_calls
    ]
    second = results or [ChatMessage.from_user(at.say)]
    *_, error = _ask(at, [*messages, reply, *second])
    if error:
        raise error


def _ask(at, messages):
    """The chunks, the reply or None, and the error or None."""
    os.environ["GOOGLE_GEMINI_BASE_URL"] = at.base_url  # the component has no parameter for it
    tools = [
        Tool(
            name=tool.name,
            description=tool.description or "",
            parameters=tool.parameters,
            function=_not_run,
        )
        for tool in at.tools
    ]
    chunks = []
    model = GoogleGenAIChatGenerator(
        model=at.model,
        api_key=Secret.from_token("none"),
        streaming_callback=chunks.append if at.stream else None,
        tools=tools or None,
        generation_kwargs={"thinking_config": {"include_thoughts": True}},
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
