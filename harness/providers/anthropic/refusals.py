"""The requests that the Messages API refuses: histories of calls and thinking that are not whole.

Sources: https://platform.claude.com/docs/en/build-with-claude/extended-thinking,
https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use and public threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, Final

from harness.stream.json_codec import objects_in

from ..request_rules import Body, RequestRules, RuleBreak, ServedValues, read_rules
from .mirror import normal_form

_THINKING: Final = ("thinking", "redacted_thinking")
_NAME: Final = re.compile("[a-zA-Z0-9_-]{1,128}")
_AFTER: Final = "after "
"""Before the signature of a thinking block: a key for the thinking before it."""
_Block = dict[str, Any]


def _messages(body: Body) -> list[tuple[int, str, list[_Block]]]:
    """Return each message: its index, its role, and its blocks; a text is one block."""
    return [
        (index, str(message.get("role")), _blocks(message.get("content")))
        for index, message in enumerate(objects_in(body.get("messages")))
    ]


def _blocks(content: Any) -> list[_Block]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return objects_in(content)


def _turns(body: Body) -> list[list[tuple[int, str, list[_Block]]]]:
    """Return the messages, those of one role together: the API joins them."""
    turns: list[list[tuple[int, str, list[_Block]]]] = []
    for message in _messages(body):
        if turns and turns[-1][0][1] == message[1]:
            turns[-1].append(message)
        else:
            turns.append([message])
    return turns


def _blocks_of(turn: list[tuple[int, str, list[_Block]]], kind: str) -> list[_Block]:
    return [block for _, _, blocks in turn for block in blocks if block.get("type") == kind]


def _messages_missing(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    if not _messages(body):
        yield RuleBreak("messages: at least one message is required")


def _content_empty(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    messages = _messages(body)
    for index, role, blocks in messages:
        texts = [block.get("text") for block in blocks if block.get("type") == "text"]
        is_last = index == len(messages) - 1 and role == "assistant"
        if not is_last and (not blocks or (len(blocks) == len(texts) == 1 and texts == [""])):
            yield RuleBreak(
                f"messages.{index}: all messages must have non-empty content except for the"
                " optional final assistant message"
            )


def _text_empty(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    texts = [block for turn in _turns(body) for block in _blocks_of(turn, "text")]
    if any(block.get("text") == "" for block in texts):
        yield RuleBreak("messages: text content blocks must be non-empty")


def _use_twice(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    for turn in _turns(body):
        seen: list[Any] = []  # the API has answered a request with one id in two turns
        for index, _, blocks in turn:
            for place, block in enumerate(blocks):
                if block.get("type") == "tool_use":
                    if block.get("id") in seen:
                        yield RuleBreak(
                            f"messages.{index}.content.{place}: `tool_use` ids must be unique"
                        )
                    seen.append(block.get("id"))


def _use_without_result(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    """Find calls whose results are not the first blocks of the next message of the user."""
    turns = _turns(body)
    for number, turn in enumerate(turns):
        uses = [block.get("id") for block in _blocks_of(turn, "tool_use")]
        following = turns[number + 1] if number + 1 < len(turns) else []
        results = [
            block.get("tool_use_id")
            for _, _, blocks in following
            for block in takewhile(lambda block: block.get("type") == "tool_result", blocks)
        ]
        if turn[0][1] == "assistant" and (lost := [str(use) for use in uses if use not in results]):
            yield RuleBreak(
                f"messages.{turn[-1][0]}: `tool_use` ids were found without `tool_result` blocks"
                f" immediately after: {', '.join(lost)}. Each `tool_use` block must have a"
                " corresponding `tool_result` block in the next message."
            )


def _result_without_use(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    uses: list[Any] = []
    for turn in _turns(body):
        for index, _, blocks in turn:
            for place, block in enumerate(blocks):
                if block.get("type") == "tool_result" and block.get("tool_use_id") not in uses:
                    yield RuleBreak(
                        f"messages.{index}.content.{place}: unexpected `tool_use_id` found in"
                        f" `tool_result` blocks: {block.get('tool_use_id')}. Each `tool_result`"
                        " block must have a corresponding `tool_use` block in the previous message."
                    )
        uses = [block.get("id") for block in _blocks_of(turn, "tool_use")]


def _thinking_missing(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    """Find the turn of a tool loop in which the last answer does not begin with its thinking."""
    turns = _turns(body)
    thinking = body.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled" or len(turns) < 2:
        return
    answer, results = turns[-2:]
    index, role, blocks = answer[0]
    if role != "assistant" or not blocks or not _blocks_of(results, "tool_result"):
        return
    if (kind := blocks[0].get("type")) not in _THINKING and _blocks_of(answer, "tool_use"):
        yield RuleBreak(
            f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but"
            f" found `{kind}`. When `thinking` is enabled, a final `assistant` message must start"
            " with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result`"
            " blocks). We recommend you include thinking blocks from previous turns. To avoid this"
            " requirement, disable `thinking`. Please consult our documentation at"
            " https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
        )


def _thinking_changed(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    """Find thinking that was not served. If nothing served has a signature, all is accepted."""
    for index, _, blocks in _messages(body) if given else ():
        for place, block in enumerate(blocks):
            signed = block.get("signature"), block.get("thinking")
            if block.get("type") == "thinking" and given.get(str(signed[0])) != signed[1]:
                yield RuleBreak(
                    f"messages.{index}.content.{place}: Invalid `signature` in `thinking` block"
                )


def _thinking_moved(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    """Find thinking of the last answer that has other thinking directly before it than it had."""
    answers = [turn for turn in _turns(body) if turn[0][1] == "assistant"]
    for index, _, blocks in answers[-1] if answers else ():
        for place, (mark, before) in enumerate(_thinking_before(blocks)):
            if mark and given.get(_AFTER + mark, before) != before:
                yield RuleBreak(
                    f"messages.{index}.content.{place}: `thinking` or `redacted_thinking` blocks in"
                    " the latest assistant message cannot be modified. These blocks must remain as"
                    " they were in the original response."
                )


def _thinking_before(blocks: Sequence[_Block]) -> Iterator[tuple[str, str]]:
    """Yield the signature of each block, and that of the thinking directly before it; "" for a
    block that is no thinking.
    """
    before = ""
    for block in blocks:
        mark = str(block.get("signature") or "") if block.get("type") == "thinking" else ""
        yield mark, before
        before = mark


def _temperature(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    temperature = body.get("temperature")
    if isinstance(temperature, int | float) and not 0 <= temperature <= 1:
        yield RuleBreak("temperature: range: 0..1")


def _tool_name(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    for number, tool in enumerate(objects_in(body.get("tools"))):
        name = tool.get("name")
        if isinstance(name, str) and not _NAME.fullmatch(name):
            yield RuleBreak(
                f"tools.{number}.custom.name: String should match pattern '^{_NAME.pattern}$'"
            )


def _forced_with_thinking(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    thinking, choice = body.get("thinking"), body.get("tool_choice")
    forced = isinstance(choice, dict) and choice.get("type") in ("any", "tool")
    if forced and isinstance(thinking, dict) and thinking.get("type") == "enabled":
        yield RuleBreak("Thinking may not be enabled when tool_choice forces tool use.")


def _given(asked: Body, answer: Sequence[Any]) -> dict[str, str]:
    """Return signature → thinking, of the blocks in a request and in its answer, and `_AFTER` with
    a signature → the signature of the thinking directly before it.
    """
    answers = [blocks for _, _, blocks in _messages(asked)] + [_served_blocks(answer)]
    blocks = [block for _, _, blocks in _messages(asked) for block in blocks]
    blocks += objects_in(normal_form(answer)["content"])
    before = [pair for blocks in answers for pair in _thinking_before(blocks)]
    return {_AFTER + mark: signature for mark, signature in before if mark} | {
        str(block["signature"]): str(block.get("thinking") or "")
        for block in blocks
        if block.get("type") == "thinking" and block.get("signature")
    }


def _served_blocks(answer: Sequence[Any]) -> list[_Block]:
    """Return the types and signatures of all blocks of an answer, also those of server tools."""
    blocks: dict[Any, _Block] = {}
    for message in objects_in(answer):
        match message:
            case {"type": "message", "content": list(content)}:
                return objects_in(content)
            case {"type": "content_block_start", "index": int(index), "content_block": dict(block)}:
                blocks[index] = dict(block)
            case {
                "type": "content_block_delta",
                "index": int(index),
                "delta": {"type": "signature_delta", "signature": signature},
            } if index in blocks:
                blocks[index]["signature"] = signature
    return [*blocks.values()]


REFUSALS: Final = RequestRules(
    read_rules(
        __package__,
        {
            "messages-missing": _messages_missing,
            "message-empty": _content_empty,
            "text-empty": _text_empty,
            "tool-use-twice": _use_twice,
            "tool-use-without-result": _use_without_result,
            "tool-result-without-use": _result_without_use,
            "thinking-missing": _thinking_missing,
            "thinking-changed": _thinking_changed,
            "thinking-moved": _thinking_moved,
            "temperature-range": _temperature,
            "tool-name": _tool_name,
            "forced-with-thinking": _forced_with_thinking,
        },
    ),
    _given,
)
