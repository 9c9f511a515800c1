"""The places in a request for a chat completion that mutation testing changes."""

from typing import Final

from ..request_places import RequestPlaces

_CALL: Final = "messages.*.tool_calls.*"
_RESULT: Final = "messages.*?role=tool"

PLACES: Final = RequestPlaces(
    "messages",
    ("user", "assistant"),
    {
        "text": (
            *("messages.*.content.*?text", "messages.*?role=user.content"),
            "messages.*?role=assistant.content",
        ),
        "order": ("messages", "messages.*.content", "messages.*.tool_calls"),
        "joined": ("messages.*.content",),
        "role": ("messages.*.role",),
        "call": (_CALL,),
        "call-name": (f"{_CALL}.function.name",),
        "arguments": (f"{_CALL}.function.arguments",),
        "call-id": (f"{_CALL}.id",),
        "signature": (f"{_CALL}.extra_content", "messages.*.extra_content"),
        "result": (_RESULT,),
        "result-id": (f"{_RESULT}.tool_call_id",),
        "result-value": (f"{_RESULT}.content",),
        "tool": ("tools.*",),
        "required": ("tools.*.function.parameters.required",),
        "setting": ("*", "extra_body.google.*.*"),
        "system": ("messages.*?role=system",),
        "tool-choice": ("tool_choice",),
    },
)
