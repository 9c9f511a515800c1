from any_llm import completion

server = {"provider": "gemini", "api_base": "http://127.0.0.1:8080", "api_key": "none"}
messages = [{"role": "user", "content": "Hi"}]
print(completion(model="gemini-3.8-flash", messages=messages, **server))
