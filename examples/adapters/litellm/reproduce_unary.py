import litellm

server = {"api_base": "http://127.0.0.1:8080/v1beta", "api_key": "none"}
messages = [{"role": "user", "content": "Hi"}]
print(litellm.completion(model="gemini/gemini-3.8-flash", messages=messages, **server))
