from openai import OpenAI

client = OpenAI(api_key="none", base_url="http://127.0.0.1:4000/v1", max_retries=0)
hi = {"role": "user", "content": "Hi"}
options = {"stream": True, "stream_options": {"include_usage": True}}
for chunk in client.chat.completions.create(model="gemini-3.8-flash", messages=[hi], **options):
    print(chunk)
