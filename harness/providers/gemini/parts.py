"""Reads the parts of an answer: text, thoughts, calls, media, code, results of tools.

One field of a part determines its kind; others may be beside it: ``thought``, ``thoughtSignature``,
settings of media (https://ai.google.dev/api/caching#Part). Every other field becomes an event with
its name. If calls are searched for in text, the text goes through a `Splitter`. The text that it
holds back is released before another part, so the wire's order is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from harness.stream.events import (
    Annotation,
    CallEnd,
    CallStart,
    Code,
    CodeResult,
    Event,
    Media,
    NamelessCall,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolResult,
    Unknown,
)
from harness.stream.json_codec import Json
from harness.stream.oddities import Oddities
from harness.stream.tool_code import Splitter, ToolCodeBlock, parse_body

from .fields import SpelledFields, spellings
from .function_calls import Calls
from .usual import UsualPart

_Wire = dict[str, Json]

_Signed = Text | CallStart | NamelessCall

_KINDS: Final = (
    *("functionCall", "functionResponse", "inlineData", "fileData"),
    *("executableCode", "codeExecutionResult", "toolCall", "toolResponse"),
)
_ASIDE: Final = (
    *(
        "videoMetadata",
        "mediaResolution",
        "partMetadata",
        "audioTranscription",
        "mediaProcessing",
        "speechMetadata",
    ),
    *("documentMetadata", "spreadsheetMetadata", "audioMetadata"),
)
_TEXT_PART: Final = frozenset({"text", "thought", "thoughtSignature"})
_PART: Final = spellings(" ".join([*_TEXT_PART, *_KINDS, *_ASIDE]))
_DATA: Final = {"text", *_KINDS} - {"functionResponse"}
SEVERAL: Final = "two kinds of data in one part"
_SHOW_THOUGHT: Final = frozenset({"inlineData", "fileData"})
_FLAG: Final = (type(None), bool)
_SIGNATURE: Final = (type(None), str)
_MEDIA: Final = spellings("mimeType data fileUri")
_BESIDE_RESULT: Final = ("parts", "scheduling", "willContinue")
_RESULT: Final = spellings(" ".join(["id", "name", "response", *_BESIDE_RESULT]))
_INSIDE: Final = "content inside a call of another candidate"


class Parts:
    """The parts of one answer, of all its candidates. ``tool_code``: whether to search for calls in
    the text.
    """

    def __init__(self, tool_code: bool, oddities: Oddities) -> None:
        self.calls = Calls(oddities)
        self._oddities = oddities
        self._splitters: dict[int, Splitter] | None = {} if tool_code else None

    @property
    def idle(self) -> bool:
        """Whether the next text of the answer becomes one event, unchanged."""
        return self.calls.open_call is None and self._splitters is None

    def read(self, part: Json, candidate: int, out: list[Event]) -> None:
        """Read one part; text first, because most parts are text."""
        if type(part) is not dict:
            out.append(Unknown("part", part, candidate))
            return
        if part.keys() <= _TEXT_PART:
            text, thought, signature = (
                part.get("text"),
                part.get("thought"),
                part.get("thoughtSignature"),
            )
            if type(text) is str and type(thought) in _FLAG and type(signature) in _SIGNATURE:
                self._read_text(part, text, thought, signature or None, candidate, out)
                return
        self._read_any(part, candidate, out)

    def read_usual(self, parts: list[UsualPart], out: list[Event]) -> bool:
        """Read texts, thoughts and whole calls from a message that a strict decoder accepted, while
        no call is open. Returns False, and reads nothing, if a part is none of these.
        """
        for part in parts:
            call = part.functionCall
            if (part.text is None) is (call is None) or (call and (part.thought or not call.name)):
                return False
        for part in parts:
            signature, call = part.thoughtSignature or None, part.functionCall
            if call is not None:
                number = self.calls.next_number()
                out.append(CallStart(number, call.name, call.id, signature))
                out.append(CallEnd(number, call.args or {}))
            elif part.text is not None:
                kind = Reasoning if part.thought else Text
                out.append(kind(part.text, signature))
        return True

    def release(self, candidate: int, out: list[Event]) -> None:
        """Emit the held-back text of this candidate, because another part follows."""
        splitter = self._splitters.get(candidate) if self._splitters else None
        held = splitter.close() if splitter else ""
        if held:
            out.append(
                Text(held, None, candidate)
                if self.calls.make_way(candidate, out)
                else Unknown(_INSIDE, held, candidate)
            )

    def end(self, candidate: int, out: list[Event]) -> None:
        """Release the text of a candidate with a finish reason, and end its open call."""
        self.release(candidate, out)
        if self.calls.is_open(candidate):
            self.calls.end(out)

    def release_all(self, out: list[Event]) -> None:
        """Emit everything that was held back: the text of every candidate, and the event with the
        number of arguments' pieces beyond the limit.
        """
        for candidate in self._splitters or ():
            self.release(candidate, out)
        self.calls.report_too_far(out)

    def _read_text(
        self,
        part: _Wire,
        text: str,
        thought: bool | None,
        signature: str | None,
        candidate: int,
        out: list[Event],
    ) -> None:
        if not text and signature is None and not thought and self.calls.is_open(candidate):
            out.append(
                Annotation("part", part, candidate)
            )  # an empty text between the pieces of a call doesn't end it
        elif not self.calls.make_way(candidate, out):
            out.append(Unknown(_INSIDE, part, candidate))
        elif thought:
            self.release(candidate, out)
            out.append(Reasoning(text, signature, candidate))
        elif self._splitters is None or not text:
            out.append(Text(text, signature, candidate))
        else:
            self._split(
                self._splitters.setdefault(candidate, Splitter()), text, signature, candidate, out
            )

    def _split(
        self, splitter: Splitter, text: str, signature: str | None, candidate: int, out: list[Event]
    ) -> None:
        """Emit the text and calls of one text part; its signature goes to the last of them."""
        signed: _Signed | None = None
        for piece in splitter.feed(text):
            signed, others = (
                (Text(piece, None, candidate), [])
                if isinstance(piece, str)
                else self._read_block(piece, candidate)
            )
            out.append(signed)
            out += others
        if signature is not None:
            if signed is None:
                out.append(Text("", signature, candidate))
            else:
                signed.signature = signature

    def _read_block(self, block: ToolCodeBlock, candidate: int) -> tuple[_Signed, list[Event]]:
        """Return the events of a block: the event that can be signed, and the events after it. A
        block whose body has an unknown form is text.
        """
        body = parse_body(block.body)
        if body is None:
            return Text(block.raw, None, candidate), []
        number = self.calls.next_number()
        if body.name is None:
            return NamelessCall(number, body.arguments, block.raw, None, candidate), []
        extra = (
            Unknown(f"tool_code field {key}", {key: value}, candidate)
            for key, value in body.extra.items()
        )
        return CallStart(number, body.name, None, None, candidate), [
            CallEnd(number, body.arguments),
            *extra,
        ]

    def _read_any(self, part: _Wire, candidate: int, out: list[Event]) -> None:
        """Read a part with one kind, several kinds or an unknown kind."""
        fields = SpelledFields(part, _PART, self._oddities)
        if len(_DATA & fields.values.keys()) > 1:
            self._oddities.note(SEVERAL, part)
        thought, signature = (
            fields.take("thought", bool),
            fields.take("thoughtSignature", str) or None,
        )
        text = fields.take("text", str)
        kinds = [kind for kind in _KINDS if type(fields.values.get(kind)) is dict]
        values = [fields.take(kind) for kind in kinds]
        asides = [
            raw
            for name in _ASIDE
            if name in fields.values and (raw := fields.take_raw(name)) is not None
        ]
        no_call = None
        if "functionCall" in fields.values:
            no_call = fields.take("functionCall")
        left = list(fields.left())
        if text is None and not kinds and left and no_call is None:
            self.release(candidate, out)
            names = (f"part {'field' if key in _PART else 'kind'} {key}" for key, _ in left)
            out.append(Unknown(", ".join(names), part, candidate))
            return
        if text is not None or (not kinds and no_call is None and (signature or thought)):
            self._read_text(part, text or "", thought, None if kinds else signature, candidate, out)
        for kind, value in zip(kinds, values, strict=True):
            self._read_kind(kind, part, value, signature, candidate, out)
            signature = None
        if no_call is not None:
            self.release(candidate, out)
            self.calls.refuse(part, no_call, None if kinds else signature, candidate, out)
        if thought and text is None and kinds and not _SHOW_THOUGHT.issuperset(kinds):
            asides.append({"thought": True})
        if _WHOLE.isdisjoint(kinds):  # otherwise the event of the kind has the whole part
            out += [Annotation("part", raw, candidate) for raw in asides]
        out += [Unknown(f"part field {key}", {key: value}, candidate) for key, value in left]

    def _read_kind(
        self,
        kind: str,
        part: _Wire,
        value: _Wire,
        signature: str | None,
        candidate: int,
        out: list[Event],
    ) -> None:
        self.release(candidate, out)
        if kind == "functionCall":
            self.calls.read(part, signature, value, candidate, out)
        elif self.calls.make_way(candidate, out):
            out += _READERS[kind](part, value, signature, candidate)
        else:
            out.append(Unknown(_INSIDE, part, candidate))


def _read_media(part: _Wire, value: _Wire, signature: str | None, candidate: int) -> list[Event]:
    fields = SpelledFields(value, _MEDIA)
    mime_type, data, uri = (
        fields.take("mimeType", str),
        fields.take("data", str),
        fields.take("fileUri", str),
    )
    return [Media(mime_type, part, data, uri, part.get("thought") is True, signature, candidate)]


def _read_code(part: _Wire, value: _Wire, signature: str | None, candidate: int) -> list[Event]:
    return [Code(_text(value.get("code")), part, signature, candidate)]


def _read_code_result(
    part: _Wire, value: _Wire, signature: str | None, candidate: int
) -> list[Event]:
    outcome = value.get("outcome")
    return [
        CodeResult(
            f"#{outcome}" if type(outcome) is int else _text(outcome),
            _text(value.get("output")),
            part,
            signature,
            candidate,
        )
    ]


def _read_server_call(
    part: _Wire, value: _Wire, signature: str | None, candidate: int
) -> list[Event]:
    return [ServerCall(part, signature, candidate)]


def _read_server_result(
    part: _Wire, value: _Wire, signature: str | None, candidate: int
) -> list[Event]:
    return [ServerResult(part, signature, candidate)]


def _read_result(part: _Wire, value: _Wire, signature: str | None, candidate: int) -> list[Event]:
    """Return the result of a tool that the provider ran; its media and settings follow as an
    annotation of the part.
    """
    fields = SpelledFields(value, _RESULT)
    response = fields.take("response")
    error = response.get("error") if type(response) is dict else None
    identity, name = fields.take("id", str), fields.take("name", str)
    events: list[Event] = [
        ToolResult(
            identity, name, response, error if type(error) is str else None, signature, candidate
        )
    ]
    beside = {
        key: value
        for field in _BESIDE_RESULT
        if (raw := fields.take_raw(field))
        for key, value in raw.items()
    }
    if beside:
        events.append(Annotation("part", {"functionResponse": beside}, candidate))
    return events + [
        Unknown(f"functionResponse field {key}", {key: value}, candidate)
        for key, value in fields.left()
    ]


def _text(value: Json) -> str:
    """Return the value if it is a text; ``raw`` holds any other."""
    return value if type(value) is str else ""


_WHOLE: Final = frozenset(
    {"inlineData", "fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"}
)
"""The kinds whose events hold the whole part of the wire."""

_READERS: Final[dict[str, Callable[[_Wire, _Wire, str | None, int], list[Event]]]] = {
    "functionResponse": _read_result,
    "inlineData": _read_media,
    "fileData": _read_media,
    "executableCode": _read_code,
    "codeExecutionResult": _read_code_result,
    "toolCall": _read_server_call,
    "toolResponse": _read_server_result,
}
