from google.genai import types
from llama_index.core.base.llms.types import ChatMessage
from llama_index.llms.google_genai import GoogleGenAI

server = {"api_key": "none", "http_options": types.HttpOptions(base_url="http://127.0.0.1:8080")}
model = GoogleGenAI("gemini-3.8-flash", max_tokens=9, context_window=9, max_retries=0, **server)
hi = ChatMessage(role="user", content="Hi")
*_, last = model.stream_chat([hi])
list(model.stream_chat([hi, last.message, hi]))
