"""langchain-google-genai: `ChatGoogleGenerativeAI.stream` and `invoke`."""

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_google_genai import ChatGoogleGenerativeAI

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "langchain-google-genai"


def replay(at):
    whole, given = None, []
    for piece in _ask(at, [HumanMessage(at.prompt)]):
        whole = piece if whole is None else whole + piece
        calls = list(_calls(whole))  # the application reads them from the sum of the pieces
        new = [call for index, call in enumerate(calls) if given[index : index + 1] != [call]]
        yield piece, [*_facts(piece), *new]
        given = calls
    if whole is not None:
        yield whole, list(_end(whole))


def converse(at):
    messages, whole = [HumanMessage(at.prompt)], None
    for piece in _ask(at, messages):
        whole = piece if whole is None else whole + piece
    results = [
        ToolMessage(content=at.result(call), tool_call_id=call.id, name=call.name)
        for call in _calls(whole)
    ]
    list(_ask(at, [*messages, whole, *(results or [HumanMessage(at.say)])]))


def _ask(at, messages):
    model = ChatGoogleGenerativeAI(
        model=at.model,
        google_api_key="none",
        base_url=at.base_url,
        include_thoughts=True,
        max_retries=1,
    )
    if at.tools:
        model = model.bind_tools(
            [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                }
                for tool in at.tools
            ]
        )
    return model.stream(messages) if at.stream else [model.invoke(messages)]


def _facts(piece):
    for block in [piece.content] if isinstance(piece.content, str) else piece.content:
        if isinstance(block, str):
            yield Text(block)
        elif block.get("type") == "text":
            yield Text(block.get("text") or "")
        elif block.get("type") in ("thinking", "reasoning"):
            yield Thought(block.get("thinking") or block.get("reasoning") or "")


def _calls(whole):
    for call in whole.tool_calls:
        yield Call(call["id"], call["name"], call["args"])


def _end(whole):
    blocked = whole.response_metadata.get("prompt_feedback") or {}
    if reason := blocked.get("block_reason") or whole.response_metadata.get("finish_reason"):
        yield Finish(str(reason))
    if usage := whole.usage_metadata:
        yield Usage(
            input=usage["input_tokens"],
            output=usage["output_tokens"],
            thoughts=usage.get("output_token_details", {}).get("reasoning"),
            total=usage["total_tokens"],
        )
