"""strands-agents: the events of `GeminiModel.stream`; `process_stream` makes a message of them."""

from strands.event_loop.streaming import process_stream
from strands.models.gemini import GeminiModel

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "strands-agents"
PROVIDERS = ("gemini-api", "vertex-ai")


async def replay(at):
    call = None
    async for event in _ask(at, [_user(at.prompt)]):
        facts = []
        if tool := event.get("contentBlockStart", {}).get("start", {}).get("toolUse"):
            call = Call(tool["toolUseId"], tool["name"], "")
        delta = event.get("contentBlockDelta", {}).get("delta", {})
        if "toolUse" in delta:
            call = Call(call.id, call.name, call.arguments + delta["toolUse"]["input"])
        if text := delta.get("text"):
            facts.append(Text(text))
        if thought := delta.get("reasoningContent", {}).get("text"):
            facts.append(Thought(thought))
        if "contentBlockStop" in event and call:
            facts.append(call)
            call = None
        if "messageStop" in event:
            facts.append(Finish(event["messageStop"]["stopReason"]))
        if usage := event.get("metadata", {}).get("usage"):
            facts.append(
                Usage(
                    input=usage["inputTokens"],
                    output=usage["outputTokens"],
                    total=usage["totalTokens"],
                )
            )
        yield event, facts


async def converse(at):
    messages = [_user(at.prompt)]
    async for event in process_stream(_ask(at, messages)):
        if "stop" in event:
            _, message, *_ = event["stop"]
    calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
    results = [
        {
            "toolResult": {
                "toolUseId": call["toolUseId"],
                "status": "success",
                "content": [
                    {"text": at.result(Call(call["toolUseId"], call["name"], call["input"]))}
                ],
            }
        }
        for call in calls
    ]
    second = {"role": "user", "content": results} if results else _user(at.say)
    async for _ in _ask(at, [*messages, message, second]):
        pass


def _user(text):
    return {"role": "user", "content": [{"text": text}]}


def _ask(at, messages):
    if not at.stream:
        at.skip("this client knows streams only")
    model = GeminiModel(
        client_args={"api_key": "none", "http_options": {"base_url": at.base_url}},
        model_id=at.model,
        params={"thinking_config": {"include_thoughts": True}},
    )
    tools = [
        {
            "name": tool.name,
            "description": tool.description or "",
            "inputSchema": {"json": tool.parameters},
        }
        for tool in at.tools
    ]
    return model.stream(messages, tools or None)
