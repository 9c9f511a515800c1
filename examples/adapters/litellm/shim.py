"""litellm's `completion`, called as by an application: OpenAI's chunks."""

import json
import os

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it downloads prices

import litellm

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "litellm"
PROVIDERS = ("gemini-api", "vertex-ai")  # with others it retries repeatedly
litellm.suppress_debug_info = True


def replay(at):
    calls = {}
    for answer in _ask(at, [{"role": "user", "content": at.prompt}]):
        yield answer, list(_facts(answer, at.stream, calls))


def converse(at):
    messages = [{"role": "user", "content": at.prompt}]
    answers = list(_ask(at, messages))
    answer = litellm.stream_chunk_builder(answers, messages=messages) if at.stream else answers[0]
    message = answer.choices[0].message
    messages.append(message.model_dump(exclude_none=True))
    results = [
        {
            "role": "tool",
            "tool_call_id": call.id,
            "content": at.result(Call(call.id, call.function.name, call.function.arguments)),
        }
        for call in message.tool_calls or ()
    ]
    list(_ask(at, messages + (results or [{"role": "user", "content": at.say}])))


def _ask(at, messages):
    tools = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in at.tools
    ]
    answer = litellm.completion(
        model=f"gemini/{at.model}",
        api_base=f"{at.base_url}/v1beta",
        api_key="none",
        messages=messages,
        tools=tools or None,
        reasoning_effort="low",
        drop_params=True,  # for models without thoughts
        num_retries=0,
        **({"stream": True, "stream_options": {"include_usage": True}} if at.stream else {}),
    )
    return answer if at.stream else [answer]


def _facts(answer, stream, calls):
    for choice in answer.choices:
        if choice.index:
            continue
        message = choice.delta if stream else choice.message
        if thought := getattr(message, "reasoning_content", None):
            yield Thought(thought)
        if message.content:
            yield Text(message.content)
        for number, piece in enumerate(message.tool_calls or ()):
            index = piece.index if stream else number
            call = calls.setdefault(index, {"id": None, "name": "", "arguments": ""})
            call["id"] = call["id"] or piece.id
            call["name"] += piece.function.name or ""
            call["arguments"] += piece.function.arguments or ""
            if _is_whole(call["arguments"]):
                yield Call(**call)
        if choice.finish_reason:
            yield from (Call(**call) for call in calls.values() if not call["arguments"])
            yield Finish(choice.finish_reason)
    if usage := getattr(answer, "usage", None):
        details = usage.completion_tokens_details
        yield Usage(
            input=usage.prompt_tokens,
            output=usage.completion_tokens,
            thoughts=details and details.reasoning_tokens,
            total=usage.total_tokens,
        )


def _is_whole(arguments):
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False
