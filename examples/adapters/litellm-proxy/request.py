import json
import sys

import httpx

tool = {"name": "f", "description": "d", "input_schema": json.loads(sys.argv[1])}
hi, more = {"role": "user", "content": "Hi"}, json.loads(sys.argv[3])
asked = {"model": sys.argv[2], "max_tokens": 4096, "messages": [hi], "tools": [tool], **more}
print(httpx.post("http://127.0.0.1:4000/v1/messages", json=asked, timeout=60).text)
