"""google-adk: its `Gemini` model, without the agent that would run the tools."""

import sys
from pathlib import Path

from google.adk.models import Gemini, LlmRequest
from google.genai import types

sys.path.append(str(Path(__file__).parents[1]))

from genai_client import config_of, contents_of

from harness.facts import Call, Error, Finish, Text, Thought, Usage

VERSION_OF = "google-adk"
PROVIDERS = ("gemini-api", "vertex-ai")


async def replay(at):
    streamed = False
    async for answer in _ask(at, [types.UserContent(at.prompt)]):
        # A fragment has new text; the response after the fragments repeats all of it.
        facts = [
            fact
            for fact in _facts(answer)
            if not (isinstance(fact, Call) if answer.partial else streamed and _is_text(fact))
        ]
        streamed = bool(answer.partial) and (streamed or any(map(_is_text, facts)))
        yield answer, facts


async def converse(at):
    if at.turns == 1:
        async for _ in _ask(at, contents_of(at)):
            pass
        return
    contents, stored = [types.UserContent(at.prompt)], at.stored
    async for answer in _ask(at, list(contents)):
        if not answer.partial and answer.content:
            contents.append(answer.content)
    results = [
        types.Part(
            function_response=types.FunctionResponse(
                id=part.function_call.id,
                name=part.function_call.name,
                response={"output": at.result(_call(part.function_call))},
            )
        )
        for content in contents
        for part in content.parts or ()
        if part.function_call
    ]
    contents.append(types.UserContent(results or at.say))
    if stored:
        saved = [content.model_dump_json(exclude_none=True) for content in contents]
        contents = [types.Content.model_validate_json(text) for text in saved]
    async for _ in _ask(at, contents):
        pass


def _ask(at, contents):
    request = LlmRequest(model=at.model, contents=contents, config=config_of(at))
    return Gemini(model=at.model, base_url=at.base_url).generate_content_async(request, at.stream)


def _call(call):
    return Call(call.id, call.name, call.args)


def _is_text(fact):
    return isinstance(fact, Text | Thought)


def _facts(answer):
    for part in (answer.content and answer.content.parts) or ():
        if part.text:
            yield Thought(part.text) if part.thought else Text(part.text)
        if part.function_call:
            yield _call(part.function_call)
    if answer.finish_reason:
        yield Finish(answer.finish_reason.value)
    if usage := answer.usage_metadata:
        yield Usage(
            input=usage.prompt_token_count,
            output=usage.candidates_token_count,
            thoughts=usage.thoughts_token_count,
            total=usage.total_token_count,
        )
    if answer.error_code and not answer.finish_reason:
        yield Error(answer.error_code, answer.error_message or "")
