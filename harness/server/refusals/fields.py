"""The rule of the API's JSON parser: a request has only fields that the API publishes.

`fields.json` has the published fields, and their sources with dates. ``messages``: message → field
→ the message of its values, or "" for any other value. ``only``: the fields that a single wire has.
Code Assist sends its requests on to either API, so it has the fields of both.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from .rule import Generate, Rule, Wire

_INVALID: Final = "Invalid JSON payload received."
_MAPS: Final = frozenset({"properties", "defs", "$defs"})
"""The fields whose keys are the user's."""


KnownFields = dict[str, tuple[str, str]]
"""Name of a field, as in JSON or as in the protocol buffer → its name in the protocol buffer, and
the message of its values.
"""


def _field_unknown(request: Generate) -> Iterator[str]:
    known = known_fields(request.wire)
    for path, message, sent in _sent_messages(request):
        for key in (key for key in sent if key not in known[message]):
            yield f'{_INVALID} Unknown name "{key}"{_at(path)}: Cannot find field.'


def _field_twice(request: Generate) -> Iterator[str]:
    known = known_fields(request.wire)
    for path, message, sent in _sent_messages(request):
        names = Counter(known[message][key][0] for key in sent if key in known[message])
        for name, count in names.items():
            if count > 1:
                yield f'{_INVALID} Duplicate field "{name}"{_at(path)}.'


def _at(path: str) -> str:
    return f" at '{path}'" if path else ""


def _sent_messages(request: Generate) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield each message of a request: its path, or "" for the request itself, its name, and its
    fields. A message comes before those in it.
    """
    root = "CodeAssistRequest" if request.wire == "code-assist" else "GenerateContentRequest"
    yield from _walk("", root, request.sent, known_fields(request.wire))


def _walk(
    path: str, message: str, sent: dict[str, Any], known: dict[str, KnownFields]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    yield path, message, sent
    for key, value in sent.items():
        name, inner = known[message].get(key, ("", ""))
        if inner:
            start = f"{path}.{name}" if path else name
            for step, item in _messages(name, value):
                yield from _walk(start + step, inner, item, known)


def _messages(name: str, value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the messages in the value of a field, each with the end of its path."""
    if type(value) is dict and name in _MAPS:
        for number, inner in enumerate(value.values()):
            if type(inner) is dict:
                yield f"[{number}].value", inner
    elif type(value) is dict:
        yield "", value
    elif type(value) is list:
        for number, inner in enumerate(value):
            if type(inner) is dict:
                yield f"[{number}]", inner


@cache
def known_fields(wire: Wire) -> dict[str, KnownFields]:
    """Return message → its fields, of the requests of one wire."""
    path = Path(__file__).with_name("fields.json")
    published = json.loads(path.read_text(encoding="utf-8"))
    foreign = {
        (message, field)
        for other, messages in published["only"].items()
        if wire not in (other, "code-assist")
        for message, fields in messages.items()
        for field in fields
    }
    known: dict[str, KnownFields] = {}
    for message, fields in published["messages"].items():
        known[message] = {}
        for field, inner in fields.items():
            if (message, field) not in foreign:
                name = _proto_name(field)
                known[message] |= {field: (name, inner), name: (name, inner)}
    return known


def _proto_name(field: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in field)


FIELD_RULES: Final = (
    Rule(
        "field-unknown",
        "A field that the API does not publish for its message, in the envelope, the contents, the"
        " configuration or a Schema: `cache_control`, `reasoning_effort`, `strict`, `const` …",
        "https://github.com/zed-industries/zed/issues/44875",
        _field_unknown,
    ),
    Rule(
        "field-twice",
        "A field in both spellings, such as `toolConfig` and `tool_config`.",
        "https://github.com/Wei-Shaw/sub2api/issues/1045",
        _field_twice,
    ),
)
