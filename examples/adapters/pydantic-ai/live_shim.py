"""pydantic-ai: one session of the Live API with `GoogleRealtimeModel`, without the agent that would
run the tools.
"""

import asyncio

from pydantic_ai.messages import (
    BinaryAudio,
    BinaryImage,
    ModelRequest,
    RealtimeResponseInterruptedEvent,
    RealtimeSessionErrorEvent,
    SystemPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.realtime import codec
from pydantic_ai.realtime.google import GoogleRealtimeModel
from pydantic_ai.tools import ToolDefinition

from harness.facts import (
    Call,
    Cancelled,
    Error,
    Finish,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    Text,
    Usage,
)

PROVIDERS = ("live",)
VERSION_OF = "pydantic-ai-slim"


async def replay(at):
    provider = GoogleProvider(api_key="none", base_url=at.base_url)
    model = GoogleRealtimeModel(at.model.removeprefix("models/"), provider=provider)
    setup = at.script.setup
    modalities = setup.get("generationConfig", {}).get("responseModalities", ["AUDIO"])
    settings = {"output_modality": modalities[0].lower()}
    tools = [
        ToolDefinition(
            name=tool.name, description=tool.description, parameters_json_schema=tool.parameters
        )
        for tool in at.tools
    ]
    parameters = ModelRequestParameters(function_tools=tools)
    messages = [ModelRequest(parts=[SystemPromptPart(at.system)])] if at.system else []
    async with model.connect(
        messages=messages, model_settings=settings, model_request_parameters=parameters
    ) as connection:
        running = {}

        async def talk():
            async for step in at.script:
                await say(at, connection, step)
            reading.cancel()

        async def run(call):
            output = await asyncio.to_thread(at.result, call)
            await connection.send(codec.ToolResult(tool_call_id=call.id, output=output))

        events = asyncio.Queue()

        async def read():
            try:
                async for event in connection:
                    events.put_nowait(event)
            except Exception as error:  # noqa: BLE001  # the generator below raises it
                events.put_nowait(error)
            finally:
                events.put_nowait(None)

        reading = asyncio.create_task(read())
        user = asyncio.create_task(talk())
        try:
            while (event := await events.get()) is not None:
                if isinstance(event, Exception):
                    raise event
                facts = list(_facts(event))
                for fact in facts:
                    if isinstance(fact, Call):
                        running[fact.id] = asyncio.create_task(run(fact))
                    elif isinstance(fact, Cancelled) and fact.id in running:
                        running[fact.id].cancel()
                yield event, facts
        finally:
            for task in (reading, user, *running.values()):
                task.cancel()


async def say(at, connection, step):
    if step.kind == "text":
        await connection.send(step.text)
    elif step.kind == "history":
        await connection.send(codec.TextContext(step.text))
    elif step.kind == "audio":
        await connection.send(BinaryAudio(data=step.data, media_type="audio/pcm"))
    elif step.kind == "video":
        await connection.send(BinaryImage(data=step.data, media_type=step.mime_type))


def _facts(event):
    match event:
        case codec.OutputTranscript(output_text=True):
            yield Text(event.text)
        case codec.OutputTranscript():
            yield OutputTranscript(event.text)
        case codec.InputTranscript():
            yield InputTranscript(event.text)
        case codec.ToolCall():
            yield Call(event.tool_call_id, event.tool_name, event.args)
        case codec.ToolCallCancelled():
            for call_id in event.tool_call_ids:
                yield Cancelled(call_id)
        case RealtimeResponseInterruptedEvent():
            yield Interrupted()
        case RealtimeSessionErrorEvent():
            yield Error(event.code, event.message)
        case codec.SessionUsage() if event.usage.has_values():
            yield Usage(
                input=event.usage.input_tokens,
                output=event.usage.output_tokens,
                thoughts=event.usage.details.get("thoughts_tokens"),
                total=event.usage.total_tokens,
            )
        case codec.ResponseDone() if not event.more_expected:
            details = event.provider_details or {}
            yield Finish(details.get("finish_reason") or "turnComplete")
