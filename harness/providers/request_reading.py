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

    def keep_unusual(
        self, fields: Mapping[str, Any], place: str, **usual: tuple[Json, ...]
    ) -> None:
        """Add the words of the shape of an object that are not among its usual ones. None is the
        word of a missing field.
        """
        self.more |= {f"{place}.{name}": item for name, item in unusual(fields, **usual).items()}

    def settings(self, fields: JsonObject, names: Mapping[str, str], place: str = "") -> JsonObject:
        """Take the settings out of an object. ``names``: setting → field."""
        dot = f"{place}." if place else ""
        taken: JsonObject = {}
        for name, field in names.items():
            if fields.get(field) is not None:
                taken[name] = fields.pop(field)
                self.places[f"settings.{name}"] = f"{dot}{field}"
        if isinstance(taken.get("stop"), str):
            taken["stop"] = [taken["stop"]]
        return taken


def unusual(fields: Mapping[str, Any], **usual: tuple[Json, ...]) -> JsonObject:
    """Return the words of the shape of an object that are not among its usual ones. None is the
    word of a missing field.
    """
    return {
        name: fields.get(name) for name, words in usual.items() if fields.get(name) not in words
    }


def others(item: Mapping[str, Any], known: tuple[str, ...]) -> JsonObject:
    """Return the other fields of an object. A field that is null says nothing."""
    return {name: value for name, value in item.items() if name not in known and value is not None}


def objects(value: Json, place: str, unread: Unread | None = None) -> list[tuple[JsonObject, str]]:
    """Return the objects in a list, each with its path; a single object is a list of one. Any other
    value is unread.
    """
    if isinstance(value, dict):
        return [(value, place)]
    items = [(value, place)]
    if isinstance(value, list):
        items = [(item, f"{place}[{index}]") for index, item in enumerate(value)]
    if unread:
        missing = [(None, place)]
        unread.more |= {
            own: item for item, own in items if not isinstance(item, dict) and items != missing
        }
    return [(item, own) for item, own in items if isinstance(item, dict)]


def listed(value: Json, place: str, unread: Unread | None = None) -> list[tuple[JsonObject, str]]:
    """Return the objects in a list, each with its path. Any other value is unread."""
    if isinstance(value, dict):
        if unread:
            unread.more[place] = value
        return []
    return objects(value, place, unread)


def medium_of_url(kind: str, url: Json, place: str, **fields: Any) -> Media:
    """Return the medium of a URL, which may have the data itself."""
    text = url if isinstance(url, str) else ""
    if match := _DATA_URL.fullmatch(text):
        media_type = match["type"] or None
        return Media(media_kind(kind, media_type), media_type, match["data"], place=place, **fields)
    return Media(media_kind(kind, None), None, None, text, place=place, **fields)
