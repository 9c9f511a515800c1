"""google-genai, called as by its users: `generate_content(_stream)`, and a chat for two turns."""

import sys
from pathlib import Path

from google import genai
from google.genai import types

sys.path.append(str(Path(__file__).parents[1]))

from genai_client import config_of, contents_of

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "google-genai"
PROVIDERS = ("gemini-api", "vertex-ai")


def replay(at):
    yield from _answers(at, [types.UserContent(at.prompt)])


def converse(at):
    if at.turns == 1:
        list(_answers(at, contents_of(at)))
        return
    client = _client(at)
    chat = client.chats.create(model=at.model, config=config_of(at))
    answers = chat.send_message_stream(at.prompt) if at.stream else [chat.send_message(at.prompt)]
    calls = [fact for answer in answers for fact in _facts(answer) if isinstance(fact, Call)]
    if at.stored:
        saved = [content.model_dump_json(exclude_none=True) for content in chat.get_history()]
        history = [types.Content.model_validate_json(text) for text in saved]
        chat = client.chats.create(model=at.model, config=config_of(at), history=history)
    results = [
        types.Part(
            function_response=types.FunctionResponse(
                id=call.id, name=call.name, response={"output": at.result(call)}
            )
        )
        for call in calls
    ]
    list(chat.send_message_stream(results or at.say))


def _answers(at, contents):
    client = _client(at)  # the reference keeps it open: a collected client closes its connection
    asked = {"model": at.model, "contents": contents, "config": config_of(at)}
    answers = (
        client.models.generate_content_stream(**asked)
        if at.stream
        else [client.models.generate_content(**asked)]
    )
    for answer in answers:
        yield answer, list(_facts(answer))


def _client(at):
    return genai.Client(api_key="none", http_options=types.HttpOptions(base_url=at.base_url))


def _facts(answer):
    for candidate in answer.candidates or ():
        if candidate.index:
            continue
        for part in (candidate.content and candidate.content.parts) or ():
            call = part.function_call
            if part.text is not None:
                yield Thought(part.text) if part.thought else Text(part.text)
            if call and call.name and not (call.partial_args or call.will_continue):
                yield Call(call.id, call.name, call.args)
        if candidate.finish_reason:
            yield Finish(candidate.finish_reason.value)
    if usage := answer.usage_metadata:
        yield Usage(
            input=usage.prompt_token_count,
            output=usage.candidates_token_count,
            thoughts=usage.thoughts_token_count,
            total=usage.total_token_count,
        )
    if answer.prompt_feedback and answer.prompt_feedback.block_reason:
        yield Finish(answer.prompt_feedback.block_reason.value)
