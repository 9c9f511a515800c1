import json, sys, httpx, llm
from llm.parts import ToolResultPart as Result
send = httpx.HTTPTransport.handle_request
def redirect(transport, request):  # the URL of llm-gemini is fixed
    request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=8080)
    return send(transport, request)
httpx.HTTPTransport.handle_request = redirect
history = [llm.user("Hi"), llm.system("Be brief."), llm.tool_message(Result("f", "no", "a", exception="no"))]
tools = [llm.Tool("f", "d", json.loads(sys.argv[1]))]
llm.get_model("gemini-3.5-flash").prompt(messages=history, tools=tools, key="none", stream=False).text()
