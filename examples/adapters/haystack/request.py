import json, os, sys
os.environ |= {"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:8080", "GOOGLE_API_KEY": "none"}
from haystack.dataclasses import ChatMessage as M, ToolCall
from haystack.tools import Tool
from haystack_integrations.components.generators.google_genai import GoogleGenAIChatGenerator
calls = [ToolCall("f", {"id": id_}, id_) for id_ in "ab"]
signed = {"thought_signatures": [{"signature": "QUJD", "has_function_call": True}]}  # of call a
results = [M.from_tool("no", call, error=True) for call in calls]
history = [M.from_user("Hi"), M.from_assistant(""), M.from_assistant(None, signed, tool_calls=calls)]
GoogleGenAIChatGenerator(tools=[Tool("f", "d", json.loads(sys.argv[1]), print)]).run(history + results)
