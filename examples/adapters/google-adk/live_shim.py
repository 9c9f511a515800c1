"""google-adk: one session of the Live API with `Runner.run_live` and an agent with tools."""

import asyncio

from google.adk.agents import Agent, LiveRequestQueue
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.adk.tools import BaseTool
from google.genai import types

from harness.facts import (
    Call,
    Error,
    Finish,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    Text,
    Thought,
    Usage,
)

PROVIDERS = ("live",)
VERSION_OF = "google-adk"


class Tool(BaseTool):
    """A tool whose result the harness gives, when the tool has ended."""

    def __init__(self, at, tool):
        super().__init__(name=tool.name, description=tool.description or tool.name)
        self._at, self._parameters = at, tool.parameters

    def _get_declaration(self):
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._parameters
        )

    async def run_async(self, *, args, tool_context):
        call = Call(tool_context.function_call_id, self.name, args)
        return {"output": await asyncio.to_thread(self._at.result, call)}


async def replay(at):
    model = Gemini(model=at.model.removeprefix("models/"), base_url=at.base_url)
    agent = Agent(
        name="agent",
        model=model,
        instruction=at.system,
        tools=[Tool(at, tool) for tool in at.tools],
    )
    runner = InMemoryRunner(agent=agent, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="user")
    queue = LiveRequestQueue()
    setup = at.script.setup
    transcribed = types.AudioTranscriptionConfig()
    config = RunConfig(
        streaming_mode=StreamingMode.BIDI,
        response_modalities=setup.get("generationConfig", {}).get("responseModalities"),
        input_audio_transcription=transcribed if "inputAudioTranscription" in setup else None,
        output_audio_transcription=transcribed if "outputAudioTranscription" in setup else None,
    )

    async def talk():
        async for step in at.script:
            if step.kind == "text":
                queue.send_content(types.UserContent(step.text))
            elif step.kind in ("audio", "video"):
                queue.send_realtime(types.Blob(data=step.data, mime_type=step.mime_type))
        queue.close()

    user = asyncio.create_task(talk())
    state = State()
    try:
        async for event in runner.run_live(
            user_id="user", session_id=session.id, live_request_queue=queue, run_config=config
        ):
            yield event, list(state.facts(event))
    finally:
        user.cancel()


class State:
    """Whether pieces have come whose whole follows."""

    def __init__(self):
        self.pieces = {"text": False, "input": False, "output": False}

    def new(self, kind, partial):
        """Whether this text is new: a piece, or a whole without pieces."""
        is_new = partial or not self.pieces[kind]
        self.pieces[kind] = bool(partial)
        return is_new

    def facts(self, event):
        for part in (event.content and event.content.parts) or ():
            if part.text and self.new("text", event.partial):
                yield Thought(part.text) if part.thought else Text(part.text)
            if part.function_call and not event.partial:
                call = part.function_call
                yield Call(call.id, call.name, call.args)
        for kind, fact in (("input", InputTranscript), ("output", OutputTranscript)):
            words = getattr(event, f"{kind}_transcription")
            if words and words.text and self.new(kind, event.partial):
                yield fact(words.text)
        if event.interrupted and not event.content:
            yield Interrupted()
        if usage := event.usage_metadata:
            yield Usage(
                input=usage.prompt_token_count,
                output=usage.candidates_token_count,
                thoughts=usage.thoughts_token_count,
                total=usage.total_token_count,
            )
        if event.error_code:
            yield Error(event.error_code, event.error_message or "")
        goes_on = event.interaction_status == types.InteractionStatus.IN_PROGRESS
        if event.turn_complete and not goes_on:
            reason = getattr(event, "turn_complete_reason", None)
            yield Finish(getattr(reason, "value", reason) or "turnComplete")
