"""openai-agents: `OpenAIChatCompletionsModel`, whose events and items are those of Responses."""

from agents import FunctionTool, ModelSettings, ModelTracing, OpenAIChatCompletionsModel
from openai import AsyncOpenAI

from harness.facts import Call, Finish, Text, Usage

VERSION_OF = "openai-agents"
PROVIDERS = ("openai-compat",)
THOUGHTS = False  # it has no name for the mark of Google's thoughts


async def replay(at):
    items, given = {}, []  # the ends of all calls come at the end of the answer
    async for event in _ask(at, [{"role": "user", "content": at.prompt}]):
        facts = []
        if not at.stream:
            facts = [fact for item in event.output for fact in _facts(item)]
            facts += _usage(event.usage)
        elif event.type == "response.output_text.delta":
            whole = [_call(item) for item in items.values()]
            before = [call for call in whole if call not in given]  # the text follows them
            given += before
            facts = [*before, Text(event.delta)]
        elif event.type == "response.output_item.added" and event.item.type == "function_call":
            items[event.output_index] = event.item.model_copy()
        elif event.type == "response.function_call_arguments.delta":
            items[event.output_index].arguments += event.delta
        elif event.type == "response.output_item.done" and event.item.type == "function_call":
            facts = [call for call in [_call(event.item)] if call not in given]
        elif event.type == "response.completed":
            facts = [Finish(event.response.status or "completed")]
            facts += [fact for item in event.response.output for fact in _refusal(item)]
            facts += _usage(event.response.usage) if event.response.usage else []
        yield event, facts


async def converse(at):
    items = [{"role": "user", "content": at.prompt}]
    async for event in _ask(at, items):
        last = event
    output = (last.response if at.stream else last).output
    results = [
        {
            "type": "function_call_output",
            "call_id": item.call_id,
            "output": at.result(_call(item)),
        }
        for item in output
        if item.type == "function_call"
    ]
    items += [item.model_dump(exclude_none=True) for item in output]
    items += results or [{"role": "user", "content": at.say}]
    async for _ in _ask(at, items):
        pass


async def _ask(at, items):
    client = AsyncOpenAI(api_key="none", base_url=f"{at.base_url}/v1beta/openai", max_retries=0)
    model = OpenAIChatCompletionsModel(at.model, client)
    asked = {
        "system_instructions": None,
        "input": items,
        "model_settings": ModelSettings(include_usage=True),
        "tools": [
            FunctionTool(
                tool.name,
                tool.description or "",
                tool.parameters,
                _not_run,
                strict_json_schema=False,
            )
            for tool in at.tools
        ],
        "output_schema": None,
        "handoffs": [],
        "tracing": ModelTracing.DISABLED,
        "previous_response_id": None,
        "conversation_id": None,
        "prompt": None,
    }
    if at.stream:
        async for event in model.stream_response(**asked):
            yield event
    else:
        yield await model.get_response(**asked)


async def _not_run(_context, _arguments):
    raise NotImplementedError


def _facts(item):
    if item.type == "function_call":
        return [_call(item)]
    parts = item.content if item.type == "message" else ()
    return [Text(part.text) for part in parts if part.type == "output_text"] + _refusal(item)


def _refusal(item):
    """A refusal is how it reports that the answer was filtered, in its own words."""
    parts = item.content if item.type == "message" else ()
    return [Finish("refusal") for part in parts if part.type == "refusal"]


def _call(item):
    return Call(item.call_id, item.name, item.arguments or "{}")  # it runs a tool with "" like this


def _usage(usage):
    return [
        Usage(
            input=usage.input_tokens,
            output=usage.output_tokens,
            thoughts=usage.output_tokens_details.reasoning_tokens,
            total=usage.total_tokens,
        )
    ]
