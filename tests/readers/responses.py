"""The second reader of the Responses API: reads a raw body slowly and plainly, as a stream of events
or as one whole response.

Every item is put together on its own, and the facts of the answer are read from the items in the
order in which they began. The content of an item comes in pieces, or whole at its end or at the end
of the response. Content behind a call that never ended is not shown, because the events of the call
are not whole.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final

from harness.facts import Run, arguments_of
from harness.providers.wire_values import names_in, present, strings
from harness.stream.json_codec import Json
from tests.readers.account import Facts, note_error
from tests.readers.reader import MessageReader

_COUNTS: Final = (
    ("", "input_tokens", "promptTokenCount"),
    ("", "output_tokens", "candidatesTokenCount"),
    ("", "total_tokens", "totalTokenCount"),
    ("input_tokens_details", "cached_tokens", "cachedContentTokenCount"),
    ("input_tokens_details", "cache_write_tokens", "cacheWriteTokenCount"),
    ("output_tokens_details", "reasoning_tokens", "thoughtsTokenCount"),
)
_RESPONSE: Final = {
    *("id", "object", "model", "status", "usage", "output", "error", "incompleteDetails", "type"),
}
_EVENT: Final = {
    *("type", "sequenceNumber", "obfuscation", "outputIndex", "contentIndex", "itemId"),
    *("summaryIndex", "commandIndex", "streamId", "delta", "item", "part", "response", "logprobs"),
    *("text", "refusal", "arguments", "input", "annotation", "annotationIndex", "name"),
}
_BOUNDARY: Final = {
    *("type", "id", "status", "role", "phase", "callId", "name", "namespace", "caller", "async"),
    *("serverLabel", "execution", "environment", "createdBy", "agent"),
}
"""The fields that only say which item it is."""
_PIECES: Final = {
    "response.output_text": ("message", "output_text", "text"),
    "response.refusal": ("message", "refusal", "refusal"),
    "response.reasoning_summary_text": ("reasoning", "summary_text", "text"),
    "response.reasoning_text": ("reasoning", "reasoning_text", "text"),
    "response.function_call_arguments": ("function_call", "arguments", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "input", "input"),
}
"""The name of an event without its last word → the kind of its item, the part, and the field of the
whole part.
"""
_TOOL_PIECES: Final = {
    "response.code_interpreter_call_code": "code",
    "response.mcp_call_arguments": "arguments",
    "response.shell_call_command": "command",
    "response.shell_call_output_content": "content",
    "response.apply_patch_call_operation_diff": "diff",
}
_STATUS_WORDS: Final = (
    *("in_progress", "searching", "completed", "interpreting", "generating", "failed"),
    *("compacting", "accepted", "pending"),
)
_RESPONSE_EVENTS: Final = (
    *("response.created", "response.queued", "response.in_progress"),
    *("response.completed", "response.incomplete", "response.failed"),
)
_CALLS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
_SERVER_TOOLS: Final = {
    *("web_search_call", "file_search_call", "computer_call", "mcp_call", "shell_call"),
    *("mcp_approval_request", "local_shell_call", "apply_patch_call", "tool_search_call"),
    *("program", "image_generation_call", "x_search_call", "shell_call_output"),
    *("local_shell_call_output", "apply_patch_call_output", "computer_call_output"),
    *("tool_search_output", "program_output", "mcp_list_tools", "mcp_approval_response"),
    *("compaction", "additional_tools", "function_call_output", "custom_tool_call_output"),
}
_OF_THE_CLIENT: Final = {
    *("local_shell_call", "shell_call", "apply_patch_call", "computer_call", "tool_search_call"),
}
"""The calls that the client runs, if the answer does not have their outputs."""
_SIGNED: Final = {
    *("shell_call_output", "local_shell_call_output", "apply_patch_call_output", "compaction"),
    *("computer_call_output", "tool_search_output", "program_output", "mcp_list_tools"),
    *("mcp_approval_response", "additional_tools"),
}
_PARTS: Final = ("output_text", "refusal", "summary_text", "reasoning_text", "text")
_UNSHOWN: Final = ("type", "status", "role", "id", "call_id", "encrypted_content")
"""Fields of built-in tools that are ids, words of an enumeration or signatures."""
_WAITING: Final = ("in_progress", "queued")
_LISTS: Final = {"message": ("content",), "reasoning": ("summary", "content")}
_STREAMED: Final = {*_LISTS, *_CALLS}


def gather_responses(body: bytes, status: int = 200, *, interrupted: bool = False) -> Facts:
    """Return the facts in a raw body: server-sent events, one whole response, or an error.

    ``interrupted``: the connection ended before the answer did. A call that is open is then
    incomplete.
    """
    reader = _Reader(status)
    reader.read_all(body)
    return reader.finish(interrupted)


def _count(facts: Facts, usage: dict[str, Json]) -> None:
    """Note the counts of one ``usage``. The tokens of the reasoning are counted in the output."""
    for place, name, wire in _COUNTS:
        holder = usage.get(place) if place else usage
        if isinstance(holder, dict) and type(holder.get(name)) is int:
            facts.usage[wire] = holder[name]
    details = usage.get("output_tokens_details")
    reasoning = details.get("reasoning_tokens") if isinstance(details, dict) else None
    if type(reasoning) is int and type(usage.get("output_tokens")) is int:
        facts.usage["candidatesTokenCount"] = usage["output_tokens"] - reasoning


@dataclass
class _Item:
    """One item: as it began, the pieces of each part, the pieces of text and thoughts in their order,
    and the item at its end. ``left``: another item took its place.
    """

    kind: str
    first: dict[str, Json]
    parts: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    runs: list[tuple[str, int, str]] = field(default_factory=list)
    whole: dict[str, Json] | None = None
    left: bool = False
    given: Json = None

    @property
    def is_over(self) -> bool:
        return self.whole is not None or self.left

    @property
    def pieces(self) -> list[str]:
        return self.parts.get((_CALLS.get(self.kind, ""), 0), [])


class _Reader(MessageReader):
    """Reads the facts of an answer of the Responses API."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self._items: list[_Item] = []
        """All items in order."""
        self._places: dict[int, _Item] = {}
        """The index of an item → the item."""
        self._latest = -1
        self._begun = False
        """Whether the beginning of the stream came."""
        self._failure: Json = None
        """The latest error, which a response may repeat."""
        self._media: list[str] = []
        """The data of partial images and of sound."""

    # ------------------------------------------------------------ messages

    def _read_object(self, message: dict[str, Json]) -> None:
        kind = message.get("type")
        if isinstance(kind, str) and isinstance(message.get("response"), dict):
            self._begun = self._begun or kind in ("response.created", "response.queued")
            self._read_response(message["response"])
            self.facts.others |= present(message, _EVENT)
        elif kind in _RESPONSE_EVENTS:
            self.facts.others |= names_in(message)
        elif kind == "error":
            self._read_failure(message.get("error", message), message)
        elif kind == "keepalive":
            return
        elif isinstance(kind, str) and kind.startswith("response."):
            self._read_event(kind, message)
        elif message.get("object") == "response":
            self._read_response(message)
        elif message.get("error") is not None or (self._status >= 300 and not self.facts.errors):
            self._read_failure(message.get("error", message), message)
        else:
            self.facts.others |= names_in(message)

    def _read_event(self, kind: str, event: dict[str, Json]) -> None:
        name, _, step = kind.rpartition(".")
        if kind in ("response.output_item.added", "response.output_item.done"):
            item = event.get("item")
            if not isinstance(item, dict):
                self.facts.others |= names_in(event)
                return
            self.facts.others |= present(event, _EVENT)
            if step == "added":
                self._begin(event.get("output_index"), item, streamed=True)
            else:
                self._end(event.get("output_index"), item)
        elif name in _PIECES and step in ("delta", "done"):
            self._read_piece(name, step, event)
        elif kind.endswith(("_part.added", "_part.done")):
            self._read_part(event)
        elif kind == "response.output_text.annotation.added":
            if isinstance(event.get("annotation"), dict):
                self._cite(event["annotation"])
                self.facts.others |= present(event, _EVENT)
            else:
                self.facts.others |= names_in(event)
        elif kind == "response.image_generation_call.partial_image":
            self._read_medium(event, "partial_image_b64")
        elif kind == "response.audio.delta":
            self._read_medium(event, "delta")
        elif name in _TOOL_PIECES and step in ("added", "delta", "done"):
            item = self._find(event)
            piece = event.get("delta")
            if step == "delta" and item is not None and isinstance(piece, dict):
                self._note_shell(item, _number(event), piece)
            elif item is None or (step == "delta" and not isinstance(piece, str)):
                self.facts.others |= names_in(event)
            elif step == "delta":
                place = (_TOOL_PIECES[name], _number(event))
                item.parts.setdefault(place, []).append(str(piece))
        elif kind == "response.audio.transcript.delta" and isinstance(event.get("delta"), str):
            self.facts.others |= {"transcript"}
        elif kind in ("response.audio.done", "response.audio.transcript.done"):
            return
        else:
            skipped = "sequence_number" if step in _STATUS_WORDS else ""
            named = {key: event[key] for key in event if key != skipped}
            self.facts.others |= present(named, set()) if skipped else names_in(named)

    def _note_shell(self, item: _Item, number: int, delta: dict[str, Json]) -> None:
        """Note a piece of the output of a shell, which has one field for each stream."""
        for name, text in delta.items():
            if name in ("stdout", "stderr") and isinstance(text, str):
                item.parts.setdefault((name, number), []).append(text)
            else:
                self.facts.others |= present({name: text}, set())

    def _read_medium(self, event: dict[str, Json], name: str) -> None:
        if isinstance(event.get(name), str):
            self._media.append(event[name])
        else:
            self.facts.others |= names_in(event)

    def _read_piece(self, name: str, step: str, event: dict[str, Json]) -> None:
        owner, part, whole = _PIECES[name]
        text = event.get("delta" if step == "delta" else whole)
        item = self._find(event)
        if not isinstance(text, str):
            self.facts.others |= names_in(event)
            return
        self.facts.others |= present(event, _EVENT)
        if item is None and owner not in _CALLS:
            item = self._add(event.get("output_index"), _Item(owner, {}))
        if item is None or item.kind != owner:
            self.facts.others |= names_in(event)
            return
        self._put(item, part, _number(event), text, repeats=step == "done")
        if step == "delta" and event.get("logprobs"):
            item.parts.setdefault(("logprobs", _number(event)), [])
            self._note_logprobs(event["logprobs"])

    def _put(self, item: _Item, part: str, number: int, text: str, *, repeats: bool) -> None:
        pieces = item.parts.get((part, number))
        if item.is_over or (repeats and pieces is not None):
            return
        if text or not repeats:
            item.parts.setdefault((part, number), []).append(text)
            item.runs.append((part, number, text))

    def _read_part(self, event: dict[str, Json]) -> None:
        part, item = event.get("part"), self._find(event)
        item = item if item is not None and item.kind in _LISTS else None
        has_text = isinstance(part, dict) and (part.get("text") or part.get("refusal"))
        if not isinstance(part, dict) or (item is None and has_text):
            self.facts.others |= names_in(event)
            return
        self.facts.others |= present(event, _EVENT)
        if item is not None:
            self._note_part(item, _number(event), part)

    def _note_part(self, item: _Item, number: int, part: Json) -> None:
        """Note a whole part of an item, which repeats its pieces or is new."""
        kind = part.get("type") if isinstance(part, dict) else None
        text = part.get("refusal" if kind == "refusal" else "text") if kind else None
        if not isinstance(part, dict) or kind not in _PARTS or not isinstance(text, str):
            self.facts.others |= names_in(part)
            return
        extra = {"type", "text", "refusal", "annotations", "logprobs"}
        self.facts.others |= present(part, extra)
        if text or (kind, number) in item.parts:
            self._put(item, str(kind), number, text, repeats=True)
        annotations = part.get("annotations")
        for annotation in annotations if isinstance(annotations, list) else []:
            self._cite(annotation)
        if part.get("logprobs") and ("logprobs", number) not in item.parts:
            item.parts[("logprobs", number)] = []
            self._note_logprobs(part["logprobs"])

    def _cite(self, annotation: Json) -> None:
        """Note the source of an annotation once."""
        if isinstance(annotation, dict):
            self.facts.others.add("annotations")
            known = self.facts.opaque.get("citations", [])
            url = annotation.get("url") or annotation.get("filename") or annotation.get("file_id")
            if url not in known:
                self.facts.add_opaque("citations", url)

    def _note_logprobs(self, logprobs: Json) -> None:
        self.facts.others.add("logprobs")
        for token in logprobs if isinstance(logprobs, list) else []:
            value = token.get("logprob") if isinstance(token, dict) else None
            if isinstance(value, int | float) and not isinstance(value, bool):
                self.facts.add_opaque("logprobs", str(value))

    # ------------------------------------------------------------ items

    def _find(self, event: dict[str, Json]) -> _Item | None:
        index, item_id = event.get("output_index"), event.get("item_id")
        if type(index) is int:
            return self._places.get(index)
        named = [item for item in self._places.values() if item.first.get("id") == item_id]
        return named[-1] if named and item_id else self._places.get(self._latest)

    def _add(self, index: Json, item: _Item) -> _Item:
        number = index if type(index) is int else self._latest + 1
        if number in self._places:
            self._places[number].left = True
        self._latest = number
        self._places[number] = item
        self._items.append(item)
        return item

    def _begin(self, index: Json, wire: dict[str, Json], *, streamed: bool) -> _Item:
        kind = wire.get("type")
        item = self._add(index, _Item(kind if isinstance(kind, str) else str(kind or ""), wire))
        given = wire.get(_CALLS.get(item.kind, ""))
        if streamed and isinstance(given, str) and given:
            item.parts[(_CALLS[item.kind], 0)] = [given]
        return item

    def _end(self, index: Json, wire: dict[str, Json]) -> None:
        """Note the end of an item, with its whole content."""
        named = [item for item in self._items if item.first.get("id") == wire.get("id") != ""]
        item = self._places.get(index) if type(index) is int else next(reversed(named), None)
        if item is not None and item.is_over and _stable(item.whole or item.first) == _stable(wire):
            return
        if item is None or item.is_over or item.kind != wire.get("type"):
            item = self._begin(index, wire, streamed=False)
        if item.kind in _LISTS:
            for name in _LISTS[item.kind]:
                parts = wire.get(name)
                for number, part in enumerate(parts if isinstance(parts, list) else []):
                    self._note_part(item, number, part)
            secret = {"encryptedContent"} if item.kind == "reasoning" else set()
            self.facts.others |= present(wire, {*_BOUNDARY, *_LISTS[item.kind], *secret})
        elif item.kind in _CALLS:
            name = _CALLS[item.kind]
            given = wire.get(name)
            if isinstance(given, str):
                self._put(item, name, 0, given, repeats=True)
            elif isinstance(given, dict) and not item.pieces:
                item.given = given
            elif given:
                self.facts.others |= names_in({name: given})
            self.facts.others |= present(wire, _BOUNDARY | {name})
        elif item.kind not in _SERVER_TOOLS and item.kind != "code_interpreter_call":
            self.facts.others |= names_in(wire)
        item.whole = wire

    # ------------------------------------------------------------ the response

    def _read_response(self, response: dict[str, Json]) -> None:
        facts = self.facts
        facts.others |= present(response, _RESPONSE)
        facts.others |= {"modelVersion"} if response.get("model") else set()
        facts.others |= {"responseId"} if response.get("id") else set()
        facts.others |= (
            {"object"} if response.get("object") not in (None, "", "response") else set()
        )
        if isinstance(response.get("usage"), dict):
            _count(facts, response["usage"])
        facts.add_billing("service_tier", response.get("service_tier"))
        output = response.get("output")
        self._read_output(output if isinstance(output, list) else [])
        error = response.get("error")
        if error not in (None, "", [], {}) and _key(error) != self._failure:
            self._read_failure(error, response)
        status, details = response.get("status"), response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        if details and not isinstance(reason, str):
            facts.others.add("incompleteDetails")
        if status in _WAITING:
            facts.others.add("status")
        elif isinstance(status, str) and status:
            known = status == "incomplete" and isinstance(reason, str) and reason
            facts.finish = reason if known else status
            if not facts.errors:
                self._leave_open()

    def _leave_open(self) -> None:
        for item in self._items:
            item.left = True

    def _read_output(self, output: list[Json]) -> None:
        """Note the items of a response, or those that the stream did not have."""
        fresh = self._begun or not self._items
        for index, wire in enumerate(output):
            if not isinstance(wire, dict):
                self.facts.unreadable.append(json.dumps(wire))
                continue
            item = self._places.get(index)
            if item is None and fresh:
                self._begin(index, wire, streamed=False)
                self._end(index, wire)
            elif item is not None and not item.is_over and item.kind == wire.get("type"):
                self._end(index, wire)
            elif item is not None and item.whole is not None and item.kind == wire.get("type"):
                first, again = item.whole.get("encrypted_content"), wire.get("encrypted_content")
                given = isinstance(first, str) and isinstance(again, str)
                if given and first and again and first != again:
                    self.facts.repeated_signatures[str(again)] = str(first)

    def _read_failure(self, error: Json, whole: dict[str, Json]) -> None:
        self._failure = _key(error)
        self._settle(broken=True)
        note_error(self.facts, error, self._status)

    # ------------------------------------------------------------ facts

    def finish(self, interrupted: bool) -> Facts:
        """Return the facts of the whole body."""
        facts = self.facts
        broken = interrupted or bool(facts.errors)
        self._settle(broken=broken)
        self._note_end()
        facts.ended_well = facts.ended_well and facts.finish != "failed"
        return facts

    def _settle(self, broken: bool) -> None:
        """Set the facts of all items; if the answer is ``broken``, of those up to the first open
        call.
        """
        facts = self.facts
        facts.text = facts.thoughts = ""
        facts.calls, facts.marks, facts.places, facts.invalid_calls = [], [], [], []
        facts.signatures, facts.signed_before, facts.pieces, facts.order = [], [], [], []
        facts.signed_places = []
        first = next((i for i in self._items if not i.is_over and i.kind in _STREAMED), None)
        facts.open_call = not broken and first is not None and first.kind in _CALLS
        tools = Facts(media=len(self._media))
        tools.add_opaque("media", *self._media)
        for item in self._items:
            if item.kind == "reasoning":
                facts.ends_in_thought = True
            elif item.kind in _CALLS or (
                item.kind == "message" and any(map(any, item.parts.values()))
            ):
                facts.ends_in_thought = False
            if item.kind in _CALLS:
                invalid = len(facts.invalid_calls)
                self._note_call(item, broken=broken)
                facts.open_call &= item is not first or len(facts.invalid_calls) == invalid
                if broken and not item.is_over:
                    facts.open_call = True
                    break
            else:
                self._note_content(item, tools, broken=broken)
        facts.server_tools, facts.code, facts.media = tools.server_tools, tools.code, tools.media
        facts.opaque |= tools.opaque
        facts.others |= tools.others
        items = [item.whole or item.first for item in self._items]
        run = {item.get("call_id") for item in items if str(item.get("type")).endswith("_output")}
        facts.client_tools = {
            call_id
            for item in items
            if isinstance(kind := item.get("type"), str)
            and kind in _OF_THE_CLIENT
            and isinstance(call_id := item.get("call_id"), str)
            and call_id
            and call_id not in run
        }
        facts.signatures += tools.signatures

    def _note_content(self, item: _Item, tools: Facts, *, broken: bool) -> None:
        facts = self.facts
        before, begins = None, False
        for part, number, text in item.runs:
            begins, before = begins or before != (part, number), (part, number)
            if part in ("summary_text", "reasoning_text"):
                facts.add_thought(text)
                facts.order.append(Run("thought", len(text), begins=begins))
                begins = begins and not text
            elif text and item.kind in _LISTS:
                facts.add_text(text)
                facts.order.append(Run("text", len(text)))
                facts.refused = facts.refused or part == "refusal"
        secret = (item.whole or {}).get("encrypted_content")
        if item.kind == "reasoning" and isinstance(secret, str) and secret:
            facts.signatures.append(("thought", secret))
            facts.signed_places.append(len(facts.text))
        if item.is_over or not broken:
            _note_tool(tools, item)

    def _note_call(self, item: _Item, *, broken: bool) -> None:
        facts, text = self.facts, "".join(item.pieces)
        name = str(item.first.get("name") or "")
        call_id = item.first.get("call_id")
        arguments: Json
        if item.kind == "custom_tool_call":
            arguments = {"input": text}
        elif item.given is not None and not text:
            arguments = item.given
        else:
            arguments = arguments_of(text) if text.strip() else {}
        if isinstance(arguments, str) and (item.is_over or not broken):
            facts.invalid_calls.append((name, arguments))
            return
        facts.calls.append((name, arguments))
        facts.marks.append((call_id if isinstance(call_id, str) and call_id else None, None))
        facts.places.append(len(facts.text))
        facts.signed_before.append(len(facts.signatures))
        facts.order.append(Run("call"))
        facts.pieces += item.pieces


def _note_tool(facts: Facts, item: _Item) -> None:
    """Note an item of a built-in tool."""
    pieces: dict[str, list[Json]] = {}
    for (part, _), texts in item.parts.items():
        pieces.setdefault(part, []).append("".join(texts))
    half = {part: texts if len(texts) > 1 else texts[0] for part, texts in pieces.items()}
    wire = item.whole if item.whole is not None else {**item.first, **half}
    if item.kind == "code_interpreter_call":
        facts.code += 1
        facts.add_opaque("code", wire.get("code"))
        outputs = wire.get("outputs")
        for output in outputs if isinstance(outputs, list) else []:
            if isinstance(output, dict):
                _note_output(facts, output)
    elif (
        item.kind == "image_generation_call"
        and isinstance(wire.get("result"), str)
        and wire["result"]
    ):
        facts.media += 1
        facts.add_opaque("media", wire["result"])
    elif item.kind in _SERVER_TOOLS:
        facts.server_tools += 1
        secret = wire.get("encrypted_content")
        if item.kind in _SIGNED and isinstance(secret, str) and secret:
            facts.signatures.append(("other", secret))
        facts.add_opaque(
            "server_tools", wire.get("call_id") or wire.get("id"), *strings(wire, _UNSHOWN)
        )
    elif item.kind not in _STREAMED and item.whole is None:
        facts.others |= names_in(wire)


def _note_output(facts: Facts, output: dict[str, Json]) -> None:
    """Note the output of code: a log or an image."""
    if output.get("type") == "image":
        facts.media += 1
        facts.add_opaque("media", output.get("url"))
    else:
        facts.code += 1
        facts.add_opaque("code", output.get("logs"))


def _stable(wire: Json) -> Json:
    """Return an item without what differs between two repetitions of it."""
    if isinstance(wire, dict):
        left = ("id", "status", "encrypted_content", "logprobs", "created_by")
        return {
            name: _stable(value)
            for name, value in wire.items()
            if name not in left and value not in (None, "", [], {})
        }
    return [_stable(item) for item in wire] if isinstance(wire, list) else wire


def _number(event: dict[str, Json]) -> int:
    numbers = [event.get(f"{name}_index") for name in ("content", "summary", "command")]
    return next((number for number in numbers if type(number) is int), 0)


def _key(error: Json) -> Json:
    return [error.get("code"), error.get("message")] if isinstance(error, dict) and error else error
