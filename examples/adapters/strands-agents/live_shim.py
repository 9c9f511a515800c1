"""strands-agents: one session of the Live API with `GoogleGeminiLiveModel`, without the agent that
would run the tools.
"""

import asyncio

from strands.bidi.models.google import GoogleGeminiLiveModel
from strands.bidi.models.model import ConnectionTimeoutError
from strands.bidi.types.content import BidiMessage
from strands.bidi.types.media import AudioDelta
from strands.types.content import TextBlock
from strands.types.tools import ToolResultBlock

from harness.facts import (
    Call,
    Finish,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    Text,
    Thought,
    Usage,
)

PROVIDERS = ("live",)
VERSION_OF = "strands-agents"


async def replay(at):
    client = {"api_key": "none", "http_options": {"base_url": at.base_url}}
    modalities = at.script.setup.get("generationConfig", {}).get("responseModalities")
    params = {"response_modalities": modalities} if modalities else {}
    model = GoogleGeminiLiveModel(client_args=client, model_id=at.model, params=params)
    tools = [
        {
            "name": tool.name,
            "description": tool.description or tool.name,
            "inputSchema": {"json": tool.parameters or {"type": "object"}},
        }
        for tool in at.tools
    ]
    await model.start(at.system, tools)
    tasks, ended = [], asyncio.Event()

    async def talk():
        async for step in at.script:
            await model.send(_content(step))
        ended.set()
        await model.stop()

    async def run(call):
        output = await asyncio.to_thread(at.result, call)
        result = ToolResultBlock(tool_use_id=call.id, status="success", content=[{"text": output}])
        await model.send(BidiMessage([result]))

    tasks.append(asyncio.create_task(talk()))
    try:
        async for event in model.receive():
            facts = list(_facts(event))
            tasks += [asyncio.create_task(run(fact)) for fact in facts if isinstance(fact, Call)]
            yield event, facts
    except ConnectionTimeoutError as timeout:  # its agent opens another session
        await model.restart(at.system, tools, **timeout.restart_config)
    except Exception:  # also for the close of the user
        if not ended.is_set():
            raise
    finally:
        for task in tasks:
            task.cancel()


def _content(step):
    if step.kind == "audio":
        return AudioDelta("pcm", {"bytes": step.data})
    return BidiMessage([TextBlock(step.text)])


def _facts(event):
    match event["type"]:
        case "bidi_text_delta":
            yield Text(event["delta"])
        case "bidi_reasoning_delta":
            yield Thought(event["delta"])
        case "bidi_transcript_delta":
            is_user = event["role"] == "user"
            yield (InputTranscript if is_user else OutputTranscript)(event["delta"])
        case "bidi_barge_in":
            yield Interrupted()
        case "bidi_tool_use_blocks":
            for use in event["tool_uses"]:
                yield Call(use["toolUseId"], use["name"], use["input"])
        case "bidi_usage":
            details = event.get("output_token_details") or {}
            yield Usage(
                input=event["input_tokens"],
                output=event["output_tokens"],
                thoughts=details.get("reasoning"),
                total=event["total_tokens"],
            )
        case "bidi_response_stop":
            yield Finish("turnComplete")
