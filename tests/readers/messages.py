"""The second reader of Anthropic's Messages API: reads a raw body slowly and plainly, as a stream
of events or as a whole message.

Blocks do not overlap on the recorded wire. In a damaged stream, the events of another block are
read when the open call has ended.
"""

from __future__ import annotations

import json
from typing import Final

from harness.facts import Run, arguments_of
from harness.providers.wire_values import camel, names_in, present, strings
from harness.stream.json_codec import Json
from tests.readers.account import Facts, note_error
from tests.readers.reader import MessageReader

_EVENTS: Final = ("content_block_start", "content_block_delta", "content_block_stop")
_METADATA: Final = {
    *("container", "context_management", "diagnostics", "input_transformations"),
    *("stop_sequence", "stop_details"),
}
_MESSAGE: Final = {"type", "role", "id", "model", "content", "usage", "stop_reason", *_METADATA}
_FACTS_OF_ANSWER: Final = ("fallback", "container_upload")
_SERVER_CALLS: Final = ("server_tool_use", "mcp_tool_use")
_CODE: Final = ("code_execution", "bash_code_execution")
_DELTAS: Final = {
    "text_delta": ("text", "text"),
    "citations_delta": ("text", "citation"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
    "compaction_delta": ("compaction", "content"),
}
"""A type of a delta: the type of its block, and its field."""
_WORDS: Final = ("type", "status", "error_code", "name", "server_name", "caller", "tool_use_id")
"""Fields of server tools whose values are words of an enumeration, or are noted elsewhere."""


def gather_messages(body: bytes, status: int = 200, *, interrupted: bool = False) -> Facts:
    """Return the facts in a raw body: server-sent events, JSON lines, one message, or an error.

    ``interrupted``: the connection ended before the answer did. A call that is open is then
    incomplete.
    """
    reader = _Reader(status)
    reader.read_all(body)
    return reader.finish(interrupted)


def _note_counts(facts: Facts, usage: dict[str, Json]) -> None:
    """Note every whole number of ``usage``. The prompt is what was read from the cache, what was
    written to it, and the rest. The output has the tokens of the thoughts too.
    """
    given = dict(_whole_numbers(usage))
    for holder in usage.values():
        given |= _whole_numbers(holder)
    thoughts = given.pop("thinking_tokens", None)
    prompt, output = given.pop("input_tokens", None), given.pop("output_tokens", None)
    cached = given.pop("cache_read_input_tokens", None)
    written = given.pop("cache_creation_input_tokens", None)
    counts = {
        "promptTokenCount": None if prompt is None else prompt + (cached or 0) + (written or 0),
        "candidatesTokenCount": None if output is None else output - (thoughts or 0),
        "thoughtsTokenCount": thoughts,
        "cachedContentTokenCount": cached,
        "cacheWriteTokenCount": written,
    }
    facts.usage |= {name: count for name, count in counts.items() if count is not None}
    facts.usage |= {camel(name): count for name, count in given.items()}


def _whole_numbers(holder: Json) -> dict[str, int]:
    fields = holder.items() if isinstance(holder, dict) else ()
    return {name: value for name, value in fields if type(value) is int}


class _Reader(MessageReader):
    """The state of one reading: the blocks that have no end yet, each with the pieces of its input;
    the index of the open call; the events that wait for the end of that call; and the counts.
    """

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self._blocks: dict[int, tuple[dict[str, Json], list[str]]] = {}
        self._latest = -1
        self._call: int | None = None
        self._waiting: dict[int, list[dict[str, Json]]] = {}
        self._usage: dict[str, Json] = {}
        self._started = False
        self._thought = 0
        """The number of characters of thoughts before the latest block."""

    def _read_object(self, message: dict[str, Json]) -> None:
        kind = message.get("type")
        inner = message.get("delta" if kind == "message_delta" else "message")
        if kind == "message_start" and isinstance(inner, dict):
            self._note_fields(message, {"type", "message"})
            self._read_message(inner)
        elif kind == "message":
            self._read_message(message)
        elif kind in _EVENTS:
            self._started = True
            index = message.get("index")
            if type(index) is not int:
                index = self._latest + (kind == "content_block_start")
            if self._call in (None, index):
                self._read_event(index, message)
                self._read_waiting()
            else:
                self._waiting.setdefault(index, []).append(message)
        elif kind == "message_delta" and isinstance(inner, dict):
            self._started = True
            for holder in (message, inner):
                self._note_metadata(holder)
            self._note_fields(message, {"type", "delta", "usage", *_METADATA})
            self._note_fields(inner, {"stop_reason", *_METADATA})
            self._count(message.get("usage"))
            self._read_reason(inner)
        elif kind in ("message_stop", "ping"):
            self._note_fields(message, {"type"} if kind == "message_stop" else set(message))
        elif message.get("error") is not None or (self._status >= 300 and not self.facts.errors):
            self._read_error(message)
        else:
            self.facts.others |= names_in(message)

    def finish(self, interrupted: bool) -> Facts:
        """Return the facts of the whole body."""
        facts = self.facts
        facts.open_call, self._is_invalid = self._call is not None, False
        if interrupted or facts.errors:
            self._show_call()
        else:
            self._close_all()
            facts.open_call &= not self._is_invalid
        self._note_end()
        return facts

    def _read_message(self, message: dict[str, Json]) -> None:
        facts = self.facts
        if self._started:
            self._close_all()
        self._started = True
        facts.others |= {"modelVersion"} if _text(message.get("model")) else set()
        facts.others |= {"responseId"} if _text(message.get("id")) else set()
        self._note_metadata(message)
        self._note_fields(message, _MESSAGE)
        if message.get("role") not in (None, "assistant"):
            facts.others.add("role")
        self._count(message.get("usage"))
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else []):
            if isinstance(block, dict):
                self._start(index, block)
                self._stop(index)
            else:
                facts.unreadable.append(json.dumps(block))
        self._read_reason(message)

    def _note_metadata(self, holder: dict[str, Json]) -> None:
        named = {name: holder[name] for name in _METADATA if name in holder}
        self.facts.others |= present(named, set())

    def _read_reason(self, holder: dict[str, Json]) -> None:
        reason, details = holder.get("stop_reason"), holder.get("stop_details")
        if _text(reason):
            self.facts.finish = str(reason)
            explanation = details.get("explanation") if isinstance(details, dict) else None
            self.facts.finish_message = _text(explanation) or None

    def _count(self, usage: Json) -> None:
        if isinstance(usage, dict):
            self._usage |= {name: value for name, value in usage.items() if value is not None}
            _note_counts(self.facts, self._usage)
            self.facts.add_billing("service_tier", usage.get("service_tier"))

    # ---------------------------------------------------------------- blocks

    def _read_waiting(self) -> None:
        while self._call is None and self._waiting:
            index = next(iter(self._waiting))
            for event in self._waiting.pop(index):
                self._read_event(index, event)

    def _close_all(self) -> None:
        """End every block, as the end of the answer does."""
        while self._call is not None:
            self._end(self._call)
            self._read_waiting()
        for index in list(self._blocks):
            self._end(index)

    def _read_event(self, index: int, event: dict[str, Json]) -> None:
        kind = event["type"]
        block, delta = event.get("content_block"), event.get("delta")
        if kind == "content_block_stop":
            self._note_fields(event, {"type", "index"})
            self._stop(index)
        elif kind == "content_block_start" and isinstance(block, dict):
            self._note_fields(event, {"type", "index", "content_block"})
            self._start(index, block)
        elif kind == "content_block_delta" and isinstance(delta, dict):
            self._note_fields(event, {"type", "index", "delta"})
            self._read_delta(index, delta)
        else:
            self.facts.others |= names_in(event)

    def _start(self, index: int, block: dict[str, Json]) -> None:
        facts, kind = self.facts, _text(block.get("type"))
        self._end(index)
        self._latest = index
        self._blocks[index] = (block, [])
        self._thought = len(facts.thoughts)
        known = {"type"}
        if kind == "text":
            known |= {"text", "citations"}
            self._add("text", block.get("text"))
            citations = block.get("citations")
            self._cite("citations", citations if isinstance(citations, list) else [citations])
        elif kind == "thinking":
            known |= {"thinking", "signature"}
            self._add("thought", block.get("thinking"))
            self._sign(block.get("signature"))
        elif kind == "redacted_thinking":
            known |= {"data"}
            self._sign(block.get("data"))
        elif kind == "tool_use":
            known |= {"id", "name", "input"}
            self._call = index
            facts.calls.append((str(block.get("name") or ""), {}))
            facts.marks.append((_text(block.get("id")) or None, None))
            facts.places.append(len(facts.text))
            facts.signed_before.append(len(facts.signatures))
            facts.order.append(Run("call"))
        elif kind.endswith("_tool_result") or kind == "mcp_tool_listing":
            known |= block.keys()
            self._read_server_tool(block)
        elif kind in _SERVER_CALLS:
            known |= block.keys()
        elif kind in _FACTS_OF_ANSWER or kind == "compaction":
            known |= block.keys()
            whole = kind != "compaction" or present(block, {"type"})
            facts.others |= {camel(kind)} if whole else set()
        else:
            facts.others |= names_in(block)
        self._note_fields(block, known)

    def _stop(self, index: int) -> None:
        self._end(index)

    def _end(self, index: int) -> None:
        """End a block, if it is open: its call is whole."""
        if index not in self._blocks:
            return
        if index == self._call:
            self._close_call()
        else:
            block, pieces = self._blocks.pop(index)
            if block.get("type") in _SERVER_CALLS:
                text, given = "".join(pieces), block.get("input")
                self._read_server_tool(
                    {**block, "input": arguments_of(text) if text.strip() else given}
                )

    def _show_call(self) -> bool:
        """Set the arguments of the open call to those so far; returns whether there are any."""
        text = "".join(self._blocks[self._call][1]) if self._call is not None else ""
        if text.strip():
            self.facts.calls[-1] = (self.facts.calls[-1][0], arguments_of(text))
        return bool(text.strip())

    def _close_call(self) -> None:
        """End the open call. Arguments that are not an object make it invalid."""
        assert self._call is not None
        shown = self._show_call()
        given = self._blocks.pop(self._call)[0].get("input")
        self._call = None
        facts = self.facts
        name, arguments = facts.calls[-1]
        if not shown:
            arguments = {} if given is None else given
            facts.calls[-1] = (name, arguments)
        elif given and given != arguments:
            facts.others.add("input")
        self._is_invalid = not isinstance(arguments, dict)  # the last call
        if self._is_invalid:
            text = arguments if isinstance(arguments, str) and shown else json.dumps(arguments)
            for entries in (facts.calls, facts.marks, facts.places, facts.signed_before):
                entries.pop()
            facts.order.pop()
            facts.invalid_calls.append((name, text))

    def _read_delta(self, index: int, delta: dict[str, Json]) -> None:
        kind = _text(delta.get("type"))
        of_block, name = _DELTAS.get(kind, ("", ""))
        block, pieces = self._blocks.get(index, ({}, []))
        open_kind = block.get("type")
        if kind == "input_json_delta" and open_kind in _SERVER_CALLS:
            of_block = str(open_kind)
        value = delta.get(name)
        is_read = bool(of_block) and open_kind == of_block
        if kind not in ("citations_delta", "compaction_delta"):
            is_read = is_read and isinstance(value, str)
        if not is_read:
            self.facts.others |= names_in(delta)
            return
        if kind == "text_delta":
            self._add("text", value)
        elif kind == "thinking_delta":
            self._add("thought", value)
        elif kind == "signature_delta":
            self._sign(value)
        elif kind == "citations_delta":
            self._cite("citation", [value])
        elif kind == "input_json_delta":
            pieces.append(str(value))
            if value and open_kind == "tool_use":
                self.facts.pieces.append(value)
        else:
            self.facts.others |= present({"compaction": delta}, set())
        more = {"encrypted_content"} if kind == "compaction_delta" else set()
        self._note_fields(delta, {"type", name} | more)

    # ---------------------------------------------------------------- content

    def _add(self, kind: str, text: Json) -> None:
        if not isinstance(text, str):
            self.facts.others |= present({"text" if kind == "text" else "thinking": text}, set())
            return
        if not text:
            return
        if kind == "text":
            self.facts.order.append(Run("text", len(text)))
            self.facts.add_text(text)
        else:
            begins = self._thought == len(self.facts.thoughts)
            self.facts.order.append(Run("thought", len(text), begins=begins))
            self.facts.add_thought(text)

    def _sign(self, signature: Json) -> None:
        if isinstance(signature, str) and signature:
            facts = self.facts
            facts.signatures.append(("thought", signature))
            facts.signed_places.append(len(facts.text))
            facts.signed_thoughts.append(facts.thoughts[self._thought :])

    def _cite(self, name: str, citations: list[Json]) -> None:
        """Note the address of each citation; one without an address has the cited text instead."""
        for citation in citations:
            if isinstance(citation, dict):
                self.facts.others.add(name)
                address = citation.get("url") or citation.get("source")
                self.facts.add_opaque("citations", address or citation.get("cited_text"))

    def _read_server_tool(self, block: dict[str, Json]) -> None:
        facts, kind, name = self.facts, str(block.get("type")), block.get("name")
        given, content = block.get("input"), block.get("content")
        if name in _CODE and kind == "server_tool_use":
            facts.code += 1
            field = "code" if name == "code_execution" else "command"
            facts.add_opaque("code", given.get(field) if isinstance(given, dict) else None)
        elif kind.removesuffix("_tool_result") in _CODE:
            facts.code += 1
            result = content if isinstance(content, dict) else {}
            facts.add_opaque("code", result.get("stdout"), result.get("stderr"))
        else:
            facts.server_tools += 1
            values = [*strings(given, _WORDS), *strings(content, _WORDS)]
            facts.add_opaque("server_tools", block.get("id") or block.get("tool_use_id"), *values)

    def _read_error(self, holder: dict[str, Json]) -> None:
        self.facts.open_call = self._call is not None
        self._show_call()
        error = holder.get("error", holder)
        note_error(self.facts, error, self._status)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
