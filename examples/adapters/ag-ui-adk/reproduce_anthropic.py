import asyncio, os, google.adk.models.anthropic_llm as models
from ag_ui.core import RunAgentInput, Tool, UserMessage
from ag_ui_adk import ADKAgent, AGUIToolset
from google.adk.agents import LlmAgent
os.environ |= {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": "http://127.0.0.1:8080"}
asked = RunAgentInput(thread_id="t", run_id="r", messages=[UserMessage(id="u", content="Hi")],
    tools=[Tool(name=n, description="", parameters={}) for n in ("get_weather", "set_lamp")])
async def main(agent):
    print([event async for event in ADKAgent(agent, app_name="a", user_id="u").run(asked)])
asyncio.run(main(LlmAgent(name="a", model=models.AnthropicLlm(), tools=[AGUIToolset()])))
