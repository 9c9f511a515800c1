import asyncio, os
from ag_ui.core import RunAgentInput
from pydantic_ai import Agent
from pydantic_ai.ui.ag_ui import AGUIAdapter
os.environ |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": "http://127.0.0.1:8080"}
said = [("user", "Hi"), ("assistant", "I look. "), ("assistant", "Wait."), ("user", "Go on.")]
sent = [{"id": text, "role": role, "content": text} for role, text in said]
async def main(agent, asked):
    print([event async for event in AGUIAdapter(agent, asked).run_stream()])
asyncio.run(main(Agent("openai-chat:gpt-5"), RunAgentInput(thread_id="", run_id="", messages=sent)))
