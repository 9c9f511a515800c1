"""ag-ui-adk: an agent of google-adk with the tools of the client, which nobody runs."""

import sys
from itertools import count
from pathlib import Path

from ag_ui.core import RunAgentInput, UserMessage
from ag_ui.encoder import EventEncoder
from ag_ui_adk import ADKAgent, AGUIToolset
from anthropic import AsyncAnthropic
from google.adk.agents import LlmAgent
from google.adk.integrations.openai import OpenAILlm, OpenAIResponsesLlm
from google.adk.models import Gemini
from google.adk.models.anthropic_llm import AnthropicLlm
from google.adk.planners import BuiltInPlanner
from google.genai import types
from openai import AsyncOpenAI

sys.path.append(str(Path(__file__).parents[1]))

from ag_ui_client import first_of, messages_of, next_messages, send, tools_of

VERSION_OF = "ag-ui-adk"
PROVIDERS = ("gemini-api", "vertex-ai", "interactions", "openai-compat", "openai", "anthropic")
THOUGHTS = types.ThinkingConfig(include_thoughts=True, thinking_budget=-1)
THREADS = count(1)  # the messages of a thread are answered only once, by all agents of a process


async def events(at):
    encoder = EventEncoder()
    async for event in _adapter(at).run(_asked(at, f"thread-{next(THREADS)}", _prompt(at))):
        yield encoder.encode(event)


async def converse(at):
    adapter, thread = _adapter(at), f"thread-{next(THREADS)}"
    if at.turns == 1:
        await send(adapter.run(_asked(at, thread, messages_of(at))))
        return
    sent = first_of(at)
    first = [event async for event in adapter.run(_asked(at, thread, sent))]
    async for _ in adapter.run(_asked(at, thread, next_messages(sent, first, at))):
        pass


def _prompt(at):
    if not at.stream:
        at.skip("an AG-UI adapter only streams")
    return [UserMessage(id="user", content=at.prompt or "Go on.")]


def _asked(at, thread, messages):
    return RunAgentInput(
        thread_id=thread,
        run_id="run",
        protocol_version="1.0",
        state={},
        messages=messages,
        tools=tools_of(at),
        context=[],
        forwarded_props={},
    )


def _adapter(at):
    agent = LlmAgent(
        name="assistant",
        model=_model(at),
        planner=BuiltInPlanner(thinking_config=THOUGHTS) if at.thoughts else None,
        tools=[AGUIToolset()] if tools_of(at) else [],
    )
    return ADKAgent(agent, app_name="app", user_id="user")


def _model(at):
    """The model for the wire of the recording."""
    match at.exchange.provider:
        case "interactions":
            return Gemini(model=at.model, base_url=at.base_url, use_interactions_api=True)
        case "openai-compat":
            return OpenAILlm(model=at.model, client=_openai(f"{at.base_url}/v1beta/openai"))
        case "openai" if "/responses" in _url(at):
            reasoning = {"reasoning": {"summary": "auto"}} if at.thoughts else {}
            client = _openai(f"{at.base_url}/v1")
            return OpenAIResponsesLlm(model=at.model, client=client, **reasoning)
        case "openai":
            return OpenAILlm(model=at.model, client=_openai(f"{at.base_url}/v1"))
        case "anthropic":
            client = AsyncAnthropic(api_key="none", base_url=at.base_url, max_retries=0)
            return AnthropicLlm(model=at.model, client=client)
    return Gemini(model=at.model, base_url=at.base_url)


def _url(at):
    """The URL of the recorded request; a question has none, and is asked over Chat Completions."""
    return at.exchange.request.url if at.exchange.request else ""


def _openai(address):
    return AsyncOpenAI(api_key="none", base_url=address, max_retries=0)
