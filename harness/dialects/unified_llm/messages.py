"""Translates unified-llm messages into Gemini contents.

The table `KINDS` has the kinds of parts that a role may have, and the function that reads each. A
result names its call by id; Gemini wants the function's name, so the names of calls are kept while
the history is read. Consecutive results go into one content, in the order of their calls, as the
API requires (https://ai.google.dev/gemini-api/docs/function-calling).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from harness.stream.generation import TranslationError
from harness.stream.json_codec import decode_json
from harness.stream.session import Session

from ..fields import Fields, shown

Part = dict[str, Any]

ROLES: Final = {"system": "", "developer": "", "user": "user", "assistant": "model", "tool": "user"}
"""Role → Gemini's role. System and developer messages become the systemInstruction."""

LOCAL_PATH: Final = re.compile(r"/|\.\.?/|~|file:|[A-Za-z]:[\\/]")
_DATA_URL: Final = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
_RESOLUTIONS: Final = {"auto": None, "low": "MEDIA_RESOLUTION_LOW", "high": "MEDIA_RESOLUTION_HIGH"}
_MEDIA_TYPES: Final = {"image": "image/png"}
"""Kind → media type of data without a media type."""


class Conversation:
    """Reads the messages of one request into ``contents``, the parts of the system
    ``instruction``, and ``warnings``; ``as_given`` for a wire that is not generateContent's
    (`harness.stream.generation`).
    """

    def __init__(self, session: Session, as_given: bool = False) -> None:
        self.contents: list[dict[str, Any]] = []
        self.instruction: list[Part] = []
        self.warnings: list[str] = []
        self._session = session
        self._as_given = as_given
        self._calls: dict[str, tuple[str, int]] = {}
        self._count = 0
        # the results of the last content, as long as more results may follow
        self._results: list[tuple[int, Part]] | None = None

    def read(self, messages: list[Any]) -> None:
        """Every message, in order; raises `TranslationError`."""
        for index, message in enumerate(messages):
            self._read_message(Fields(message, f"messages[{index}]"))

    def _read_message(self, message: Fields) -> None:
        role = message.choose("role", ROLES)
        content = message.need("content", str, list)
        call_id, name = message.get("tool_call_id", str), message.get("name", str)
        message.refuse_rest()
        if name is not None:
            self.warnings.append(f"{message.at('name')}: is left out; Gemini's roles have no names")
        if isinstance(content, str):
            content = [{"kind": "text", "text": content}]
        results: list[tuple[int, Part]] = []
        parts: list[Part] = []
        for index, item in enumerate(content):
            self._read_part(
                Fields(item, f"{message.place}.content[{index}]"), role, call_id, results, parts
            )
        if role == "tool" and not results:
            results = [self._plain_result(message, call_id, parts)]
            parts = []
        self._put(role, results, parts, message.place)

    def _put(
        self, role: str, results: list[tuple[int, Part]], parts: list[Part], place: str
    ) -> None:
        if not ROLES[role]:
            self.instruction += parts
        elif not results and not parts:
            self.warnings.append(f"{place}: is left out; it has no content")
        elif results:
            if self._results is None:
                self._results = []
                self.contents.append({"role": "user", "parts": []})
            self._results += results
            self._results.sort(key=lambda result: result[0])
            self.contents[-1]["parts"] = [*(part for _, part in self._results), *parts]
            if parts:
                self._results = None
        else:
            self._results = None
            self.contents.append({"role": ROLES[role], "parts": parts})

    def _read_part(
        self,
        part: Fields,
        role: str,
        call_id: str | None,
        results: list[tuple[int, Part]],
        parts: list[Part],
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
        else:
            parts += read(self, part, kind)

    # ---------------------------------------------------------------- parts

    def _text(self, part: Fields, _: str) -> list[Part]:
        text, signatures = part.need("text", str), _signatures(part)
        refusal = part.get("refusal", bool) and self._as_given
        part.refuse_rest()
        return _signed(
            {"text": text, **({"refusal": True} if refusal else {})}, {"text": ""}, signatures
        )

    def _thinking(self, part: Fields, kind: str) -> list[Part]:
        thinking = Fields(part.need("thinking", dict), part.at("thinking"))
        part.refuse_rest()
        text, redacted, signatures = (
            thinking.get("text", str) or "",
            thinking.get("redacted", bool),
            _signatures(thinking),
        )
        if thinking.get("id", str):
            self.warnings.append(f"{thinking.at('id')}: is left out; Gemini's thoughts have no ids")
        thinking.refuse_rest()
        if redacted or kind == "redacted_thinking":
            self.warnings.append(
                f"{part.place}: redacted thinking is left out; only the provider that wrote it can"
                " read it"
            )
            return []
        return _signed({"text": text, "thought": True}, {"text": "", "thought": True}, signatures)

    def _media(self, part: Fields, kind: str) -> list[Part]:
        media = Fields(part.need(kind, dict), part.at(kind))
        part.refuse_rest()
        url, data, media_type = (
            media.get("url", str),
            media.get("data", str, bytes),
            media.get("media_type", str),
        )
        signatures = _signatures(media)
        if (url is None) == (data is None):
            media.fail("", "has either url or data, and not both")
        if url is not None and (inline := _DATA_URL.fullmatch(url)):
            url, data, media_type = None, inline[2], media_type or inline[1]
        wire = (
            self._inline(media, kind, data, media_type)
            if url is None
            else _file(media, url, media_type)
        )
        if kind == "image" and (
            level := _RESOLUTIONS[media.may_choose("detail", _RESOLUTIONS) or "auto"]
        ):
            wire["mediaResolution"] = {"level": level}
        name = media.get("file_name", str) if kind == "document" else None
        if self._as_given:
            wire |= {"kind": kind, **({"fileName": name} if name else {})}
        elif name:
            self.warnings.append(
                f"{media.at('file_name')}: is left out; Gemini's parts have no file names"
            )
        media.refuse_rest()
        return _signed(wire, None, signatures)

    def _inline(
        self, media: Fields, kind: str, data: str | bytes | None, media_type: str | None
    ) -> Part:
        media_type = media_type or _MEDIA_TYPES.get(kind)
        if media_type is None:
            media.fail("media_type", "is missing; Gemini needs the media type of the data")
        return {"inlineData": {"mimeType": media_type, "data": _base64(data)}}

    def _provider(self, part: Fields, _: str) -> list[Part]:
        """A part of an answer without a kind of its own is sent back unchanged."""
        raw = part.need("raw")
        part.refuse_rest()
        if isinstance(raw, dict) and "kind" not in raw:
            return [raw]
        self.warnings.append(f"{part.at('raw')}: is left out; it is not a part of a Gemini answer")
        return []

    # ---------------------------------------------------------------- calls

    def _call(self, part: Fields, _: str) -> list[Part]:
        call = _inner(part, "tool_call", "tool_use")
        call_id, name = call.need("id", str), call.need("name", str)
        key = call.either("arguments", "input")
        arguments = call.get(key)
        if isinstance(arguments, str | bytes):
            arguments = _parse(arguments)
        invalid = self._as_given and isinstance(arguments, str)
        if arguments is not None and not isinstance(arguments, dict) and not invalid:
            call.fail(key, "is not a JSON object; Gemini's functions take only objects")
        if (kind := call.get("type", str)) not in (None, "function"):
            call.fail("type", f"{shown(kind)} is not known; Gemini's calls are functions")
        signatures = _signatures(call)
        call.refuse_rest()
        self._count += 1
        self._calls[call_id] = name, self._count
        remembered = self._session.calls.get(call_id)
        if not signatures and remembered and remembered.signature:
            signatures = [remembered.signature]
        wire = {"functionCall": {**self._wire_id(call_id), "name": name, "args": arguments or {}}}
        return _signed(wire, None, signatures)

    def _wire_id(self, call_id: str) -> dict[str, str]:
        """The call's id on the wire: none for a counted id, unless the wire requires ids. An id
        that the session does not know is sent unchanged.
        """
        remembered = self._session.calls.get(call_id)
        wire_id = remembered.wire_id if remembered else call_id
        if self._as_given:
            wire_id = wire_id or call_id
        return {"id": wire_id} if wire_id else {}

    def _result(self, result: Fields, outer_id: str | None) -> tuple[int, Part]:
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
        shown_image = []
        if image is not None:
            data = {"mimeType": media_type or _MEDIA_TYPES["image"], "data": _base64(image)}
            shown_image = [{"inlineData": data}]
        wire: Part = {**self._wire_id(call_id), "name": name}
        if self._as_given:
            wire |= {"response": content, **({"isError": True} if failed else {})}
        elif isinstance(content, dict) and not failed:
            wire["response"] = content
        else:
            wire["response"] = {"error" if failed else "result": content}
        return at, {"functionResponse": {**wire, **({"parts": shown_image} if shown_image else {})}}

    def _plain_result(
        self, message: Fields, call_id: str | None, parts: list[Part]
    ) -> tuple[int, Part]:
        """The result in a tool's message that has only text."""
        text = "".join(part["text"] for part in parts)
        return self._result(Fields({"content": text, "tool_call_id": call_id}, message.place), None)

    def _call_of(self, call_id: str, place: str) -> tuple[str, int]:
        """Name and number of a call of this history or of an earlier answer of the session."""
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
    """The object in a part under the part's kind; in the older spelling the part itself."""
    key = part.either(*keys)
    if key not in part:
        if part.has_only("signature"):
            part.fail(key, "is missing")
        return Fields(part.rest(), part.place)
    inner = Fields(part.need(key, dict), part.at(key))
    part.refuse_rest()
    return inner


def _signatures(form: Fields) -> list[str]:
    """The signatures of a part: one, or those of several parts that became one block."""
    value = form.get("signature", str, list)
    signatures = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(signature, str) for signature in signatures):
        form.fail("signature", "is not a string or a list of strings")
    return signatures


def _signed(part: Part, more: Part | None, signatures: list[str]) -> list[Part]:
    """The part with the first signature. Each further signature gets an empty part of the same
    kind after it.
    """
    first, others = signatures[:1], signatures[1:]
    wire = [{**part, "thoughtSignature": first[0]} if first else part]
    return wire + [
        {**({"text": ""} if more is None else more), "thoughtSignature": signature}
        for signature in others
    ]


def _file(media: Fields, url: str, media_type: str | None) -> Part:
    if LOCAL_PATH.match(url):
        media.fail(
            "url",
            f"{shown(url)} is a local path, and no files are read here; give its bytes as data",
        )
    return {"fileData": {**({"mimeType": media_type} if media_type else {}), "fileUri": url}}


def _base64(data: str | bytes | None) -> str:
    return base64.b64encode(data).decode() if isinstance(data, bytes) else data or ""


def _parse(text: str | bytes) -> Any:
    """Arguments that are given as JSON text. Empty text is an empty object; text that is not JSON
    is returned unchanged.
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
    Mapping[str, tuple[tuple[str, ...], Callable[[Conversation, Fields, str], list[Part]] | None]]
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
