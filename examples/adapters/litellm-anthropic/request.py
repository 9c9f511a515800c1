import asyncio, json, sys
import litellm

tools = [{"name": "f", "description": "d", "input_schema": json.loads(sys.argv[1])}]
use = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
failed = {"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": True}
messages = [{"role": "user", "content": "Hi"}, use, {"role": "user", "content": [failed]}, {"role": "system", "content": "Brief."}]
asked = {"messages": messages, "max_tokens": 9, "thinking": {"type": "enabled", "budget_tokens": 1787}}
server = {"api_key": "none", "api_base": "http://127.0.0.1:8080/v1beta", "tools": tools}
asyncio.run(litellm.anthropic.messages.acreate(model=sys.argv[2], **asked, **server))
