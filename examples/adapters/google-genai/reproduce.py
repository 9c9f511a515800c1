from google import genai

client = genai.Client(api_key="none", http_options={"base_url": "http://127.0.0.1:8080"})
chat = client.chats.create(model="gemini-3.8-flash")
for piece in chat.send_message_stream("Hi"):
    print(piece)
print("the history that the next message sends:", chat.get_history(curated=True))
