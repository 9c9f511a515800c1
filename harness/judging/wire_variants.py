"""Lists the ways in which a recorded answer differs from the documented wire.

An adapter may refuse such answers. `judging.excuses` has the aspects that each variant excuses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

import msgspec

from harness.providers import GENERATE_CONTENT, Provider
from harness.stream.exchange import Exchange
from harness.stream.framing import Frame
from harness.stream.json_codec import Json, decode_json, objects_in
from harness.stream.oddities import Oddities

_SNAKE: Final = frozenset(
    {
        "finish_reason",
        "usage_metadata",
        "function_call",
        "thought_signature",
        "prompt_feedback",
        "block_reason",
        "inline_data",
        "file_data",
        "model_version",
        "response_id",
        "prompt_token_count",
        "candidates_token_count",
        "total_token_count",
        "safety_ratings",
        "grounding_metadata",
        "executable_code",
        "code_execution_result",
        "function_response",
        "finish_message",
        "citation_metadata",
    }
)
_DATA: Final = frozenset(
    {
        "text",
        "functionCall",
        "inlineData",
        "fileData",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
    }
)
_VALUES: Final = frozenset({"args"})
"""Fields with keys that the user chooses, so the spelling of the keys is not a variant."""

_LINES: Final = tuple(
    (re.compile(pattern, re.MULTILINE), name)
    for pattern, name in (
        (r"^(?:event|id|retry):", "event:, id: or retry: lines"),
        (r"^:", "comments"),
        (r"^data: ?\[DONE\]", "[DONE]"),
        (r"^data:[^ \r\n]", "no space after data:"),
        (r"^data:.*\r?\ndata:", "several data lines"),
        (r"\r(?!\n)", "a lone CR"),
        (r"^data: b'", "a Python bytes literal"),
        (r"^data: ?data:", "data: twice"),
        (r"^data:[ ]*\r?$", "an event without data"),
        (r"^data: ?\[(?!DONE\])", "an array in an event"),
    )
)
NOT_REQUESTED: Final = "candidates that were not requested"
_LINE_ENDS: Final = re.compile(r"\r\n|\r|\n")
_decode = msgspec.json.Decoder().decode


def variants_in(
    exchange: Exchange,
    body: bytes,
    provider: Provider,
    frames: Sequence[Frame],
    oddities: Oddities,
) -> list[str]:
    """Return the variants in an answer's decoded body, as phrases; [] for the documented wire. The
    framing of a program's output is its own.
    """
    if provider.program:
        return provider.variants(body, frames, oddities)
    text = body.decode("utf-8", "replace")
    plain = text.lstrip("\ufeff")
    is_documented = _is_documented_framing(text)
    are_frames = is_documented and exchange.status < 300
    each = [frame.json for frame in frames] if are_frames else _messages(plain)
    messages = [message for message in each if isinstance(message, dict)]
    variants = {name for message in messages for name in _of_message(message)} - provider.framing
    variants |= {*provider.variants(body, frames, oddities)}
    if (
        provider.wire == GENERATE_CONTENT
        and ("_" in text or "\\u" in text)
        and any(not _SNAKE.isdisjoint(field_names(item, _VALUES)) for item in messages)
    ):
        variants.add("snake_case")
    if not is_documented:
        framing = {name for pattern, name in _LINES if pattern.search(text)}
        framing |= {"a BOM"} if text.startswith("\ufeff") else set()
        framing |= _of_framing(exchange, plain, messages)
        variants |= framing - provider.framing
    if _candidates_requested(exchange) > 1:
        variants.discard(NOT_REQUESTED)
    id_name = "responseId" if provider.wire == GENERATE_CONTENT else "id"
    ids = {message.get(id_name) for message in messages} - {None}
    if len(ids) > 1:
        variants.add("a response id that changes")
    return sorted(variants)


def _candidates_requested(exchange: Exchange) -> int:
    """Return the number of candidates that the request asks for; 1 if it does not say."""
    try:
        body = decode_json(exchange.request.body) if exchange.request else None
    except ValueError:
        return 1
    if isinstance(body, dict) and type(body.get("n")) is int:
        return int(body["n"])
    body = body.get("request", body) if isinstance(body, dict) else {}
    for name in ("generationConfig", "generation_config"):
        config = body.get(name) if isinstance(body, dict) else None
        for count in ("candidateCount", "candidate_count"):
            if isinstance(config, dict) and type(config.get(count)) is int:
                return int(config[count])
    return 1


def _is_documented_framing(text: str) -> bool:
    """Return whether the text has only messages that are each an object in one ``data:`` line, with
    a blank line after it.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    return (
        "\r" not in text.replace("\r\n", "")
        and len(lines) % 2 == 1
        and len(lines) > 1
        and not any(lines[1::2])
        and not lines[-1]
        and all(line.startswith("data: {") for line in lines[:-1:2])
    )


def _messages(text: str) -> Iterator[Json]:
    """Yield the JSON objects of a body in any framing. Damaged lines are skipped."""
    try:
        whole = _json(text)
    except ValueError:
        for line in _LINE_ENDS.split(text):
            document = line.removeprefix("data:").strip().strip(",")
            try:
                value = _json(document) if document else None
            except ValueError:
                continue
            yield value
    else:
        yield from whole if isinstance(whole, list) else [whole]


def _json(text: str) -> Json:
    try:
        return _decode(text)
    except (ValueError, RecursionError):
        try:
            return json.loads(text)
        except RecursionError:
            raise ValueError("nested too deeply") from None


def _of_message(message: dict[str, Any]) -> Iterator[str]:
    inner = message.get("response")
    if isinstance(inner, dict):
        yield from _of_message(inner)
    if "functionCalls" in message:
        yield "old fields"
    error = message.get("error")
    if isinstance(error, dict) and "code" not in error:
        yield "an error without a code"
    feedback = message.get("promptFeedback") or message.get("prompt_feedback")
    if isinstance(feedback, dict) and _is_number(feedback.get("blockReason")):
        yield "enum numbers"
    if any(choice.get("index") for choice in objects_in(message.get("choices"))):
        yield NOT_REQUESTED
    candidates = message.get("candidates")
    for candidate in candidates if isinstance(candidates, list) else [candidates]:
        if isinstance(candidate, dict):
            yield from _of_candidate(candidate)
    if isinstance(candidates, dict):
        yield "old fields"


def _of_candidate(candidate: dict[str, Any]) -> Iterator[str]:
    if candidate.get("index"):
        yield NOT_REQUESTED
    if _is_number(candidate.get("finishReason", candidate.get("finish_reason"))):
        yield "enum numbers"
    if "citations" in candidate:
        yield "old fields"
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict):
            continue
        if len(_DATA & part.keys()) > 1:
            yield "two kinds of data in one part"
        call = part.get("functionCall", part.get("function_call"))
        if isinstance(call, dict) and isinstance(call.get("args"), str):
            yield "arguments as text"


def _of_framing(exchange: Exchange, text: str, messages: list[dict[str, Any]]) -> set[str]:
    variants = set()
    is_events = re.search(r"^data:", text, re.MULTILINE) is not None
    if is_events and re.search(r"^\[", text, re.MULTILINE):
        variants.add("an error inside an array")
    elif text.lstrip().startswith("["):
        variants.add("an error inside an array" if exchange.status >= 300 else "an array")
    elif not is_events and len(messages) > 1:
        variants.add("JSON lines")
    elif (
        exchange.streamed
        and exchange.status < 300
        and not is_events
        and messages
        and "error" not in messages[0]
    ):
        variants.add("one document instead of events")
    last = text.rstrip().splitlines()[-1:] if text.strip() else []
    if (
        is_events
        and exchange.end == "complete"
        and last[0].startswith("data:")
        and not re.search(r"(?:\r\n?+|\n){2}[ \t\r\n]*$", text)
    ):
        variants.add("a missing blank line at the end")
    return variants


def field_names(value: Json, free: Collection[str]) -> list[str]:
    """Return the names of all fields, without those below a field in ``free``, which others choose;
    a name may be there more than once.
    """
    names: list[str] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            names += item
            pending += [inner for key, inner in item.items() if key not in free]
        elif isinstance(item, list):
            pending += item
    return names


def _is_number(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
