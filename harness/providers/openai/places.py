"""The places in a request for a response that mutation testing changes. Those of a completion are
the places of the provider `openai-compat`.
"""

from typing import Final

from ..request_places import RequestPlaces

_CALL: Final = "input.*?type=function_call"
_RESULT: Final = "input.*?type=function_call_output"

PLACES: Final = RequestPlaces(
    "input",
    ("user", "assistant"),
    {
        "text": ("input.*.content.*?text", "input.*?role=user.content"),
        "order": ("input", "input.*.content"),
        "joined": ("input.*.content",),
        "role": ("input.*.role",),
        "call": (_CALL,),
        "call-name": (f"{_CALL}.name",),
        "arguments": (f"{_CALL}.arguments",),
        "call-id": (f"{_CALL}.call_id",),
        "signature": ("input.*?type=reasoning.encrypted_content",),
        "result": (_RESULT,),
        "result-id": (f"{_RESULT}.call_id",),
        "result-value": (f"{_RESULT}.output",),
        "tool": ("tools.*",),
        "required": ("tools.*.parameters.required",),
        "setting": ("*",),
        "system": ("instructions",),
        "tool-choice": ("tool_choice",),
        "memory": ("previous_response_id", "store"),
    },
)
