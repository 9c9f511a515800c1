import asyncio
from strands.models.gemini import GeminiModel

async def main():
    client = {"api_key": "none", "http_options": {"base_url": "http://127.0.0.1:8080"}}
    model = GeminiModel(client_args=client, model_id="gemini-3.8-flash")
    async for event in model.stream([{"role": "user", "content": [{"text": "Hi"}]}]):
        print(event)

asyncio.run(main())
