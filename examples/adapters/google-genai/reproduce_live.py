import asyncio, sys
from google import genai
async def talk(client):
    async with client.aio.live.connect(model="gemini-3.8-live", config={"response_modalities": ["TEXT"]}) as session:
        await session.send_client_content(turns={"role": "user", "parts": [{"text": "Hello."}]})
        async for message in session.receive():
            print(message.model_dump(exclude_none=True))
asyncio.run(talk(genai.Client(api_key="none", http_options={"base_url": sys.argv[1]})))
