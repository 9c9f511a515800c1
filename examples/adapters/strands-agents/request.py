import asyncio
from strands.models.gemini import GeminiModel
client = {"api_key": "none", "http_options": {"base_url": "http://127.0.0.1:8080"}}
image = {"image": {"format": "png", "source": {"bytes": b"PNG"}}}
result = {"toolUseId": "a", "status": "error", "content": [{"text": "no"}, image]}
call = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}]}
history = [{"role": "user", "content": [{"text": "Hi"}]}, call, {"role": "user", "content": [{"toolResult": result}]}]
async def main():
    [event async for event in GeminiModel(client_args=client, model_id="gemini-3.5-flash").stream(history)]
asyncio.run(main())
