"""Helps to read the bodies of requests into prompts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from harness.stream.json_codec import Json
from harness.stream.prompt import Media, media_kind

JsonObject = dict[str, Any]

_DATA_URL: Final = re.compile(r"data:(?P<type>[^;,]*)(?:;[^,]*)?;base64,(?P<data>.*)", re.DOTALL)


class Unread:
    """The fields of one body that nothing has read yet, and the places of values that have none of
    their own.
    """

    def __init__(self) -> None:
        self.more: JsonObject = {}
        """The value of each unread field, by its path."""
        self.places: dict[str, str] = {}
        """As `harness.stream.prompt.Prompt.places`."""

    def keep(self, fields: Mapping[str, Any], place: str, *, but: Iterable[str] = ()) -> None:
        """Add the fields of an object; ``place`` is its path. A field that is null says nothing."""
        dot = f"{place}." if place else ""
        read = frozenset(but)
        self.more |= {
            f"{dot}{name}": value
            for name, value in fields.items()
            if name not in read and value is not None
        }

    def settings(self, fields: JsonObject, names: Mapping[str, str], place: str = "") -> JsonObject:
        """Take the settings out of an object. ``names``: setting → field."""
        dot = f"{place}." if place else ""
        taken: JsonObject = {}
        for name, field in names.items():
            if field in fields:
                taken[name] = fields.pop(field)
                self.places[f"settings.{name}"] = f"{dot}{field}"
        if isinstance(taken.get("stop"), str):
            taken["stop"] = [taken["stop"]]
        return taken


def objects(value: Json, place: str) -> list[tuple[JsonObject, str]]:
    """Return the objects in a list, each with its path; a single object is a list of one."""
    if isinstance(value, dict):
        return [(value, place)]
    if not isinstance(value, list):
        return []
    return [
        (item, f"{place}[{index}]") for index, item in enumerate(value) if isinstance(item, dict)
    ]


def listed(value: Json, place: str) -> list[tuple[JsonObject, str]]:
    """Return the objects in a list, each with its path."""
    return objects(value, place) if isinstance(value, list) else []


def medium_of_url(kind: str, url: Json, place: str, **fields: Any) -> Media:
    """Return the medium of a URL, which may have the data itself."""
    text = url if isinstance(url, str) else ""
    if match := _DATA_URL.fullmatch(text):
        media_type = match["type"] or None
        return Media(media_kind(kind, media_type), media_type, match["data"], place=place, **fields)
    return Media(media_kind(kind, None), None, None, text, place=place, **fields)
