"""The places in a request of generateContent that mutation testing changes."""

from typing import Final

from ..request_places import RequestPlaces

_PARTS: Final = "contents.*.parts"

PLACES: Final = RequestPlaces(
    "contents",
    ("user", "model"),
    {
        "text": (f"{_PARTS}.*?text",),
        "order": (_PARTS,),
        "joined": (_PARTS,),
        "role": ("contents.*.role",),
        "call": (f"{_PARTS}.*?functionCall",),
        "call-name": (f"{_PARTS}.*.functionCall.name",),
        "arguments": (f"{_PARTS}.*.functionCall.args",),
        "call-id": (f"{_PARTS}.*.functionCall.id",),
        "signature": (f"{_PARTS}.*.thoughtSignature",),
        "result": (f"{_PARTS}.*?functionResponse",),
        "result-name": (f"{_PARTS}.*.functionResponse.name",),
        "result-id": (f"{_PARTS}.*.functionResponse.id",),
        "result-value": (f"{_PARTS}.*.functionResponse.response",),
        "tool": ("tools.*.functionDeclarations.*",),
        "required": ("tools.*.functionDeclarations.*.parameters.required",),
        "setting": ("generationConfig.*",),
        "system": ("systemInstruction",),
        "tool-choice": ("toolConfig",),
    },
)
