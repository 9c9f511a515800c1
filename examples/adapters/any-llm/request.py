import json, sys
from any_llm import completion

data = {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "high"}
images = [{"type": "image_url", "image_url": url} for url in (data, {"url": "https://a.example/b"})]
content = [{"type": "text", "text": "Hi"}, *images]
function = {"name": "f", "description": "d", "parameters": json.loads(sys.argv[1])}
asked = {"messages": [{"role": "user", "content": content}], "api_base": "http://127.0.0.1:8080"}
tools = [{"type": "function", "function": function}]
completion("gemini-3.5-flash", provider="gemini", api_key="none", tools=tools, **asked)
