"""Reads the request that follows an answer, and compares its calls and results with the answer.

The rules are those of https://ai.google.dev/gemini-api/docs/thought-signatures: every call stands
at its place with its id, name, arguments and signature, and the results stand together behind the
calls, in call order. On the Interactions API a call's signature stands in a step before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from harness.facts import Facts, call_findings
from harness.stream.json_codec import Json, same_json
from harness.stream.printable import short_json

from .sent_contents import names_calls_by_id, sent_contents


@dataclass
class Returned:
    """The calls and results of a request, in order: calls are (name, arguments), results (name,
    id). ``marks``: the id and the signature of each call, None where it has none.

    ``call_contents`` and ``result_contents``: the index of the content that holds each.
    ``signatures``: those of all other parts; ``signed_before``: how many of them stand before each
    call. ``by_id``: every call must have an id, so that one is made where the answer gave none.
    """

    calls: list[tuple[str, Json]] = field(default_factory=list)
    marks: list[tuple[str | None, str | None]] = field(default_factory=list)
    results: list[tuple[str, str | None]] = field(default_factory=list)
    call_contents: list[int] = field(default_factory=list)
    result_contents: list[int] = field(default_factory=list)
    signatures: list[str] = field(default_factory=list)
    signed_before: list[int] = field(default_factory=list)
    by_id: bool = False


def gather_request(body: Json) -> Returned:
    """The calls and results of a request as the API documents it, of any of Gemini's wires."""
    returned = Returned(by_id=names_calls_by_id(body))
    for index, content in enumerate(sent_contents(body)):
        for part in content.get("parts") or []:
            call, result = part.get("functionCall"), part.get("functionResponse")
            signature = part.get(
                "thoughtSignature", part.get("thought_signature")
            )  # a part of an unknown kind goes back as it came
            if isinstance(call, dict):
                returned.calls.append((str(call.get("name") or ""), call.get("args") or {}))
                returned.marks.append((call.get("id"), signature))
                returned.call_contents.append(index)
                returned.signed_before.append(len(returned.signatures))
            elif signature is not None:
                returned.signatures.append(str(signature))
            if isinstance(result, dict):
                returned.results.append((str(result.get("name") or ""), result.get("id")))
                returned.result_contents.append(index)
    return returned


def return_losses(wire: Facts, returned: Returned, signed: Collection[str]) -> list[str]:
    """The facts of an answer's calls that the request after it lacks, and the signatures that it
    has too often, a sentence each. ``signed``: the other kinds of parts that must keep their
    signatures.
    """
    findings = call_findings(wire.calls, returned.calls, ordered=True)
    if findings:
        return [f"sent back: {finding}" for finding in findings]
    for number, (there, here) in enumerate(zip(wire.marks, returned.marks, strict=True), 1):
        findings += [
            f"{kind} of call {number} {'lost' if had else 'invented'}: {short_json(had)}"
            f" is sent back as {short_json(sent)}"
            for kind, had, sent in zip(("id", "signature"), there, here, strict=True)
            if (had or None) != (sent or None)
            and not (kind == "id" and sent and not had and returned.by_id)
        ]
        if returned.by_id and not here[0]:
            findings.append(f"call {number} has no id, by which its result must name it")
    wanted = [
        (name, mark[0]) for (name, _), mark in zip(returned.calls, returned.marks, strict=True)
    ]
    if not same_json(
        [list(result) for result in returned.results], [list(call) for call in wanted]
    ):
        findings.append(
            f"results {short_json(returned.results)} do not answer the calls"
            f" {short_json(wanted)}, one each and in their order"
        )
    if (
        returned.calls
        and returned.results
        and returned.call_contents[-1] >= returned.result_contents[0]
    ):
        findings.append("a call stands behind the first result")
    others = [signature for kind, signature in wire.signatures if kind in signed]
    findings += [
        f"signature lost: {short_json(signature)} is not sent back"
        for signature in others
        if signature not in returned.signatures
    ]
    findings += _moved(wire, returned)
    given = Counter(signature for _, signature in wire.signatures)
    sent = Counter(returned.signatures) + Counter(sign for _, sign in returned.marks if sign)
    return findings + [
        f"signature copied: {short_json(signature)} is sent back at {count} parts; the answer has"
        f" it at {given[signature]}"
        for signature, count in sent.items()
        if count > given[signature]
    ]


def _moved(wire: Facts, returned: Returned) -> list[str]:
    """The signatures that stood before a call and are sent back behind it, or the other way."""
    findings = []
    places = zip(wire.signed_before, returned.signed_before, strict=False)
    for number, (there, here) in enumerate(places, 1):
        before = [signature for _, signature in wire.signatures[:there]]
        behind = [signature for _, signature in wire.signatures[there:]]
        moved = [
            *(value for value in before if value in returned.signatures[here:]),
            *(value for value in behind if value in returned.signatures[:here]),
        ]
        findings += [
            f"signature moved: {short_json(value)} stands on the other side of call {number}"
            for value in moved
        ]
    return findings
