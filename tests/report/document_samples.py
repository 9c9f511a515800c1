"""Results of one provider, to pack, merge and compare."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from harness.facts import Finding
from harness.judging.rows import (
    CaseRow,
    Evidence,
    LayerView,
    Read,
    Sent,
    Stream,
    Verdict,
)
from harness.report import (
    Header,
    Named,
    Run,
    compare_runs,
)
from harness.stream.exchange import Origin

STREAM = Stream(
    200, 25, "a" * 32, (Read(3.0, 25),), 1, Sent("POST", "https://x.example/v1", "{}", 2)
)


HEADER = Header(
    tools=("gemini-conformance 1",),
    providers=(Named("gemini-api", "Gemini API", 0), Named("code-assist", "Code Assist", 1)),
    adapters=(Named("anthropic", "anthropic", 0), Named("unified-llm", "unified-llm", 1)),
    features=(Named("text.streaming", "Text", 0, "It streams.", "https://x.example"),),
)


def result(
    verdict: Verdict = "passed", case: str = "one", adapter: str = "anthropic", **changes: Any
) -> CaseRow:
    whole: dict[str, Any] = {
        "spec": "gemini-api/text.yaml",
        "line": 3,
        "case": case,
        "requirement": "Text is text.",
        "features": ("text.streaming",),
        "level": "must",
        "source": "https://x.example",
        "provider": "gemini-api",
        "adapter": adapter,
        "layer": "payloads" if adapter else "events",
        "verdict": verdict,
        "cassette": "gemini-api/text",
        "origin": Origin("written", "2026-11-22"),
        "end": "complete",
        "command": f"pytest 'specs/gemini-api/text.yaml::{case}[{adapter or 'events'}]'",
        "wire": "data: {}\n\n",
        "evidence": Evidence(STREAM, "b" * 32),
    }
    return CaseRow(**(whole | changes))


SEVERAL = [
    result(),
    result(adapter="unified-llm"),
    result(
        "failed",
        "two",
        regression_of=("vercel/ai#10660", "a-b/c.d#7"),
        findings=(Finding("[0]", "wrong", "changed", "1", "2"),),
        findings_total=1,
        evidence=Evidence(STREAM, "c" * 32),
    ),
    result(
        "failed",
        "three",
        evidence=Evidence(None, "d", layers=(LayerView("events", ("text",), 0, 1, 0, True),)),
    ),
    result("error", "four", provider="", origin=None, end="unknown", evidence=None, wire=""),
]


def failing(number: int, *, lines: int = 11, wide: int = 1000) -> list[CaseRow]:
    layers = tuple(
        LayerView(name, ("z" * 260,) * lines, 0, 200, 5, True)
        for name in ("frames", "events", "payloads")
    )
    findings = tuple(
        Finding(f"[{n}].delta.partial_json", "wrong", "changed", "x" * wide, "y" * wide)
        for n in range(4)
    )
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse"
    sent = Sent("POST", url, "b" * 800, 9000)
    return [
        result(
            "failed",
            f"arguments-in-pieces-{n}",
            f"adapter-{m}",
            requirement="Arguments that come in several pieces are one call whose pieces keep their order.",
            source="https://ai.google.dev/gemini-api/docs/function-calling#streaming",
            exchange=n + 1,
            wire="w" * 1600,
            findings=findings,
            findings_total=9,
            evidence=Evidence(replace(STREAM, sent=sent), f"{n}", layers=layers),
        )
        for n in range(number)
        for m in range(5)
    ]


def changed(base: list[CaseRow], head: list[CaseRow]) -> list[tuple[str, str, str]]:
    return [
        (change.kind, change.cell.case, change.words)
        for change in compare_runs(Run(HEADER, base), Run(HEADER, head))
    ]
