import asyncio
import os
from google.adk.models import Gemini, LlmRequest
os.environ |= {"GOOGLE_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:8080"}
async def main(contents, hi):
    for model in [Gemini(), Gemini()]:
        request = LlmRequest(model="gemini-3.8-flash", contents=[*contents, hi])
        answers = [each async for each in model.generate_content_async(request, stream=True)]
        contents += [hi, *(each.content for each in answers if each.content and not each.partial)]
asyncio.run(main([], {"role": "user", "parts": [{"text": "Hi"}]}))
