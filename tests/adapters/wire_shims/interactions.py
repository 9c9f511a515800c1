"""A shim of google-genai's ``client.interactions``, without stored state: it sends all steps back."""

import json

from google import genai
from google.genai import types

from harness.facts import Call, Finish, Text, Thought, Usage

PROVIDERS = ("interactions",)


def replay(at):
    open_calls = {}
    for item in _answer(at, _opening(at)):
        yield item.model_dump(mode="json", warnings=False), list(_facts(item, open_calls))


def converse(at):
    open_calls, facts, steps = {}, [], {}
    for item in _answer(at, _opening(at)):
        facts += _facts(item, open_calls)
        _gather(steps, item.model_dump(mode="json", exclude_none=True, warnings=False))
    results = [
        {
            "type": "function_result",
            "call_id": call.id,
            "name": call.name,
            "result": at.result(call),
        }
        for call in facts
        if isinstance(call, Call)
    ]
    more = results or [{"type": "user_input", "content": [{"type": "text", "text": at.say}]}]
    list(_answer(at, [*_opening(at), *(steps[index] for index in sorted(steps)), *more]))


def _opening(at):
    return [{"type": "user_input", "content": [{"type": "text", "text": at.prompt}]}]


def _answer(at, steps):
    options = types.HttpOptions(
        base_url=at.base_url, retry_options=types.HttpRetryOptions(attempts=1)
    )
    tools = [
        {"type": "function", "name": tool.name, "parameters": tool.parameters} for tool in at.tools
    ]
    asked = {"model": at.model, "input": steps, "store": False, "automatic_continuation": False}
    if tools:
        asked["tools"] = tools
    with genai.Client(api_key="none", http_options=options) as client:
        if at.stream:
            yield from client.interactions.create(**asked, stream=True)
        else:
            yield client.interactions.create(**asked)


def _facts(item, open_calls):
    match getattr(item, "event_type", None):
        case None:
            for step in item.steps or ():
                yield from _facts_of_step(step)
            yield from _facts_of_end(item)
        case "step.start" if item.step.type == "function_call":
            open_calls[item.index] = [item.step.id, item.step.name, ""]
        case "step.delta":
            match item.delta.type:
                case "text":
                    yield Text(item.delta.text)
                case "thought_summary" if item.delta.content.type == "text":
                    yield Thought(item.delta.content.text)
                case "arguments_delta":
                    open_calls[item.index][2] += item.delta.arguments
        case "step.stop" if item.index in open_calls:
            yield Call(*open_calls.pop(item.index))
        case "interaction.completed":
            yield from _facts_of_end(item.interaction)


def _facts_of_step(step):
    match step.type:
        case "thought":
            yield from (Thought(part.text) for part in step.summary or () if part.type == "text")
        case "model_output":
            yield from (Text(part.text) for part in step.content or () if part.type == "text")
        case "function_call":
            yield Call(step.id, step.name, step.arguments)


def _facts_of_end(interaction):
    yield Finish(interaction.status)
    if usage := interaction.usage:
        yield Usage(
            input=usage.total_input_tokens,
            output=usage.total_output_tokens,
            thoughts=usage.total_thought_tokens,
            total=usage.total_tokens,
        )


def _gather(steps, item):
    """Join the pieces of each step of an answer."""
    for index, step in enumerate(item.get("steps") or ()):
        steps[index] = step
    match item:
        case {"event_type": "step.start", "index": index, "step": step}:
            steps[index] = {**step, **({"arguments": ""} if "arguments" in step else {})}
        case {"event_type": "step.delta", "index": index, "delta": {"type": kind, **delta}}:
            step = steps[index]
            if kind == "text":
                step.setdefault("content", []).append({"type": "text", **delta})
            elif kind == "thought_summary":
                step.setdefault("summary", []).append(delta["content"])
            else:
                for name, value in delta.items():
                    had = step.get(name)
                    step[name] = had + value if isinstance(had, str) else value
        case {"event_type": "step.stop", "index": index} if "arguments" in steps[index]:
            if isinstance(steps[index]["arguments"], str):
                steps[index]["arguments"] = json.loads(steps[index]["arguments"])
