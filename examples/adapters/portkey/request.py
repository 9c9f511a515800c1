import json, sys, urllib.request
calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": json.dumps({"id": i})}} for i in "ab"]
messages = [{"role": "system", "content": "One."}, {"role": "system", "content": "Two."}, {"role": "user", "content": "Hi"}]
messages += [{"role": "assistant", "content": "Both.", "tool_calls": calls}]
messages += [{"role": "tool", "tool_call_id": i, "content": f"of {i}"} for i in "ba"] + json.loads(sys.argv[2])
tools = [{"type": "function", "function": {"name": "f", "description": "d", "parameters": json.loads(sys.argv[1])}}]
body = {"model": "gemini-3.5-flash", "service_tier": "flex", "messages": messages, "tools": tools}
headers = {"x-portkey-provider": "google", "x-portkey-custom-host": "http://127.0.0.1:8080", "authorization": "Bearer none"}
url, headers = "http://127.0.0.1:8787/v1/chat/completions", {**headers, "content-type": "application/json"}
urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers))
