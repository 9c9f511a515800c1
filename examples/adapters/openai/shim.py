"""openai at Google's OpenAI-compatible endpoint: `chat.completions.stream` and `create`."""

import json
import sys
from pathlib import Path

from openai import OpenAI

sys.path.append(str(Path(__file__).parents[1]))

from chat_client import first_of, google_of, messages_of, options_of

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "openai"
PROVIDERS = ("openai-compat",)


def replay(at):
    messages = first_of(at)
    if not at.stream:
        whole = _client(at).create(**_asked(at, messages))
        yield whole, list(_facts(whole))
        return
    given = set()
    with _stream(at, messages) as stream:
        for event in stream:
            if event.type == "chunk":
                yield event, list(_facts(event.chunk))
            elif event.type == "tool_calls.function.arguments.done":
                given.add(event.index)
                message = stream.current_completion_snapshot.choices[0].message
                yield event, [_call(message.tool_calls[event.index])]
        final = stream.get_final_completion()
        calls = enumerate(final.choices[0].message.tool_calls or ()) if final.choices else ()
        yield final, [_call(call) for index, call in calls if index not in given]


def converse(at):
    if at.turns == 1:
        _send(at, messages_of(at, _signed))
        return
    messages, stored = first_of(at), at.stored
    if at.stream:
        with _stream(at, messages) as stream:
            message = stream.get_final_completion().choices[0].message
    else:
        message = _client(at).create(**_asked(at, messages)).choices[0].message
    messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": at.result(_call(call))}
        for call in message.tool_calls or ()
    ]
    messages += results or [{"role": "user", "content": at.say}]
    _client(at).create(**_asked(at, json.loads(json.dumps(messages)) if stored else messages))


def _send(at, messages):
    if at.stream:
        with _stream(at, messages) as stream:
            stream.until_done()
    else:
        _client(at).create(**_asked(at, messages))


def _signed(signature):
    return {"extra_content": {"google": {"thought_signature": signature}}}


def _client(at):
    address = f"{at.base_url}/v1beta/openai"
    return OpenAI(api_key="none", base_url=address, max_retries=0).chat.completions


def _stream(at, messages):
    return _client(at).stream(**_asked(at, messages), stream_options={"include_usage": True})


def _asked(at, messages):
    asked = {"model": at.model, "messages": messages, **options_of(at)}
    if effort := at.thinking.get("effort"):
        asked["reasoning_effort"] = effort
    if google := google_of(at):
        asked["extra_body"] = {"extra_body": {"google": google}}
    return asked


def _facts(answer):
    for choice in answer.choices:
        if choice.index:
            continue
        piece = getattr(choice, "delta", None) or choice.message
        if piece.content:
            yield (Thought if _is_thought(choice) else Text)(piece.content)
        if piece.refusal:
            yield Text(piece.refusal)
        if hasattr(choice, "message"):
            yield from map(_call, piece.tool_calls or ())
        if choice.finish_reason:
            yield Finish(choice.finish_reason)
    if usage := answer.usage:
        details = usage.completion_tokens_details
        yield Usage(
            input=usage.prompt_tokens,
            output=usage.completion_tokens,
            thoughts=details and details.reasoning_tokens,
            total=usage.total_tokens,
        )


def _is_thought(choice):
    """Google marks the deltas of thoughts. It also marks signatures, and messages with thoughts."""
    extra = (getattr(choice, "delta", None) or choice).model_extra or {}
    google = (extra.get("extra_content") or {}).get("google") or {}
    return google.get("thought") and "thought_signature" not in google


def _call(call):
    return Call(call.id, call.function.name, call.function.arguments)
