import asyncio
from agents import ModelSettings, ModelTracing, OpenAIChatCompletionsModel
from openai import AsyncOpenAI
async def main():
    client = AsyncOpenAI(api_key="none", base_url="http://127.0.0.1:8080", max_retries=0)
    model = OpenAIChatCompletionsModel("gemini-3.8-flash", client)
    asked = (None, "Hi", ModelSettings(), [], None, [], ModelTracing.DISABLED)
    options = {"previous_response_id": None, "conversation_id": None, "prompt": None}
    print(await model.get_response(*asked, **options))
asyncio.run(main())
