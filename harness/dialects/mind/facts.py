"""Reads the facts in mind's records: text, calls, results, errors and how the answer ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from harness.facts import Call, Error, Fact, Finish, Text
from harness.facts.detail import GoodEnd, Result, StatedTwice
from harness.stream.json_codec import Json
from harness.stream.session import Session


def read_facts(
    payloads: Iterable[Mapping[str, Json]], session: Session | None = None
) -> Iterator[Fact]:
    """Yield the facts in records. The finish reason is the code of the final error, else ``result``
    or ``incomplete result``.
    """
    text = ""
    for payload in payloads:
        match payload["type"]:
            case "assistant":
                piece = "".join(content["text"] for content in payload["message"]["content"])
                text += piece
                yield Text(piece)
            case "tool_code":
                yield Call(None, payload["name"], payload["args"])
            case "tool_result":
                yield Result.of("error" in payload["result"], payload["result"])
            case "result":
                is_good = not payload.get("incomplete")
                yield from [GoodEnd()] if is_good else []
                yield Finish("result" if is_good else "incomplete result")
                if payload["result"] != text:
                    yield StatedTwice("text", text, payload["result"])
            case "error":
                yield Finish(payload["code"])
                yield Error(None, payload["message"])
