"""Reads the facts in mind's records: text, calls, results, errors and how the answer ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.facts import Facts
from harness.stream.json_codec import Json
from harness.stream.session import Session


def read_facts(payloads: Iterable[Mapping[str, Json]], session: Session | None = None) -> Facts:
    """Return the facts in records. ``finish`` is the code of the final error, else ``result`` or
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
                    facts.contradictions.append(("text", facts.text, payload["result"]))
            case "error":
                facts.finish = payload["code"]
                facts.add_error(None, payload["message"])
    return facts
