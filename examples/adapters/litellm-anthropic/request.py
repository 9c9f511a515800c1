import asyncio, json, sys
import litellm

tools = [{"name": "f", "description": "d", "input_schema": json.loads(sys.argv[1])}]
asked = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9, "tools": tools}
server = {"api_key": "none", "api_base": "http://127.0.0.1:8080/v1beta"}
asyncio.run(litellm.anthropic.messages.acreate(model="gemini/gemini-3.5-flash", **asked, **server))
