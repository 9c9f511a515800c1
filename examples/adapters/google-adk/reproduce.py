import asyncio
import os
from google.adk.models import Gemini, LlmRequest
from google.genai import types
os.environ["GOOGLE_API_KEY"] = "none"
async def main(model):
    request = LlmRequest(model="gemini-3.8-flash", contents=[types.UserContent("Hi")])
    async for answer in model.generate_content_async(request, stream=True):
        print(answer)
asyncio.run(main(Gemini(model="gemini-3.8-flash", base_url="http://127.0.0.1:8080")))
