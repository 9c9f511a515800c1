import asyncio, sys
from strands.bidi.models.google import GoogleGeminiLiveModel
from strands.bidi.types.content import BidiMessage
from strands.types.content import TextBlock
async def talk(model):
    await model.start()
    await model.send(BidiMessage([TextBlock("Hello.")]))
    async for event in model.receive():
        print(event)
asyncio.run(talk(GoogleGeminiLiveModel(client_args={"api_key": "none", "http_options": {"base_url": sys.argv[1]}}, model_id="gemini-3.8-live")))
