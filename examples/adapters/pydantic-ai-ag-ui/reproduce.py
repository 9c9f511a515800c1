import asyncio, os
from ag_ui.core import RunAgentInput, Tool, UserMessage
from pydantic_ai import Agent
from pydantic_ai.ui.ag_ui import AGUIAdapter
os.environ |= {"GOOGLE_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:8080"}
asked = RunAgentInput(thread_id="t", run_id="r", messages=[UserMessage(id="u", content="Hi")],
    tools=[Tool(name=n, description="", parameters={}) for n in ("get_weather", "set_lamp")])
async def main(agent):
    print([event async for event in AGUIAdapter(agent, asked, include_usage=True).run_stream()])
asyncio.run(main(Agent("google:gemini-3.8-flash", retries=0)))
