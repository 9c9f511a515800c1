"""Reads the request that follows an answer, and compares its calls and results with the answer.

The rules are those of https://ai.google.dev/gemini-api/docs/thought-signatures: every call stands
at its place with its id, name, arguments and signature, and the results stand together behind the
calls, in call order. On the Interactions API a call's signature stands in a step before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from harness.facts import Facts, NamedArguments, call_findings
from harness.stream.json_codec import Json
from harness.stream.printable import short_json

from .gemini import pick, strings
from .sent_contents import Content, names_calls_by_id, sent_contents


@dataclass
class Returned:
    """The parts of an answer that a request sends back. ``calls``: (name, arguments), in order,
    with their ``ids`` and ``signatures``, and in ``places`` the characters of text before each.
    ``results``: (name, id), in order, with their texts in ``outputs``. ``in_order``: every content
    with a call stands before those with results.

    ``other_signatures``: the signatures of all other parts; ``signed_before``: the number of them
    before each call. ``by_id``: every call must have an id; a missing id is invented.
    """

    text: str = ""
    calls: list[NamedArguments] = field(default_factory=list)
    ids: list[str | None] = field(default_factory=list)
    signatures: list[str | None] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    results: list[tuple[str, str | None]] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    other_signatures: list[str] = field(default_factory=list)
    signed_before: list[int] = field(default_factory=list)
    server_tools: list[str] = field(default_factory=list)
    in_order: bool = True
    by_id: bool = False


def gather_request(body: Json) -> Returned:
    """The calls and results of a request as the API documents it, of any of Gemini's wires."""
    returned = gather_contents(sent_contents(body))
    returned.by_id = names_calls_by_id(body)
    return returned


def gather_contents(contents: list[Content]) -> Returned:
    """The calls and results of some contents of a request."""
    returned = Returned()
    for content in contents:
        before = len(returned.calls)
        for part in content.get("parts") or []:
            if isinstance(part, dict):
                _read_part(returned, part, content.get("role"))
        if returned.results and len(returned.calls) > before:
            returned.in_order = False
    return returned


def _read_part(returned: Returned, part: Content, role: Json) -> None:
    call, result = pick(part, "functionCall"), pick(part, "functionResponse")
    signature = pick(part, "thoughtSignature")
    if isinstance(call, dict):
        returned.calls.append((str(call.get("name") or ""), call.get("args") or {}))
        returned.ids.append(call.get("id") or None)
        returned.signatures.append(signature or None)
        returned.places.append(len(returned.text))
        returned.signed_before.append(len(returned.other_signatures))
    elif signature is not None:
        returned.other_signatures.append(str(signature))
    if isinstance(result, dict) and role != "model":  # the provider's own stands in its content
        returned.results.append((str(result.get("name") or ""), result.get("id") or None))
        returned.outputs.append("\n".join(strings(result)))
    if role == "model" and isinstance(part.get("text"), str) and part.get("thought") is not True:
        returned.text += part["text"]
    for name in ("toolCall", "toolResponse"):
        returned.server_tools += strings(pick(part, name))


def return_losses(wire: Facts, returned: Returned, signed: Collection[str]) -> list[str]:
    """One sentence for each fact about an answer's calls that is missing from the next request, and
    for each signature that is in it too often. ``signed``: the other kinds of parts that must keep
    their signatures.
    """
    findings = call_findings(wire.calls, returned.calls, ordered=True)
    if findings:
        return [f"sent back: {finding}" for finding in findings]
    sent_marks = zip(returned.ids, returned.signatures, strict=True)
    for number, (there, here) in enumerate(zip(wire.marks, sent_marks, strict=True), 1):
        findings += [
            f"{kind} of call {number} {'lost' if had else 'invented'}: {short_json(had)}"
            f" is sent back as {short_json(sent)}"
            for kind, had, sent in zip(("id", "signature"), there, here, strict=True)
            if (had or None) != sent and not (kind == "id" and not had and returned.by_id)
        ]
        if returned.by_id and not here[0]:
            findings.append(f"call {number} has no id, by which its result must name it")
    names = [name for name, _ in returned.calls]
    wanted = list(zip(names, returned.ids, strict=True))
    if returned.results != wanted:
        findings.append(
            f"results {short_json(returned.results)} do not answer the calls"
            f" {short_json(wanted)}, one each and in their order"
        )
    if not returned.in_order:
        findings.append("a call comes after the first result")
    findings += [
        f"signature lost: {short_json(signature)} is not sent back"
        for kind, signature in wire.signatures
        if kind in signed and signature not in returned.other_signatures
    ]
    findings += _moved(wire, returned)
    given = Counter(signature for _, signature in wire.signatures)
    sent = Counter(filter(None, [*returned.other_signatures, *returned.signatures]))
    return findings + [
        f"signature copied: {short_json(signature)} is sent back at {count} parts; the answer has"
        f" it at {given[signature]}"
        for signature, count in sent.items()
        if count > given[signature]
    ]


def _moved(wire: Facts, returned: Returned) -> list[str]:
    """The signatures that were before a call and are sent back after it, or the other way round."""
    findings = []
    places = zip(wire.signed_before, returned.signed_before, strict=False)
    for number, (there, here) in enumerate(places, 1):
        before = [signature for _, signature in wire.signatures[:there]]
        behind = [signature for _, signature in wire.signatures[there:]]
        moved = [
            *(value for value in before if value in returned.other_signatures[here:]),
            *(value for value in behind if value in returned.other_signatures[:here]),
        ]
        findings += [
            f"signature moved: {short_json(value)} stands on the other side of call {number}"
            for value in moved
        ]
    return findings
