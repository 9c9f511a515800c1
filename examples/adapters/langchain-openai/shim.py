"""langchain-openai at Google's OpenAI-compatible endpoint: `ChatOpenAI.stream` and `invoke`."""

import json
import sys
from pathlib import Path

from langchain_core.messages import (
    HumanMessage,
    ToolMessage,
    convert_to_messages,
    messages_from_dict,
    messages_to_dict,
)
from langchain_openai import ChatOpenAI

sys.path.append(str(Path(__file__).parents[1]))

from chat_client import first_of, google_of, messages_of, options_of

from harness.facts import Call, Finish, Text, Usage

VERSION_OF = "langchain-openai"
PROVIDERS = ("openai-compat",)
THOUGHTS = False  # its Chat Completions have no place for thoughts


def replay(at):
    whole, given = None, 0
    for piece in _ask(at, convert_to_messages(first_of(at))):
        text = piece.text if isinstance(piece.text, str) else piece.text()  # before 1.0, a method
        calls = list(_calls(whole))[given:] if whole and text else []  # text ends calls
        given += len(calls)
        whole = piece if whole is None else whole + piece
        yield piece, [*calls, Text(text)] if text else []
    if whole is not None:
        yield whole, [*list(_calls(whole))[given:], *_end(whole)]


def converse(at):
    if at.turns == 1:
        list(_ask(at, convert_to_messages(messages_of(at, _signed))))
        return
    messages, whole, stored = convert_to_messages(first_of(at)), None, at.stored
    for piece in _ask(at, messages):
        whole = piece if whole is None else whole + piece
    results = [ToolMessage(content=at.result(call), tool_call_id=call.id) for call in _calls(whole)]
    messages += [whole, *(results or [HumanMessage(at.say)])]
    if stored:
        messages = messages_from_dict(json.loads(json.dumps(messages_to_dict(messages))))
    list(_ask(at, messages))


def _signed(signature):
    return {"extra_content": {"google": {"thought_signature": signature}}}


def _ask(at, messages):
    options = options_of(at)
    tools, choice = options.pop("tools", None), options.pop("tool_choice", None)
    if effort := at.thinking.get("effort"):
        options["reasoning_effort"] = effort
    if google := google_of(at):
        options["extra_body"] = {"extra_body": {"google": google}}
    form = options.pop("response_format", None)
    model = ChatOpenAI(
        model=at.model,
        api_key="none",
        base_url=f"{at.base_url}/v1beta/openai",
        max_retries=0,
        stream_usage=True,
        **options,
    )
    if tools:
        model = model.bind_tools(tools, **({"tool_choice": choice} if choice else {}))
    if form:
        model = model.bind(response_format=form)
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
