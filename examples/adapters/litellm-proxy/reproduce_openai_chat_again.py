from openai import OpenAI

client = OpenAI(api_key="none", base_url="http://127.0.0.1:4000/v1", max_retries=0)
asked, hi = {"model": "gemini-3.8-flash"}, {"role": "user", "content": "Hi"}
with client.chat.completions.stream(messages=[hi], **asked) as stream:
    message = stream.get_final_completion().choices[0].message
answer = message.model_dump(exclude_none=True, exclude={"parsed"})
list(client.chat.completions.create(messages=[hi, answer, hi], stream=True, **asked))
