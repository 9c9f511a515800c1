"""The view of the facts of a wire, with which those of an adapter are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from msgspec.structs import replace as with_fields

from harness.stream.json_codec import Json

from .calls import in_doubles
from .detail import (
    Billing,
    Blocked,
    CallBegins,
    CallPiece,
    ClientTools,
    Content,
    EndsInThought,
    ErrorWords,
    InvalidCall,
    Mended,
    Notice,
    Opaque,
    OpenCall,
    PartBegins,
    Refusal,
    RepeatedSignature,
    Signature,
    Tagged,
    UnclosedCalls,
    WrittenCall,
)
from .fact import Call, Error, Fact, Finish, Text, Thought
from .finish import CONTINUATION, is_malformed
from .order import Run
from .view import View

CallInText = tuple[str, str | None, dict[str, Json]]
"""The raw text, the name of the tool or None, and the arguments."""


class WireFacts(View):
    """The facts of candidate 0 of one answer of a wire."""

    def __init__(self, facts: Sequence[Fact] = ()) -> None:
        super().__init__(facts)
        kinds = self._kinds

        def last(kind: type[Fact], name: str, default: Any = None) -> Any:
            return getattr(kinds[kind][-1], name) if kind in kinds else default

        self.finish = last(Finish, "raw")
        self.mended: str | None = last(Mended, "text")
        """The undamaged text beside damaged pieces."""
        self.tagged: str = last(Tagged, "text", "")
        """The text with its thoughts between tags, as the wire has it; "" without tags."""
        self.refused = Refusal in kinds
        """Whether a part of the text is in the field for a refusal."""
        self.ends_in_thought = EndsInThought in kinds
        """Whether the service would refuse the last thought, because nothing follows it."""
        self.client_tools: frozenset[str] = last(ClientTools, "ids", frozenset())
        """The ids of tools of the server that the client runs."""
        self.unclosed_calls: int = last(UnclosedCalls, "number", 0)
        """The number of last calls that are whole, but could go on."""
        self.pieces: list[str] = [piece.value for piece in kinds.get(CallPiece, ())]
        """The values of streamed arguments as they arrived."""
        self.billing: dict[str, str] = {fact.name: fact.word for fact in kinds.get(Billing, ())}
        """The latest service tier and traffic type, by name."""
        errors = kinds.get(ErrorWords, ())
        self.error_words: list[str] = [word for error in errors for word in error.words]
        """Code, status and message of each error."""
        again = kinds.get(RepeatedSignature, ())
        self.repeated_signatures: dict[str, str] = {fact.value: fact.first for fact in again}
        """Other values of signatures, each with the first value."""
        written = sorted(kinds.get(WrittenCall, ()), key=lambda call: not call.block)
        self.calls_in_text: list[CallInText] = [(c.raw, c.name, c.arguments) for c in written]
        """The calls that the text has, in any form."""
        self.blocks = self.calls_in_text[: sum(call.block for call in written)]
        """The ``<tool_code>`` blocks of the text."""
        self.opaque: dict[str, list[str]] = {}
        """Values of the wire that event models only pass on, by aspect."""
        for fact in kinds.get(Opaque, ()):
            self.opaque.setdefault(fact.aspect, []).extend(fact.values)
        self.order: list[Run] = []
        """The pieces of text and thoughts, and the calls between them."""
        self.spans: list[tuple[int, int]] = []
        """The indexes of the facts with which each call begins and ends."""
        self.call_places: list[int] = []
        """The number of characters of text before each call."""
        self.signed_before: list[int] = []
        """The number of signatures before each call; empty if a call has its own."""
        self.signed_places: list[int] = []
        """The number of characters of text before each signature whose place matters."""
        self.signed_thoughts: list[str] = []
        """The text of each thought that a signature covers."""
        self._lay_out()
        self.calls = [
            (call.name or "", call.arguments)
            for _, end in self.spans
            if isinstance(call := facts[end], Call | CallBegins | OpenCall)
        ]
        self.marks = [
            (call.id, call.signature)
            for begin, _ in self.spans
            if isinstance(call := facts[begin], CallBegins)
        ]
        """The id and the signature of each call, each None if missing."""

    def _lay_out(self) -> None:
        """Note the places of the content among each other."""
        text = thoughts = part = signatures = run = end = 0
        begins = False
        call: int | None = None  # that began and did not end yet
        for at, fact in enumerate(self.facts):
            match fact:
                case Text(piece):
                    self.order.append(Run("text", len(piece)))
                    text += len(piece)
                case Thought(piece):
                    self.order.append(Run("thought", len(piece), begins=begins))
                    thoughts, begins = thoughts + len(piece), False
                case PartBegins():
                    part, begins = thoughts, True
                case CallBegins():
                    if call is not None:
                        self.spans.append((call, end))
                    call = end = at
                    self.call_places.append(text)
                    run = len(self.order)
                    self.order.append(Run("call"))
                    if fact.after_signatures:
                        self.signed_before.append(signatures)
                case OpenCall():
                    end = at
                case Call() if call is not None:
                    self.spans.append((call, at))
                    call = None
                case InvalidCall() if call is not None:
                    call = None
                    self.call_places.pop()
                    del self.order[run], self.signed_before[len(self.call_places) :]
                case Signature():
                    signatures += 1
                    if fact.placed:
                        self.signed_places.append(text)
                    if fact.covers:
                        self.signed_thoughts.append(self.thoughts[part:thoughts])
        self.open_call = call is not None
        if call is not None:
            self.spans.append((call, end))

    @property
    def understood(self) -> bool:
        """Whether anything in the answer was understood: content, the end, an error or a
        warning.
        """
        others = (Content, Finish, Blocked, Error, Notice)
        content = self.text or self.thoughts or self.calls or self.results
        return bool(content) or any(self.of(kind) for kind in others)

    @property
    def is_malformed(self) -> bool:
        """Whether a call of the answer was malformed: its arguments are not a JSON object, or the
        finish reason says so and there is no call.
        """
        return bool(self.invalid_calls) or (is_malformed(self.finish) and not self.calls)

    def may_be_asked_again(self, times: int) -> bool:
        """Return whether an adapter may ask again so many times: for the rest of an answer that is
        to be continued, or once for a malformed answer.
        """
        malformed = self.invalid_calls or is_malformed(self.finish)
        return times > 0 and bool(self.finish in CONTINUATION or (malformed and times == 1))

    def until_the_end(self) -> WireFacts:
        """Return the facts up to the first error or the refusal, for event models in which both end
        the answer.
        """
        ends = (at for at, fact in enumerate(self.facts, 1) if isinstance(fact, Error | Blocked))
        at = next(ends, None)
        return self if at is None else WireFacts(self.facts[:at])

    def before(self, kind: type[Fact]) -> WireFacts:
        """Return the facts before the first one of a kind."""
        ends = (at for at, fact in enumerate(self.facts) if isinstance(fact, kind))
        return WireFacts(self.facts[: next(ends, None)])

    def without_calls(self, count: int) -> WireFacts:
        """Return the same facts without the last calls and their signatures."""
        dropped = {signature for _, signature in self.marks[-count:]}
        numbers = {number for span in self.spans[-count:] for number in span}
        return WireFacts(
            [
                fact
                for number, fact in enumerate(self.facts)
                if number not in numbers
                and not (isinstance(fact, Signature) and fact.value in dropped)
            ]
        )

    def with_thoughts_in_text(self) -> WireFacts:
        """Return the facts as a client reads them that knows no thoughts: all of it is text."""
        return self._map(
            lambda fact: (
                Text(fact.text)
                if isinstance(fact, Thought)
                else with_fields(fact, covers=False)
                if isinstance(fact, Signature)
                else fact
            )
        )

    def without_unasked_signatures(self) -> WireFacts:
        """Return the facts with the signatures that a client gets that can't ask for thoughts. An
        answer of Interactions has those of thoughts in any case; then it has no thoughts.
        """
        if not (self.thoughts or self.signed_thoughts):
            return self
        return WireFacts(
            [f for f in self.facts if not (isinstance(f, Signature) and f.kind == "thought")]
        )

    def in_doubles(self) -> WireFacts:
        """Return the facts in a language in which every number is a double."""
        return self._map(
            lambda fact: (
                replace(fact, arguments=in_doubles(fact.arguments))
                if isinstance(fact, Call)
                else fact
            )
        )

    def with_signatures(self, spell: Callable[[str], str]) -> WireFacts:
        """Return the facts with each signature in another spelling."""

        def spelled(fact: Fact) -> Fact:
            match fact:
                case Signature():
                    return with_fields(fact, value=spell(fact.value))
                case CallBegins(signature=str(value)):
                    return with_fields(fact, signature=spell(value) if value else None)
                case RepeatedSignature():
                    return RepeatedSignature(spell(fact.value), spell(fact.first))
            return fact

        return self._map(spelled)

    def _map(self, change: Callable[[Fact], Fact]) -> WireFacts:
        return WireFacts([change(fact) for fact in self.facts])
