import asyncio, sys
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.realtime.google import GoogleRealtimeModel
async def talk(model):
    async with model.connect(messages=[], model_settings={"output_modality": "text"}, model_request_parameters=ModelRequestParameters()) as session:
        await session.send("Hello.")
        async for event in session:
            print(event)
asyncio.run(talk(GoogleRealtimeModel("gemini-3.8-live", provider=GoogleProvider(api_key="none", base_url=sys.argv[1]))))
