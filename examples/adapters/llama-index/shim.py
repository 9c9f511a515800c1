"""llama-index-llms-google-genai: `GoogleGenAI.stream_chat` and `chat`."""

from google.genai import types
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ThinkingBlock, ToolCallBlock
from llama_index.llms.google_genai import GoogleGenAI

from harness.facts import Call, Finish, Text, Thought, Usage

VERSION_OF = "llama-index-llms-google-genai"
PROVIDERS = ("gemini-api", "vertex-ai")
THINKING = types.ThinkingConfig(include_thoughts=True)


def replay(at):
    given = []
    for answer in _ask(at, [ChatMessage(role="user", content=at.prompt)]):
        facts = [fact for block in answer.message.blocks for fact in _facts(block)]
        yield answer, [*_new(facts, given), *_end(answer.raw or {})]
        given = facts


def converse(at):
    messages = [ChatMessage(role="user", content=at.prompt)]
    answers = list(_ask(at, messages))
    if not answers:
        at.skip("it gave no answer that could be sent back")
    answer = answers[-1]
    results = [
        ChatMessage(
            role="tool",
            content=at.result(call),
            additional_kwargs={"tool_call_id": call.id, "name": call.name},
        )
        for block in answer.message.blocks
        for call in _facts(block)
        if isinstance(call, Call)
    ]
    second = results or [ChatMessage(role="user", content=at.say)]
    for _ in _ask(at, [*messages, answer.message, *second]):
        pass


def _ask(at, messages):
    model = GoogleGenAI(
        model=at.model,
        api_key="none",
        http_options=types.HttpOptions(base_url=at.base_url),
        generation_config=types.GenerateContentConfig(thinking_config=THINKING),
        context_window=100_000,  # without both, it requests the limits of the model
        max_tokens=8192,
        max_retries=0,
    )
    declared = [
        types.FunctionDeclaration(
            name=tool.name,
            description=tool.description or "",
            parameters_json_schema=tool.parameters,
        )
        for tool in at.tools
    ]
    asked = {"tools": [types.Tool(function_declarations=declared)]} if declared else {}
    return model.stream_chat(messages, **asked) if at.stream else [model.chat(messages, **asked)]


def _facts(block):
    if isinstance(block, TextBlock):
        yield Text(block.text)
    elif isinstance(block, ThinkingBlock):
        yield Thought(block.content)
    elif isinstance(block, ToolCallBlock):
        yield Call(block.tool_call_id, block.tool_name, block.tool_kwargs)


def _new(facts, given):
    """The facts that were not given: each answer has all blocks, and its last text grows."""
    for index, fact in enumerate(facts):
        old = given[index] if index < len(given) else None
        if isinstance(fact, Text) and isinstance(old, Text) and fact.text.startswith(old.text):
            fact = Text(fact.text[len(old.text) :])
        if fact not in (old, Text("")):
            yield fact


def _end(raw):
    if reason := raw.get("finish_reason") or raw.get("block_reason"):
        yield Finish(str(getattr(reason, "value", reason)))
    if usage := raw.get("usage_metadata"):
        yield Usage(
            input=usage["prompt_token_count"],
            output=usage["candidates_token_count"],
            thoughts=usage["thoughts_token_count"],
            total=usage["total_token_count"],
        )
