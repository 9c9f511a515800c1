"""Recordings for the tests of drift."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.cli.main import main
from harness.server import serve

Message = dict[str, Any]


Messages = list[Message]


SECRET_TEXT: Final = "The owl and the pussycat"


ASKED: Final = {"contents": [{"parts": [{"text": "hi"}], "role": "user"}]}


URL: Final = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse"


def message(
    *parts: Message, finish: str | None = None, counts: tuple[int, int, int] = (5, 3, 8)
) -> Message:
    candidate: Message = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    candidate["safetyRatings"] = [
        {"category": "HARM_CATEGORY_HARASSMENT", "probability": "NEGLIGIBLE"}
    ]
    if finish:
        candidate["finishReason"] = finish
    usage = dict(
        zip(("promptTokenCount", "candidatesTokenCount", "totalTokenCount"), counts, strict=True)
    )
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": "gemini-3-flash-preview",
        "responseId": "r1",
    }


def recorded() -> Messages:
    call = {
        "functionCall": {"id": "c1", "name": "look", "args": {"where": "sea"}},
        "thoughtSignature": "U0lH",
    }
    return [
        message({"text": "**Plan**", "thought": True}, counts=(5, 0, 5)),
        message({"text": SECRET_TEXT}, counts=(5, 2, 7)),
        message({"text": " went to sea"}, counts=(5, 3, 8)),
        message(call, finish="STOP"),
    ]


def exchange(messages: Messages, *, line_end: str = "\r\n", **altered: Any) -> Exchange:
    reads = tuple(
        (float(number), f"data: {json.dumps(message)}{line_end * 2}".encode())
        for number, message in enumerate(messages)
    )
    message = Exchange(
        Request("POST", URL, {}, json.dumps(ASKED).encode()),
        200,
        {"Content-Type": ["text/event-stream"]},
        reads,
        "complete",
    )
    return replace(message, **altered)


def tape(*exchanges: Exchange) -> Cassette:
    return Cassette(exchanges, Origin("recorded"))


def keep(cassette: Cassette, name: str = "gemini-api/a") -> None:
    path = Path("cassettes", f"{name}.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dumps(cassette), encoding="utf-8")


def drift(now: Cassette, *arguments: str) -> int:
    with serve(now, pace="instant") as server:
        return main(["drift", "--base-url", server.base_url, "--api-version", "v1beta", *arguments])


# Alterations that are drift
def first(messages: Messages) -> Message:
    """The first candidate of the last message."""
    candidate: Message = messages[-1]["candidates"][0]
    return candidate


def call(messages: Messages) -> Message:
    part: Message = first(messages)["content"]["parts"][0]
    return part


def without_usage(messages: Messages, *places: int) -> None:
    for place in places:
        del messages[place]["usageMetadata"]


def swap(messages: Messages) -> None:
    messages[1]["candidates"], messages[3]["candidates"] = (
        messages[3]["candidates"],
        messages[1]["candidates"],
    )
    messages[3]["candidates"][0]["finishReason"] = messages[1]["candidates"][0].pop("finishReason")


def break_off(messages: Messages) -> None:
    messages[3] = {"error": {"code": 500, "message": SECRET_TEXT, "status": "INTERNAL"}}


CONTENT: Final = "candidates[].content"


ALTERED: Final[list[tuple[Callable[[Messages], Any], list[tuple[str, str, str, str]]]]] = [
    # new fields
    (
        lambda m: m[0].update(brandNew={"a": 1}),
        [("notable", "brandNew", "new field (object)", "unknown.fields")],
    ),
    (
        lambda m: m[0].update(createTime="2026"),
        [("harmless", "createTime", "new field (string)", "reply.metadata")],
    ),
    (
        lambda m: m[1]["candidates"][0]["content"]["parts"].append({"hologram": {"a": 1}}),
        [("breaking", f"{CONTENT}.parts[].hologram", "new field (object)", "unknown.parts")],
    ),
    (
        lambda m: m[-1]["usageMetadata"].update(cachedContentTokenCount=1),
        [
            (
                "harmless",
                "usageMetadata.cachedContentTokenCount",
                "new field (number)",
                "usage.cached",
            )
        ],
    ),
    (
        lambda m: m[-1]["usageMetadata"].update(newCount=1),
        [("notable", "usageMetadata.newCount", "new field (number)", "usage.totals")],
    ),
    (
        lambda m: call(m)["functionCall"].update(willContinue=True),
        [
            (
                "breaking",
                f"{CONTENT}.parts[].functionCall.willContinue",
                "new field (boolean)",
                "tool-calls.streamed-arguments",
            )
        ],
    ),
    # missing fields
    (
        lambda m: [reply.pop("responseId") for reply in m],
        [("notable", "responseId", "missing field (string)", "reply.metadata")],
    ),
    (
        lambda m: [reply["candidates"][0].pop("index") for reply in m],
        [("harmless", "candidates[].index", "missing field (number)", "candidates.several")],
    ),
    (
        lambda m: call(m).pop("thoughtSignature"),
        [
            (
                "breaking",
                f"{CONTENT}.parts[].thoughtSignature",
                "missing field (string)",
                "signatures.call",
            )
        ],
    ),
    (
        lambda m: call(m)["functionCall"].pop("id"),
        [
            (
                "breaking",
                f"{CONTENT}.parts[].functionCall.id",
                "missing field (string)",
                "tool-calls.missing-id",
            )
        ],
    ),
    (
        lambda m: m.pop(0),
        [
            (
                "notable",
                f"{CONTENT}.parts[].thought",
                "missing field (boolean)",
                "thoughts.summaries",
            )
        ],
    ),
    (
        lambda m: m.pop(),
        [
            (
                "breaking",
                f"{CONTENT}.parts[].functionCall",
                "missing field (object)",
                "tool-calls.single",
            ),
            (
                "breaking",
                f"{CONTENT}.parts[].thoughtSignature",
                "missing field (string)",
                "signatures.call",
            ),
            ("breaking", "candidates[].finishReason", "missing field (string)", "finish.none"),
        ],
    ),
    # types
    (
        lambda m: m[-1]["usageMetadata"].update(totalTokenCount="8"),
        [
            (
                "breaking",
                "usageMetadata.totalTokenCount",
                "type number → number or string",
                "usage.totals",
            )
        ],
    ),
    (
        lambda m: call(m)["functionCall"].update(args="{}"),
        [
            (
                "breaking",
                f"{CONTENT}.parts[].functionCall.args",
                "type object → string",
                "tool-calls.single",
            )
        ],
    ),
    (
        lambda m: m[0]["candidates"][0].update(index=None),
        [("notable", "candidates[].index", "type number → null or number", "candidates.several")],
    ),
    # words of enums
    (
        lambda m: first(m)["safetyRatings"][0].update(probability="MEDIUM"),
        [
            (
                "harmless",
                "candidates[].safetyRatings[].probability",
                "new value MEDIUM, so far NEGLIGIBLE",
                "annotations.safety-ratings",
            )
        ],
    ),
    (
        lambda m: first(m)["content"].update(role="assistant"),
        [("breaking", f"{CONTENT}.role", "new value assistant, so far model", "text.empty-parts")],
    ),
    (
        lambda m: first(m)["content"].update(role=f"{SECRET_TEXT}!"),
        [
            (
                "breaking",
                f"{CONTENT}.role",
                "new value another word, so far model",
                "text.empty-parts",
            )
        ],
    ),
    # the order of parts
    (
        swap,
        [
            (
                "notable",
                "order of parts",
                "thought, text, call, signature → thought, call, signature, text",
                "tool-calls.parallel",
            )
        ],
    ),
    (
        lambda m: first(m)["content"]["parts"].append(
            {"functionCall": {"id": "c2", "name": "look", "args": {}}}
        ),
        [
            (
                "notable",
                "order of parts",
                "thought, text, call, signature → thought, text, call, signature, call",
                "tool-calls.parallel",
            )
        ],
    ),
    # finish
    (
        lambda m: first(m).update(finishReason="MAX_TOKENS"),
        [("breaking", "finish reason", "STOP → MAX_TOKENS", "finish.length")],
    ),
    (
        lambda m: first(m).update(finishReason="SPII"),
        [("breaking", "finish reason", "STOP → SPII", "finish.content-filter")],
    ),
    (
        lambda m: first(m).update(finishReason="TIRED"),
        [("breaking", "finish reason", "STOP → TIRED", "finish.other")],
    ),
    (
        lambda m: m.append({**message(), "candidates": []}),
        [
            (
                "notable",
                "finish reason",
                "in the messages: final → not in the last",
                "finish.several",
            )
        ],
    ),
    # the messages that have counts
    (
        lambda m: without_usage(m, 0, 1, 2),
        [("notable", "usageMetadata", "in the messages: running → final", "usage.final-only")],
    ),
    (
        lambda m: without_usage(m, 3),
        [
            (
                "breaking",
                "usageMetadata",
                "in the messages: running → not in the last",
                "usage.totals",
            )
        ],
    ),
    (
        lambda m: [reply["usageMetadata"].pop("candidatesTokenCount") for reply in (m[0], m[2])],
        [
            (
                "notable",
                "usageMetadata.candidatesTokenCount",
                "in the messages: running → in some",
                "usage.totals",
            )
        ],
    ),
    # errors
    (
        break_off,
        [
            (
                "breaking",
                f"{CONTENT}.parts[].functionCall",
                "missing field (object)",
                "tool-calls.single",
            ),
            (
                "breaking",
                f"{CONTENT}.parts[].thoughtSignature",
                "missing field (string)",
                "signatures.call",
            ),
            ("breaking", "candidates[].finishReason", "missing field (string)", "finish.none"),
            ("breaking", "error", "new field (object)", "errors.in-stream"),
        ],
    ),
    (
        lambda m: m.append({"promptFeedback": {"blockReason": "SAFETY"}}),
        [
            ("breaking", "promptFeedback", "new field (object)", "finish.blocked-prompt"),
            (
                "breaking",
                "usageMetadata",
                "in the messages: running → not in the last",
                "usage.totals",
            ),
            (
                "notable",
                "finish reason",
                "in the messages: final → not in the last",
                "finish.several",
            ),
        ],
    ),
]


def line(kind: str, **fields: Any) -> Message:
    return {"type": kind, "timestamp": "2026-11-22T10:00:00.000Z", **fields}


def run(*lines: Message) -> Cassette:
    reads = tuple((None, json.dumps(line).encode() + b"\n") for line in lines)
    return tape(Exchange(None, 200, {"x-exit-code": ["0"]}, reads, "complete"))


RAN: Final = [
    line("init", model="m"),
    line("tool_use", parameters={"a": 1}),
    line("result", stats={"models": {"m": {"input": 1}}}),
]
