"""pydantic-ai's AG-UI adapter, with the tools of the client, which nobody runs."""

from ag_ui.core import RunAgentInput, Tool, UserMessage
from pydantic_ai import Agent
from pydantic_ai.models.google import GoogleModel, GoogleModelSettings
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.ui.ag_ui import AGUIAdapter

from harness import replay

VERSION_OF = "pydantic-ai-slim"


async def events(at):
    if not at.stream:
        at.skip("an AG-UI adapter only streams")
    tools = _tools(at)
    model = GoogleModel(at.model, provider=GoogleProvider(api_key="none", base_url=at.base_url))
    settings = GoogleModelSettings(google_thinking_config={"include_thoughts": True})
    asked = RunAgentInput(
        thread_id="thread",
        run_id="run",
        protocol_version="1.0",
        messages=[UserMessage(id="user", content=at.prompt or "Go on.")],
        tools=tools,
    )
    agent = Agent(model, model_settings=settings, retries=0)
    adapter = AGUIAdapter(agent=agent, run_input=asked, include_usage=True)
    async for text in adapter.encode_stream(adapter.run_stream()):
        yield text


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
