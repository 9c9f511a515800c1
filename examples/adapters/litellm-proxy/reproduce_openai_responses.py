from openai import OpenAI

client = OpenAI(api_key="none", base_url="http://127.0.0.1:4000/v1", max_retries=0)
items = [{"role": "user", "content": "Hi"}]
with client.responses.create(model="gemini-3.8-flash", input=items, stream=True) as stream:
    for event in stream:
        print(event)
items += [item.model_dump(exclude_none=True) for item in event.response.output] + items
list(client.responses.create(model="gemini-3.8-flash", input=items, stream=True))
