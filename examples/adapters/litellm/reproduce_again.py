import litellm

server = {"api_base": "http://127.0.0.1:8080/v1beta", "api_key": "none"}
asked = {"model": "gemini/gemini-2.5-flash", "stream": True, **server}
hi = {"role": "user", "content": "Hi"}
whole = litellm.stream_chunk_builder([*litellm.completion(messages=[hi], **asked)])
answer = whole.choices[0].message.model_dump(exclude_none=True)
list(litellm.completion(messages=[hi, answer, hi], **asked))
