import httpx

asked = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
address = "http://127.0.0.1:4000/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse"
print(httpx.post(address, json=asked, timeout=60).text)
