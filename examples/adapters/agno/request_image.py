from agno.media import Image
from agno.models.google import Gemini
from agno.models.message import Message
client = {"http_options": {"base_url": "http://127.0.0.1:8080"}}
model = Gemini("gemini-3.5-flash", api_key="none", client_params=client)
image = Image(content=b"\x89PNG\r\n\x1a\n", mime_type="image/png")
model.response([Message(role="user", content="Hi", images=[image])])
