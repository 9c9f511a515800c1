"""Holds a session of the Live API with an agent of google-adk: the user asks, and interrupts the
first spoken words. Prints what the application sees, one JSON object a line.
usage: live_google_adk.py MODEL PROMPT
"""

import asyncio
import json
import sys

from google.adk.agents import Agent, LiveRequestQueue
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.runners import InMemoryRunner
from google.genai import errors, types


def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return f"rain in {city}"


async def main(model, prompt):
    agent = Agent(name="agent", model=model, instruction="Be short.", tools=[get_weather])
    runner = InMemoryRunner(agent=agent, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="user")
    queue = LiveRequestQueue()
    queue.send_content(types.UserContent(prompt))
    interruptions = [types.Blob(data=bytes(6), mime_type="audio/pcm;rate=16000")]
    async for event in runner.run_live(
        user_id="user",
        session_id=session.id,
        live_request_queue=queue,
        run_config=RunConfig(streaming_mode=StreamingMode.BIDI, response_modalities=["AUDIO"]),
    ):
        for call in event.get_function_calls():
            show(call=call.name, args=call.args)
        for transcript in (event.input_transcription, event.output_transcription):
            if transcript and transcript.text and event.partial:
                show(words=transcript.text)
                if interruptions:
                    queue.send_realtime(interruptions.pop())
        if event.interrupted:
            show(interrupted=True)
        if event.turn_complete:
            show(turn="complete")


def show(**line):
    print(json.dumps(line))


try:
    asyncio.run(main(*sys.argv[1:]))
except errors.APIError as error:
    show(close=error.code, reason=error.details)
