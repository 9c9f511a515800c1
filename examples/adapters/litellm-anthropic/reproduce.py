import asyncio
import litellm
async def main(**server):
    messages = [{"role": "user", "content": "Hi"}]
    asked = {"model": "gemini/gemini-3.8-flash", "messages": messages, "max_tokens": 4096}
    async for event in await litellm.anthropic.messages.acreate(**asked, stream=True, **server):
        print(event)
asyncio.run(main(api_base="http://127.0.0.1:8080/v1beta", api_key="none"))
