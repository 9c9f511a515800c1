import asyncio, json, os, sys
from ag_ui.core import RunAgentInput
from ag_ui_adk import ADKAgent, AGUIToolset
from google.adk import agents, models
os.environ |= {"GOOGLE_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:8080"}
agent = agents.LlmAgent(name="a", model=models.Gemini(model="gemini-3.5-flash", use_interactions_api=len(sys.argv) > 2), tools=[AGUIToolset()])
messages, tool = [{"id": role, "role": role.lower(), "content": role} for role in ("user", "system", "User")], {"name": "f", "description": "d"}
asked = RunAgentInput(thread_id="t", run_id="r", messages=messages, tools=[{**tool, "parameters": json.loads(sys.argv[1])}])
async def main(): print([event async for event in ADKAgent(agent, app_name="a", user_id="u").run(asked)])
asyncio.run(main())
