from langchain_openai import ChatOpenAI

model = ChatOpenAI(model="gemini-3.8-flash", api_key="none", base_url="http://127.0.0.1:8080")
whole = None
for piece in model.stream("Hi"):
    whole = piece if whole is None else whole + piece
list(model.stream([("human", "Hi"), whole, ("human", "Go on.")]))
