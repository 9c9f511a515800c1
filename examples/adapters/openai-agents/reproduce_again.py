import asyncio
from agents import ModelSettings, ModelTracing, OpenAIChatCompletionsModel
from openai import AsyncOpenAI
async def main(items):
    client = AsyncOpenAI(api_key="none", base_url="http://127.0.0.1:8080", max_retries=0)
    for model in [OpenAIChatCompletionsModel("gemini-3.8-flash", client)] * 2:
        asked = (None, items, ModelSettings(), [], None, [], ModelTracing.DISABLED)
        *_, last = [event async for event in model.stream_response(*asked)]
        items += [item.model_dump(exclude_none=True) for item in last.response.output] + items[:1]
asyncio.run(main([{"role": "user", "content": "Hi"}]))
