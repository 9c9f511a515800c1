import json, sys
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_google_genai import ChatGoogleGenerativeAI
server = {"google_api_key": "none", "base_url": "http://127.0.0.1:8080", "max_retries": 1}
model = ChatGoogleGenerativeAI(model="gemini-2.5-flash", **server)
ai = AIMessage("", tool_calls=[{"id": id_, "name": "f", "args": {"id": id_}} for id_ in "ab"])
results = [ToolMessage(f"of {id_}", tool_call_id=id_, name="f", status="error") for id_ in "ba"]
tools = [{"name": "f", "description": "d", "parameters": json.loads(sys.argv[1])}]
tools += [{name: {}} for name in sys.argv[2:]]
model.bind_tools(tools).invoke([HumanMessage("Hi"), ai, *results, SystemMessage("Be brief.")])
