import asyncio, os
from ag_ui.core import RunAgentInput, UserMessage
from pydantic_ai import Agent, WebSearchTool
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.ui.ag_ui import AGUIAdapter
os.environ |= {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": "http://127.0.0.1:8080"}
asked = RunAgentInput(thread_id="t", run_id="r", messages=[UserMessage(id="u", content="Hi")])
async def main(agent):
    print([event async for event in AGUIAdapter(agent, asked).run_stream()])
asyncio.run(main(Agent("anthropic:claude-fable-5", capabilities=[NativeTool(WebSearchTool())])))
