import asyncio
from google.genai import Client
from semantic_kernel.connectors.ai.google import google_ai as google
from semantic_kernel.contents import ChatHistory, ChatMessageContent as M, FunctionCallContent as C, FunctionResultContent as R
client = Client(api_key="none", http_options={"base_url": "http://127.0.0.1:8080"})
model = google.GoogleAIChatCompletion("gemini-3.5-flash", api_key="none", client=client)
calls = M(role="assistant", items=[C(id=i, name="f", arguments={"id": i}, metadata={"thought_signature": b"\xff"}) for i in "ab"])
results = M(role="tool", items=[R(id=i, name="f", result=f"of {i}") for i in "ba"])
history = ChatHistory(messages=[M(role="user", content="Hi"), M(role="assistant", content=""), calls, results])
print(asyncio.run(model.get_chat_message_contents(history, google.GoogleAIChatPromptExecutionSettings())), history.serialize())
