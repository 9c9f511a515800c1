"""The places in a Messages request that mutation testing changes."""

from typing import Final

from ..request_places import RequestPlaces

_BLOCK: Final = "messages.*.content"
_CALL: Final = f"{_BLOCK}.*?type=tool_use"
_RESULT: Final = f"{_BLOCK}.*?type=tool_result"

PLACES: Final = RequestPlaces(
    "messages",
    ("user", "assistant"),
    {
        "text": (f"{_BLOCK}.*?text", "messages.*?role=user.content"),
        "order": ("messages", _BLOCK),
        "joined": (_BLOCK,),
        "role": ("messages.*.role",),
        "call": (_CALL,),
        "call-name": (f"{_CALL}.name",),
        "arguments": (f"{_CALL}.input",),
        "call-id": (f"{_CALL}.id",),
        "signature": (f"{_BLOCK}.*.signature", f"{_BLOCK}.*?type=redacted_thinking.data"),
        "result": (_RESULT,),
        "result-id": (f"{_RESULT}.tool_use_id",),
        "result-value": (f"{_RESULT}.content",),
        "tool": ("tools.*",),
        "required": ("tools.*.input_schema.required",),
        "setting": ("max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "thinking"),
        "system": ("system",),
        "tool-choice": ("tool_choice",),
    },
)
