import litellm

server = {"api_base": "http://127.0.0.1:8080/v1beta", "api_key": "none"}
messages = [{"role": "user", "content": "Hi"}]
asked = {"model": "gemini/gemini-3.8-flash", "messages": messages, "stream": True, **server}
for chunk in litellm.completion(**asked, stream_options={"include_usage": True}):
    print(chunk)
