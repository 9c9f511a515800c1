import httpx
import llm
send = httpx.HTTPTransport.handle_request
def redirect(transport, request):  # the URL of llm-gemini is fixed
    request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=8080)
    return send(transport, request)
httpx.HTTPTransport.handle_request = redirect
conversation = llm.get_model("gemini-2.5-flash").conversation()
for answer in (conversation.prompt("Hi", key="none"), conversation.prompt("Go on.", key="none")):
    print(list(answer.stream_events()), answer.response_json, answer.usage())
