"""The oracle of Chat Completions, of Gemini's OpenAI-compatible endpoint and of other servers: a
slow and plain reader of a raw body, with the standard library's JSON.

A body is one ``chat.completion`` or a stream of ``chat.completion.chunk``. Gemini's signatures are
in ``extra_content``, and its thoughts are in the text, between tags or marked as a thought. A tag
may be split over deltas, but not across a call, a signature, a refusal, reasoning or the end. Other
servers have fields for reasoning. The oracle shares no code with the framers and normalizers, so it
can't share their faults.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import takewhile

from harness.facts import Run
from harness.providers.wire_values import names_in, present
from harness.stream.json_codec import Json
from tests.readers.account import Facts, note_error
from tests.readers.reader import MessageReader

VENDORS = ("google", "vertex")
"""The keys under ``extra_content``."""

DEEPEST = 200
"""Arguments that nest deeper are invalid."""

_COUNTS = (
    ("prompt_tokens", "promptTokenCount"),
    ("completion_tokens", "candidatesTokenCount"),
    ("total_tokens", "totalTokenCount"),
)
_INPUT_COUNTS = (
    ("cached_tokens", "cachedContentTokenCount"),
    ("cache_write_tokens", "cacheWriteTokenCount"),
)
_READ = {"choices", "usage", "error", "object", "id", "model", "obfuscation"}
_READ_CHOICE = {"index", "delta", "message", "finishReason"}
_READ_DELTA = {
    *("role", "content", "refusal", "toolCalls", "functionCall"),
    *("extraContent", "thoughtSignature", "reasoningContent", "reasoning", "audio"),
}
_READ_CALL = {"index", "id", "type", "function", "custom", "extraContent"}
_READ_FUNCTION = {"name", "arguments"}
_READ_CUSTOM = {"name", "input"}


def gather_compat(
    body: bytes, status: int = 200, *, interrupted: bool = False, tag: str | None = "thought"
) -> Facts:
    """Return the facts of choice 0 in a raw body; ``tag`` is the name of the tag around thoughts,
    None if text has no thoughts.
    """
    reader = _Reader(status, tag)
    reader.read_all(body)
    facts = reader.finish(interrupted)
    facts.ends_in_thought &= tag is None  # Google takes back a thought alone
    return facts


def gather_chat(body: bytes, status: int = 200, *, interrupted: bool = False) -> Facts:
    """Return the same facts of an answer whose text has no thoughts."""
    return gather_compat(body, status, interrupted=interrupted, tag=None)


def count_chat(facts: Facts, usage: dict[str, Json]) -> None:
    """Note the counts of one ``usage``. The tokens of the reasoning are counted in the output,
    unless the total counts them beside it.
    """
    for name, wire in _COUNTS:
        if type(usage.get(name)) is int:
            facts.usage[wire] = usage[name]
    of_input, of_output = (usage.get(f"{name}_tokens_details") for name in ("prompt", "completion"))
    for name, wire in _INPUT_COUNTS:
        if isinstance(of_input, dict) and type(of_input.get(name)) is int:
            facts.usage[wire] = of_input[name]
    if isinstance(of_output, dict) and type(of_output.get("reasoning_tokens")) is int:
        reasoning = of_output["reasoning_tokens"]
        facts.usage["thoughtsTokenCount"] = reasoning
        output = usage.get("completion_tokens")
        if type(output) is int:
            prompt = usage.get("prompt_tokens")
            prompt = prompt if type(prompt) is int else 0
            beside = usage.get("total_tokens") == prompt + output + reasoning
            facts.usage["candidatesTokenCount"] = output - (0 if beside else reasoning)


@dataclass(eq=False)
class _Call:
    """One call as it came."""

    name: str
    id: str | None
    index: int | None
    signature: str | None
    place: int
    pieces: list[str] = field(default_factory=list)
    whole: dict[str, Json] | None = None
    """The arguments, once they are an object."""
    closed: bool = False
    """Whether other content followed the call."""
    custom: bool = False
    """Whether the tool takes a text."""

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def is_over(self) -> bool:
        return self.closed or self.whole is not None

    @property
    def arguments(self) -> Json:
        """The arguments: an object, ``{}`` if there are none, else the text that is not an
        object.
        """
        if self.custom:
            return {"input": self.text}
        if self.whole is not None:
            return self.whole
        return self.text if self.text.strip() else {}

    def add(self, piece: Json) -> None:
        """Append a piece of the arguments; an object is the whole of them."""
        if isinstance(piece, dict):
            self.whole = piece
        elif isinstance(piece, str) and piece:
            self.pieces.append(piece)
            self.whole = None if self.custom else read_object(self.text)

    def continued_by(self, call_id: str | None, index: int | None, name: str) -> bool:
        """Return whether a piece with this id, index and name belongs to the call."""
        if call_id is not None and self.id is not None:
            return call_id == self.id
        if index is None:
            return call_id is None and not name
        return index == self.index and name in ("", self.name)


class _Reader(MessageReader):
    """Reads the facts of a Chat Completions answer, also thoughts between tags in its text."""

    def __init__(self, status: int, tag: str | None) -> None:
        super().__init__(status)
        self._calls: list[_Call] = []
        self._runs: list[Run | _Call] = []
        """The runs of text and thoughts, and the calls between them."""
        self._calls_before_thought = 0
        self._tags = re.compile("(?!)()" if tag is None else f"<(/?){re.escape(tag)}>")
        self._pending: list[tuple[str, bool]] = []
        """Texts in which a tag could continue, each with whether it is marked as a thought."""
        self._inside = False
        """Whether the text so far ends between two tags."""
        self._tagged = False
        """Whether there was a tag before."""
        self._last = "text"
        """The kind of the last piece of the last delta."""
        self._marked = False
        """Whether a delta was marked as a thought."""
        self._content = ""
        """All content, with its tags."""
        self._streamed = False
        """Whether a delta came. A message beside or after it repeats the deltas."""

    def finish(self, interrupted: bool) -> Facts:
        """Return the facts of the whole body."""
        self._settle(broken=interrupted or bool(self.facts.errors))
        self._note_end()
        if self._marked and not (self.facts.thoughts or self._tagged):
            self.facts.others.add("thought")
        return self.facts

    def _read_object(self, message: dict[str, Json]) -> None:
        kind, error = message.get("object"), message.get("error")
        wrong = bool(error) or isinstance(error, dict)
        if (wrong or self._status >= 300) and message.get("choices") is None:
            self._read_error(error if "error" in message else message)
            return
        if isinstance(kind, str) and kind and kind not in _OBJECTS:  # of another API
            self.facts.others |= names_in(message)
        else:
            self._read_answer(message)
        if wrong:
            self._read_error(error)

    def _read_answer(self, message: dict[str, Json]) -> None:
        facts = self.facts
        facts.others |= present(message, _READ)
        facts.others |= {"object"} if message.get("object") not in (None, "", *_OBJECTS) else set()
        facts.others |= {"modelVersion"} if message.get("model") else set()
        facts.others |= {"responseId"} if message.get("id") else set()
        if isinstance(message.get("usage"), dict):
            count_chat(facts, message["usage"])
        facts.add_billing("service_tier", message.get("service_tier"))
        choices = message.get("choices")
        for position, choice in enumerate(choices if isinstance(choices, list) else []):
            if not isinstance(choice, dict):
                continue
            index = choice.get("index")
            if not (index if type(index) is int and index >= 0 else position):
                self._read_choice(choice)

    def _read_choice(self, choice: dict[str, Json]) -> None:
        self.facts.others |= present(choice, _READ_CHOICE)
        delta, message = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict):
            self._streamed |= bool(delta)
            self._read_holder(delta)
        if isinstance(message, dict) and not self._streamed:
            self._read_holder(message)
        logprobs = choice.get("logprobs")
        tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
        for token in tokens if isinstance(tokens, list) else ():
            value = token.get("logprob") if isinstance(token, dict) else None
            if isinstance(value, int | float) and not isinstance(value, bool):
                self.facts.add_opaque("logprobs", str(value))
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._close_calls()
            self.facts.finish = reason
        elif reason:
            self.facts.others.add("finishReason")

    def _read_holder(self, holder: dict[str, Json]) -> None:
        """Read a delta or a message: reasoning first, then text, then calls."""
        self._read_reasoning(holder)
        content = holder.get("content")
        if isinstance(content, str) and content:
            self._close_calls(ends_text=False)
            self._read_text(content, holder)
        items = content if isinstance(content, list) and any(map(_is_object, content)) else []
        self._read_items(items)
        self._read_beside(holder)
        refusal = holder.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._close_calls()
            self.facts.add_text(refusal)
            self._runs.append(Run("text", len(refusal)))
            self.facts.refused = True
            self.facts.ends_in_thought = False
            self._note_tagged(refusal)
        self.facts.others |= present(holder, _READ_DELTA)
        self.facts.others |= {"role"} if holder.get("role") not in _ROLES else set()
        self.facts.others |= {
            name
            for name in ("content", "refusal")
            if holder.get(name) and not isinstance(holder[name], str)
        } - ({"content"} if items else set())
        audio = holder.get("audio")
        if isinstance(audio, dict) and audio:
            self.facts.media += bool(isinstance(audio.get("data"), str) and audio["data"])
            self.facts.add_opaque("media", audio.get("data"))
            self.facts.others |= names_in(audio)
        annotations, calls = holder.get("annotations"), holder.get("tool_calls")
        for annotation in annotations if isinstance(annotations, list) else ():
            cited = annotation.get("url_citation") if isinstance(annotation, dict) else None
            self.facts.add_opaque(
                "citations", cited.get("url") if isinstance(cited, dict) else None
            )
        old = holder.get("function_call")
        if isinstance(old, dict):
            self._read_call({"function": old})
        for piece in calls if isinstance(calls, list) else ():
            if isinstance(piece, dict):
                self._read_call(piece)

    def _read_reasoning(self, holder: dict[str, Json]) -> None:
        """Read reasoning in fields of its own; several fields have the same text."""
        details = holder.get("reasoning_details")
        details = details if isinstance(details, list) else []
        items = [item for item in details if isinstance(item, dict)]
        texts = [holder.get("reasoning_content"), holder.get("reasoning")]
        given = [text for text in texts if isinstance(text, str) and text]
        own = (item.get("text") or item.get("summary") or "" for item in items)
        text = given[0] if given else "".join(part for part in own if isinstance(part, str))
        keys = (item.get("signature") or item.get("data") for item in items)
        signatures = [("thought", key) for key in keys if isinstance(key, str) and key]
        if text or signatures:
            self._close_calls()
            self._end_in_thought()
        if text:
            self._note_thought(text)
        self.facts.signatures += signatures
        self.facts.others |= {"reasoning"} if given[1:] and given[0] != given[1] else set()

    def _end_in_thought(self) -> None:
        self.facts.ends_in_thought = True
        self._calls_before_thought = len(self._calls)

    def _note_thought(self, text: str) -> None:
        self.facts.add_thought(text)
        self._runs.append(Run("thought", len(text)))

    def _read_items(self, items: list[Json]) -> None:
        """Read content that is a list of texts and reasoning."""
        for item in items:
            given = item if isinstance(item, dict) else {}
            text, thinking = given.get("text"), given.get("thinking")
            kind = given.get("type")
            if kind == "text" and len(given) == 2 and isinstance(text, str):
                self._close_calls(ends_text=False)
                self._read_text(text, {})
            elif (
                kind == "thinking"
                and len(given) == 2
                and isinstance(thinking, list)
                and all(map(_is_plain_text, thinking))
            ):
                self._close_calls()
                self._end_in_thought()
                self._note_thought("".join(piece["text"] for piece in thinking))
            else:
                self.facts.others |= names_in(item)

    def _read_call(self, piece: dict[str, Json]) -> None:
        self._end_text()
        self.facts.others |= present(piece, _READ_CALL) | _left(piece)
        signature = _signature_of(piece)
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        custom = piece.get("custom")
        is_custom = isinstance(custom, dict)
        self.facts.others |= present(function, _READ_FUNCTION)
        if isinstance(custom, dict):
            self.facts.others |= present(custom, _READ_CUSTOM)
            text = custom.get("input")
            self.facts.others |= {"input"} if text and not isinstance(text, str) else set()
            function = {"name": custom.get("name")}
            function |= {"arguments": text} if isinstance(text, str) else {}
        name, index, identity = function.get("name"), piece.get("index"), piece.get("id")
        given = name if isinstance(name, str) else ""
        call_id = identity if isinstance(identity, str) and identity else None
        self.facts.others |= {"name"} if name and not given else set()
        self.facts.others |= {"id"} if identity and not call_id else set()
        arguments = function.get("arguments")
        index = index if type(index) is int else None
        related = [call for call in self._calls if call.continued_by(call_id, index, given)]
        if call_id is None and index is None:
            related = self._calls[-1:] if not given else []
        call = related[-1] if related else None
        over = call is not None and call.is_over
        if call is None or (over and given):
            if given or call_id or (arguments and not self._calls):
                call = _Call(given, call_id, index, signature, len(self.facts.text))
                call.custom = is_custom
                call.add(arguments)
                self._calls.append(call)
                self._runs.append(call)
            elif arguments:
                self.facts.others.add("input" if is_custom else "arguments")
        elif over:
            if arguments not in (None, "") and str(arguments).strip():
                self.facts.others.add("input" if is_custom else "arguments")
            self._sign("text", signature)
        else:
            if call.signature is None:
                call.signature = signature
            else:
                self._sign("text", signature)
            call.add(arguments)

    def _close_calls(self, ends_text: bool = True) -> None:
        """End the calls of the answer, because other content follows."""
        if ends_text:
            self._end_text()
        for call in self._calls:
            call.closed = True

    def _sign(self, kind: str, signature: str | None) -> None:
        if signature:
            self.facts.signatures.append((kind, signature))

    def _settle(self, broken: bool) -> None:
        """Set the facts of the calls so far; if the answer is ``broken``, of those before the first
        open one.
        """
        facts = self.facts
        self._end_text()
        shown = list(takewhile(lambda call: call.is_over or not broken, self._calls))
        whole = [call for call in shown if not isinstance(call.arguments, str)]
        facts.calls = [(call.name, call.arguments) for call in whole]
        facts.order = [
            Run("call") if isinstance(run, _Call) else run
            for run in self._runs
            if isinstance(run, Run) or run in whole
        ]
        facts.ends_in_thought &= len(shown) <= self._calls_before_thought
        unclosed = takewhile(lambda call: not call.closed, reversed(shown))
        facts.unclosed_calls = sum(1 for _ in unclosed) if broken else 0
        facts.places = [call.place for call in whole]
        facts.marks = [(call.id, call.signature) for call in whole]
        facts.invalid_calls = [
            (call.name, call.text) for call in shown if isinstance(call.arguments, str)
        ]
        facts.pieces = [piece for call in shown if len(call.pieces) > 1 for piece in call.pieces]
        others = [signature for signature in facts.signatures if signature[0] != "call"]
        facts.signatures = [("call", call.signature) for call in shown if call.signature] + others

    def _read_error(self, error: Json) -> None:
        self._settle(broken=True)
        note_error(self.facts, error, self._status)

    def _read_text(self, text: str, holder: dict[str, Json]) -> None:
        marked = _signature_of(holder) is None and _is_thought(holder)
        if self._pending and self._pending[-1][1] != marked:
            inside, tagged = self._state()
            if not (inside or tagged):
                self._end_text()
        self._pending.append((text, marked))

    def _end_text(self) -> None:
        text = "".join(piece for piece, _ in self._pending)
        self._content += text
        latest = len(text) - len(self._pending[-1][0]) if self._pending else 0
        self._last = "text"
        start = 0
        for match in self._matches(text):
            self._note(text[start : match.start()], match.start() > latest)
            self._inside, self._tagged = not match[1], True
            start = match.end()
        self._note(text[start:], len(text) > latest)
        self._pending = []
        self._note_tagged("")

    def _note_tagged(self, text: str) -> None:
        """Note more content as it is on the wire, which matters only if it has tags."""
        self._content += text
        if self._tagged:
            self.facts.tagged = self._content

    def _read_beside(self, holder: dict[str, Json]) -> None:
        self.facts.others |= _left(holder)
        self._marked = self._marked or _is_thought(holder)
        signature = _signature_of(holder)
        if signature:
            has_text = isinstance(holder.get("content"), str) and holder["content"]
            self._end_text()
            self.facts.signatures.append((self._last if has_text else "text", signature))
        old = holder.get("thought_signature")
        if old and old != signature:
            self.facts.others.add("thoughtSignature")

    def _matches(self, text: str) -> list[re.Match[str]]:
        """Return the tags that open or close a thought, in turn."""
        inside, matches = self._inside, []
        for match in self._tags.finditer(text):
            if bool(match[1]) == inside:
                inside = not inside
                matches.append(match)
        return matches

    def _state(self) -> tuple[bool, bool]:
        matches = self._matches("".join(piece for piece, _ in self._pending))
        inside = not matches[-1][1] if matches else self._inside
        return inside, self._tagged or bool(matches)

    def _note(self, text: str, is_latest: bool) -> None:
        """Note a piece of text or of a thought; ``is_latest``: the last delta ended it."""
        if not text:
            return
        marked = self._pending[0][1]  # used only before the first tag
        kind = "thought" if self._inside or (marked and not self._tagged) else "text"
        self._runs.append(Run("thought" if kind == "thought" else "text", len(text)))
        if kind == "thought":
            self.facts.add_thought(text)
        else:
            self.facts.add_text(text)
            self.facts.ends_in_thought = False
        if is_latest:
            self._last = kind


_OBJECTS = ("chat.completion", "chat.completion.chunk", "chat.completion.done")
_ROLES = (None, "", "assistant", "model")


def read_object(text: str) -> dict[str, Json] | None:
    """Return the object of JSON in a text; None if the text is anything else."""
    if not text.rstrip().endswith("}"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _depth(value) <= DEEPEST else None


def _is_plain_text(item: Json) -> bool:
    """Return whether an item of a content is only a text."""
    is_text = isinstance(item, dict) and item.get("type") == "text" and len(item) == 2
    return is_text and isinstance(item.get("text"), str)


def _is_object(value: Json) -> bool:
    return isinstance(value, dict)


def _depth(value: Json) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return depth - 1


def _signature_of(holder: dict[str, Json]) -> str | None:
    """Return the signature beside a call, a delta or a message; the older field is read last."""
    for vendor in VENDORS:
        extra = _extra(holder, vendor)
        if isinstance(extra.get("thought_signature"), str) and extra["thought_signature"]:
            return str(extra["thought_signature"])
    old = holder.get("thought_signature")
    return old if isinstance(old, str) and old else None


def _extra(holder: dict[str, Json], vendor: str) -> dict[str, Json]:
    content = holder.get("extra_content")
    extra = content.get(vendor) if isinstance(content, dict) else None
    return extra if isinstance(extra, dict) else {}


def _is_thought(holder: dict[str, Json]) -> bool:
    return any(_extra(holder, vendor).get("thought") is True for vendor in VENDORS)


def _left(holder: dict[str, Json]) -> set[str]:
    """Return the fields under ``extra_content`` other than marks and signatures."""
    content = holder.get("extra_content")
    if not isinstance(content, dict):
        return set() if content is None else {"extraContent"}
    left = present(content, {*VENDORS})
    for vendor in VENDORS:
        left |= present(_extra(holder, vendor), {"thought", "thoughtSignature"})
    return left
