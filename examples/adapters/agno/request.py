import json, sys
from agno.models.google import Gemini
from agno.models.message import Message as M
client = {"http_options": {"base_url": "http://127.0.0.1:8080"}}
model = Gemini("gemini-3.5-flash", api_key="none", client_params=client, search=sys.argv[3] == "search")
calls = [{"id": i, "function": {"name": "f", "arguments": json.dumps({"id": i})}} for i in "ab"]
results = [M(role="tool", tool_call_id=i, tool_name="f", content=f"of {i}", tool_call_error=True) for i in "ba"]
function = {"name": "f", "description": "d", "parameters": json.loads(sys.argv[1])}
history = [M(role="user", content="Hi"), M(role="assistant", tool_calls=calls), *results]
model.response(history, tools=[{"type": "function", "function": function}], tool_choice=json.loads(sys.argv[2]))
