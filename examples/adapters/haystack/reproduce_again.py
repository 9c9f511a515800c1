import os

os.environ |= {"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:8080", "GOOGLE_API_KEY": "none"}
from haystack.dataclasses import ChatMessage
from haystack_integrations.components.generators.google_genai import GoogleGenAIChatGenerator

model = GoogleGenAIChatGenerator(model="gemini-3.8-flash", streaming_callback=print)
hi = ChatMessage.from_user("Hi")
model.run([hi, *model.run([hi])["replies"], hi])
