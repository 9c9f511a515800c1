"""Compares the calls and results of a question's history with those of a request."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace as with_fields

from harness.facts import Finding, WireFacts, call_value, plain_base64
from harness.stream.json_codec import Json, same_json
from harness.stream.prompt import AnyPart, Call, Media, Prompt, Result, Text, Thinking

from .comparison import TOKEN, Comparison, all_parts, found, red, short, value_at


def calls_of(prompt: Prompt) -> list[Call]:
    """Return the calls of all messages, in order."""
    return [part for part in all_parts(prompt) if isinstance(part, Call)]


def results_of(prompt: Prompt) -> list[Result]:
    """Return the results of all messages, in order."""
    return [part for part in all_parts(prompt) if isinstance(part, Result)]


def compare_calls(both: Comparison) -> Iterator[Finding]:
    """Each call has its name and arguments, in order, and there is no other call."""
    asked, rest = calls_of(both.asked), calls_of(both.sent.prompt)
    if asked and not rest and _are_texts(both, asked):
        return
    order = []
    for call in asked:
        same = [each for each in rest if _is_same(call, each)]
        if same:
            rest.remove(same[0])
            order.append(same[0])
            continue
        near = [each for each in rest if each.name == call.name]
        sentence = f"call {call.name}({short(call.arguments)}) is " + (
            f"sent with {short(near[0].arguments)}" if near else "not sent"
        )
        at = (call.place, near[0].place if near else "")
        sides = _json(call.arguments), _json(near[0].arguments) if near else None
        yield found("calls", red(near), sentence, *sides, at=at)
        if near:
            rest.remove(near[0])
    if rest:
        sentence = f"a call of {rest[0].name} was not asked for"
        yield found("calls", "wrong", sentence, None, rest[0].name, at=("", rest[0].place))
    elif order != [each for each in calls_of(both.sent.prompt) if each in order]:
        names, sent = ([call.name for call in calls] for calls in (asked, order))
        at = (asked[0].place, calls_of(both.sent.prompt)[0].place)
        yield found("calls", "wrong", "the calls are sent in another order", names, sent, at=at)


def _are_texts(both: Comparison, calls: list[Call]) -> bool:
    """Return whether calls that the API refuses at their place are sent as texts."""
    tokens = [token for call in calls for token in TOKEN.findall(json.dumps(call.arguments))]
    return bool(both.question.conflict and tokens) and all(map(both.places_of, tokens))


def _is_same(asked: Call, sent: Call) -> bool:
    return asked.name == sent.name and same_json(_json(asked.arguments), _json(sent.arguments))


def _pairs(both: Comparison) -> list[tuple[Call, Call]]:
    """Return each call of the question with the sent call of its name and arguments."""
    rest, pairs = calls_of(both.sent.prompt), []
    for call in calls_of(both.asked):
        for each in rest:
            if _is_same(call, each):
                rest.remove(each)
                pairs.append((call, each))
                break
    return pairs


def compare_ids(both: Comparison) -> Iterator[Finding]:
    """A call and its result have the same id, or none."""
    ids = [result.wire_id for result in results_of(both.sent.prompt)]
    for asked, call in _pairs(both):
        if call.wire_id and any(ids) and call.wire_id not in ids:
            sentence = f"the call of {call.name} has the id {call.wire_id}, and no result has it"
            at = (asked.place, call.place)
            yield found("ids", "wrong", sentence, asked.id, call.wire_id, at=at)


def compare_signatures(both: Comparison) -> Iterator[Finding]:
    """Each signature is at its part, once; that of another maker is not sent."""
    sent = [
        (plain_base64(part.signature.value), part)
        for part in all_parts(both.sent.prompt)
        if part.signature
    ]
    call_of = {asked.place: call for asked, call in _pairs(both)}
    for part in all_parts(both.asked):
        if part.signature is None:
            continue
        value, origin = part.signature.value, part.signature.origin
        here = [each for signature, each in sent if signature == plain_base64(value)]
        at = (part.place, here[-1].place if here else "")
        if origin and origin.vendor != both.sent.prompt.home:
            if here:
                sentence = f"a signature of {origin.vendor} is sent to another maker"
                yield found("signatures", "wrong", sentence, value, at=at)
        elif not here:
            yield found("signatures", "lost", f"signature {value} is not sent", value, at=at)
        elif len(here) > 1:
            yield found("signatures", "wrong", f"signature {value} is sent twice", value, at=at)
        elif part.place in call_of and not _signs(both, here[0], call_of[part.place]):
            sentence = f"signature {value} is sent at another part"
            yield found("signatures", "wrong", sentence, value, at=at)


def _signs(both: Comparison, holder: AnyPart, call: Call) -> bool:
    """Return whether a part with a signature signs a call: it is the call, or an empty thought
    directly before it, as a step of the Interactions API.
    """
    if holder is call:
        return True
    parts = [*all_parts(both.sent.prompt)]
    before = parts[next(at for at, part in enumerate(parts) if part is call) - 1]
    return holder is before and isinstance(holder, Thinking) and not holder.text


def compare_results(both: Comparison) -> Iterator[Finding]:
    """Each call has its own result. It is found by its id, and without ids by its place. The
    content may be under any key, or JSON as a text; a failed result must be recognizable.
    """
    call_of = {asked.id: call for asked, call in _pairs(both)}
    calls, sent = calls_of(both.sent.prompt), results_of(both.sent.prompt)
    for result in results_of(both.asked):
        call = call_of.get(result.id)
        here = _result_of(call, calls, sent) if call else None
        yield from _compare_result(both, result, here, sent)


def _result_of(call: Call, calls: list[Call], sent: list[Result]) -> Result | None:
    same = [each for each in sent if call.wire_id and each.wire_id == call.wire_id]
    if same:
        return same[0]
    index = next(number for number, each in enumerate(calls) if each is call)
    return sent[index] if index < len(sent) and not sent[index].wire_id else None


def _compare_result(
    both: Comparison, asked: Result, here: Result | None, sent: list[Result]
) -> Iterator[Finding]:
    wanted = _content(asked)
    at = (asked.place, here.place if here else "")
    value = _json(here.value) if here else None
    if here and _has(here, wanted):
        if asked.failed and not _has_failed(here):
            sentence = f"the failed result of {asked.name} is sent as a success"
            yield found("results", "wrong", sentence, True, value, word="failed", at=at)
        return
    token = next(iter(TOKEN.findall(json.dumps(wanted))), short(wanted))
    others = [each for each in sent if each is not here and wanted and _has(each, wanted)]
    if others:
        at = (asked.place, others[0].place)
        sentence = f"result {token} is sent at another call"
        yield found("results", "wrong", sentence, wanted, value, at=at)
    elif here is None and both.question.conflict and both.places_of(token):
        return  # sent as a text, because the API refuses the call
    else:
        is_changed = here is not None and bool(both.places_of(token))
        fact = "changed" if is_changed else "not sent"
        yield found("results", red(is_changed), f"result {token} is {fact}", wanted, value, at=at)


def _content(result: Result) -> Json:
    if result.parts is None:
        return _json(result.value)
    return "\n".join(part.text for part in result.parts if isinstance(part, Text))


def _has(result: Result, wanted: Json) -> bool:
    """Return whether a result has a content, in any of the usual forms."""
    forms = [*_forms(result.value)]
    forms += ["\n".join(map(_text_of, result.parts or ()))]
    if wanted == "":
        return any(form in ("", None) or form == {} for form in forms)
    return any(_is_form(wanted, form) for form in forms)


def _text_of(part: AnyPart) -> str:
    """Return the text of a part; a text file is a text too."""
    if isinstance(part, Media) and part.media_type == "text/plain" and part.data:
        return base64.b64decode(part.data + "==").decode("utf-8", "replace")
    return part.text if isinstance(part, Text) else ""


def _forms(value: Any) -> Iterator[Json]:
    """Yield a value, and what an adapter may have put under its keys, or in a list of blocks."""
    yield value
    inner = value.values() if isinstance(value, Mapping) else [value]
    for each in inner:
        yield each
        if isinstance(each, Mapping):
            yield from each.values()
        if isinstance(each, list):
            yield "\n".join(
                str(item.get("text", "")) if isinstance(item, dict) else str(item) for item in each
            )
            yield from (part for item in each if isinstance(item, dict) for part in item.values())


def _is_form(wanted: Json, form: Json) -> bool:
    if same_json(wanted, form) or same_json(_opened(wanted), _opened(form)):
        return True
    return isinstance(wanted, str) and isinstance(form, str) and wanted in form


def _opened(value: Json) -> Json:
    """Return the value of a text that is JSON; any other value unchanged."""
    try:
        return _json(json.loads(value)) if isinstance(value, str) else value
    except ValueError:
        return value


def _has_failed(result: Result) -> bool:
    words = json.dumps(_json(result.value)).lower()
    return result.failed or "error" in words or "fail" in words


def _json(value: Any) -> Any:
    """Return JSON data as plain dicts and lists."""
    return json.loads(json.dumps(value, default=str))


def with_places(finding: Finding, answer: WireFacts, sent: Prompt, body: Json) -> Finding:
    """Return a red finding about an answer that is sent back, with the value of the answer, and the
    part of the request that has it or is nearest to it.
    """
    at = (finding.place.call or 0) - 1
    results = results_of(sent) if finding.subject == "results" else []
    parts = (results or calls_of(sent))[at : at + 1] if at >= 0 else results
    near = [part.place for part in parts]
    near += [each.place for each in sent.messages if each.role == "assistant"]
    near += [each.place for each in reversed(sent.messages)]
    values: dict[str, list[Json]] = {
        "ids": [call_id for call_id, _ in answer.marks],
        "signatures": [signature for _, signature in answer.marks],
        "other_signatures": [value for kind, value in answer.signatures if kind != "call"],
        "text": [answer.text],
    }
    own = values.get(finding.subject) or [call_value(*call) for call in answer.calls]
    is_one = at < len(own) and (at >= 0 or len(own) == 1)
    asked = f"answer.{finding.subject}" + (f"[{at}]" if at >= 0 else "")
    path = near[0] if near else ""
    place = with_fields(finding.place, asked=asked, sent=path)
    filled = with_fields(finding, place=place)
    for name, value in (
        ("wire", own[max(at, 0)] if is_one else own),
        ("adapter", value_at(body, path)),
    ):
        if getattr(finding, name) is None:
            # a sentence that shows the side keeps it
            shown = with_fields(filled, **{name: value})
            filled = shown if shown.sentence == finding.sentence else filled
    return filled
