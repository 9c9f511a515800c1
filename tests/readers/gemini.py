"""The second reader of Gemini's messages: reads a raw body plainly, as untyped JSON.

It shares no code with the framers and normalizers, so it can't share their faults.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeGuard

from harness.facts import Run, arguments_of
from harness.providers.wire_values import NOTHING, camel, present, strings, values_in
from harness.stream.json_codec import Json
from tests.readers.account import Facts, note_error
from tests.readers.arguments import PlainArguments
from tests.readers.reader import MessageReader
from tests.readers.tool_code import find_blocks, find_written_calls

_NUMBERED = ("FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION")
_CAPITAL = re.compile(r"[A-Z]")
_READ = {"candidates", "promptFeedback", "usageMetadata", "error", "response", "functionCalls"}
_USUAL = {"candidates", "usageMetadata", "modelVersion", "responseId"}
"""The fields of nearly every message."""
_READ_CANDIDATE = {"content", "finishReason", "finishMessage", "index"}
_PART_OTHERS = {"text", "thought", "thoughtSignature", "functionCall"}
_OTHER_KINDS = (
    *("inlineData", "fileData", "executableCode", "codeExecutionResult"),
    *("toolCall", "toolResponse", "functionResponse"),
)
_CALL = {"name", "id", "args", "willContinue", "will_continue"}
_PIECE_VALUES = {"stringValue": (str,), "numberValue": (int, float), "boolValue": (bool,)}
_NULLS = {"nullValue", "null_value"}
_COUNTS = {
    spelling
    for name in (
        *("promptTokenCount", "candidatesTokenCount", "responseTokenCount", "totalTokenCount"),
        *("thoughtsTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount"),
        *("rawPromptTokenCount", "initialPromptTokenCount"),
        *("promptTokensDetails", "candidatesTokensDetails", "responseTokensDetails"),
        *("cacheTokensDetails", "toolUsePromptTokensDetails", "billablePromptUsage"),
    )
    for spelling in (name, _CAPITAL.sub(lambda match: "_" + match[0].lower(), name))
}
"""The fields of a ``usageMetadata`` that are no news, in both spellings."""
_BILLING = ("serviceTier", "trafficType")
_ENUM_WORD = re.compile("[A-Z_]+")
_OPAQUE_PARTS = (
    ("inlineData", "media", ("data",)),
    ("fileData", "media", ("fileUri",)),
    ("executableCode", "code", ("code",)),
    ("codeExecutionResult", "code", ("output",)),
)
"""Parts that are passed on: name, aspect, fields."""
_ANNOTATIONS = {
    "grounding": ("groundingMetadata", "groundingAttributions"),
    "citations": ("citationMetadata",),
    "urls": ("urlContextMetadata", "urlRetrievalMetadata"),
}
_URI_FIELDS = ("uri", "retrievedUrl", "retrieved_url")


def gather_body(body: bytes, status: int = 200, *, tool_code: bool = False) -> Facts:
    """Return the facts of candidate 0 in a raw body of any of the wire's framings; ``tool_code``:
    ``<tool_code>`` blocks of the text are calls.
    """
    reader = _Reader(status)
    reader.read_all(body)
    return reader.finish(tool_code)


def count_gemini(facts: Facts, usage: dict[str, Json]) -> None:
    """Note the counts of a ``usageMetadata``: each replaces an earlier one; a value that is not a
    whole number is left out.
    """
    for name, value in usage.items():
        count = value if type(value) is int else _whole(value)
        if count is not None:
            facts.usage[camel(name)] = count


def note_other_usage(facts: Facts, usage: dict[str, Json]) -> None:
    """Note how the answer is billed, and the names of the fields that are no counts."""
    if usage.keys() <= _COUNTS:
        return
    for name in _BILLING:
        facts.add_billing(name, pick(usage, name))
    facts.others |= {
        camel(name)
        for name, value in usage.items()
        if value is not None and name not in _COUNTS and camel(name) not in _BILLING
    }


def note_annotation(facts: Facts, candidate: dict[str, Json]) -> None:
    """Note the sources and the log probabilities in the fields of a candidate."""
    for aspect, names in _ANNOTATIONS.items():
        for name in names:
            facts.add_opaque(aspect, *_sources(pick(candidate, name)))
    for token in _chosen_tokens(pick(candidate, "logprobsResult")):
        facts.add_opaque("logprobs", str(pick(token, "logProbability")))


def note_server_tool(facts: Facts, tool: Json) -> None:
    """Note the values of a tool that the server ran."""
    if isinstance(tool, dict):
        texts = [
            text
            for field in ("args", "response")
            for text in strings(tool.get(field))
            if not _ENUM_WORD.fullmatch(text)
        ]
        facts.add_opaque("server_tools", tool.get("id"), *texts)


def values_of_piece(piece: dict[str, Json]) -> list[Json]:
    """Return the values of a piece of streamed arguments, without null."""
    types = _PIECE_VALUES.items()
    return [value for name, kinds in types if type(value := pick(piece, name)) in kinds]


def read_messages(messages: list[Json]) -> Facts:
    """Return the facts of messages that are already parsed."""
    reader = _Reader(200)
    for message in messages:
        reader.read(message)
    return reader.finish(tool_code=False)


def pick(holder: dict[str, Json], name: str) -> Json:
    """Return a field in either spelling; None if it is missing or null."""
    value = holder.get(name)
    return value if value is not None else holder.get(_snake(name))


@lru_cache(maxsize=256)
def _snake(name: str) -> str:
    """Return the snake_case name of a field."""
    return _CAPITAL.sub(lambda match: "_" + match[0].lower(), name)


def _objects(value: Json) -> list[dict[str, Json]]:
    """Return the objects of a list, or the one object instead of a list."""
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], dict):
            return value
        return [item for item in value if isinstance(item, dict)]
    return [value] if isinstance(value, dict) else []


class _Reader(MessageReader):
    """The state of one reading: the call whose arguments are streamed, and the pieces of text and
    thoughts that the facts do not have yet (`settled` adds them, because to add each would take
    quadratic time).
    """

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self._streamed: PlainArguments | None = None
        self._texts: list[str] = []
        self._thoughts: list[str] = []

    def _read_object(self, message: dict[str, Json]) -> None:
        inner, error = message.get("response"), message.get("error")
        if isinstance(inner, dict) and message.get("candidates") is None:
            self.facts.others |= present(message, {"response", "error"})
            self._read_object(inner)
        else:
            self._note_fields(message, _READ)
            self._read_response(message)
        if error or isinstance(error, dict):
            self._read_error(error)

    def settled(self) -> Facts:
        """Return the facts so far, with all pieces of text."""
        facts = self.facts
        if self._texts:
            facts.text = "".join((facts.text, *self._texts))
            self._texts.clear()
        if self._thoughts:
            facts.thoughts = "".join((facts.thoughts, *self._thoughts))
            self._thoughts.clear()
        return facts

    def finish(self, tool_code: bool) -> Facts:
        """Return the facts of the whole body."""
        facts = self.settled()
        facts.open_call = self._streamed is not None
        self._note_end()
        for view in filter(None, (facts, facts.at_error, facts.at_block) if tool_code else ()):
            view.blocks = find_blocks(view.text)
            view.written_calls = find_written_calls(view.text)
        return facts

    def _read_response(self, message: dict[str, Json]) -> None:
        is_usual = message.keys() <= _USUAL
        if not is_usual:
            self._read_feedback(pick(message, "promptFeedback"))
        usage = pick(message, "usageMetadata")
        if isinstance(usage, dict):
            count_gemini(self.facts, usage)
            note_other_usage(self.facts, usage)
        candidates, answered = message.get("candidates"), False
        for place, candidate in enumerate(
            candidates if isinstance(candidates, list) else [candidates]
        ):
            if not isinstance(candidate, dict):
                continue
            index = pick(candidate, "index")
            if type(index) is not int or index < 0:  # the first is the answer
                index = place if answered else 0
            if index == 0:
                self._read_candidate(candidate)
                answered = True
        calls = None if is_usual else pick(message, "functionCalls")
        for call in calls if isinstance(calls, list) else ():
            if _is_call(call):
                self._read_call(call)
            elif call is not None:
                self._refuse_call(call)
        if self.facts.block_reason is not None and self.facts.at_block is None:
            self.facts.open_call = self._streamed is not None
            self.facts.at_block = self.settled().snapshot()

    def _read_feedback(self, feedback: Json) -> None:
        if isinstance(feedback, dict):
            reason = _word(pick(feedback, "blockReason"), ())
            self.facts.block_reason = reason or self.facts.block_reason
            known = {"blockReason", "blockReasonMessage"} if reason else {"blockReason"}
            self.facts.others |= present(feedback, known)

    def _read_candidate(self, candidate: dict[str, Json]) -> None:
        content = candidate.get("content")
        if isinstance(content, dict):
            for part in _objects(content.get("parts")):
                self._read_part(part)
        if candidate.keys() <= {"content", "index"}:
            return
        if not candidate.keys() <= _READ_CANDIDATE:
            self.facts.others |= present(candidate, _READ_CANDIDATE)
            note_annotation(self.facts, candidate)
        finish, message = (pick(candidate, name) for name in ("finishReason", "finishMessage"))
        word = _word(finish, _NUMBERED)
        if word:
            self._streamed = None
            self.facts.finish = word
            self.facts.finish_message = message if isinstance(message, str) else None
        else:
            self.facts.others |= set() if finish in NOTHING else {"finishReason"}
            self.facts.others |= {"finishMessage"} if message else set()
        if not isinstance(message, str) and message not in NOTHING:
            self.facts.others.add("finishMessage")

    def _read_part(self, part: dict[str, Json]) -> None:
        text, thought, kind = part.get("text"), part.get("thought") is True, "other"
        begun = False
        if isinstance(text, str):
            kind = "thought" if thought else "text"
            if text:
                self._streamed = None  # text between two pieces of a call ends the call
            (self._thoughts if thought else self._texts).append(text)
            self.facts.order.append(Run("thought" if thought else "text", len(text)))
            if len(part) == 1:
                return
        call = pick(part, "functionCall")
        if _is_call(call):
            before, invalid = len(self.facts.calls), len(self.facts.invalid_calls)
            kind = (
                "piece" if self._streamed is None else "text"
            )  # later parts of a call do not sign it
            self._read_call(call)
            begun = len(self.facts.calls) > before
            refused = kind == "piece" and len(self.facts.invalid_calls) > invalid
            kind = "call" if begun or refused else kind
        elif call is not None:
            kind = "call"
            self._refuse_call(call)
        has_other = False
        if not part.keys() <= _PART_OTHERS:
            others = present(part, _PART_OTHERS)
            self.facts.others |= others
            self._read_others(part)
            has_other = bool(others) or any(pick(part, name) is not None for name in _OTHER_KINDS)
        if kind == "other" and not has_other:
            kind = "thought" if thought else "text"
        signature = pick(part, "thoughtSignature")
        if isinstance(signature, str) and signature:
            self.facts.signatures.append((kind, signature))
            if kind == "call" and begun:
                self.facts.marks[-1] = (self.facts.marks[-1][0], signature)
        elif signature not in NOTHING:
            self.facts.others.add("thoughtSignature")

    def _read_others(self, part: dict[str, Json]) -> None:
        """Note the content of a part other than text and calls."""
        self.facts.media += sum(pick(part, name) is not None for name in ("inlineData", "fileData"))
        self.facts.code += sum(
            pick(part, name) is not None for name in ("executableCode", "codeExecutionResult")
        )
        self.facts.server_tools += sum(
            pick(part, name) is not None for name in ("toolCall", "toolResponse")
        )
        answered = pick(part, "functionResponse")
        if isinstance(answered, dict):
            self.facts.add_result(False, answered.get("response"))
        for name, aspect, fields in _OPAQUE_PARTS:
            holder = pick(part, name)
            if isinstance(holder, dict):
                draft = aspect == "media" and part.get("thought") is True
                values = (pick(holder, field) for field in fields)
                self.facts.add_opaque("thoughts" if draft else aspect, *values)
        for name in ("toolCall", "toolResponse"):
            note_server_tool(self.facts, pick(part, name))

    def _read_call(self, call: dict[str, Json]) -> None:
        name, arguments = call.get("name"), call.get("args")
        if isinstance(arguments, str):
            arguments = arguments_of(arguments.strip())
        pieces, goes_on = _objects(pick(call, "partialArgs")), pick(call, "willContinue") is True
        invalid = arguments is not None and not isinstance(arguments, dict)
        if invalid:
            self._read_invalid(call)
            return
        self.facts.others |= present(call, {*_CALL, "partialArgs", "partial_args"})
        if (name and not self._goes_on(call)) or (arguments and self._streamed is None):
            self._streamed = PlainArguments(arguments if isinstance(arguments, dict) else {})
            self.facts.calls.append((str(name or ""), self._streamed.arguments))
            self.facts.places.append(len(self.settled().text))
            self.facts.order.append(Run("call"))
            self.facts.marks.append((str(call["id"]) if call.get("id") else None, None))
        elif self._streamed is not None:
            for key, value in (arguments or {}).items():
                self._note_piece(value)
                self._streamed.put(f"$[{json.dumps(key)}]", value)
        elif pieces:
            self.facts.others.add("partialArgs")
        for piece in pieces if self._streamed else []:
            self._put(piece)
        if not goes_on:
            self._streamed = None

    def _goes_on(self, call: dict[str, Json]) -> bool:
        """Return whether a call repeats the name and the id of the streamed call."""
        before = (self.facts.calls[-1][0], self.facts.marks[-1][0]) if self._streamed else None
        return call.get("id") is not None and (call["name"], str(call["id"])) == before

    def _refuse_call(self, call: Json) -> None:
        """Note a call that is not an object, or whose name is not a text."""
        text = call if isinstance(call, str) else json.dumps(call, ensure_ascii=False)
        self.facts.invalid_calls.append(("", text))
        self._streamed = None

    def _read_invalid(self, call: dict[str, Json]) -> None:
        """Note a call whose arguments are not an object; without a name it is the streamed call."""
        name, text, before = call.get("name"), call["args"], ""
        if not name and self._streamed is not None:
            name, so_far = self.facts.calls.pop()
            before = json.dumps(so_far, ensure_ascii=False) if so_far else ""
            self.facts.places.pop()
            self.facts.marks.pop()
            self.facts.order.pop()
        elif not name:
            self.facts.others |= present(call, set())
            return
        text = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
        self.facts.invalid_calls.append((str(name), before + text))
        self.facts.others |= present(call, _CALL)
        self._streamed = None

    def _put(self, piece: dict[str, Json]) -> None:
        values = values_of_piece(piece)
        is_null = not _NULLS.isdisjoint(piece) and pick(piece, "nullValue") in (None, "NULL_VALUE")
        path = pick(piece, "jsonPath")
        if not (values or is_null) or not isinstance(path, str):
            self.facts.others |= present(piece, set())
            return
        for value in values:
            self._note_piece(value)
        if self._streamed and not self._streamed.put(path, values[0] if values else None):
            self.facts.others |= present(piece, set())

    def _note_piece(self, value: Json) -> None:
        """Note a value of streamed arguments."""
        if value is not None:
            self.facts.pieces.append(value if isinstance(value, str) else "")

    def _read_error(self, error: Json) -> None:
        self.facts.open_call = self._streamed is not None
        note_error(self.settled(), error, self._status)


def _is_call(call: Json) -> TypeGuard[dict[str, Json]]:
    return isinstance(call, dict) and isinstance(call.get("name"), str | None)


def _sources(annotation: Json) -> Iterator[str]:
    """Yield every URI inside an annotation, in order. A retrieved context without a URI, such as
    one of file search, has its title and text instead.
    """
    for item in values_in(annotation):
        if not isinstance(item, dict):
            continue
        yield from (item[name] for name in _URI_FIELDS if isinstance(item.get(name), str))
        context = pick(item, "retrievedContext")
        if isinstance(context, dict) and not context.get("uri"):
            yield from (context[name] for name in ("title", "text") if context.get(name))


def _chosen_tokens(result: Json) -> Iterator[dict[str, Json]]:
    """Yield the tokens of the answer that have a log probability."""
    chosen = pick(result, "chosenCandidates") if isinstance(result, dict) else None
    for token in _objects(chosen):
        value = pick(token, "logProbability")
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield token


def _whole(count: Json) -> int | None:
    """Return a count as a number, also if it is a string or a float on the wire."""
    if type(count) is int:
        return count
    if isinstance(count, str) and re.fullmatch("-?[0-9]{1,19}", count):
        return int(count)
    return int(count) if isinstance(count, float) and count.is_integer() else None


def _word(reason: Json, numbered: tuple[str, ...]) -> str | None:
    """Return the word of a reason; numbers follow the order of the published enumeration. None for
    a value of another type.
    """
    if type(reason) is int:
        return numbered[reason] if 0 <= reason < len(numbered) else f"#{reason}"
    return reason if isinstance(reason, str) else None
