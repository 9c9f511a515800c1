import asyncio
from strands.event_loop.streaming import process_stream
from strands.models.gemini import GeminiModel
client = {"api_key": "none", "http_options": {"base_url": "http://127.0.0.1:8080"}}
async def main(hi):
    model = GeminiModel(client_args=client, model_id="gemini-3.8-flash")
    stops = [event async for event in process_stream(model.stream([hi])) if "stop" in event]
    print([event async for event in model.stream([hi, stops[0]["stop"][1], hi])])
asyncio.run(main({"role": "user", "content": [{"text": "Hi"}]}))
