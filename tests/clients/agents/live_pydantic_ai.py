"""Holds a session of the Live API with an agent of pydantic-ai: the user asks, and interrupts the
first spoken words. Prints what the application sees, one JSON object a line.
usage: live_pydantic_ai.py MODEL PROMPT
"""

import asyncio
import json
import sys

from pydantic_ai import Agent, BinaryAudio
from pydantic_ai.messages import (
    FunctionToolCallEvent,
    PartDeltaEvent,
    RealtimeResponseInterruptedEvent,
    RealtimeTurnCompleteEvent,
    SpeechPartDelta,
)
from pydantic_ai.realtime import RealtimeError
from pydantic_ai.realtime.google import GoogleRealtimeModel

agent = Agent(instructions="Be short.")


@agent.tool_plain
def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return f"rain in {city}"


async def main(model, prompt):
    interruptions = [BinaryAudio(data=bytes(6), media_type="audio/pcm")]
    async with agent.realtime(GoogleRealtimeModel(model)).session() as session:
        await session.send(prompt)
        async for event in session:
            match event:
                case FunctionToolCallEvent(part=call):
                    show(call=call.tool_name, args=call.args_as_dict())
                case PartDeltaEvent(delta=SpeechPartDelta(transcript_delta=str(words))):
                    show(words=words)
                    if interruptions:
                        await session.send(interruptions.pop())
                case RealtimeResponseInterruptedEvent():
                    show(interrupted=True)
                case RealtimeTurnCompleteEvent():
                    show(turn="complete")


def show(**line):
    print(json.dumps(line))


try:
    asyncio.run(main(*sys.argv[1:]))
except RealtimeError as error:
    show(error=error.message)
