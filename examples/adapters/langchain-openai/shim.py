"""langchain-openai at Google's OpenAI-compatible endpoint: `ChatOpenAI.stream` and `invoke`."""

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI

from harness.facts import Call, Finish, Text, Usage

VERSION_OF = "langchain-openai"
PROVIDERS = ("openai-compat",)
THOUGHTS = False  # its Chat Completions have no place for thoughts


def replay(at):
    whole, given = None, 0
    for piece in _ask(at, [HumanMessage(at.prompt)]):
        text = piece.text if isinstance(piece.text, str) else piece.text()  # before 1.0, a method
        calls = list(_calls(whole))[given:] if whole and text else []  # text ends calls
        given += len(calls)
        whole = piece if whole is None else whole + piece
        yield piece, [*calls, Text(text)] if text else []
    if whole is not None:
        yield whole, [*list(_calls(whole))[given:], *_end(whole)]


def converse(at):
    messages, whole = [HumanMessage(at.prompt)], None
    for piece in _ask(at, messages):
        whole = piece if whole is None else whole + piece
    results = [ToolMessage(content=at.result(call), tool_call_id=call.id) for call in _calls(whole)]
    list(_ask(at, [*messages, whole, *(results or [HumanMessage(at.say)])]))


def _ask(at, messages):
    model = ChatOpenAI(
        model=at.model,
        api_key="none",
        base_url=f"{at.base_url}/v1beta/openai",
        max_retries=0,
        stream_usage=True,
    )
    if at.tools:
        model = model.bind_tools(
            [
                {
                    "name": tool.name,
                    "description": tool.description or "",
                    "parameters": tool.parameters,
                }
                for tool in at.tools
            ]
        )
    return model.stream(messages) if at.stream else [model.invoke(messages)]


def _calls(whole):
    for call in whole.tool_calls:
        yield Call(call["id"], call["name"], call["args"])


def _end(whole):
    if reason := whole.response_metadata.get("finish_reason"):
        yield Finish(reason)
    if usage := whole.usage_metadata:
        yield Usage(
            input=usage["input_tokens"],
            output=usage["output_tokens"],
            thoughts=usage.get("output_token_details", {}).get("reasoning"),
            total=usage["total_tokens"],
        )
