"""The places in a request for an interaction that mutation testing changes."""

from typing import Final

from ..request_places import RequestPlaces

_CALL: Final = "input.*?type=function_call"
_RESULT: Final = "input.*?type=function_result"

PLACES: Final = RequestPlaces(
    "input",
    ("user_input", "model_output"),
    {
        "text": ("input.*.content.*?text",),
        "order": ("input", "input.*.content"),
        "joined": ("input.*.content",),
        "role": ("input.*.type",),
        "call": (_CALL,),
        "call-name": (f"{_CALL}.name",),
        "arguments": (f"{_CALL}.arguments",),
        "call-id": (f"{_CALL}.id",),
        "signature": ("input.*.signature",),
        "result": (_RESULT,),
        "result-name": (f"{_RESULT}.name",),
        "result-id": (f"{_RESULT}.call_id",),
        "result-value": (f"{_RESULT}.result",),
        "tool": ("tools.*",),
        "required": ("tools.*.parameters.required",),
        "setting": ("generation_config.*",),
        "system": ("system_instruction",),
        "tool-choice": ("generation_config.tool_choice",),
        "memory": ("previous_interaction_id", "store"),
    },
)
