"""The canonical form of a request: bodies with the same meaning become equal, in any spelling.

The table `FIELDS` lists the fields of each message that need special reading; all other fields are
plain. Keys become camelCase (https://protobuf.dev/programming-guides/json/), except the user's own
keys in arguments, results, JSON Schemas and labels. Bytes become one form of base64, and numbers
one form. A single object instead of a list becomes a list of one item. A field whose value means
the same as its absence is left out. Unknown fields are kept.
"""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache
from typing import Any, Final

from harness.stream.json_codec import Json

FREE: Final = "free"
"""Values with the user's own keys, or values that are not messages. Only their numbers are
normalized.
"""
BYTES: Final = "bytes"
NUMBER: Final = "number"
TYPE: Final = "type"
"""The ``type`` of a Schema: an enum that the API reads in upper and lower case."""
SCHEMAS: Final = "schemas"
"""The user's names → Schemas."""
MESSAGE: Final = "message"
"""A message that the table does not list, or whose fields are all plain."""

_ANYWHERE: Final = {
    **dict.fromkeys(
        ("args", "arguments", "default", "enum", "example", "headers", "labels", "partMetadata"),
        FREE,
    ),
    **dict.fromkeys(("parametersJsonSchema", "responseJsonSchema", "schema"), FREE),
    **dict.fromkeys(("data", "thoughtSignature"), BYTES),
    **dict.fromkeys(("properties", "defs", "$defs"), SCHEMAS),
}
_NUMBERS: Final = (
    *(
        "temperature",
        "topP",
        "topK",
        "candidateCount",
        "maxOutputTokens",
        "seed",
        "presencePenalty",
        "frequencyPenalty",
        "logprobs",
    ),
    "thinkingBudget",
)
_LIMITS: Final = (
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
)
FIELDS: Final[dict[str, dict[str, str]]] = {
    MESSAGE: _ANYWHERE,
    "body": {
        "request": "body",
        "generateContentRequest": "body",
        "contents": "content",
        "systemInstruction": "instruction",
        "tools": "tool",
        "generationConfig": "generation",
    },
    "content": {"parts": "part"},
    "instruction": {"parts": "part"},
    "part": {"functionResponse": "result", "toolResponse": "result"},
    "result": {"response": FREE, "parts": "part"},
    "tool": {"functionDeclarations": "declaration"},
    "declaration": {"parameters": "schema", "response": "schema"},
    "generation": {
        **dict.fromkeys(_NUMBERS, NUMBER),
        "thinkingConfig": "generation",
        "responseSchema": "schema",
    },
    "schema": {
        **dict.fromkeys(_LIMITS, NUMBER),
        "type": TYPE,
        **dict.fromkeys(("items", "anyOf", "prefixItems", "additionalProperties"), "schema"),
    },
}
"""Message → field → its kind; https://ai.google.dev/api/generate-content and
https://ai.google.dev/api/caching#Schema.
"""

REPEATED: Final = frozenset({"contents", "parts", "tools", "functionDeclarations"})
"""Lists of messages. Google's samples write a list of one item as the item; an empty list means the
same as none.
"""
EMPTY_SAYS_NOTHING: Final = frozenset(
    {"generationConfig", "toolConfig", "labels", "safetySettings"}
)
FALSE_SAYS_NOTHING: Final = frozenset({"thought", "willContinue"})

DUMMY_SIGNATURES: Final = frozenset(
    {"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}
)
"""Placeholders, plain or as base64, which the API accepts:
https://ai.google.dev/gemini-api/docs/thought-signatures.
"""

_TYPES: Final = {
    spelling: name
    for name in (
        "STRING",
        "NUMBER",
        "INTEGER",
        "BOOLEAN",
        "ARRAY",
        "OBJECT",
        "NULL",
        "TYPE_UNSPECIFIED",
    )
    for spelling in (name, name.lower())
}
_SNAKE: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_STANDARD: Final = str.maketrans("-_", "+/")


def canonical_request(body: Any) -> Any:
    """Return the canonical form of a decoded JSON request, bare or in Code Assist's envelope.

    Every documented field of generateContent, streamGenerateContent and countTokens is known; in
    other requests only keys, bytes and numbers are normalized. Never raises; idempotent; does not
    change ``body``. A body that nests too deeply is returned unchanged.
    """
    try:
        return _read(body, "body")
    except RecursionError:
        return body


def _read(value: Json, kind: str) -> Json:
    """Return the canonical form of a value. ``kind``: the kind of the value, or of each item of a
    list.
    """
    if type(value) is dict:
        if kind is FREE:
            return {key: _read(inner, FREE) for key, inner in value.items()}
        return (
            {key: _read(inner, "schema") for key, inner in value.items()}
            if kind is SCHEMAS
            else _read_message(value, kind)
        )
    if type(value) is list:
        return [_read(item, kind) for item in value]
    if type(value) is float:
        return int(value) if value.is_integer() else value
    if type(value) is str:
        if kind is BYTES:
            return plain_base64(value)
        if kind is NUMBER and _NUMBER.fullmatch(value):
            return _read(float(value), FREE) if "." in value else int(value)
        if kind is TYPE:
            return _TYPES.get(value, value)
    return value


def _read_message(wire: dict[str, Json], kind: str) -> dict[str, Json]:
    fields = FIELDS.get(kind, _ANYWHERE)
    read: dict[str, Json] = {}
    spelled: dict[str, Json] = {}
    for key, value in wire.items():
        name = _camel(key)
        inner = _read(value, fields.get(name) or _ANYWHERE.get(name, MESSAGE))
        if type(inner) is dict and name in REPEATED:
            inner = [inner]
        if not _says_nothing(name, inner):
            read[name] = spelled[key] = inner
    if len(read) < len(
        spelled
    ):  # one field in two spellings: the API refuses that, so do not choose one
        read = spelled
    if kind == "content" and not read.get("role"):
        read["role"] = (
            # https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/Content
            "user"
        )
    elif kind == "instruction":
        read.pop("role", None)  # "the role field of systemInstruction is ignored", same page
    return read


def _says_nothing(name: str, value: Json) -> bool:
    """Return whether a field means the same as its absence."""
    if value is None:
        return True
    if value is False:
        return name in FALSE_SAYS_NOTHING
    if value == [] or value == {}:
        return name in REPEATED or name in EMPTY_SAYS_NOTHING
    return value == "" and name == "thoughtSignature"


def plain_base64(text: str) -> str:
    """Return one base64 for the same bytes, from either alphabet, with or without padding. Other
    text stays as it is.
    """
    if text in DUMMY_SIGNATURES:
        return text
    bare = text.rstrip("=").translate(_STANDARD)
    try:
        data = binascii.a2b_base64(bare + "=" * (-len(bare) % 4), strict_mode=True)
    except (binascii.Error, ValueError):
        return text
    plain = data.decode("ascii", "replace") if len(data) < 50 else ""
    return plain if plain in DUMMY_SIGNATURES else base64.b64encode(data).decode()


@lru_cache(maxsize=4096)
def _camel(key: str) -> str:
    if not _SNAKE.fullmatch(key):
        return key
    first, *others = key.split("_")
    return first + "".join(other[0].upper() + other[1:] for other in others)
