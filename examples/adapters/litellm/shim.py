"""litellm's `completion`, called as by an application: OpenAI's chunks."""

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it downloads prices

import litellm

sys.path.append(str(Path(__file__).parents[1]))

from chat_client import first_of, messages_of, options_of

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "litellm"
PROVIDERS = ("gemini-api", "vertex-ai")  # with others it retries repeatedly
litellm.suppress_debug_info = True


def replay(at):
    calls = {}
    for answer in _ask(at, first_of(at)):
        yield answer, list(_facts(answer, at.stream, calls))


def converse(at):
    if at.turns == 1:
        list(_ask(at, messages_of(at, _signed, file="file_id")))
        return
    messages, stored = first_of(at), at.stored
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
    messages += results or [{"role": "user", "content": at.say}]
    list(_ask(at, json.loads(json.dumps(messages)) if stored else messages))


def _signed(signature):
    return {"provider_specific_fields": {"thought_signature": signature}}


def _ask(at, messages):
    asked, google = options_of(at), at.google
    native = [dict(tool) for tool in at.server_tools]
    if native and "tools" in asked:
        asked["include_server_side_tool_invocations"] = True
    asked["tools"] = [*asked.get("tools", ()), *native] or None
    effort, budget = at.thinking.get("effort"), at.thinking.get("budget")
    if budget is not None:
        asked["thinking"] = {"type": "enabled", "budget_tokens": budget}
    elif effort or at.thinking.get("shown") or at.thoughts:
        asked["reasoning_effort"] = effort or "low"
    given = {
        "top_k": at.settings.get("top_k"),
        "safety_settings": [
            {"category": category, "threshold": threshold}
            for category, threshold in google.get("safety", {}).items()
        ]
        or None,
        "labels": google.get("labels"),
        "cached_content": google.get("cached"),
        "service_tier": google.get("tier"),
    }
    answer = litellm.completion(
        model=f"gemini/{at.model}",
        api_base=f"{at.base_url}/v1beta",
        api_key="none",
        messages=messages,
        drop_params=True,  # for models without thoughts
        num_retries=0,
        **asked,
        **{name: value for name, value in given.items() if value is not None},
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
