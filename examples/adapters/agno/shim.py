"""agno: the model `Gemini`, above its retries and below its agent, which would run the tools."""

from agno.models.base import MessageData
from agno.models.google import Gemini
from agno.models.message import Message
from agno.models.response import ModelResponse

from harness.facts import Call, Text, Thought, Usage

VERSION_OF = "agno"
PROVIDERS = ("gemini-api", "vertex-ai")


def replay(at):
    answer = Message(role="assistant")
    for event in _ask(at, [Message(role="user", content=at.prompt)], answer):
        facts = [Thought(event.reasoning_content)] if event.reasoning_content else []
        facts += [Text(event.content)] if event.content else []
        yield event, facts + [_call(call) for call in event.tool_calls or ()]
    calls = [] if at.stream else [_call(call) for call in answer.tool_calls or ()]
    yield answer, calls + _usage(answer.metrics)


def converse(at):
    messages, answer = [Message(role="user", content=at.prompt)], Message(role="assistant")
    for _ in _ask(at, messages, answer):
        pass
    results = [
        Message(
            role="tool",
            tool_call_id=call["id"],
            tool_name=call["function"]["name"],
            content=at.result(_call(call)),
        )
        for call in answer.tool_calls or ()
    ]
    second = results or [Message(role="user", content=at.say)]
    for _ in _ask(at, [*messages, answer, *second], Message(role="assistant")):
        pass


def _ask(at, messages, answer):
    model = Gemini(
        id=at.model,
        api_key="none",
        client_params={"http_options": {"base_url": at.base_url}},
        include_thoughts=True,
    )
    tools = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description or "",
                "parameters": tool.parameters,
            },
        }
        for tool in at.tools
    ]
    if at.stream:
        data = MessageData()
        yield from model.process_response_stream(messages, answer, data, tools=tools or None)
    else:
        event = ModelResponse()
        model._process_model_response(messages, answer, event, tools=tools or None)
        yield event


def _call(call):
    function = call["function"]
    return Call(call["id"], function["name"], function["arguments"] or "{}")


def _usage(counts):
    if counts is None or not (counts.total_tokens or counts.input_tokens):
        return []
    return [
        Usage(
            input=counts.input_tokens,
            output=counts.output_tokens,
            thoughts=counts.reasoning_tokens,
            total=counts.total_tokens,
        )
    ]
