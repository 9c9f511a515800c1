"""Reads the fields that the requests of Chat Completions and of the Responses API share: media,
tools, the choice of a tool, and the form of the answer.

The fields are those of https://platform.openai.com/docs/api-reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from harness.stream.json_codec import Json
from harness.stream.prompt import (
    AnswerFormat,
    AnyPart,
    Choice,
    Function,
    Media,
    Native,
    Schema,
    ServerTool,
    Text,
)

from ..history import function, word
from ..request_reading import Unread, listed, medium_of_url, others, unusual

JsonObject = dict[str, Any]

_TEXTS: Final = ("text", "input_text", "output_text", "summary_text", "reasoning_text")
_SOUNDS: Final = {"mp3": "audio/mpeg"}
"""``format`` of audio → media type, if that does not end in it."""
_MODES: Final[dict[str, Any]] = {mode: mode for mode in ("auto", "none", "required")}


def parts_of(
    content: Json, place: str, usual: str = "text", unread: Unread | None = None
) -> list[AnyPart]:
    """Return the parts of a content that is a text, or a list of items. ``usual``: the usual type
    of its texts.
    """
    if isinstance(content, str):
        return [Text(content, place=place)]
    return [_part(item, own, usual) for item, own in listed(content, place, unread)]


def _part(item: JsonObject, place: str, usual: str) -> AnyPart:
    kind = item.get("type")
    if (kind in _TEXTS or kind is None) and isinstance(item.get("text"), str):
        more = {**others(item, ("type", "text")), **unusual(item, type=(usual,))}
        return Text(item["text"], place=place, more=more)
    if isinstance(item.get("refusal"), str):
        more = {**others(item, ("type", "refusal")), **unusual(item, type=("refusal",))}
        return Text(item["refusal"], True, place=place, more=more)
    return _medium(item, place) or Native(item, place=place)


def _medium(item: JsonObject, place: str) -> Media | None:
    """Return the medium of an item; None for a file that only the service can open."""
    kind = str(item.get("type"))
    inner = item.get(kind)
    nested = isinstance(inner, dict)
    held = dict(inner if isinstance(inner, dict) else others(item, ("type",)))
    beside = others(item, ("type", kind)) if nested else {}
    if kind in ("image_url", "input_image"):
        url = held.pop("url" if held.get("url") else "image_url", None)
        detail = held.pop("detail", None)
        more = {**beside, **others(held, ())}
        if isinstance(url, str):
            detail = None if detail == "auto" else detail
            return medium_of_url("image", url, place, detail=detail, more=more)
    elif kind == "input_audio" and isinstance(held.get("data"), str):
        named = str(held.get("format"))
        more = {**beside, **others(held, ("data", "format"))}
        media_type = _SOUNDS.get(named, f"audio/{named}")
        return Media("audio", media_type, held["data"], place=place, more=more)
    elif kind in ("file", "input_file"):
        name = held.pop("filename", None)
        url = held.pop("file_data" if held.get("file_data") else "file_url", None)
        if isinstance(url, str):
            more = {**beside, **others(held, ())}
            return medium_of_url("document", url, place, name=name, more=more)
    return None


def result_of(
    content: Json, place: str, usual: str = "text"
) -> tuple[Json, tuple[Text | Media, ...] | None]:
    """Return the value and the parts of a result: one of the two is None."""
    if not isinstance(content, list):
        return content, None
    held = [part for part in parts_of(content, place, usual) if isinstance(part, Text | Media)]
    return (None, tuple(held)) if len(held) == len(content) else (content, None)


def tools_of(tools: Json, vendor: str, unread: Unread) -> Iterator[Function | ServerTool]:
    """Yield the tools; in Chat Completions a function has a field of its own."""
    for tool, place in listed(tools, "tools", unread):
        inner = tool.get("function", tool)
        if tool.get("type") != "function":
            yield ServerTool(tool, vendor, place, "is a tool of another type")
        elif isinstance(inner, dict) and isinstance(inner.get("name"), str):
            nested = inner is not tool
            own = {
                **others(tool, ("type", "function")),
                **others(inner, () if nested else ("type",)),
            }
            yield function(own, f"{place}.function" if nested else place)
        else:
            unread.more[place] = tool


def choice_of(body: JsonObject, unread: Unread) -> Choice | None:
    """Take the choice of a tool out of a body."""
    choice, parallel = body.pop("tool_choice", None), body.pop("parallel_tool_calls", None)
    if choice is None and parallel is None:
        return None
    unread.places["choice"] = "tool_choice" if choice is not None else "parallel_tool_calls"
    read = _choice("auto" if choice is None else choice, parallel)
    if read is None:
        unread.keep({"tool_choice": choice, "parallel_tool_calls": parallel}, "")
    elif isinstance(choice, dict) and choice not in _forms_of(read):
        unread.more["tool_choice"] = choice
    return read


def _forms_of(choice: Choice) -> Iterator[JsonObject]:
    """Yield a choice of named functions as each API has it."""
    names = [choice.name] if choice.name else choice.allowed
    for functions in (
        [{"type": "function", "name": name} for name in names],
        [{"type": "function", "function": {"name": name}} for name in names],
    ):
        yield from functions if choice.name else ()
        mode = "required" if choice.name else choice.mode
        allowed = {"mode": mode, "tools": functions}
        yield {"type": "allowed_tools", **allowed}
        yield {"type": "allowed_tools", "allowed_tools": allowed}


def _choice(choice: Json, parallel: Any) -> Choice | None:
    if isinstance(choice, str):
        mode = _MODES.get(choice)
        return Choice(mode, None, parallel, "tool_choice") if mode else None
    fields = choice if isinstance(choice, dict) else {}
    kind = str(fields.get("type"))
    inner = fields.get(kind)
    inner = inner if isinstance(inner, dict) else fields
    if kind == "function" and isinstance(inner.get("name"), str):
        return Choice("named", inner["name"], parallel, "tool_choice")
    mode = _MODES.get(str(inner.get("mode")))
    if kind != "allowed_tools" or mode is None:
        return None
    tools = [tool.get("function", tool) for tool, _ in listed(inner.get("tools"), "")]
    allowed = tuple(word(tool.get("name")) for tool in tools if isinstance(tool, dict))
    if mode == "required" and len(allowed) == 1:
        return Choice("named", allowed[0], parallel, "tool_choice")
    return Choice(mode, None, parallel, "tool_choice", allowed)


def format_of(shape: Json, place: str, unread: Unread) -> AnswerFormat | None:
    """Return the form of the answer; in Chat Completions a schema has a field of its own."""
    fields = shape if isinstance(shape, dict) else {}
    kind = fields.get("type")
    inner = fields.get("json_schema", fields)
    if kind not in ("json_object", "json_schema") or not isinstance(inner, dict):
        unread.keep({place: shape}, "")
        return None
    unread.places |= {"format": place, "format.json": place}
    own = place if inner is fields else f"{place}.json_schema"
    if inner is not fields:
        unread.keep(fields, place, but=("type", "json_schema"))
    schema, name = inner.get("schema"), inner.get("name")
    known = Schema(schema, f"{own}.schema") if isinstance(schema, dict) else None
    name = name if isinstance(name, str) else None
    read = (*(("schema",) if known else ()), *(("name",) if name is not None else ()), "strict")
    unread.keep(inner, own, but=("type", *read) if inner is fields else read)
    if (kind == "json_schema") != (known is not None):
        unread.more[f"{place}.type"] = kind
    return AnswerFormat(known, name, inner.get("strict"))


def tier_of(body: JsonObject, unread: Unread) -> JsonObject:
    """Take the service tier out of a body, in the words of Google; the usual tier says nothing."""
    if body.get("service_tier") in (None, "auto", "default"):
        return {}
    unread.places["google.tier"] = "service_tier"
    return {"tier": body.pop("service_tier")}
