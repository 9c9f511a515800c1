"""Judges the request after an answer: whether the parts of the answer are sent back
at their places.

The rules are those of https://ai.google.dev/gemini-api/docs/thought-signatures and of the page
docs/what-is-judged.md: every call, id, name, argument and signature is at its part, once; text
that was before a call is sent before it; the results are in the order of the calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal

from harness.facts import (
    AspectFinding,
    AspectVerdict,
    Facts,
    NamedArguments,
    plain_base64,
    take_call,
    text_and_calls,
)
from harness.stream.json_codec import Json
from harness.stream.printable import excerpt, short_json

from .sent_back import Returned, gather_contents
from .sent_contents import names_calls_by_id, sent_contents

SecondTurnAspect = Literal[
    "calls", "ids", "signatures", "other_signatures", "results", "server_tools", "text"
]

PLACEHOLDERS = frozenset(
    map(
        plain_base64,
        (
            "skip_thought_signature_validator",
            "context_engineering_is_the_way_to_go",
            "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
            "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv",
        ),
    )
)
"""Documented values instead of a signature, as text and as base64."""
_RESULT = re.compile(r"\bresult (\d+)\b")


def result_text(number: int) -> str:
    """The result of the call with this number in the first answer, from 1."""
    return f"result {number}"


def judge_second_turn(
    answer: Facts,
    request: Json,
    given: Sequence[bool] = (),
    exact: Collection[str] | None = None,
) -> dict[SecondTurnAspect, AspectFinding]:
    """The verdict of each aspect of the request that follows an answer with these facts.

    Everything before the first content of the model is left out. A request that names a stored
    interaction has only the results to send, because the server has the answer. ``given``: for each
    call of the answer, whether the adapter was given its `result_text`; without it, texts of
    results are not compared.

    ``exact``: the kinds of parts whose signatures must be sent back. With it, all contents are
    read, signatures are compared as text, and placeholders are refused; an id that the answer does
    not have is only sent over a wire that needs it; no call is after a result.
    """
    if request.get("previous_interaction_id"):
        return _judge_stored(answer, request, given)
    contents = sent_contents(request)
    roles = [content.get("role") for content in contents]
    if exact is None:
        contents = contents[roles.index("model") :] if "model" in roles else []
    returned = gather_contents(contents)
    returned.by_id = names_calls_by_id(request)
    if exact is None:
        answer, returned = _in_one_alphabet(answer, returned)
    neutral = PLACEHOLDERS if exact is None else frozenset[str]()
    findings: dict[SecondTurnAspect, AspectFinding] = {}

    def put(aspect: SecondTurnAspect, verdict: AspectVerdict, note: str = "") -> None:
        findings[aspect] = AspectFinding(verdict, note)

    ordered = True
    if answer.blocks:  # the adapter sends each back as text or as a call, as it has read it
        text, calls = text_and_calls(answer, Facts(calls=returned.calls))
        ordered = len(calls) == len(answer.calls)
        answer = replace(answer, text=text, calls=calls)
    if answer.calls or returned.calls or (exact is not None and returned.results):
        put("calls", *_calls(answer.calls, returned.calls, ordered))
    kept = "calls" in findings and findings["calls"].verdict == "kept"
    aligned = kept and ordered
    if aligned:
        put("ids", *_ids(answer, returned, exact is not None))
    if kept and exact is not None and not returned.in_order:
        put("results", "wrong", "a call comes after the first result")
    elif kept:
        put("results", *_results(answer, returned, given if aligned else ()))
    wired = [signature for _, signature in answer.marks]
    if any(wired) or (exact is not None and any(returned.signatures)):
        put("signatures", *_signatures(wired, returned, aligned, neutral))
    others = [(kind, value) for kind, value in answer.signatures if kind != "call"]
    if others or returned.other_signatures:
        asked = [value for kind, value in others if exact is None or kind in exact]
        put("other_signatures", *_other_signatures(answer, asked, returned, neutral))
    server_tools = answer.opaque.get("server_tools", [])
    if server_tools:
        lost = [
            value for value in dict.fromkeys(server_tools) if value not in returned.server_tools
        ]
        put("server_tools", "lost" if lost else "kept", f"lost: {lost[0]}" if lost else "")
    if answer.text:
        # a message of Chat Completions does not have the order of its text and calls
        put("text", *_text(answer, returned, aligned and "messages" not in request))
    return findings


def _judge_stored(
    answer: Facts, request: Json, given: Sequence[bool]
) -> dict[SecondTurnAspect, AspectFinding]:
    """The verdicts of a request whose answer is on the server: each call has its result."""
    returned = gather_contents(sent_contents(request))
    if not answer.calls:
        return {}
    if returned.calls:
        note = f"the call {returned.calls[0][0]} is sent although the server has it"
        return {"calls": AspectFinding("wrong", note)}
    returned.calls, returned.ids = answer.calls, [call_id for call_id, _ in answer.marks]
    return {
        "ids": AspectFinding(*_ids(answer, returned, exact=False)),
        "results": AspectFinding(*_results(answer, returned, given)),
    }


def _calls(
    wire: list[NamedArguments], sent: list[NamedArguments], ordered: bool
) -> tuple[AspectVerdict, str]:
    rest = list(sent)
    missing = [call for call in wire if not take_call(rest, call)]
    if missing:
        name, arguments = missing[0]
        verdict: AspectVerdict = "wrong" if rest else "lost"
        return verdict, f"the call {name}({short_json(arguments)}) is not sent back"
    if rest:
        return "wrong", f"the call {rest[0][0]} is sent back more often than the answer has it"
    if ordered and [name for name, _ in wire] != [name for name, _ in sent]:
        return "wrong", f"the calls are sent back in another order: {[name for name, _ in sent]}"
    return "kept", ""


def _ids(answer: Facts, returned: Returned, exact: bool) -> tuple[AspectVerdict, str]:
    """An id of the wire must be sent back unchanged. Any other id must be the same at call and
    result.
    """
    for number, ((wired, _), sent) in enumerate(zip(answer.marks, returned.ids, strict=True), 1):
        if wired and not sent:
            return "lost", f"the id {wired} of call {number} is not sent back"
        if wired and sent != wired:
            return "wrong", f"the id {wired} of call {number} is sent back as {sent}"
        if exact and not wired and sent and not returned.by_id:
            return "wrong", f"call {number} is sent back with the id {sent}, which it did not have"
        if exact and not sent and returned.by_id:
            return "wrong", f"call {number} has no id, by which its result must name it"
    for number, (sent, result) in enumerate(zip(returned.ids, returned.results, strict=False), 1):
        if result[1] != sent:
            return "wrong", f"result {number} has the id {result[1]}, its call {sent}"
    return "kept", ""


def _results(answer: Facts, returned: Returned, given: Sequence[bool]) -> tuple[AspectVerdict, str]:
    names = [name for name, _ in returned.calls]
    answered = [name for name, _ in returned.results]
    if answered == names:
        return _result_texts(answer, returned, given) if given else ("kept", "")
    verdict: AspectVerdict = "lost" if len(answered) < len(names) else "wrong"
    return verdict, f"the calls are {names}, the results are of {answered}"


def _result_texts(
    answer: Facts, returned: Returned, given: Sequence[bool]
) -> tuple[AspectVerdict, str]:
    """Each result that was given must have its own text. Calls that an adapter can't tell apart
    share one.
    """
    marked = zip(answer.marks, answer.calls, strict=True)
    keys = [call_id or short_json(call) for (call_id, _), call in marked]
    last = 0
    for number, (key, own, output) in enumerate(zip(keys, given, returned.outputs, strict=True), 1):
        if not own:
            continue
        there = _RESULT.search(output)
        if there is None:
            return "lost", f"the text of result {number} is not sent back"
        if keys.count(key) == 1:
            if int(there[1]) <= last:
                return "wrong", f"result {number} has the text of another call's: {there[0]}"
            last = int(there[1])
    return "kept", ""


def _signatures(
    wired: list[str | None], returned: Returned, aligned: bool, neutral: frozenset[str]
) -> tuple[AspectVerdict, str]:
    """The signature of each call must be at that call, and nowhere else."""
    sent, times = returned.signatures, Counter(wired)
    everywhere = Counter([*sent, *returned.other_signatures])
    for number, signature in enumerate(wired, 1):
        if signature is None:
            continue
        if everywhere[signature] == 0:
            note = f"the signature of call {number} is not sent back: {excerpt(signature, 40)}"
            return "lost", note
        if aligned and sent[number - 1] != signature:
            return "wrong", f"the signature of call {number} is at another part"
        if everywhere[signature] > times[signature]:
            return "wrong", f"the signature of call {number} is sent back more than once"
    for number, (signature, own) in enumerate(zip(sent, wired, strict=False), 1):
        if aligned and signature and not own and signature not in neutral:
            return "wrong", f"call {number} is sent back with a signature that it did not have"
    return "kept", ""


def _other_signatures(
    answer: Facts, asked: list[str], returned: Returned, neutral: frozenset[str]
) -> tuple[AspectVerdict, str]:
    """The signatures of all other parts; those that are ``asked`` must be sent back."""
    wanted, sent = Counter(asked), Counter(returned.other_signatures)
    had = Counter(value for kind, value in answer.signatures if kind != "call")
    for signature, count in had.items():
        if sent[signature] < wanted[signature]:
            return "lost", f"not sent back: {excerpt(signature, 40)}"
        if sent[signature] > count:
            return "wrong", f"sent back more than once: {excerpt(signature, 40)}"
    known = {value for _, value in answer.signatures} | neutral
    if made_up := [value for value in returned.other_signatures if value not in known]:
        return "wrong", f"the answer does not have it: {excerpt(made_up[0], 40)}"
    at_calls = {*returned.signatures} - {signature for _, signature in answer.marks}
    for signature in had:
        if signature in at_calls:
            return "wrong", f"sent back at a call: {excerpt(signature, 40)}"
    places = zip(answer.signed_before, returned.signed_before, strict=False)
    for number, (before, sent_before) in enumerate(places, 1):
        there = [value for _, value in answer.signatures[:before] if value in wanted]
        here = [value for value in returned.other_signatures[:sent_before] if value in wanted]
        if there != here:
            return "wrong", f"a signature is on the other side of call {number}"
    return "kept", ""


def _text(answer: Facts, returned: Returned, aligned: bool) -> tuple[AspectVerdict, str]:
    if returned.text != answer.text:
        if answer.text in returned.text:
            return "wrong", "more text is sent back than the answer has"
        characters = iter(answer.text)
        part = all(character in characters for character in returned.text)
        sent = short_json(returned.text)
        note = f"the answer has the text {short_json(answer.text)}, sent back is {sent}"
        return ("lost" if part else "wrong"), note
    if aligned and returned.places != answer.places:
        return "wrong", "text is on the other side of a call"
    return "kept", ""


def _in_one_alphabet(answer: Facts, returned: Returned) -> tuple[Facts, Returned]:
    """Both with their signatures in one alphabet of base64, in which equal bytes are equal text."""

    def plain(signature: str | None) -> str | None:
        return plain_base64(signature) if signature else None

    marks = [(call_id, plain(signature)) for call_id, signature in answer.marks]
    signatures = [(kind, plain_base64(value)) for kind, value in answer.signatures]
    others = [plain_base64(value) for value in returned.other_signatures]
    return replace(answer, marks=marks, signatures=signatures), replace(
        returned, signatures=[*map(plain, returned.signatures)], other_signatures=others
    )
