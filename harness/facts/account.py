"""The account of one answer of a wire, with which an adapter's facts are compared."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field, replace

from harness.stream.json_codec import Json, nests_deeply

from .finish import CONTINUATION, is_malformed
from .order import Run


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
    unreadable_at: int | None = field(default=None, compare=False)
    """The byte of the body at which the first of ``unreadable`` begins; None if it is not known."""
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
    def has_content(self) -> bool:
        """Whether the answer has a text, a thought, a call, a result, media or code."""
        parts = (self.calls, self.results, self.media, self.code, self.server_tools)
        return bool(self.text or self.thoughts or any(parts))

    @property
    def understood(self) -> bool:
        """Whether anything in the answer was understood: content, the end, an error or a
        warning.
        """
        ends = (self.finish, self.block_reason)
        has_more = bool(self.errors or self.notices)
        return self.has_content or has_more or any(end is not None for end in ends)

    @property
    def is_malformed(self) -> bool:
        """Whether a call of the answer was malformed: its arguments are not a JSON object, or the
        finish reason says so and there is no call.
        """
        return bool(self.invalid_calls) or (is_malformed(self.finish) and not self.calls)

    @property
    def calls_in_text(self) -> list[tuple[str, str | None, dict[str, Json]]]:
        """The calls that the text has, in any form."""
        return [*self.blocks, *self.written_calls]

    def may_be_asked_again(self, times: int) -> bool:
        """Return whether an adapter may ask again so many times: for the rest of an answer that is
        to be continued, or once for a malformed answer.
        """
        malformed = self.invalid_calls or is_malformed(self.finish)
        return times > 0 and bool(self.finish in CONTINUATION or (malformed and times == 1))

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

    def without_calls(self, count: int) -> Facts:
        """Return the same account without the last calls, their ids and their signatures."""
        dropped = [signature for _, signature in self.marks[-count:]]
        signatures = [item for item in self.signatures if item[1] not in dropped]
        return replace(
            self,
            calls=self.calls[:-count],
            marks=self.marks[:-count],
            places=self.places[:-count],
            signatures=signatures,
        )

    def with_thoughts_in_text(self) -> Facts:
        """Return the facts as a client reads them that knows no thoughts: all of it is text."""
        text, places, used = "", [], {"text": 0, "thought": 0}
        for run in self.order:
            if run.kind == "call":
                places.append(len(text))
                continue
            start = used[run.kind]
            used[run.kind] += run.size
            text += (self.text if run.kind == "text" else self.thoughts)[start : used[run.kind]]
        return replace(self, text=text, thoughts="", places=places)

    @property
    def asked_signatures(self) -> list[tuple[str, str]]:
        """The signatures that a client gets that can't ask for thoughts. An answer of Interactions
        has those of thoughts in any case; then it has no thoughts.
        """
        if not (self.thoughts or self.signed_thoughts):
            return self.signatures
        return [item for item in self.signatures if item[0] != "thought"]

    def until_the_end(self) -> Facts:
        """Return the facts up to the first error or the refusal, for event models in which both end
        the answer.
        """
        if self.at_error is not None and self.at_error.block_reason is None:
            return self.at_error
        return self.at_block or self


def arguments_of(text: str) -> Json:
    """Return the object in the JSON text of a call's arguments, ``{}`` for an empty text; the text
    itself if it is not an object, or nests too deeply to be compared.
    """
    if nests_deeply(text.encode("utf-8", "surrogatepass")):
        return text
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text
