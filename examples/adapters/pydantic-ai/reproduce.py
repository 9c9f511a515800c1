import asyncio
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.google import GoogleProvider
async def main(provider):
    model = GoogleModel("gemini-3.8-flash", provider=provider)
    async with model_request_stream(model, [ModelRequest.user_text_prompt("Hi")]) as stream:
        print([event async for event in stream], stream.get())
asyncio.run(main(GoogleProvider(api_key="none", base_url="http://127.0.0.1:8080")))
