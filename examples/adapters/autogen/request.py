import asyncio, base64, io
from autogen_core import Image
from autogen_core.models import ModelFamily, UserMessage
from autogen_ext.models.openai import OpenAIChatCompletionClient
from PIL import Image as Picture
Picture.new("RGB", (1, 1)).save(file := io.BytesIO(), "JPEG")
image = Image.from_base64(base64.b64encode(file.getvalue()).decode())
info = {"vision": True, "function_calling": True, "json_output": True, "structured_output": True, "family": ModelFamily.UNKNOWN}
client = OpenAIChatCompletionClient(model="gemini-3.5-flash", api_key="none", base_url="http://127.0.0.1:8080/v1beta/openai/", model_info=info)
asyncio.run(client.create([UserMessage(content=["Hi", image], source="user")]))
