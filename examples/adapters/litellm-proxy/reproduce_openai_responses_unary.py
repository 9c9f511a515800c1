from openai import OpenAI

client = OpenAI(api_key="none", base_url="http://127.0.0.1:4000/v1", max_retries=0)
print(client.responses.create(model="gemini-3.8-flash", input="Hi"))
