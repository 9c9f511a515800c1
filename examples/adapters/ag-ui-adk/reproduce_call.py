import asyncio, os, sys, google.adk.agents as adk, google.adk.models as m
from ag_ui.core import AssistantMessage, FunctionCall, RunAgentInput, Tool, ToolMessage, UserMessage
from ag_ui_adk import ADKAgent, AGUIToolset
os.environ |= dict.fromkeys(["GOOGLE_API_KEY", "OPENAI_API_KEY"], "none")
os.environ |= dict.fromkeys(["GOOGLE_GEMINI_BASE_URL", "OPENAI_BASE_URL"], "http://127.0.0.1:8080")
model = "gpt-5" if "chat" in sys.argv else m.Gemini(use_interactions_api="interactions" in sys.argv)
asked = RunAgentInput(thread_id="t", run_id="r", messages=[UserMessage(id="u", content="Hi")],
  tools=[Tool(name=n, description="", parameters={}) for n in ["get_weather", "look", "read_note"]])
async def main(agent):
    adapter, said = ADKAgent(agent, app_name="a", user_id="u"), asked.messages
    print(events := [event async for event in adapter.run(asked)])
    def told(i): return "".join(vars(e).get("delta", "") for e in events if i in vars(e).values())
    said += [AssistantMessage(id=e.message_id, content=told(e.message_id))
        for e in events if e.type == "TEXT_MESSAGE_START"]
    calls = [(e.tool_call_id, FunctionCall(name=e.tool_call_name, arguments=told(e.tool_call_id)))
        for e in events if e.type == "TOOL_CALL_START"]
    said += [AssistantMessage(id=i, tool_calls=[{"id": i, "function": f}]) for i, f in calls]
    said += [ToolMessage(id=f"of {i}", tool_call_id=i, content="4 C") for i, _ in calls]
    print([event async for event in adapter.run(asked)])
asyncio.run(main(adk.Agent(name="a", model=model, tools=[AGUIToolset()])))
