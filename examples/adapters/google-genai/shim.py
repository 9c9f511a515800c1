"""google-genai, called as by its users: `generate_content(_stream)`, and a chat for two turns."""

from google import genai
from google.genai import types

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "google-genai"


def replay(at):
    client = _client(at)  # the reference keeps it open: a collected client closes its connection
    asked = {"model": at.model, "contents": at.prompt, "config": _config(at)}
    answers = (
        client.models.generate_content_stream(**asked)
        if at.stream
        else [client.models.generate_content(**asked)]
    )
    for answer in answers:
        yield answer, list(_facts(answer))


def converse(at):
    client = _client(at)
    chat = client.chats.create(model=at.model, config=_config(at))
    answers = chat.send_message_stream(at.prompt) if at.stream else [chat.send_message(at.prompt)]
    calls = [fact for answer in answers for fact in _facts(answer) if isinstance(fact, Call)]
    results = [
        types.Part(
            function_response=types.FunctionResponse(
                id=call.id, name=call.name, response={"output": at.result(call)}
            )
        )
        for call in calls
    ]
    list(chat.send_message_stream(results or at.say))


def _client(at):
    return genai.Client(api_key="none", http_options=types.HttpOptions(base_url=at.base_url))


def _config(at):
    tools = [
        types.FunctionDeclaration(
            name=tool.name, description=tool.description, parameters_json_schema=tool.parameters
        )
        for tool in at.tools
    ]
    return types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=tools)] if tools else None,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        thinking_config=types.ThinkingConfig(include_thoughts=True),
    )


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
