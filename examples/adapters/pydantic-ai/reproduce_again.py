import asyncio
import os
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelRequest
os.environ |= {"GOOGLE_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:8080"}
async def main(messages):
    for _ in ("first", "second"):
        async with model_request_stream("google:gemini-3.8-flash", messages) as stream:
            messages += [[event async for event in stream] and stream.get(), messages[0]]
asyncio.run(main([ModelRequest.user_text_prompt("Hi")]))
