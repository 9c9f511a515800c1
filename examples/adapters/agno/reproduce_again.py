from agno.models.base import MessageData
from agno.models.google import Gemini
from agno.models.message import Message

options = {"base_url": "http://127.0.0.1:8080"}
model = Gemini("gemini-3.8-flash", api_key="none", client_params={"http_options": options})
hi, answer = Message(role="user", content="Hi"), Message(role="assistant")
list(model.process_response_stream([hi], answer, MessageData()))
list(model.invoke_stream([hi, answer, hi], Message(role="assistant")))
