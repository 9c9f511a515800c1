import asyncio
from google.adk.models.gemini_llm_connection import GeminiLlmConnection
from google.genai.types import LiveServerMessage
class Session:
    session_id = None
    async def receive(self):
        yield LiveServerMessage.model_validate({"toolCallCancellation": {"ids": ["fc_2"]}})
async def main():
    print([response async for response in GeminiLlmConnection(Session()).receive()])
asyncio.run(main())
