"""Reads the facts in mind's records, and compares them with those of the wire.

The records carry text, calls, results, errors and how the answer ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.facts import (
    CONTINUATION,
    Facts,
    call_findings,
    error_findings,
    is_malformed,
    message_findings,
    result_findings,
    text_and_calls,
    text_findings,
    value_findings,
)
from harness.stream.json_codec import Json
from harness.stream.session import Session


def read_facts(payloads: Iterable[Mapping[str, Json]], session: Session | None = None) -> Facts:
    """The facts in records. ``finish`` is the code of the final error, else ``result`` or
    ``incomplete result``.
    """
    facts = Facts()
    for payload in payloads:
        match payload["type"]:
            case "assistant":
                facts.add_text(
                    "".join(content["text"] for content in payload["message"]["content"])
                )
            case "tool_code":
                facts.calls.append((payload["name"], payload["args"]))
            case "tool_result":
                result = payload["result"]
                facts.add_result("error" in result, result)
            case "result":
                facts.ended_well = not payload.get("incomplete")
                facts.finish = "result" if facts.ended_well else "incomplete result"
                if payload["result"] != facts.text:
                    facts.contradictions.append("the result has other text than the messages")
            case "error":
                facts.finish = payload["code"]
                facts.add_error(None, payload["message"])
    return facts


def differences(wire: Facts, carried: Facts, interrupted: bool) -> list[str]:
    """The facts that records lack or invent, without the declared losses."""
    wire = wire.until_the_end()
    text, calls = text_and_calls(wire, carried)
    blocked = wire.block_reason is not None and not wire.errors
    broken = interrupted or bool(wire.errors)  # the error reports the break
    reasons = [] if broken else wire.malformed_reasons(calls)
    failed = bool(reasons) or not wire.understood or _run_failed(wire)
    if wire.open_call and (interrupted or wire.errors or blocked):
        calls = calls[:-1]  # a call without an end is not run
    findings = [
        *text_findings("text", text, carried.text),
        *call_findings(calls, carried.calls, ordered=not wire.blocks),
        *result_findings(wire, carried),
        *value_findings("end", _end(wire, len(calls), interrupted or failed), carried.finish),
        *carried.contradictions,
    ]
    if blocked:
        return findings + message_findings("block reason", [wire.block_reason or ""], carried)
    findings += message_findings("finish", reasons, carried)
    return findings + error_findings(wire, carried, interrupted or failed, numbered=False)


def _run_failed(wire: Facts) -> bool:
    """Whether the Gemini CLI reports that its run failed."""
    return not (
        wire.ended_well or wire.finish in (None, *CONTINUATION) or is_malformed(wire.finish)
    )


def _end(wire: Facts, calls: int, failed: bool) -> str | None:
    """The code of the error that ends the records, or the kind of ``result``; None after an open
    call.
    """
    if wire.limited:
        return "RATE_LIMIT_EXCEEDED"
    if wire.errors or wire.block_reason is not None or failed:
        return "AGENT_ERROR"
    if calls > len(wire.results):
        return None
    return "incomplete result" if wire.finish in (None, *CONTINUATION) else "result"
