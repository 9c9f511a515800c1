"""Translates unified-llm messages into those of a prompt.

The table `KINDS` has the kinds of parts that a role may have, and the function that reads each. A
result names its call by id; Gemini wants the function's name, so the names of calls are kept while
the history is read. Consecutive results go into one message, in the order of their calls.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from harness.stream.fields import Fields, shown
from harness.stream.generation import TranslationError
from harness.stream.json_codec import decode_json
from harness.stream.prompt import (
    AnyPart,
    Call,
    Instruction,
    Media,
    Message,
    Native,
    Opaque,
    Redacted,
    Result,
    Role,
    Text,
    Thinking,
    media_kind,
)
from harness.stream.session import Session

ROLES: Final[Mapping[str, Role | None]] = {
    "system": None,
    "developer": None,
    "user": "user",
    "assistant": "assistant",
    "tool": "user",
}
"""Role → role of the message. System and developer messages become instructions."""

LOCAL_PATH: Final = re.compile(r"/|\.\.?/|~|file:|[A-Za-z]:[\\/]")
_DATA_URL: Final = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
_DETAILS: Final = {"auto": None, "low": "low", "high": "high"}
_MEDIA_TYPES: Final = {"image": "image/png"}
"""Kind → media type of data without a media type."""


class Conversation:
    """Reads the messages of one request."""

    def __init__(self, session: Session) -> None:
        self.messages: list[Message] = []
        """The messages so far."""
        self.instructions: list[Instruction] = []
        """The instructions of the system."""
        self.warnings: list[str] = []
        """The warnings about the messages so far."""
        self.unread: list[str] = []
        """The places of fields that were not read."""
        self._session = session
        self._calls: dict[str, tuple[str, int]] = {}
        self._count = 0
        # the results of the last message, as long as more results may follow
        self._results: list[tuple[int, Result]] | None = None

    def read(self, messages: list[Any]) -> None:
        """Read every message, in order; raises `TranslationError`."""
        for index, message in enumerate(messages):
            self._read_message(Fields(message, f"messages[{index}]"))

    def _read_message(self, message: Fields) -> None:
        role = message.choose("role", ROLES)
        content = message.need("content", str, list)
        call_id, name = message.get("tool_call_id", str), message.get("name", str)
        message.refuse_rest()
        if isinstance(content, str):
            content = [{"kind": "text", "text": content}]
        results: list[tuple[int, Result]] = []
        parts: list[AnyPart] = []
        for index, item in enumerate(content):
            self._read_part(
                Fields(item, f"{message.place}.content[{index}]"), role, call_id, results, parts
            )
        if role == "tool" and not results:
            results = [self._plain_result(message, call_id, parts)]
            parts = []
        self._put(Message(ROLES[role] or "user", tuple(parts), name, message.place), results, role)

    def _put(self, message: Message, results: list[tuple[int, Result]], role: str) -> None:
        if ROLES[role] is None:
            self.instructions += [
                Instruction((part,), None if number else message.name, message.place)
                for number, part in enumerate(message.parts)
                if isinstance(part, Text)
            ]
        elif not results and not message.parts:
            self.warnings.append(f"{message.place}: is left out; it has no content")
        elif results:
            if self._results is None:
                self._results = []
                self.messages.append(replace(message, parts=()))
            elif message.name is not None:
                self.unread.append(f"{message.place}.name")
            self._results += results
            self._results.sort(key=lambda result: result[0])
            self.messages[-1] = replace(
                self.messages[-1],
                parts=(*(part for _, part in self._results), *message.parts),
            )
            if message.parts:
                self._results = None
        else:
            self._results = None
            self.messages.append(message)

    def _read_part(
        self,
        part: Fields,
        role: str,
        call_id: str | None,
        results: list[tuple[int, Result]],
        parts: list[AnyPart],
    ) -> None:
        tag = part.either("kind", "type")
        kind = part.need(tag, str)
        kind = SPRINT_KINDS.get(kind, kind)
        if kind not in KINDS:
            part.fail(tag, f"{shown(kind)} is unknown; expected one of {', '.join(KINDS)}")
        roles, read = KINDS[kind]
        if role not in roles:
            part.fail(
                tag,
                f"{kind} is not allowed under the role {role}; it is allowed under"
                f" {', '.join(roles)}",
            )
        if read is None:
            results.append(self._result(_inner(part, "tool_result"), call_id))
        elif role == "assistant" and _is_untyped(part, kind):
            self.warnings.append(f"{part.place}.{kind}: is left out; it has no media type")
        else:
            parts += read(self, part, kind)

    # ---------------------------------------------------------------- parts

    def _text(self, part: Fields, _: str) -> list[AnyPart]:
        text, signatures = part.need("text", str), self._signatures(part)
        refusal = bool(part.get("refusal", bool))
        part.refuse_rest()
        return _signed(Text(text, refusal, place=part.place), Text(""), signatures)

    def _thinking(self, part: Fields, kind: str) -> list[AnyPart]:
        thinking = Fields(part.need("thinking", dict), part.at("thinking"))
        part.refuse_rest()
        text, redacted, signatures = (
            thinking.get("text", str) or "",
            thinking.get("redacted", bool),
            self._signatures(thinking),
        )
        thought_id = thinking.get("id", str)
        thinking.refuse_rest()
        if redacted or kind == "redacted_thinking":
            data = signatures[0] if signatures else Opaque("")
            return [Redacted(data, thought_id, place=part.place)]
        return _signed(Thinking(text, thought_id, place=thinking.place), Thinking(""), signatures)

    def _media(self, part: Fields, kind: str) -> list[AnyPart]:
        media = Fields(part.need(kind, dict), part.at(kind))
        part.refuse_rest()
        url, data, media_type = (
            media.get("url", str),
            media.get("data", str, bytes),
            media.get("media_type", str),
        )
        signatures = self._signatures(media)
        if (url is None) == (data is None):
            media.fail("", "has either url or data, and not both")
        if url is not None and (inline := _DATA_URL.fullmatch(url)):
            url, data, media_type = None, inline[2], media_type or inline[1]
        if url is None:
            media_type = media_type or _MEDIA_TYPES.get(kind)
            if media_type is None:
                media.fail("media_type", "is missing; Gemini needs the media type of the data")
        elif LOCAL_PATH.match(url):
            media.fail(
                "url",
                f"{shown(url)} is a local path, and no files are read here; give its bytes as data",
            )
        detail = media.may_choose("detail", _DETAILS) if kind == "image" else None
        name = media.get("file_name", str) if kind == "document" else None
        media.refuse_rest()
        read = Media(
            media_kind(kind, media_type),
            media_type,
            None if url is not None else _base64(data),
            url,
            name or None,
            _DETAILS[detail or "auto"],
            place=media.place,
        )
        return _signed(read, Text(""), signatures)

    def _provider(self, part: Fields, _: str) -> list[AnyPart]:
        """Return a part of an answer without a kind of its own unchanged."""
        raw = part.need("raw")
        part.refuse_rest()
        if isinstance(raw, dict) and "kind" not in raw:
            return [Native(raw, self._session.origin(raw), place=part.at("raw"))]
        self.warnings.append(f"{part.at('raw')}: is left out; it is not a part of a Gemini answer")
        return []

    def _signatures(self, form: Fields) -> list[Opaque]:
        """Return the signatures of a part: one, or those of several parts that became one block."""
        value = form.get("signature", str, list)
        signatures = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(signature, str) for signature in signatures):
            form.fail("signature", "is not a string or a list of strings")
        return [Opaque(value, self._session.origin(value)) for value in signatures]

    # ---------------------------------------------------------------- calls

    def _call(self, part: Fields, _: str) -> list[AnyPart]:
        call = _inner(part, "tool_call", "tool_use")
        call_id, name = call.need("id", str), call.need("name", str)
        key = call.either("arguments", "input")
        arguments = call.get(key)
        if isinstance(arguments, str | bytes):
            arguments = _parse(arguments)
        if arguments is not None and not isinstance(arguments, dict | str):
            call.fail(key, "is not a JSON object; Gemini's functions take only objects")
        if (kind := call.get("type", str)) not in (None, "function"):
            call.fail("type", f"{shown(kind)} is not known; Gemini's calls are functions")
        signatures = self._signatures(call)
        call.refuse_rest()
        self._count += 1
        self._calls[call_id] = name, self._count
        remembered = self._session.calls.get(call_id)
        if not signatures and remembered and remembered.signature:
            signatures = [Opaque(remembered.signature, self._session.origin(remembered.signature))]
        made = Call(call_id, name, arguments or {}, self._wire_id(call_id), key, place=call.place)
        return _signed(made, Text(""), signatures)

    def _wire_id(self, call_id: str) -> str | None:
        """Return the call's id on the wire: none for a counted id. An id that the session does not
        know is sent unchanged.
        """
        remembered = self._session.calls.get(call_id)
        return (remembered.wire_id if remembered else call_id) or None

    def _result(self, result: Fields, outer_id: str | None) -> tuple[int, Result]:
        key = result.either("tool_call_id", "tool_use_id")
        call_id = result.get(key, str) or outer_id
        if call_id is None:
            result.fail(key, "is missing")
        name, at = self._call_of(call_id, result.at(key))
        content, failed = result.get("content"), result.get("is_error", bool)
        image, media_type = (
            result.get("image_data", str, bytes),
            result.get("image_media_type", str),
        )
        result.refuse_rest()
        media = None
        if image is not None:
            media_type = media_type or _MEDIA_TYPES["image"]
            media = (Media(media_kind("image", media_type), media_type, _base64(image)),)
        return at, Result(
            call_id,
            name,
            content,
            media,
            self._wire_id(call_id),
            bool(failed),
            place=result.place,
        )

    def _plain_result(
        self, message: Fields, call_id: str | None, parts: list[AnyPart]
    ) -> tuple[int, Result]:
        """Return the result in a tool's message that has only text."""
        text = "".join(part.text for part in parts if isinstance(part, Text))
        return self._result(Fields({"content": text, "tool_call_id": call_id}, message.place), None)

    def _call_of(self, call_id: str, place: str) -> tuple[str, int]:
        """Return name and number of a call of this history or of an earlier answer of the
        session.
        """
        if call_id in self._calls:
            return self._calls[call_id]
        if call_id in self._session.calls:
            return self._session.calls[call_id].name, self._count + 1
        known = ", ".join(repr(known) for known in self._calls) or "none"
        raise TranslationError(
            place,
            f"the result needs the name of its call, but no earlier call has the id {call_id!r};"
            f" known ids are {known}",
        )


def _inner(part: Fields, *keys: str) -> Fields:
    """Return the object in a part under the part's kind; in the older spelling the part itself."""
    key = part.either(*keys)
    if key not in part:
        if part.has_only("signature"):
            part.fail(key, "is missing")
        return Fields(part.rest(), part.place)
    inner = Fields(part.need(key, dict), part.at(key))
    part.refuse_rest()
    return inner


def _is_untyped(part: Fields, kind: str) -> bool:
    """Return whether a part is data without a media type, as in a sound that a model made. OpenAI
    does not give the type of a sound.
    """
    media = part.get(kind, dict) if kind in ("audio", "document") else None
    return media is not None and media.keys() & {"data", "media_type", "url"} == {"data"}


def _signed(part: AnyPart, more: AnyPart, signatures: list[Opaque]) -> list[AnyPart]:
    """Return the part with the first signature. Each further signature gets an empty part of the
    same kind, or an empty text, after it.
    """
    first = [replace(part, signature=signatures[0])] if signatures else [part]
    return first + [
        replace(more, signature=signature, place=part.place) for signature in signatures[1:]
    ]


def _base64(data: str | bytes | None) -> str:
    return base64.b64encode(data).decode() if isinstance(data, bytes) else data or ""


def _parse(text: str | bytes) -> Any:
    """Return arguments that are given as JSON text. Empty text is an empty object; text that is not
    JSON is returned unchanged.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    try:
        return decode_json(raw) if raw.strip() else {}
    except ValueError:
        return text


SPRINT_KINDS: Final = {"tool_use": "tool_call"}
"""Older names of kinds → those of the specification."""
_ANSWERS: Final = ("user", "assistant")
KINDS: Final[
    Mapping[
        str, tuple[tuple[str, ...], Callable[[Conversation, Fields, str], list[AnyPart]] | None]
    ]
] = {
    "text": (tuple(ROLES), Conversation._text),
    "image": (_ANSWERS, Conversation._media),
    "audio": (_ANSWERS, Conversation._media),
    "document": (_ANSWERS, Conversation._media),
    "tool_call": (("assistant",), Conversation._call),
    "tool_result": (("tool", "user"), None),
    "thinking": (("assistant",), Conversation._thinking),
    "redacted_thinking": (("assistant",), Conversation._thinking),
    "provider": (("assistant",), Conversation._provider),
}
"""Kind → the roles that may have it (a result under user is the older spelling), and the function
that reads it; results are read apart.
"""
