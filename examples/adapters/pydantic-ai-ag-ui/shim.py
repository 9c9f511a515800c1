"""pydantic-ai's AG-UI adapter, with the tools of the client, which nobody runs."""

import json
import sys
from pathlib import Path

from ag_ui.core import RunAgentInput, UserMessage
from pydantic_ai import Agent, native_tools
from pydantic_ai.capabilities import NativeTool, ToolSearch
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.models.google import GoogleModel, GoogleModelSettings
from pydantic_ai.models.openai import (
    OpenAIChatModel,
    OpenAIChatModelSettings,
    OpenAIResponsesModel,
    OpenAIResponsesModelSettings,
)
from pydantic_ai.native_tools import CodeExecutionTool, WebFetchTool, WebSearchTool
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.ui.ag_ui import AGUIAdapter

sys.path.append(str(Path(__file__).parents[1]))

from ag_ui_client import first_of, messages_of, next_messages, send, tools_of

from harness import replay

VERSION_OF = "pydantic-ai-slim"
PROVIDERS = ("gemini-api", "vertex-ai", "openai-compat", "openai", "anthropic")
SERVER_TOOLS = {
    "web_search": NativeTool(WebSearchTool()),
    "web_fetch": NativeTool(WebFetchTool()),
    "code": NativeTool(CodeExecutionTool()),
    "text_editor_code_execution": NativeTool(CodeExecutionTool()),
    "tool_search_tool_bm25": ToolSearch(strategy="bm25"),
    "tool_search_tool_regex": ToolSearch(strategy="regex"),
}
if hasattr(native_tools, "AdvisorTool"):  # since version 2
    SERVER_TOOLS["advisor"] = NativeTool(native_tools.AdvisorTool(model="claude-opus-5"))
OPTIONS = (
    {"include_usage": True} if hasattr(AGUIAdapter, "include_usage") else {}
)  # since version 2
OPTIONS["manage_system_prompt"] = "client"
GOOGLE_THOUGHTS = {"extra_body": {"google": {"thinking_config": {"include_thoughts": True}}}}


async def events(at):
    adapter = _adapter(at, _prompt(at))
    async for text in adapter.encode_stream(adapter.run_stream()):
        yield text


async def converse(at):
    if at.turns == 1:
        await send(_adapter(at, messages_of(at)).run_stream())
        return
    sent, stored = first_of(at), at.stored
    first = [event async for event in _adapter(at, sent).run_stream()]
    following = next_messages(sent, first, at)
    if stored:
        following = json.loads(json.dumps(following))
    async for _ in _adapter(at, following).run_stream():
        pass


def _prompt(at):
    if not at.stream:
        at.skip("an AG-UI adapter only streams")
    return [UserMessage(id="user", content=at.prompt or "Go on.")]


def _adapter(at, messages):
    asked = RunAgentInput(
        thread_id="thread",
        run_id="run",
        protocol_version="1.0",
        messages=messages,
        tools=tools_of(at),
    )
    model, settings = _model(at)
    agent = Agent(model, model_settings=settings, retries=0, capabilities=_capabilities(at))
    return AGUIAdapter(agent=agent, run_input=asked, **OPTIONS)


def _model(at):
    """The model for the wire of the recording, and its settings. They ask for thoughts if the
    recorded request does: some models refuse that.
    """
    match at.exchange.provider:
        case "openai-compat":
            address = f"{at.base_url}/v1beta/openai"
            settings = OpenAIChatModelSettings(extra_body=GOOGLE_THOUGHTS) if at.thoughts else None
            return OpenAIChatModel(at.model, provider=_openai(address)), settings
        case "openai" if "/responses" in _url(at):
            settings = OpenAIResponsesModelSettings(openai_reasoning_summary="auto")
            model = OpenAIResponsesModel(at.model, provider=_openai(f"{at.base_url}/v1"))
            return model, settings if at.thoughts else None
        case "openai":
            return OpenAIChatModel(at.model, provider=_openai(f"{at.base_url}/v1")), None
        case "anthropic":
            thinking = {"thinking": True} if at.thoughts else {}
            settings = AnthropicModelSettings(max_tokens=4096, **thinking)
            provider = AnthropicProvider(api_key="none", base_url=at.base_url)
            return AnthropicModel(at.model, provider=provider), settings
    settings = GoogleModelSettings(google_thinking_config={"include_thoughts": True})
    provider = GoogleProvider(api_key="none", base_url=at.base_url)
    return GoogleModel(at.model, provider=provider), settings if at.thoughts else None


def _capabilities(at):
    """The server tools that an answer of Claude calls: the model ignores tools that the request
    does not have.
    """
    if at.exchange.provider != "anthropic" or at.exchange.request is None:
        return []
    events = replay(at.exchange, layer="events")
    ran = {event.get("name") or event["kind"] for event in events}
    return [capability for name, capability in SERVER_TOOLS.items() if name in ran]


def _url(at):
    """The URL of the recorded request; a question has none, and is asked over Chat Completions."""
    return at.exchange.request.url if at.exchange.request else ""


def _openai(address):
    return OpenAIProvider(api_key="none", base_url=address)
