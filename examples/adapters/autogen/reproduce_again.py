import asyncio
from autogen_core.models import AssistantMessage, UserMessage
from autogen_ext.models.openai import OpenAIChatCompletionClient as Client
info = {"family": "unknown", **dict.fromkeys(("function_calling", "vision", "json_output"), True)}
async def main(hi, url):
    model = Client(model="gemini-3.8-flash", model_info=info, api_key="none", base_url=url)
    *_, last = [item async for item in model.create_stream([hi])]
    answer = AssistantMessage(content=last.content, thought=last.thought, source="assistant")
    print([item async for item in model.create_stream([hi, answer, hi])])
asyncio.run(main(UserMessage(content="Hi", source="user"), "http://127.0.0.1:8080"))
