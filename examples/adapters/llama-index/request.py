from google.genai.types import HttpOptions
from llama_index.core.base.llms.types import ChatMessage as M, DocumentBlock, ToolCallBlock
from llama_index.llms.google_genai import GoogleGenAI
http = HttpOptions(base_url="http://127.0.0.1:8080")
model = GoogleGenAI("gemini-3.5-flash", "none", http_options=http, max_tokens=9, context_window=9)
model.chat([M("One"), M("", role="model"), M("Two")])
call = ToolCallBlock(tool_call_id="a", tool_name="f", tool_kwargs={})
file = DocumentBlock(data=b"%PDF", document_mimetype="application/pdf")
result = M(role="tool", blocks=[file], additional_kwargs={"tool_call_id": "a"})
model.chat([M("Hi"), M(role="model", blocks=[call]), result])
