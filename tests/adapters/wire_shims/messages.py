"""A shim of Anthropic's client."""

import anthropic

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "anthropic"
PROVIDERS = ("anthropic",)


def replay(at):
    seen = []
    for event in _ask(at, [_user(at.prompt)], seen):
        facts = []
        if event.type == "text":
            facts = [Text(event.text)]
        elif event.type == "thinking":
            facts = [Thought(event.thinking)]
        elif event.type == "content_block_stop" and event.content_block.type == "tool_use":
            block = event.content_block
            facts = [Call(block.id, block.name, block.input)]
        yield event.to_dict(), facts
    usage = seen[0].usage
    cached = (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    counts = Usage(input=usage.input_tokens + cached, output=usage.output_tokens)
    yield seen[0].to_dict(), [Finish(seen[0].stop_reason), counts]


def converse(at):
    seen = []
    list(_ask(at, [_user(at.prompt)], seen))
    content = seen[0].content
    results = [
        {
            "type": "tool_result",
            "tool_use_id": block.id,
            "content": at.result(Call(block.id, block.name, block.input)),
        }
        for block in content
        if block.type == "tool_use"
    ]
    answer = {"role": "assistant", "content": [block.to_dict() for block in content]}
    list(_ask(at, [_user(at.prompt), answer, _user(results or at.say)], seen))


def _user(content):
    return {"role": "user", "content": content}


def _ask(at, messages, seen):
    """The events of an answer; the whole message is appended to ``seen``."""
    if not at.stream:
        at.skip("it only streams")
    asked = {"model": at.model or "m", "max_tokens": 100, "messages": messages}
    client = anthropic.Anthropic(api_key="k", base_url=at.base_url, max_retries=0)
    with client, client.messages.stream(**asked) as stream:
        yield from stream
        seen.append(stream.get_final_message())
