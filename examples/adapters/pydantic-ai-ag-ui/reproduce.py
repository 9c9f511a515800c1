import asyncio
import os
from ag_ui.core import RunAgentInput, UserMessage
from pydantic_ai import Agent
from pydantic_ai.ui.ag_ui import AGUIAdapter
os.environ |= {"GOOGLE_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:8080"}
async def main(agent):
    asked = RunAgentInput(thread_id="t", run_id="r", messages=[UserMessage(id="u", content="Hi")])
    print([event async for event in AGUIAdapter(agent=agent, run_input=asked).run_stream()])
asyncio.run(main(Agent("google:gemini-3.8-flash", retries=0)))
