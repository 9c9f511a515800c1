"""ag-ui-adk: an agent of google-adk with the tools of the client, which nobody runs."""

from itertools import count

from ag_ui.core import RunAgentInput, Tool, UserMessage
from ag_ui.encoder import EventEncoder
from ag_ui_adk import ADKAgent, AGUIToolset
from google.adk.agents import LlmAgent
from google.adk.models import Gemini
from google.adk.planners import BuiltInPlanner
from google.genai import types

from harness import replay

VERSION_OF = "ag-ui-adk"
THREADS = count(1)  # the messages of a thread are answered only once, by all agents of a process


async def events(at):
    if not at.stream:
        at.skip("an AG-UI adapter only streams")
    tools = _tools(at)
    agent = LlmAgent(
        name="assistant",
        model=Gemini(model=at.model, base_url=at.base_url),
        planner=BuiltInPlanner(thinking_config=types.ThinkingConfig(include_thoughts=True)),
        tools=[AGUIToolset()] if tools else [],
    )
    asked = RunAgentInput(
        thread_id=f"thread-{next(THREADS)}",
        run_id="run",
        protocol_version="1.0",
        state={},
        messages=[UserMessage(id="user", content=at.prompt or "Go on.")],
        tools=tools,
        context=[],
        forwarded_props={},
    )
    encoder = EventEncoder()
    async for event in ADKAgent(agent, app_name="app", user_id="user").run(asked):
        yield encoder.encode(event)


def _tools(at):
    """The declared tools, and those that the answer calls: an agent refuses other calls."""
    tools = {
        tool.name: Tool(name=tool.name, description=tool.description, parameters=tool.parameters)
        for tool in at.tools
    }
    for event in replay(at.exchange, layer="events"):
        if event["kind"] == "call_start" and event["name"]:
            tools.setdefault(event["name"], Tool(name=event["name"], description="", parameters={}))
    return [*tools.values()]
