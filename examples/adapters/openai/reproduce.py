from openai import OpenAI

client = OpenAI(api_key="none", base_url="http://127.0.0.1:8080", max_retries=0)
messages = [{"role": "user", "content": "Hi"}]
with client.chat.completions.stream(model="gemini-3.8-flash", messages=messages) as stream:
    for event in stream:
        print(event.type, getattr(event, "arguments", ""))
    print(stream.get_final_completion())
