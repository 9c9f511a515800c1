"""A finding: one result of a comparison as data. Its sentence and its group are made from the table
of reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from string import Formatter
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import force_setattr

from harness.stream.json_codec import Json
from harness.stream.printable import excerpt, short_json, shorten

Aspect = str
"""The name of a row in the table of aspects (`harness.facts.aspects`)."""
AspectVerdict = Literal["kept", "lost", "wrong", "raised", "not_carried", "not_asked"]

RED: Final[frozenset[AspectVerdict]] = frozenset({"lost", "wrong", "raised"})
"""The verdicts that make a cell fail."""

RUN: Final = "run"
"""The subject of a finding about the run of an adapter as a whole."""
MAX_ITEMS: Final = 3
"""The number of calls of a list that a sentence shows."""
MAX_SIGNATURE: Final = 40
MAX_VALUE: Final = 80
MAX_WORDS: Final = 250
MAX_SIDE: Final = 2000
"""About the number of characters of a side. A larger value is shortened, because findings are
written into results.
"""
MIN_PART: Final = 40
"""A part of a shortened value with less room than this is text."""
SIZE_OF_MARK: Final = 32
"""The maximum size of the mark of a shortened text, which has its length."""
SIZE_OF_PART: Final = 8
"""The size of a number, and of the brackets and commas of a part, in characters."""


class Place(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A place in an answer or in a request. Parts that do not apply are None or empty."""

    call: int | None = None
    """The number of a call in the answer, from 1."""
    character: int | None = None
    """The index of a character in the joined text."""
    wire: str = ""
    """A text of the wire from the place on. The evidence shows the frame with its beginning."""
    adapter: str = ""
    """The same for the text of the adapter."""
    path: str = ""
    """The path of a payload that breaks a law."""
    content: int | None = None
    """The index of a content, step or message in the request of the second turn."""
    message: str = ""
    """The type of the message of the wire at which an exception was raised in the stream."""
    asked: str = ""
    """The path of the value that a question asks for."""
    sent: str = ""
    """The path of the value, or of the node that should have it, in the body of a request."""
    cuts: str = ""
    """The cuts of the body that show the finding, if others do not; ``recorded`` if it is not there
    when the answer comes in one read.
    """


class Finding(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One result of a comparison."""

    subject: str
    """An aspect, a law (``law-3``), or the path of a payload. ``$`` is the whole value."""
    verdict: AspectVerdict
    reason: str = ""
    """A name in `REASONS`; "" for a value that is kept without a remark."""
    wire: Json = None
    """The value of the wire, or the expected value of a spec or law."""
    adapter: Json = None
    """The value of the adapter."""
    place: Place = Place()
    remark: str = ""
    """A sentence of the comparison that has no values of the two sides."""
    word: str = ""
    """The kind of value in the request, as a declared loss names it in brackets: ``map``."""
    turn: int | None = None
    """The number of the turn of a session, from 1."""

    def __post_init__(self) -> None:
        if self.reason not in REASONS:
            raise ValueError(f"unknown reason {self.reason!r}")
        for name in ("wire", "adapter", "remark"):
            value = getattr(self, name)
            if value is not None and (shortened := _shortened(value, MAX_SIDE)) is not value:
                force_setattr(self, name, shortened)

    @property
    def red(self) -> bool:
        """Whether the finding makes a cell fail."""
        return self.verdict in RED

    @property
    def is_crash(self) -> bool:
        """Whether the aspect is missing because the adapter or its shim crashed."""
        return self.reason in ("crash", "shim-crash")

    @property
    def is_exception(self) -> bool:
        """Whether the aspect is missing because of an exception of the adapter or its shim."""
        return self.is_crash or self.reason in ("needless", "needless-retried")

    @property
    def note(self) -> str:
        """The reason as a sentence without the subject; "" if there is no reason."""
        sentence = _SENTENCES.vformat(REASONS[self.reason].sentence, (), _fields(self))
        if message := self.place.message:
            sentence = f"{sentence}; the next message of the wire is {message}"
        if turn := self.turn:
            sentence = f"in turn {turn}: {sentence}" if sentence else f"in turn {turn}"
        cuts = self.place.cuts
        if cuts == RECORDED:
            return f"{sentence}; {AT_BORDER}"
        return f"with --cuts {cuts}: {sentence}" if cuts else sentence

    @property
    def sentence(self) -> str:
        """The subject, the verdict and the reason as a sentence."""
        words = f"{self.subject} {self.verdict}".replace("_", " ")
        return f"{words}: {note}" if (note := self.note) else words

    @property
    def group(self) -> tuple[str, ...]:
        """Findings with the same group differ only in their values."""
        fields = _fields(self)
        named = (_SENTENCES.vformat(f"{{{name}}}", (), fields) for name in REASONS[self.reason].key)
        return (self.subject, self.verdict, self.reason, self.place.cuts, *named)

    def values(self) -> Iterator[str]:
        """Yield the texts and numbers of both sides, as text. The evidence shows the lines with
        them.
        """
        yield from _leaves(self.wire)
        yield from _leaves(self.adapter)


RECORDED: Final = "recorded"
"""The cuts of a body that are recorded."""
AT_BORDER: Final = "right if the answer comes in one read: the fault is at a border of reads"


@dataclass(frozen=True, slots=True)
class Reason:
    """The sentence of a reason, and the fields of a finding that also decide its group."""

    sentence: str
    key: tuple[str, ...] = ()


NOT_REQUESTED: Final = "not-requested"
UNDECLARED: Final = "undeclared"
TOO_DEEP: Final = "too-deep"
DRAFTS_MISSING: Final = "drafts-missing"
NOTHING_RECORDED: Final = "nothing-recorded"
_OF_ERROR: Final = ("adapter[type]", "place.message")
REASONS: Final[Mapping[str, Reason]] = {
    "": Reason(""),
    # of an exact comparison with a golden expectation, and of a law
    "missing": Reason("{remark}"),
    "extra": Reason("{remark}"),
    "changed": Reason("{remark}"),
    "moved": Reason("{remark}"),
    "recut": Reason("{remark}"),
    "law": Reason("{remark}"),
    "asked": Reason("{remark}", ("word",)),
    # of a cell that could not be judged
    "unjudged": Reason("{adapter}", ("remark",)),
    # why an aspect is not asked or not carried
    "not-on-wire": Reason("the wire that the adapter asked does not have it"),
    NOT_REQUESTED: Reason("the recorded request asks for it, the adapter's does not"),
    UNDECLARED: Reason("the recorded request declares no such tool"),
    TOO_DEEP: Reason("a call's arguments nest too deeply to be compared"),
    "in-header": Reason("it is in a header of the answer, and the adapter gets only the body"),
    "default-tier": Reason("the answer has the default tier, which everybody pays"),
    "skipped": Reason("{adapter}", ("adapter",)),
    "thoughts-not-requested": Reason("the adapter can't ask for thoughts"),
    "asked-again": Reason(
        "the adapter asked again after an answer that is to be continued or is malformed"
    ),
    "beside-fault": Reason(
        "the answer has an error, a refusal, a fault or no end, beside which it is not asked"
    ),
    "declared": Reason("declared as {wire}", ("wire",)),
    NOTHING_RECORDED: Reason("nothing recorded"),
    "unread": Reason("nothing of this answer was read, and the adapter reports nothing"),
    "left-unread": Reason("the reader left {wire:list} unread"),
    "variant": Reason("it depends on a form that no server documents: {wire:list}"),
    "in-session": Reason("the payloads of {wire} do not have it without their session", ("wire",)),
    "nameless-call": Reason("the wire has a call without a name, which nobody can run"),
    "only-doubles": Reason(
        "all numbers of the adapter's language are doubles, which can't hold an integer of the wire"
    ),
    # text and thoughts
    "text-from-start": Reason(
        "at character 0 the wire has {place.wire:text}, the adapter {place.adapter:text}"
    ),
    "text": Reason(
        "at character {place.character} the wire has {place.wire:text}, the adapter"
        " {place.adapter:text}"
    ),
    "thoughts-in-text": Reason("they are in the text, between their tags, as on the wire"),
    "text-doubled": Reason(
        "at character {place.character} the adapter gives {adapter:text} a second time"
    ),
    "damaged-text": Reason(
        "the adapter passes on {adapter:text}, which is damaged; the wire also has {wire:text}"
    ),
    "comes-late": Reason("{place.wire:text} comes after {adapter}, but the wire has it before"),
    "stated-twice": Reason("the payloads state it as {wire:json} and as {adapter:json}"),
    # calls and ids
    "call-twice": Reason("the call of {adapter[name]} is given twice"),
    "arguments-in-pieces": Reason(
        "the arguments of {wire[name]} are passed on in pieces, not joined"
    ),
    "calls-missing": Reason("{wire[missing]} of {wire[of]} calls lost: {wire[first]:call}"),
    "calls-unreported": Reason(
        "{wire[missing]} of {wire[of]} calls lost: {wire[first]:call}; the native events have it:"
        " does the shim report it?"
    ),
    "call-made-whole": Reason(
        "the wire has no whole object of arguments for {wire[name]}, only {wire[arguments]:json};"
        " the adapter calls {adapter:call}"
    ),
    "calls-merged": Reason("{wire[of]} calls are merged into one: {adapter:call}"),
    "arguments": Reason(
        "the arguments of {wire[name]} differ: the wire has {place.wire:text}, the adapter"
        " {place.adapter:text}"
    ),
    "calls": Reason("the wire calls {wire:calls}, the adapter {adapter:calls}"),
    "ids-missing": Reason("{wire[missing]} of {wire[of]} ids lost: {wire[first]}"),
    "id-missing": Reason("the id {wire} of call {place.call} is nowhere"),
    "id-of-another-call": Reason("call {place.call} has the id {adapter} of another call"),
    "shared-id": Reason("several calls have the id {adapter}; the wire does not repeat it"),
    "id": Reason("the id of call {place.call} is {adapter}; the wire's is {wire}"),
    "repeated-id-missing": Reason("the id {wire}, which the wire repeats, is nowhere"),
    # the end
    "no-client-runs": Reason(
        "the adapter gives a call and reports {adapter}, so no client runs the tool; expected"
        " tool_use"
    ),
    "only-stop": Reason("the wire ends with {wire}; the adapter reports only {adapter}"),
    "no-finish": Reason("the wire ends with {wire}; the adapter gives no reason"),
    "finish": Reason("the wire ends with {wire}; the adapter reports {adapter}"),
    "own-word": Reason("as the wire's own word"),
    "error-for-finish": Reason("the adapter reports an error"),
    "invented-end": Reason("the wire gives no reason to end; the adapter reports {adapter}"),
    "silent-end": Reason("the answer is {wire} in the middle; the adapter does not report it"),
    # counts
    "counts-invented": Reason("the wire has no counts; the adapter reports {adapter:counts}"),
    "counts": Reason(
        "the wire has {wire:counts}; the adapter reports {adapter:counts}", ("adapter:missing",)
    ),
    "counts-unreported": Reason(
        "the wire has {wire:counts}; the adapter reports {adapter:counts}; the native events have"
        " them: does the shim report them?"
    ),
    "thoughts-beside-output": Reason(
        "the adapter reports output {adapter[output]} and thoughts {adapter[thoughts]}, but the"
        " output of its wire includes the thoughts"
    ),
    "sum-as-total": Reason(
        "the wire's total has {wire} more tokens, which no count has; the adapter's is the sum"
    ),
    "cached-count": Reason("the wire has {wire} cached tokens, which are nowhere"),
    "tool-use-count": Reason("the wire has {wire} tokens of tool use, which no count has"),
    # of a known event model
    "signed-part": Reason(
        "a signature of {adapter[at]} that the wire has at {wire}: {adapter[is]:signature}"
    ),
    "invalid-call-missing": Reason(
        "the call {wire}, whose arguments are not a JSON object, is neither shown nor reported"
    ),
    "invalid-call-made": Reason("the wire has the call {adapter} not, or with other arguments"),
    "number-of-results": Reason("the wire has {wire} results, the adapter {adapter}"),
    "result-state": Reason("a result failed on one side only"),
    "result-text": Reason("a result has the text {wire:text}, the adapter's {adapter:json}"),
    "fields-missing": Reason("lost: {wire:list}"),
    # errors and refusals
    "block-not-named": Reason(
        "the prompt is blocked ({wire}); the adapter reports {adapter:words}, which does not name"
        " the block"
    ),
    "block": Reason("the prompt is blocked ({wire}); the adapter reports {adapter}"),
    "no-error": Reason("the wire reports {wire:list}; the adapter reports no error"),
    "no-error-but-end": Reason(
        "the wire reports {wire:list}; the adapter reports no error and ends with {adapter}"
    ),
    "other-error": Reason("the wire reports {wire:list}; the adapter reports {adapter:words}"),
    "other-error-class": Reason(
        "the wire reports {wire:list}; the adapter reports {adapter:words}, an error of another"
        " class"
    ),
    "crash": Reason(
        "the adapter crashed: {adapter[words]:words}",
        ("adapter[type]", "adapter[place]", "place.message"),
    ),
    "shim-crash": Reason(
        "the shim crashed: {adapter[words]:words}",
        ("adapter[type]", "adapter[place]", "place.message"),
    ),
    "retried": Reason("asked again {adapter}×"),
    "needless": Reason("the adapter reports an error: {adapter[words]:words}", _OF_ERROR),
    "needless-retried": Reason(
        "asked again {adapter[again]}×, the adapter reports an error: {adapter[words]:words}",
        _OF_ERROR,
    ),
    # opaque values
    "values-missing": Reason("{wire[missing]} of {wire[of]} values lost: {wire[first]:value}"),
    DRAFTS_MISSING: Reason(
        "{wire[missing]} of {wire[of]} media of the thoughts lost: {wire[first]:value}"
    ),
    "only-raw": Reason("only in raw data"),
    # a session
    "turns": Reason("the wire ends {wire} turns, the adapter {adapter}"),
    "transcript": Reason("the wire has {wire:text}, the adapter {adapter:text}"),
    "interrupted": Reason("the wire interrupts turns {wire:json}, the adapter {adapter:json}"),
    "cancelled-calls": Reason(
        "the wire cancels the calls {wire:list}, the adapter reports {adapter:list}"
    ),
    "result-of-no-call": Reason("a result is sent for {adapter}, which is no open call"),
    "result-of-cancelled-call": Reason(
        "the result of call {place.call} is sent, although the call is cancelled"
    ),
    "result-not-sent": Reason("the result of call {place.call} is not sent"),
    "result-twice": Reason("the result of call {place.call} is sent {adapter} times"),
    "result-name": Reason("result {place.call} has the name {adapter:json}, its call {wire}"),
    "result-no-object": Reason("the response of result {place.call} is {adapter:json}, no object"),
    "hangs": Reason("the adapter did not send {wire} within the time limit", ("wire",)),
    "beside-hang": Reason("the session did not come to its end"),
    "sent": Reason("the adapter sent {adapter}", ("adapter",)),
    "opened-again": Reason("the adapter opened a second session, which is not recorded"),
    "left": Reason("the adapter ended the session before its end"),
    # the requests of the adapter
    "no-request": Reason("no request was seen"),
    "refused": Reason("the API refuses the request: {wire:refusals}", ("wire:rules",)),
    "passed-on": Reason(
        "the API refuses the request, which has only what the adapter was given: {wire:refusals}",
        ("wire:rules",),
    ),
    # the second turn
    "call-not-sent": Reason("the call {wire:call} is not sent back"),
    "arguments-of-another-type": Reason(
        "the arguments of {wire[name]} are sent back as a JSON value of a type that this wire does"
        " not take"
    ),
    "call-sent-twice": Reason("the call {adapter} is sent back more often than the answer has it"),
    "calls-in-other-order": Reason("the calls are sent back in another order: {adapter}"),
    "call-after-result": Reason("a call comes after the first result"),
    "stored-call-sent": Reason("the call {adapter} is sent although the server has it"),
    "id-not-sent": Reason("the id {wire} of call {place.call} is not sent back"),
    "id-changed": Reason("the id {wire} of call {place.call} is sent back as {adapter}"),
    "id-made": Reason(
        "call {place.call} is sent back with the id {adapter}, which it did not have"
    ),
    "no-id-for-result": Reason("call {place.call} has no id, by which its result must name it"),
    "result-id": Reason("result {place.call} has the id {adapter}, its call {wire}"),
    "results": Reason("the calls are {wire}, the results are of {adapter}"),
    "results-split": Reason(
        "the results are in {adapter} contents; this provider refuses them unless they are in one"
    ),
    "results-in-other-order": Reason(
        "the results have no ids and are in another order: expected {wire}, sent {adapter}"
    ),
    "result-text-not-sent": Reason("the text of result {place.call} is not sent back"),
    "result-text-changed": Reason(
        "the text of result {place.call} is {wire:json}; sent back is {adapter:json}"
    ),
    "result-failed": Reason(
        "result {place.call} is sent back as that of a tool that failed, which it did not"
    ),
    "results-not-given": Reason("the adapter is not asked for the texts of the results"),
    "result-text-of-another": Reason(
        "result {place.call} has the text of another call's: {adapter}"
    ),
    "result-image-not-sent": Reason("the image of result {place.call} is not sent back"),
    "result-image-of-another": Reason(
        "the image of result {place.call} is in the result of another call"
    ),
    "signature-not-sent": Reason(
        "the signature of call {place.call} is not sent back: {wire:signature}"
    ),
    "signature-moved": Reason("the signature of call {place.call} is at another part"),
    "signature-twice": Reason("the signature of call {place.call} is sent back more than once"),
    "signature-made": Reason(
        "call {place.call} is sent back with a signature that it did not have"
    ),
    "other-not-sent": Reason("not sent back: {wire:signature}"),
    "other-twice": Reason("sent back more than once: {wire:signature}"),
    "other-made": Reason("the answer does not have it: {adapter:signature}"),
    "other-at-call": Reason("sent back at a call: {adapter:signature}"),
    "signed-thought-changed": Reason(
        "the thought {wire:text} is sent back as {adapter:text}, with its signature, which is only"
        " right for its text"
    ),
    "signatures-in-other-order": Reason("the signed thoughts are sent back in another order"),
    "signature-beyond-text": Reason("the signature of a thought is on another side of the text"),
    "signature-beyond-call": Reason("a signature is on the other side of call {place.call}"),
    "tool-not-sent": Reason("lost: {wire:value}"),
    "more-text": Reason("more text is sent back than the answer has"),
    "sent-text": Reason("the answer has the text {wire:json}, sent back is {adapter:json}"),
    "text-beyond-call": Reason(
        "the text {wire[text]:text} is sent back {remark} call {place.call} ({wire[call]}); the"
        " answer has it on the other side"
    ),
}
"""Every reason, by its name. A ``key`` names the values by which the same reason is divided into
several groups.
"""


class _Sentences(Formatter):
    """Fills the sentence of a reason. The format after a colon names the form of a value."""

    def get_field(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        try:
            return super().get_field(name, args, kwargs)
        except (AttributeError, IndexError, KeyError, TypeError):  # masked, or made by hand
            return None, name

    def format_field(self, value: Any, form: str) -> str:
        try:
            shown: object = _FORMS[form](value)
        except (AttributeError, KeyError, TypeError):  # the same
            shown = None
        return shown if isinstance(shown, str) else short_json(value)


def _call(call: Json) -> str:
    return f"{call['name'] or 'a call without a name'}({short_json(call['arguments'])})"


def _refusal(refusal: Json) -> str:
    return (
        f"{shorten(refusal['message'], MAX_WORDS)} (rule {refusal['rule']}: {refusal['refused']}"
        f" {refusal['source']})"
    )


_FORMS: Final[Mapping[str, Callable[[Any], str]]] = {
    "": str,
    "json": short_json,
    "text": lambda text: short_json(text[:MAX_VALUE]),
    "value": lambda text: excerpt(text, MAX_VALUE),
    "signature": lambda text: excerpt(text, MAX_SIGNATURE),
    "words": lambda text: shorten(text, MAX_WORDS),
    "list": lambda words: " ".join(words[:MAX_ITEMS]),
    "call": _call,
    "calls": lambda calls: ", ".join(map(_call, calls[:MAX_ITEMS])) or "none",
    "refusals": lambda refusals: "; ".join(map(_refusal, refusals)),
    "rules": lambda refusals: " ".join(refusal["rule"] for refusal in refusals),
    "counts": lambda counts: ", ".join(
        f"{name} {count or 'none'}" for name, count in counts.items()
    ),
    "missing": lambda counts: " ".join(name for name, count in counts.items() if not count),
}
_SENTENCES: Final = _Sentences()


def _fields(finding: Finding) -> Mapping[str, Any]:
    return {
        "wire": finding.wire,
        "adapter": finding.adapter,
        "place": finding.place,
        "remark": finding.remark,
        "word": finding.word,
    }


def error_finding(message: str, group: str = "") -> Finding:
    """Return the finding of a run that gave nothing to judge. Errors of one ``group`` differ only
    in their values.
    """
    return Finding(RUN, "raised", "unjudged", adapter=message, remark=group or message)


def call_value(name: str, arguments: Json) -> Json:
    """Return a call as a value of a finding."""
    return {"name": name, "arguments": arguments}


def _shortened(value: Json, room: int) -> Json:
    """Return a value of about ``room`` characters: the same value, or one with shortened texts and
    fewer items. A part without room becomes text. A shortened value is not shortened again.
    """
    if _fits(value, room):
        return value
    if isinstance(value, str) and room > MIN_PART + SIZE_OF_MARK:
        shown = room - SIZE_OF_MARK
        return excerpt(value, shown - shown // 4, shown // 4)
    if room < MIN_PART or not isinstance(value, dict | list):
        try:
            return short_json(value, room)
        except RecursionError:
            return "…"
    number = min(len(value), max(room // (3 * MIN_PART), 1))
    share = room // number - SIZE_OF_PART
    if isinstance(value, list):
        return [_shortened(item, share) for item in value[:number]]
    named = [(shorten(str(key), share // 2), item) for key, item in islice(value.items(), number)]
    return {name: _shortened(item, share - len(name)) for name, item in named}


def _fits(value: Json, room: int) -> bool:
    """Return whether a value has about ``room`` characters or fewer. Does not recurse, because the
    value may be deep.
    """
    open_values = [value]
    while open_values and room >= 0:
        item = open_values.pop()
        match item:
            case str():
                room -= len(item)
            case dict():
                room -= SIZE_OF_PART * len(item) + sum(map(len, item))
                open_values += item.values()
            case list():
                room -= SIZE_OF_PART * len(item)
                open_values += item
            case int():
                room -= max(SIZE_OF_PART, item.bit_length() // 3)
            case _:
                room -= SIZE_OF_PART
    return room >= 0


def _leaves(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
