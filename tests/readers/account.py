"""The account of one answer of a wire, as the second readers write it."""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from harness.facts import Error, Run, is_malformed
from harness.facts.detail import ErrorWords
from harness.providers.event_facts import error_facts, exit_facts
from harness.stream.json_codec import Json


@dataclass
class Facts:
    """The facts of candidate 0 of one answer of a wire."""

    text: str = ""
    """All pieces of text, joined."""
    thoughts: str = ""
    """All pieces of thoughts, joined."""
    calls: list[tuple[str, Json]] = field(default_factory=list)
    """(name, arguments) in order; a streamed call has the arguments that arrived, as text if they
    are not a whole object.
    """
    open_call: bool = False
    """Whether the last call never ended."""
    signatures: list[tuple[str, str]] = field(default_factory=list)
    """(kind of part, base64 as on the wire); kinds are ``text``, ``thought``, ``call`` and
    ``other``.
    """
    finish: str | None = None
    """The last raw finish reason."""
    finish_message: str | None = None
    """The text beside the finish reason."""
    block_reason: str | None = None
    errors: list[tuple[int | None, str]] = field(default_factory=list)
    """(number or None, message)."""
    usage: dict[str, int] = field(default_factory=dict)
    """The latest value of each count by its camelCase wire name."""
    media: int = 0
    """The number of media parts."""
    code: int = 0
    """The number of parts with code or its result."""
    server_tools: int = 0
    """The number of parts about tools of the server."""
    client_tools: set[str] = field(default_factory=set, compare=False)
    """The ids of the ``server_tools`` that the client runs, such as a shell. An adapter may give
    them as calls.
    """
    blocks: list[tuple[str, str | None, dict[str, Json]]] = field(default_factory=list)
    """The ``<tool_code>`` blocks of the text: (raw text, name or None, arguments)."""
    written_calls: list[tuple[str, str | None, dict[str, Json]]] = field(default_factory=list)
    """Calls that the text has in other forms, in the same shape."""
    others: set[str] = field(default_factory=set)
    """The names of fields that no other fact covers."""
    unreadable: list[str] = field(default_factory=list)
    """The pieces that are not JSON."""
    results: list[tuple[bool, str | None]] = field(default_factory=list)
    """The results of tools that the provider ran: (whether it failed, its text or None)."""
    notices: list[str] = field(default_factory=list)
    """The texts of warnings, which do not end the answer."""
    marks: list[tuple[str | None, str | None]] = field(default_factory=list)
    """The id and the signature of each call, each None if missing."""
    ended_well: bool = False
    """Whether the answer reports its end, and reports no failure, no continuation and no malformed
    call.
    """
    invalid_calls: list[tuple[str, str]] = field(default_factory=list)
    """(name, text) of whole calls whose arguments are not a JSON object."""
    at_error: Facts | None = None
    """The facts up to the first error, including it."""
    at_block: Facts | None = None
    """The facts up to the refusal, including it."""
    opaque: dict[str, list[str]] = field(default_factory=dict)
    """Values of the wire that event models only pass on, by aspect: ``media`` (data or URI),
    ``thoughts`` (the same of drafts), ``code`` (code and output), ``server_tools`` (ids, and
    strings of arguments and results), ``grounding``, ``citations``, ``urls`` (URIs).
    """
    billing: dict[str, str] = field(default_factory=dict)
    """The latest service tier and traffic type, by name."""
    error_words: list[str] = field(default_factory=list)
    """Code, status and message of each error."""
    pieces: list[str] = field(default_factory=list)
    """The values of streamed arguments as they arrived, "" for a value that is not a string."""
    places: list[int] = field(default_factory=list)
    """The number of characters of text before each call."""
    repeated_signatures: dict[str, str] = field(default_factory=dict)
    """Other values that the wire gives for one of ``signatures`` → that signature: a response of
    OpenAI repeats its reasoning, encrypted anew. Each of them may be sent back.
    """
    signed_before: list[int] = field(default_factory=list)
    """The number of ``signatures`` before each call, empty for wires on which a call has its own.
    """
    signed_places: list[int] = field(default_factory=list, compare=False)
    """The number of characters of text before each signature of a thought, on wires that keep the
    order of thoughts and text.
    """
    signed_thoughts: list[str] = field(default_factory=list, compare=False)
    """The text of each thought with a signature, on wires whose signatures cover it."""
    order: list[Run] = field(default_factory=list, compare=False)
    """The runs of text and thoughts, and the calls between them."""
    unclosed_calls: int = 0
    """The number of last calls that are whole, but could go on: the answer broke off, and this wire
    ends a call only by what follows it.
    """
    mended: str | None = None
    """The undamaged text, if the wire also has it beside pieces with damaged characters."""
    tagged: str = ""
    """The text with its thoughts between tags, as the wire has it, if there are tags; else ""."""
    refused: bool = False
    """Whether a part of the text is in the field for a refusal."""
    ends_in_thought: bool = field(default=False, compare=False)
    """Whether no text and no call follows the last thought, on a wire that refuses such a thought
    in a history.
    """

    @property
    def is_malformed(self) -> bool:
        """Whether a call of the answer was malformed: its arguments are not a JSON object, or the
        finish reason says so and there is no call.
        """
        return bool(self.invalid_calls) or (is_malformed(self.finish) and not self.calls)

    def add_text(self, piece: str) -> None:
        """Append a piece of the answer's text, in linear time: CPython extends a string in place if
        only the local variable refers to it.
        """
        text, self.text = self.text, ""
        text += piece
        self.text = text

    def add_thought(self, piece: str) -> None:
        """Append a piece of the thoughts, as `add_text` does."""
        thoughts, self.thoughts = self.thoughts, ""
        thoughts += piece
        self.thoughts = thoughts

    def add_error(self, code: int | None, message: str) -> None:
        """Note an error. For the first error, also keep the facts so far."""
        self.errors.append((code, message))
        if self.at_error is None:
            self.at_error = self.snapshot()

    def snapshot(self) -> Facts:
        """Return the facts so far, in containers of their own. Most containers are empty."""
        kept = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list | dict | set | Facts):
                setattr(kept, name, copy.deepcopy(value) if value else type(value)())
        return kept

    def add_opaque(self, aspect: str, *values: Json) -> None:
        """Note the values of an aspect that are non-blank strings."""
        texts = [value for value in values if isinstance(value, str) and value.strip()]
        if texts:
            self.opaque.setdefault(aspect, []).extend(texts)

    def add_billing(self, name: str, word: Json) -> None:
        """Note how the answer is billed, such as a service tier, if the wire says so."""
        if isinstance(word, str) and word and "unspecified" not in word.lower():
            self.billing[name] = word

    def add_signature(self, kind: str, signature: Json) -> None:
        """Note one signature, several, or none, of a part of this kind."""
        signatures = signature if isinstance(signature, list) else [signature]
        self.signatures += [(kind, item) for item in signatures if isinstance(item, str)]

    def add_result(self, failed: bool, response: Json) -> None:
        """Note the result of a tool: its text, or an object with the text under a usual name."""
        named = (
            [response.get(name) for name in ("text", "output", "result")]
            if isinstance(response, dict)
            else [response]
        )
        self.results.append((failed, next((text for text in named if isinstance(text, str)), None)))

    def until_the_end(self) -> Facts:
        """Return the facts up to the first error or the refusal, for event models in which both end
        the answer.
        """
        if self.at_error is not None and self.at_error.block_reason is None:
            return self.at_error
        return self.at_block or self

    def values(self, without: Collection[str] = ()) -> dict[str, Any]:
        """Return the values as `harness.proving.compare_readers` compares them."""
        values = {name: value for name, value in vars(self).items() if name not in _OWN}
        values["call_places"] = values.pop("places")
        values["marks"] = [(call_id or None, signature) for call_id, signature in self.marks]
        values["errors"] = [Error(*error) for error in self.errors]
        counts = {name: values.pop(name) for name in ("media", "code", "server_tools")}
        values["contents"] = {name: count for name, count in counts.items() if count}
        values["calls_in_text"] = [*self.blocks, *values.pop("written_calls")]
        ended = self.until_the_end()
        values |= {} if ended is self else {"until_the_end": ended.values(without)}
        return {name: value for name, value in values.items() if name not in without}


_OWN = {"at_error", "at_block"}
"""The fields that no view has."""


def note_error(facts: Facts, error: Json, http_status: int = 200) -> None:
    """Note an error."""
    _note(facts, *error_facts(error, http_status))


def note_exit(facts: Facts, exit_code: str, stderr: str) -> None:
    """Note the exit of a program as an error."""
    _note(facts, *exit_facts(exit_code, stderr))


def _note(facts: Facts, words: ErrorWords, error: Error) -> None:
    facts.error_words += words.words
    facts.add_error(error.code if isinstance(error.code, int) else None, error.message)
