import sys
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
server = {"api_key": "none", "base_url": "http://127.0.0.1:8080/v1beta/openai"}
form = {"type": "json_schema", "json_schema": {"name": "f", "schema": {"type": "object"}}}
model = ChatOpenAI(model="gemini-3.5-flash", **server)
if sys.argv[1:]:
    model = model.bind_tools([{"name": "f", "parameters": {}}]).bind(response_format=form)
video = {"type": "file", "file": {"file_data": "data:video/mp4;base64,AAAA"}}
model.invoke([HumanMessage(["Hi", video])])
