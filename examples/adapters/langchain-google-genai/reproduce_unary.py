from langchain_google_genai import ChatGoogleGenerativeAI

server = {"google_api_key": "none", "base_url": "http://127.0.0.1:8080", "max_retries": 1}
print(ChatGoogleGenerativeAI(model="gemini-3.8-flash", **server).invoke("Hi"))
