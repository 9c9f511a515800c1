import asyncio, os
from ag_ui.core import RunAgentInput, UserMessage
from ag_ui_adk import ADKAgent
from google.adk.agents import LlmAgent
os.environ |= {"GOOGLE_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:8080"}
async def main(agent):
    for hi in (UserMessage(id="u", content="Hi"), UserMessage(id="v", content="Go on.")):
        asked = RunAgentInput(thread_id="t", run_id="r", messages=[hi])
        print([event async for event in ADKAgent(agent, app_name="a", user_id="u").run(asked)])
asyncio.run(main(LlmAgent(name="a", model="gemini-3.8-flash")))
