import asyncio
from autogen_core.models import ModelFamily, UserMessage
from autogen_ext.models.openai import OpenAIChatCompletionClient
info = {"family": ModelFamily.UNKNOWN, "function_calling": True, "vision": True}
info |= {"json_output": True, "structured_output": True}
async def main(**client):
    model = OpenAIChatCompletionClient(model="gemini-3.8-flash", model_info=info, **client)
    async for item in model.create_stream([UserMessage(content="Hi", source="user")]):
        print(item)
asyncio.run(main(api_key="none", base_url="http://127.0.0.1:8080"))
