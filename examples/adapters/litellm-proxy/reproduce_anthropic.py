import httpx

hi = {"role": "user", "content": "Hi"}
asked = {"model": "gemini-3.8-flash", "max_tokens": 4096, "stream": True, "messages": [hi]}
print(httpx.post("http://127.0.0.1:4000/v1/messages", json=asked, timeout=60).text)
