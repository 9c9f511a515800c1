"""Compares the texts of a question, of the system and of the messages, with those of a request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.facts import Finding
from harness.stream.prompt import Call, Media, Result, Role, Text, Thinking

from .comparison import TOKEN, Comparison, added, all_parts, and_others, found, red, short
from .media_comparison import text_of_medium

_NAMES: Final = {"user": "the user", "assistant": "the model", "system": "the system"}


class _SentText(NamedTuple):
    role: Role
    text: str
    place: str


def compare_system(both: Comparison) -> Iterator[Finding]:
    """Each text is a text of the system, once, in order. A later one may be a text of the user in
    its place.
    """
    sent = _sent_texts(both)
    texts = [instruction.text for instruction in both.sent.prompt.instructions]
    joined = "\n\n".join([*texts, *(each.text for each in sent if each.role == "system")])
    asked = [(piece, False) for each in both.asked.instructions for piece in each.pieces]
    asked += [
        (part, True)
        for message in both.asked.messages
        if message.role == "system"
        for part in message.parts
        if isinstance(part, Text)
    ]
    last = 0
    for piece, later in asked:
        words = piece.text.strip()
        start = joined.find(words)
        if (
            start < 0
            and later
            and any(words in each.text for each in sent if each.role != "assistant")
        ):
            continue
        if start < 0:
            places = both.places_of(words)
            fact = "sent, but not as a text of the system" if places else "not sent"
            at = (piece.place, places[0] if places else "")
            yield found("system", red(places), f"text {words} is {fact}", piece.text, at=at)
        elif joined.count(words) > 1:
            at = (piece.place, next(iter(both.places_of(words)), ""))
            yield found("system", "wrong", f"text {words} is sent twice", piece.text, at=at)
        elif start < last and not later:
            at = (piece.place, next(iter(both.places_of(words)), ""))
            sentence = f"text {words} is sent before an earlier one"
            yield found("system", "wrong", sentence, piece.text, at=at)
        else:
            last = start


def compare_messages(both: Comparison) -> Iterator[Finding]:
    """Each text has its role and its place in the order. Messages and their parts may be split or
    merged, and the white space around a text may change.
    """
    sent = _sent_texts(both)
    index = offset = 0
    for message in both.asked.messages:
        for part in message.parts if message.role != "system" else ():
            words = part.text.strip() if isinstance(part, Text | Thinking) else ""
            if not isinstance(part, Text | Thinking) or not words:
                continue
            there = _position(sent, message.role, words, index, offset)
            if there:
                index, offset = there[0], there[1] + len(words)
            elif not both.may_lack(part.text, words):
                yield _lost_text(both, message.role, part, words, sent)
    if both.reads("messages") and not both.question.filler:
        yield from _added_texts(both, sent)


def _sent_texts(both: Comparison) -> list[_SentText]:
    return [
        _SentText(message.role, part.text, part.place)
        for message in both.sent.prompt.messages
        for part in message.parts
        if isinstance(part, Text | Thinking)
    ]


def _position(
    sent: list[_SentText], role: Role, words: str, index: int, offset: int
) -> tuple[int, int] | None:
    """Return the index of the sent text of a role that has the words, and their place in it."""
    for number in range(index, len(sent)):
        if sent[number].role == role:
            start = sent[number].text.find(words, offset if number == index else 0)
            if start >= 0:
                return number, start
    return None


def _lost_text(
    both: Comparison, role: Role, part: Text | Thinking, words: str, sent: list[_SentText]
) -> Finding:
    match = TOKEN.search(words)
    token = match[0] if match else short(words)
    name = f"{'thought' if isinstance(part, Thinking) else 'text'} {token}"
    for each in sent:
        if words in each.text:
            fact = "is sent in another order"
            if each.role != role:
                fact = f"is sent as a text of {_NAMES[each.role]}, not of {_NAMES[role]}"
            at = (part.place, each.place)
            return found("messages", "wrong", f"{name} {fact}", part.text, each.text, at=at)
    if places := both.places_of(token):
        value, at = dict(both.leaves)[places[0]], (part.place, places[0])
        sentence = f"{name} is changed or in another place"
        return found("messages", "wrong", sentence, part.text, value, at=at)
    return found("messages", "lost", f"{name} is not sent", part.text, at=(part.place, ""))


def _added_texts(both: Comparison, sent: list[_SentText]) -> Iterator[Finding]:
    """Find texts that are sent twice, and texts of the adapter's own."""
    known = [
        part.text.strip()
        for part in all_parts(both.asked)
        if isinstance(part, Text | Thinking) and part.text.strip()
    ]
    for words in known:
        holders = [each for each in sent for _ in range(each.text.count(words))]
        if TOKEN.search(words) and known.count(words) == 1 and len(holders) > 1:
            at = ("", holders[1].place)
            yield found("messages", "wrong", f"text {short(words)} is sent twice", words, at=at)
    if any(isinstance(part, Call | Result) for part in all_parts(both.asked)):
        return  # an adapter may write calls and results as texts; their aspects judge it
    for instruction in both.asked.instructions:
        known += [piece.text.strip() for piece in instruction.pieces]
    for part in all_parts(both.asked):
        if isinstance(part, Media):
            known += filter(None, (text_of_medium(part, both.web), part.name, part.url))
    known.sort(key=len, reverse=True)
    own = [(rest, each) for each in sent if (rest := _without(each.text, known))]
    for rest, each in own[:1]:
        text = f"text {short(rest)}{and_others(own)}"
        yield added(text, each.text, "text", each.place)


def _without(text: str, known: list[str]) -> str:
    for words in known:
        text = text.replace(words, "")
    return text.strip()
