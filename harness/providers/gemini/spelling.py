"""Returns a request of generateContent in one spelling, by the published types of its fields.

`fields.json` has the published fields, and their sources with dates; ``make request-fields`` writes
it. ``messages``: message → field → type of its value: a message, an enumeration of ``enums``, a
scalar type, or ``any``; then ``[]`` for a list and ``{}`` for a map. ``only``: the fields, and the
words of an enumeration, that a single wire has.

Names of fields become camelCase (https://protobuf.dev/programming-guides/json/), but not the user's
own keys in maps and in values of type ``any``. Bytes become one form of base64, but for signatures,
which must come back as they were; numbers become one form. A single object instead of a list
becomes a list of one item. A field whose value means the same as its absence is left out. Unknown
fields are kept.
"""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

from harness.stream.json_codec import Json

from .signatures import plain_base64

_REPEATED: Final = frozenset({"contents", "parts", "tools", "functionDeclarations"})
"""Lists of messages. Google's samples write a list of one item as the item; an empty list means the
same as none.
"""
_MAY_BE_EMPTY: Final = _REPEATED | {"generationConfig", "toolConfig", "labels", "safetySettings"}
_SCHEMA: Final = {
    "$defs": "Schema{}",
    "additionalProperties": "Schema",
    "prefixItems": "Schema[]",
}
"""Fields of a Schema that the APIs read as Schemas."""
_BODY: Final = "body"
_NUMBERS: Final = ("int32", "int64", "number")
_SNAKE: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")


@cache
def published() -> dict[str, Any]:
    """Return the table of published fields."""
    return dict(json.loads(files(__package__).joinpath("fields.json").read_bytes()))


def in_one_spelling(body: dict[str, Json]) -> dict[str, Json]:
    """Return a decoded request, bare or in Code Assist's envelope, in one spelling; ``body`` is not
    changed. In requests that do not generate, only what they share with those is known.
    """
    return _message(body, _BODY)


@cache
def _messages() -> dict[str, dict[str, str]]:
    """Return message → its fields; the body is the request itself, or its envelope."""
    messages: dict[str, dict[str, str]] = dict(published()["messages"])
    request = "GenerateContentRequest"
    messages["Schema"] = {**messages["Schema"], **_SCHEMA}
    messages[_BODY] = {
        **messages["CodeAssistRequest"],
        **messages[request],
        "generateContentRequest": request,
        "content": "Content",
    }
    return messages


def _spelled(value: Json, kind: str) -> Json:
    """Return a value in one spelling. ``kind``: its type, or that of each item of a list."""
    if type(value) is dict:
        if kind == "any" or kind.endswith("{}"):
            inner = kind.removesuffix("{}")
            return {key: _spelled(item, inner) for key, item in value.items()}
        return _message(value, kind)
    if type(value) is list:
        return [_spelled(item, kind) for item in value]
    if type(value) is float:
        return int(value) if value.is_integer() else value
    if type(value) is str:
        if kind == "bytes":
            return plain_base64(value)
        if kind in _NUMBERS and _NUMBER.fullmatch(value):
            return _spelled(float(value), kind) if "." in value else int(value)
        words = published()["enums"].get(kind)
        return value.upper() if words and value.upper() in words else value
    return value


def _message(wire: dict[str, Json], message: str) -> dict[str, Json]:
    fields = _messages().get(message, {})
    read: dict[str, Json] = {}
    spelled: dict[str, Json] = {}
    for key, value in wire.items():
        name = camel(key)
        kind = fields.get(name, "").removesuffix("[]")
        inner = _spelled(value, "any" if name == "thoughtSignature" else kind)
        if type(inner) is dict and name in _REPEATED:
            inner = [inner]
        if not _says_nothing(name, inner):
            read[name] = spelled[key] = inner
    # one field in two spellings: the API refuses that, so do not choose one
    return read if len(read) == len(spelled) else spelled


def _says_nothing(name: str, value: Json) -> bool:
    """Return whether a field means the same as its absence."""
    if value is False:
        return name in ("thought", "willContinue")
    if value == "":
        return name == "thoughtSignature"
    return value is None or (value in ([], {}) and name in _MAY_BE_EMPTY)


@lru_cache(maxsize=4096)
def camel(key: str) -> str:
    """Return the name of a field in camelCase."""
    if not _SNAKE.fullmatch(key):
        return key
    first, *others = key.split("_")
    return first + "".join(other[0].upper() + other[1:] for other in others)
