import json, sys
import litellm

function = {"name": "f", "description": "d", "parameters": json.loads(sys.argv[1])}
asked = {"messages": [{"role": "user", "content": "Hi"}], "api_base": "http://127.0.0.1:8080/v1beta"}
tools = [{"type": "function", "function": function}]
litellm.completion("gemini/gemini-3.5-flash", tools=tools, api_key="none", **asked)
