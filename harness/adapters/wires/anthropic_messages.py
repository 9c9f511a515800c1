"""The strict reader of Anthropic Messages, as the client `anthropic` joins the events of a stream.

The client (`anthropic.lib.streaming`) appends each ``content_block_start`` to a list; ``index`` of
a later event is the place in that list.
"""

from __future__ import annotations

from typing import ClassVar, Final

from harness.facts import Call, Fact, Facts, Finish, Text, Thought, arguments_of, facts_of_account
from harness.stream.json_codec import Json
from harness.stream.printable import short_json

from .wire_reader import Framing, Unreadable, WireReader, object_in, objects_in, text_in

_DELTAS: Final = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
    "citations_delta": "text",
}
"""The type of the only block to which the client adds a delta."""
_TOOLS: Final = ("tool_use", "server_tool_use")
"""The blocks whose input is streamed."""


class AnthropicMessages(WireReader):
    """The state of one answer: the blocks, the facts of each with their messages, the texts of
    their inputs, and the counts.
    """

    framing: ClassVar[Framing] = Framing(event_lines=True)

    def __init__(self, streamed: bool | None) -> None:
        super().__init__(streamed)
        self._blocks: list[dict[str, Json]] | None = None
        self._stated: list[list[tuple[int, Fact]]] = []
        self._inputs: dict[int, str] = {}
        self._stopped: set[int] = set()
        self._usage: dict[str, Json] | None = None
        self._counted = 0
        self._finish: tuple[str, int] = ("", 0)

    def _read(self, message: dict[str, Json]) -> None:
        kind = message.get("type")
        if kind == "error":
            self._add_error(message.get("error"))
        elif kind == "message_start":
            self._begin(object_in(message, "message"))
        elif kind == "message" and not self._framed:
            self._begin(message, whole=True)
        # Anthropic's documentation: "Event streams may also include any number of `ping` events."
        elif kind == "ping":
            pass
        elif self._blocks is None:
            raise Unreadable(f"{short_json(kind)} comes before message_start")
        elif kind == "content_block_start":
            self._start(object_in(message, "content_block"), self._blocks)
        elif kind == "content_block_delta":
            self._read_delta(self._index(message), object_in(message, "delta"))
        elif kind == "content_block_stop":
            self._stop(self._index(message))
        elif kind == "message_delta":
            self._end(object_in(message, "delta"), object_in(message, "usage"))
        elif kind != "message_stop":
            raise Unreadable(f"the official client ignores the type {short_json(kind)}")

    def _begin(self, message: dict[str, Json], *, whole: bool = False) -> None:
        if self._blocks is not None:
            raise Unreadable("the official client ignores a second message_start")
        blocks = objects_in(message, "content", "message.", required=True)
        # Anthropic's documentation: `message_start` "contains a `Message` object with empty
        # `content`".
        if blocks and not whole:
            raise Unreadable("message_start has content; expected [], because blocks follow")
        self._blocks = []
        for block in blocks:
            self._start(block, self._blocks)
            self._stop(len(self._blocks) - 1)
        self._count(object_in(message, "usage", "message."))
        if reason := text_in(message, "stop_reason", "message."):
            self._finish = reason, len(self.facts) - 1

    def _start(self, block: dict[str, Json], blocks: list[dict[str, Json]]) -> None:
        kind = block.get("type")
        if kind in ("text", "thinking"):
            if not isinstance(block.get(kind), str):
                raise Unreadable(f'a block of the type {kind} has no string {kind}, such as ""')
        elif kind == "tool_use":
            for name in ("id", "name"):
                text_in(block, name, "content_block.")
            object_in(block, "input", "content_block.")
        elif not isinstance(kind, str):
            raise Unreadable(f"content_block.type is {short_json(kind)}; expected a string")
        blocks.append(block)
        self._stated.append([])
        if kind in ("text", "thinking"):
            self._state_text(len(blocks) - 1, str(block[kind]))

    def _state(self, index: int, fact: Fact) -> None:
        self._stated[index].append((len(self.facts) - 1, fact))

    def _state_text(self, index: int, text: str) -> None:
        assert self._blocks is not None
        if text:
            kind = self._blocks[index]["type"]
            self._state(index, Text(text) if kind == "text" else Thought(text))

    def _index(self, event: dict[str, Json]) -> int:
        index, blocks = event.get("index"), self._blocks or []
        if type(index) is not int or not 0 <= index < len(blocks):
            raise Unreadable(
                f"index is {short_json(index)}, and the official client has"
                f" {len(blocks)} content blocks; expected the place of the block, from 0"
            )
        return index

    def _read_delta(self, index: int, delta: dict[str, Json]) -> None:
        assert self._blocks is not None
        kind, block = delta.get("type"), self._blocks[index]
        if kind == "input_json_delta" and block["type"] in _TOOLS:
            text = self._inputs.get(index, "") + _text(delta, "partial_json")
            if index in self._stopped or text.isspace():
                raise Unreadable(
                    f"partial_json of block {index} is"
                    f" {'after its content_block_stop' if text.strip() else 'only white space'}"
                )
            self._inputs[index] = text
        elif isinstance(kind, str) and _DELTAS.get(kind) == block["type"]:
            if kind in ("text_delta", "thinking_delta"):
                self._state_text(index, _text(delta, str(block["type"])))
        else:
            raise Unreadable(
                f"the official client ignores {short_json(kind)} for a block of the type"
                f" {block['type']}"
            )

    def _stop(self, index: int) -> None:
        assert self._blocks is not None
        block = self._blocks[index]
        if index in self._stopped:
            raise Unreadable(f"block {index} has a second content_block_stop")
        self._stopped.add(index)
        if block["type"] != "tool_use":
            return
        text = self._inputs.get(index)
        given = arguments_of(text) if text else block["input"]
        call_id = text_in(block, "id") or None
        self._state(index, Call(call_id, text_in(block, "name"), given))

    def _end(self, delta: dict[str, Json], usage: dict[str, Json]) -> None:
        for index, block in enumerate(self._blocks or ()):
            if block["type"] == "tool_use" and index not in self._stopped:
                raise Unreadable(f"message_delta comes before content_block_stop of block {index}")
        # Anthropic's documentation: "The token counts shown in the `usage` field of the
        # `message_delta` event are cumulative."
        self._count({"output_tokens": None, **usage}, later=True)
        self._finish = text_in(delta, "stop_reason", "delta."), len(self.facts) - 1

    def _count(self, usage: dict[str, Json], *, later: bool = False) -> None:
        """Note counts. Those of a message_delta replace the earlier ones."""
        given = {
            name: count
            for name, count in usage.items()
            if count is not None or (later and name == "output_tokens")
        }
        for name in ("input_tokens", "output_tokens", "cache_read_input_tokens"):
            if type(given.get(name, 0)) is not int and given[name] is not None:
                raise Unreadable(f"usage.{name} is {short_json(given[name])}; expected a number")
        self._usage = {**(self._usage or {}), **given}
        self._counted = len(self.facts) - 1

    def close(self) -> None:
        """Note the facts of the blocks in the order of the blocks, then the stop reason and the
        counts where they came last.
        """
        latest = 0
        for place, fact in (stated for block in self._stated for stated in block):
            latest = max(latest, place)
            self.facts[latest].append(fact)
        reason, place = self._finish
        if reason:
            self.facts[place].append(Finish(reason))
        if self._usage is not None:
            account = Facts()
            account.usage = {
                name: count for name, count in self._usage.items() if type(count) is int
            }
            self.facts[self._counted] += facts_of_account(account)


def _text(delta: dict[str, Json], name: str) -> str:
    if not isinstance(delta.get(name), str):
        raise Unreadable(f"delta.{name} is {short_json(delta.get(name))}; expected a string")
    return str(delta[name])
