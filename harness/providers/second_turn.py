"""Judges the request after an answer: whether the parts of the answer are sent back
at their places.

The rules are those of https://ai.google.dev/gemini-api/docs/thought-signatures and of the page
docs/what-is-judged.md: every call, id, name, argument and signature is at its part, once; text
that was before a call is sent before it; the results are in the order of the calls.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import struct
import zlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal

from msgspec.structs import replace as with_fields

from harness.facts import (
    AspectVerdict,
    Finding,
    NamedArguments,
    NativeSearch,
    Place,
    WireFacts,
    arguments_of,
    call_value,
    in_doubles,
    mended_calls,
    plain_base64,
    take_call,
)
from harness.stream.json_codec import Json, objects_in, same_json
from harness.stream.prompt import Prompt

from .history import HistoryRules
from .returned import Returned, gather_messages_sent

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
_RESULT = re.compile(r"\bresult (\d+)(, see the image)?\b")


def result_text(number: int) -> str:
    """Return the result of the call with this number in the first answer, from 1."""
    return f"result {number}"


def result_with_image(number: int) -> tuple[str, bytes]:
    """Return the result of the same call as a text and a PNG image of one pixel. The text shows
    that the image belongs to it.
    """
    header = struct.pack(">2I5B", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(b"\0" + number.to_bytes(3, "big"))
    chunks = ((b"IHDR", header), (b"IDAT", pixel), (b"IEND", b""))
    image = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    return f"{result_text(number)}, see the image", image


def judge_second_turn(
    answer: WireFacts,
    prompt: Prompt,
    body: Json,
    rules: HistoryRules,
    given: Sequence[bool] = (),
    exact: Collection[str] | None = None,
    doubles: bool = False,
    ordered: bool = True,
) -> dict[SecondTurnAspect, Finding]:
    """Return the finding of each aspect of the request that follows an answer with these facts.

    ``prompt``: that of the request; ``body``: its decoded body; ``rules``: those of its wire.
    Everything before the first content of the model is left out. A request that names a stored
    answer has only the results to send, because the server has the answer. ``given``: for each call
    of the answer, whether the adapter was given its `result_text`; without it, texts of results are
    not compared.

    ``exact``: the kinds of parts whose signatures must be sent back. With it, all contents are
    read, signatures are compared as text, and placeholders are refused; an id that the answer does
    not have is only sent over a wire that needs it; no call is after a result.

    ``doubles``: the adapter's language rounds large integers, as those of ``answer`` are.
    ``ordered``: the order of text and calls in the answer is known to whoever sent the request.
    """
    if prompt.continues or prompt.refers:
        return _judge_stored(answer, prompt, body, given)
    returned = gather_messages_sent(prompt.messages, whole=exact is not None)
    returned.body = body
    ordered = ordered and returned.ordered
    if doubles:
        returned.calls = [(name, in_doubles(arguments)) for name, arguments in returned.calls]
    if exact is None:
        returned = returned.in_order_of_calls()
        answer, returned = _in_one_alphabet(answer, returned)
    neutral = PLACEHOLDERS if exact is None else frozenset[str]()
    findings: dict[SecondTurnAspect, Finding] = {}

    def put(aspect: SecondTurnAspect, finding: Finding) -> None:
        call = finding.place.call or 0
        content = returned.contents[call - 1] if 0 < call <= len(returned.contents) else None
        place = with_fields(finding.place, content=content)
        findings[aspect] = with_fields(finding, subject=aspect, place=place)

    same_order = True
    mended, numbers = mended_calls(answer)
    if exact is None and _calls(mended.calls, returned.calls, ordered=True) is KEPT:
        given = [given[number] for number in numbers] if given else ()
        answer = mended
    text, calls = answer.text, answer.calls
    if answer.calls_in_text:  # the adapter sends each back as text or as a call, as it has read it
        text, calls = _read_blocks(answer, returned.calls)
        same_order = len(calls) == len(answer.calls)
    if calls or returned.calls or (exact is not None and returned.results):
        put("calls", _calls(calls, returned.calls, same_order))
    kept = "calls" in findings and findings["calls"].verdict == "kept"
    aligned = kept and same_order
    if aligned:
        put("ids", _ids(answer, returned, rules.by_id, exact=exact is not None))
    if kept and exact is not None and not returned.in_order:
        put("results", _found("wrong", "call-after-result"))
    elif kept and rules.together and len(returned.result_contents) > 1:
        put("results", _found("wrong", "results-split", adapter=len(returned.result_contents)))
    elif kept:
        put("results", _results(answer, returned, given if aligned else ()))
    wired = [signature for _, signature in answer.marks]
    if any(wired) or (exact is not None and any(returned.signatures)):
        put("signatures", _signatures(wired, returned, aligned, neutral))
    others = [(kind, value) for kind, value in answer.signatures if kind != "call"]
    if others or returned.other_signatures:
        asked = [value for kind, value in others if exact is None or kind in exact]
        put("other_signatures", _other_signatures(answer, asked, returned, neutral, ordered))
    server_tools = [value for name in rules.opaque for value in answer.opaque.get(name, ())]
    if server_tools:
        lost = [
            value for value in dict.fromkeys(server_tools) if value not in returned.server_tools
        ]
        put("server_tools", _found("lost", "tool-not-sent", lost[0]) if lost else KEPT)
    if text:
        put("text", _text(answer, text, returned, aligned and ordered))
        if answer.tagged and answer.tagged in _own_texts(body):
            put("text", KEPT)
    return findings


def _read_blocks(answer: WireFacts, sent: list[NamedArguments]) -> tuple[str, list[NamedArguments]]:
    """Return the text and the calls that must be sent back: a ``<tool_code>`` block counts as a
    call if such a call is sent, else as text.
    """
    calls, text, free = list(answer.calls), answer.text, list(sent)
    for call in calls:
        take_call(free, call)
    for raw, name, arguments in answer.calls_in_text:
        block = next(
            (call for call in free if name in (None, call[0]) and same_json(call[1], arguments)),
            None,
        )
        if block:
            free.remove(block)
            calls.append(block)
            text = text.replace(raw, "", 1)
    return text, calls


def _judge_stored(
    answer: WireFacts, prompt: Prompt, body: Json, given: Sequence[bool]
) -> dict[SecondTurnAspect, Finding]:
    """Return the verdicts of a request whose answer is on the server: each call has its result."""
    returned = gather_messages_sent(prompt.messages, whole=True)
    if not answer.calls:
        return {}
    if returned.calls and not prompt.refers:
        return {"calls": Finding("calls", "wrong", "stored-call-sent", None, returned.calls[0][0])}
    returned.calls, returned.ids = answer.calls, [call_id for call_id, _ in answer.marks]
    returned.body = body
    names = dict(zip(returned.ids, (name for name, _ in answer.calls), strict=True))
    returned.results = [  # without the call, some wires have no name at a result
        replace(result, name=result.name or names.get(result.call_id, ""))
        for result in returned.results
    ]
    returned = returned.in_order_of_calls()
    return {
        "ids": with_fields(_ids(answer, returned, by_id=True, exact=False), subject="ids"),
        "results": with_fields(_results(answer, returned, given), subject="results"),
    }


def _found(
    verdict: AspectVerdict,
    reason: str,
    wire: Json = None,
    adapter: Json = None,
    call: int | None = None,
) -> Finding:
    """Return a finding of the aspect that is judged. ``call``: the number of a call, from 1."""
    return Finding("", verdict, reason, wire, adapter, Place(call=call))


KEPT = Finding("", "kept")


def _calls(wire: list[NamedArguments], sent: list[NamedArguments], ordered: bool) -> Finding:
    rest = list(sent)
    missing = [call for call in wire if not take_call(rest, call)]
    for name, arguments in missing:
        if any(_same_text(name, arguments, call) for call in rest):
            return _found("wrong", "arguments-of-another-type", call_value(name, arguments))
    if missing:
        return _found("wrong" if rest else "lost", "call-not-sent", call_value(*missing[0]))
    if rest:
        return _found("wrong", "call-sent-twice", adapter=rest[0][0])
    names, sent_names = ([name for name, _ in calls] for calls in (wire, sent))
    if ordered and names != sent_names:
        return _found("wrong", "calls-in-other-order", names, sent_names)
    return KEPT


def _same_text(name: str, arguments: Json, sent: NamedArguments) -> bool:
    """Return whether a call is sent with its arguments in another JSON type, as its reader notes by
    their text.
    """
    return name == sent[0] and isinstance(sent[1], str) and same_json(_opened(sent[1]), arguments)


def _opened(text: str) -> Json:
    """Return the JSON value in a text, or in the text that it contains."""
    value = arguments_of(text)
    with contextlib.suppress(ValueError, RecursionError):
        inner = json.loads(text)
        value = arguments_of(inner) if isinstance(inner, str) else inner
    return value


def _ids(answer: WireFacts, returned: Returned, by_id: bool, *, exact: bool) -> Finding:
    """Judge the ids: an id of the wire must be sent back unchanged. If the wire repeats an id, one
    call must have it, and others may have a new one. Any other id must be the same at call and
    result.
    """
    wire_ids = [call_id for call_id, _ in answer.marks]
    for number, (wired, sent) in enumerate(zip(wire_ids, returned.ids, strict=True), 1):
        if wired and not sent:
            return _found("lost", "id-not-sent", wired, call=number)
        is_new = not exact and wire_ids.count(wired) > 1 and sent not in wire_ids
        if wired and sent != wired and not (is_new and wired in returned.ids):
            return _found("wrong", "id-changed", wired, sent, number)
        if exact and not wired and sent and not by_id:
            return _found("wrong", "id-made", None, sent, number)
        if exact and not sent and by_id:
            return _found("wrong", "no-id-for-result", call=number)
    for number, (sent, result) in enumerate(zip(returned.ids, returned.results, strict=False), 1):
        if result.call_id != sent:
            return _found("wrong", "result-id", sent, result.call_id, number)
    return KEPT


def _results(answer: WireFacts, returned: Returned, given: Sequence[bool]) -> Finding:
    names = [name for name, _ in returned.calls]
    answered = [result.name for result in returned.results]
    if answered == names:
        if any(given):
            return _result_texts(answer, returned, given)
        return _found("not_asked", "results-not-given")
    if sorted(answered) == sorted(names) and not any(result.call_id for result in returned.results):
        return _found("wrong", "results-in-other-order", names, answered)
    return _found("lost" if len(answered) < len(names) else "wrong", "results", names, answered)


def _result_texts(answer: WireFacts, returned: Returned, given: Sequence[bool]) -> Finding:
    """Judge the texts of results: each result that was given must have its own text. Equal calls
    under one id may share one, because an adapter can't tell them apart.
    """
    marked = zip(answer.marks, answer.calls, strict=True)
    keys = [json.dumps([call_id, *call], sort_keys=True) for (call_id, _), call in marked]
    results = returned.results
    texts = [there[0] for result in results if (there := _RESULT.search(result.output))]
    last = 0
    for number, (key, own, result) in enumerate(zip(keys, given, results, strict=True), 1):
        if not own:
            continue
        there = _RESULT.search(result.output)
        if there is None:
            reason = "result-text-changed" if result.output else "result-text-not-sent"
            return _found("lost", reason, result_text(number), result.output, number)
        if result.failed:
            return _found("wrong", "result-failed", call=number)
        if keys.count(key) == 1:
            if int(there[1]) <= last:
                expected = result_text(number)
                if any(result.call_id for result in results) or texts.count(there[0]) > 1:
                    return _found("wrong", "result-text-of-another", expected, there[0], number)
                return _found("wrong", "results-in-other-order", expected, there[0], number)
            last = int(there[1])
        if there[2] and (lost := _image(returned, number, int(there[1]))):
            return lost
    return KEPT


def _image(returned: Returned, number: int, own: int) -> Finding | None:
    """Return the finding of the image beside the text of a result; None if it is sent. It may be
    anywhere in the request, except in the result of another call.
    """

    def holds(value: Json) -> bool:
        return NativeSearch([value]).count(image, kind="medium")[0] > 0

    image = base64.b64encode(result_with_image(own)[1]).decode()
    if not holds(returned.body):
        return _found("lost", "result-image-not-sent", call=number)
    outputs = [result.output for result in returned.results]
    others = [output for at, output in enumerate(outputs, 1) if at != number]
    if not holds(outputs[number - 1]) and any(map(holds, others)):
        return _found("wrong", "result-image-of-another", call=number)
    return None


def _signatures(
    wired: list[str | None], returned: Returned, aligned: bool, neutral: frozenset[str]
) -> Finding:
    """Judge the signatures of calls: each must be at that call, and nowhere else."""
    sent, times = returned.signatures, Counter(wired)
    everywhere = Counter([*sent, *returned.other_signatures])
    for number, signature in enumerate(wired, 1):
        if signature is None:
            continue
        if everywhere[signature] == 0:
            return _found("lost", "signature-not-sent", signature, call=number)
        if aligned and sent[number - 1] != signature:
            return _found("wrong", "signature-moved", signature, sent[number - 1], number)
        if everywhere[signature] > times[signature]:
            return _found("wrong", "signature-twice", signature, call=number)
    for number, (made_up, own) in enumerate(zip(sent, wired, strict=False), 1):
        if aligned and made_up and not own and made_up not in neutral:
            return _found("wrong", "signature-made", None, made_up, number)
    return KEPT


def _other_signatures(
    answer: WireFacts,
    asked: list[str],
    returned: Returned,
    neutral: frozenset[str],
    ordered: bool,
) -> Finding:
    """Return the signatures of all other parts; those that are ``asked`` must be sent back."""
    wanted, sent = Counter(asked), Counter(returned.other_signatures)
    had = Counter(value for kind, value in answer.signatures if kind != "call")
    for signature, count in had.items():
        if sent[signature] < wanted[signature]:
            return _found("lost", "other-not-sent", signature)
        if sent[signature] > count:
            return _found("wrong", "other-twice", signature)
    known = {value for _, value in answer.signatures} | neutral
    if made_up := [value for value in returned.other_signatures if value not in known]:
        return _found("wrong", "other-made", None, made_up[0])
    at_calls = {*returned.signatures} - {signature for _, signature in answer.marks}
    for signature in had:
        if signature in at_calls:
            return _found("wrong", "other-at-call", None, signature)
    thoughts = [value for kind, value in answer.signatures if kind == "thought"]
    texts: dict[str, list[str]] = {}
    for signature, text in zip(returned.other_signatures, returned.signed_thoughts, strict=True):
        texts.setdefault(signature, []).append(text)
    for signature, thought in zip(thoughts, answer.signed_thoughts, strict=False):
        own = texts.get(signature)
        if own and thought not in own:
            return _found("wrong", "signed-thought-changed", thought, own[0])
    return _places_of_signatures(answer, wanted, thoughts, returned) if ordered else KEPT


def _places_of_signatures(
    answer: WireFacts, wanted: Counter[str], thoughts: list[str], returned: Returned
) -> Finding:
    """Judge the places of the signatures that are ``wanted``, all of which are sent, between the
    calls, and the places of those of ``thoughts`` in the text.
    """
    places = zip(answer.signed_before, returned.signed_before, strict=False)
    for number, (before, sent_before) in enumerate(places, 1):
        there = [value for _, value in answer.signatures[:before] if value in wanted]
        here = [value for value in returned.other_signatures[:sent_before] if value in wanted]
        if moved := [*(Counter(there) - Counter(here)), *(Counter(here) - Counter(there))]:
            return _found("wrong", "signature-beyond-call", moved[0], call=number)
    if not answer.signed_places or not all(map(wanted.__contains__, thoughts)):
        return KEPT
    sent = zip(returned.other_signatures, returned.signed_places, strict=True)
    signed = [(value, place) for value, place in sent if value in thoughts]
    if [value for value, _ in signed] != thoughts:
        return _found("wrong", "signatures-in-other-order")
    if returned.text == answer.text and [place for _, place in signed] != answer.signed_places:
        return _found("wrong", "signature-beyond-text")
    return KEPT


def _text(answer: WireFacts, text: str, returned: Returned, aligned: bool) -> Finding:
    if returned.text != text:
        if text in returned.text:
            return _found("wrong", "more-text", text, returned.text)
        characters = iter(text)
        part = all(character in characters for character in returned.text)
        return _found("lost" if part else "wrong", "sent-text", text, returned.text)
    if aligned and returned.places != answer.call_places:
        return _beyond_call(answer, returned)
    return KEPT


def _own_texts(request: dict[str, Json]) -> list[Json]:
    """Return the texts of the model's messages, with any tags in them, of the OpenAI-compatible
    wire.
    """
    messages = objects_in(request.get("messages"))
    return [message.get("content") for message in messages if message.get("role") == "assistant"]


def _beyond_call(answer: WireFacts, returned: Returned) -> Finding:
    """Return the finding of a text that is sent back on the other side of a call."""
    pairs = enumerate(zip(answer.call_places, returned.places, strict=True), 1)
    number, (there, here) = next((at, pair) for at, pair in pairs if pair[0] != pair[1])
    name, _ = answer.calls[number - 1]
    wire = {"text": answer.text[min(there, here) : max(there, here)], "call": name}
    finding = _found("wrong", "text-beyond-call", wire, call=number)
    return with_fields(finding, remark="after" if here < there else "before")


def _in_one_alphabet(answer: WireFacts, returned: Returned) -> tuple[WireFacts, Returned]:
    """Return both with their signatures in one alphabet of base64, in which equal bytes are equal
    text.
    """

    def plain(signature: str | None) -> str | None:
        return plain_base64(signature) if signature else None

    answer = answer.with_signatures(plain_base64)
    first = answer.repeated_signatures
    others = [plain_base64(value) for value in returned.other_signatures]
    others = [first.get(value, value) for value in others]
    return answer, replace(
        returned, signatures=[*map(plain, returned.signatures)], other_signatures=others
    )
