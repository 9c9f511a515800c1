import asyncio
from google.genai import Client
from semantic_kernel.connectors.ai.google import google_ai as google
from semantic_kernel.contents import ChatHistory
async def main(history, settings):
    history.add_user_message("Hi")
    client = Client(api_key="none", http_options={"base_url": "http://127.0.0.1:8080"})
    model = google.GoogleAIChatCompletion("gemini-3.8-flash", api_key="none", client=client)
    print([each async for each in model.get_streaming_chat_message_contents(history, settings)])
asyncio.run(main(ChatHistory(), google.GoogleAIChatPromptExecutionSettings()))
