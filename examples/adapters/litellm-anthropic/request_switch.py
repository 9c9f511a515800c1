import asyncio, litellm
thought = {"type": "thinking", "thinking": "Hm.", "signature": "RXJVQkNrWUk="}  # Claude's
use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
result = {"type": "tool_result", "tool_use_id": "a", "content": "yes"}
roles = {"user": "Hi", "assistant": [thought, use], "user ": [result]}
messages = [{"role": role.strip(), "content": content} for role, content in roles.items()]
asked = {"model": "gemini/gemini-3.5-flash", "messages": messages, "max_tokens": 9}
server = {"api_key": "none", "api_base": "http://127.0.0.1:8080/v1beta"}
asyncio.run(litellm.anthropic.messages.acreate(**asked, **server))
