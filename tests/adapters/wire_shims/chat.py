"""A shim of `openai` at Gemini's compatible endpoint; it sends the calls back unchanged."""

import openai

from harness.facts import Call, Finish, Text, Usage

PROVIDERS = ("openai-compat",)


def replay(at):
    for message in _answer(at, _opening(at)):
        yield message.model_dump(mode="json"), list(_facts(message))


def converse(at):
    answer, facts = {"role": "assistant", "content": None, "tool_calls": []}, []
    for message in _answer(at, _opening(at)):
        facts += _facts(message)
        for choice in message.choices:
            reply = (choice.delta if at.stream else choice.message).model_dump(exclude_none=True)
            answer["tool_calls"] += reply.get("tool_calls", ())
            if reply.get("content"):
                answer["content"] = (answer["content"] or "") + reply["content"]
            if "extra_content" in reply:
                answer["extra_content"] = reply["extra_content"]
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": at.result(call)}
        for call in facts
        if isinstance(call, Call)
    ]
    kept = {name: value for name, value in answer.items() if value}
    more = results or [{"role": "user", "content": at.say}]
    list(_answer(at, [*_opening(at), kept, *more]))


def _opening(at):
    return [{"role": "user", "content": at.prompt}]


def _answer(at, messages):
    tools = [
        {"type": "function", "function": {"name": tool.name, "parameters": tool.parameters}}
        for tool in at.tools
    ]
    asked = {"model": at.model, "messages": messages, **({"tools": tools} if tools else {})}
    base_url = f"{at.base_url}/v1beta/openai"
    with openai.OpenAI(api_key="none", base_url=base_url, max_retries=0) as client:
        if at.stream:
            yield from client.chat.completions.create(**asked, stream=True)
        else:
            yield client.chat.completions.create(**asked)


def _facts(message):
    for choice in message.choices:
        answer = getattr(choice, "delta", None) or choice.message
        if answer.content:
            yield Text(answer.content)
        for call in answer.tool_calls or ():
            yield Call(call.id, call.function.name, call.function.arguments)
        if choice.finish_reason:
            yield Finish(choice.finish_reason)
    if usage := message.usage:
        yield Usage(
            input=usage.prompt_tokens, output=usage.completion_tokens, total=usage.total_tokens
        )
