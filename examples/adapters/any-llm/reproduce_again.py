from any_llm import completion

server = {"provider": "gemini", "api_base": "http://127.0.0.1:8080", "api_key": "none"}
asked = {"model": "gemini-3.8-flash", "stream": True, **server}
hi, answer = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": ""}
for chunk in completion(messages=[hi], **asked):
    for delta in [choice.delta for choice in chunk.choices]:
        answer["content"] += delta.content or ""
        answer.setdefault("tool_calls", []).extend(c.model_dump() for c in delta.tool_calls or ())
list(completion(messages=[hi, answer, hi], **asked))
