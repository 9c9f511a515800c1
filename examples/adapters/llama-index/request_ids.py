from google.genai.types import HttpOptions
from llama_index.core.base.llms.types import ChatMessage as M, ToolCallBlock
from llama_index.llms.google_genai import GoogleGenAI
http = HttpOptions(base_url="http://127.0.0.1:8080")
model = GoogleGenAI("gemini-3.5-flash", "none", http_options=http, max_tokens=9, context_window=9)
calls = [ToolCallBlock(tool_call_id=id_, tool_name="f", tool_kwargs={"x": id_}) for id_ in "ab"]
results = [M(f"of {id_}", role="tool", additional_kwargs={"tool_call_id": id_, "name": "f"}) for id_ in "ba"]
model.chat([M("Hi"), M(role="model", blocks=calls), *results])
