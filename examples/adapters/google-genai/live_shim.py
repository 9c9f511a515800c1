"""google-genai: one session of the Live API with `client.aio.live.connect`."""

import asyncio

from google import genai
from google.genai import errors, types

from harness.facts import (
    Call,
    Cancelled,
    Finish,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    Text,
    Thought,
    Usage,
)

PROVIDERS = ("live",)
VERSION_OF = "google-genai"


async def replay(at):
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=at.base_url))
    setup = at.script.setup
    kept = {name: setup[name] for name in setup.keys() - {"model", "generationConfig"}}
    config = {**setup.get("generationConfig", {}), **kept}
    async with client.aio.live.connect(model=at.model, config=config) as session:
        running, ended = {}, asyncio.Event()

        async def talk():
            async for step in at.script:
                await say(session, step)
            ended.set()
            await session.close()

        async def run(call):
            output = await asyncio.to_thread(at.result, call)
            result = types.FunctionResponse(id=call.id, name=call.name, response={"output": output})
            await session.send_tool_response(function_responses=result)

        user = asyncio.create_task(talk())
        try:
            while True:
                async for message in session.receive():
                    facts = list(_facts(message))
                    for fact in facts:
                        if isinstance(fact, Call):
                            running[fact.id] = asyncio.create_task(run(fact))
                        elif isinstance(fact, Cancelled) and fact.id in running:
                            running[fact.id].cancel()
                    yield message, facts
        except errors.APIError:  # also for the close of the user
            if not ended.is_set():
                raise
        finally:
            for task in (user, *running.values()):
                task.cancel()


async def say(session, step):
    if step.kind in ("text", "history"):
        turns = [*step.turns] or types.UserContent(step.text)
        await session.send_client_content(turns=turns, turn_complete=step.kind == "text")
    elif step.kind in ("audio", "video"):
        blob = types.Blob(data=step.data, mime_type=step.mime_type)
        await session.send_realtime_input(**{step.kind: blob})
    elif step.kind == "audioStreamEnd":
        await session.send_realtime_input(audio_stream_end=True)
    elif step.kind == "activityStart":
        await session.send_realtime_input(activity_start=types.ActivityStart())
    elif step.kind == "activityEnd":
        await session.send_realtime_input(activity_end=types.ActivityEnd())


def _facts(message):
    for call in (message.tool_call and message.tool_call.function_calls) or ():
        yield Call(call.id, call.name, call.args)
    for call_id in (message.tool_call_cancellation and message.tool_call_cancellation.ids) or ():
        yield Cancelled(call_id)
    if usage := message.usage_metadata:
        yield Usage(
            input=usage.prompt_token_count,
            output=usage.response_token_count,
            thoughts=usage.thoughts_token_count,
            total=usage.total_token_count,
        )
    content = message.server_content
    if not content:
        return
    for part in (content.model_turn and content.model_turn.parts) or ():
        if part.text:
            yield Thought(part.text) if part.thought else Text(part.text)
    if content.input_transcription and content.input_transcription.text:
        yield InputTranscript(content.input_transcription.text)
    if content.output_transcription and content.output_transcription.text:
        yield OutputTranscript(content.output_transcription.text)
    if content.interrupted:
        yield Interrupted()
    goes_on = content.interaction_status == types.InteractionStatus.IN_PROGRESS
    if content.turn_complete and not goes_on:
        reason = content.turn_complete_reason
        yield Finish(reason.value if reason else "turnComplete")
