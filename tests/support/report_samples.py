"""Results for tests of reports: every verdict, texts that try to break out of their place, and any
number of cells.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from harness.facts import Finding, Place
from harness.judging.rows import (
    CaseRow,
    Evidence,
    LayerView,
    Read,
    Sent,
    Stream,
    Verdict,
)
from harness.report import Header, Named, Unread
from harness.stream.exchange import Origin

LINK = "https://ai.google.dev/gemini-api/docs"
FEATURES = (
    Named("tool-calls.parallel", "Parallel calls", 0, "What it means.", LINK),
    Named("usage.totals", "Usage", 1, "What it means.", LINK),
    Named("media.sound", "Sound", 2, "What it means.", LINK),
)
PROVIDERS = {"gemini-api": "Gemini API", "code-assist": "Code Assist"}
DIALECTS = {"unified-llm": "unified-llm", "anthropic": "anthropic"}
HEADER = Header(
    tools=("gemini-conformance 1",),
    providers=tuple(
        Named(name, title, order) for order, (name, title) in enumerate(PROVIDERS.items())
    ),
    adapters=tuple(
        Named(name, title, order) for order, (name, title) in enumerate(DIALECTS.items())
    ),
    features=FEATURES,
    losses=(Named("grounding", "Search results and their `supports`.", 0, of="anthropic"),),
)
WRITTEN = Origin("written", date="2026-11-22")


def result(
    verdict: Verdict = "passed", case: str = "two-calls", adapter: str = "anthropic", **changes: Any
) -> CaseRow:
    """A cell; ``changes`` replace any of its fields."""
    whole: dict[str, Any] = {
        "spec": "gemini-api/tool-calls.yaml",
        "line": 3,
        "case": case,
        "requirement": "Two calls stay two calls.",
        "features": ("tool-calls.parallel",),
        "level": "must",
        "source": "https://ai.google.dev/gemini-api/docs/function-calling",
        "provider": "gemini-api",
        "adapter": adapter,
        "layer": "payloads" if adapter else "events",
        "verdict": verdict,
        "cassette": "gemini-api/tool-calls",
        "origin": WRITTEN,
        "end": "complete",
        "command": f"pytest 'specs/gemini-api/tool-calls.yaml::{case}[{adapter or 'events'}]'",
        "wire": 'data: {"candidates": []}\n\n',
    }
    return CaseRow(**(whole | changes))


MIXED = [
    result("passed"),
    result(
        "failed",
        "lost",
        findings=(
            Finding("payloads[4]", "lost", "missing", '{"index":1}', remark="index −1 from here"),
        ),
        findings_total=9,
    ),
    result("error", "broken", reason="the adapter raised KeyError"),
    result("fixed", "again", reason="passes since Tuesday", link="https://example.org/issues/7"),
    result("warning", "late", level="should", first_layer="payloads"),
    result(
        "known-failing",
        "null",
        reason="null pieces lose their path",
        link="https://example.org/issues/212",
    ),
    result(
        "not-carried", "search", reason="grounding", regression_of=("vercel/ai#10660", "a-b/c.d#7")
    ),
    result("not-run", "new", reason="nothing is expected yet"),
    result("unreviewed", "accepted", reason="reviewed: no"),
    result("passed", adapter="unified-llm"),
    result("passed", adapter=""),
    result(
        "passed",
        "sum",
        provider="code-assist",
        features=("usage.totals", "tool-calls.parallel"),
        exchange=2,
    ),
]


HOSTILE = "</pre></style></script><img src=x onerror=alert(1)>\"'><b onclick=x>&lt; `<u>` {{7*7}}"
HOSTILE += "\x00\x1b[2J\x9b\r\u202egnp.exe\u2066\u200b\U000e0041 \ud83d"


HOSTILE_EVIDENCE = Evidence(
    Stream(200, 3, HOSTILE, (Read(1.0, 3),), 1, Sent(HOSTILE, HOSTILE, HOSTILE, 9)),
    HOSTILE,
    layers=(LayerView("payloads", (HOSTILE,), 0, 1, 0, True),),
    small_case=HOSTILE,
    before=(Stream(200, 3, HOSTILE, (Read(1.0, 3),), 1, Sent(HOSTILE, HOSTILE, HOSTILE, 9)),),
)


HOSTILE_PLACE = Place(3, 4, HOSTILE, HOSTILE, HOSTILE, 5, HOSTILE)


def hostile(verdict: Verdict) -> CaseRow:
    """A cell that tries to break out of every field."""
    return result(
        verdict,
        case=HOSTILE,
        spec=HOSTILE,
        requirement=HOSTILE,
        source=f"javascript:{HOSTILE}",
        reason=HOSTILE,
        link=f"https://x/{HOSTILE}",
        cassette=HOSTILE,
        origin=Origin("imported", *[HOSTILE] * 7),  # type: ignore[arg-type]  # the first seven are texts
        findings=(
            Finding(HOSTILE, "wrong", "changed", HOSTILE, HOSTILE, HOSTILE_PLACE, HOSTILE),
            Finding(HOSTILE, "wrong", "law", HOSTILE, HOSTILE, HOSTILE_PLACE, HOSTILE),
            Finding(HOSTILE, "lost", "extra", adapter=HOSTILE),
        ),
        findings_total=3,
        evidence=HOSTILE_EVIDENCE,
        command=HOSTILE,
        wire=HOSTILE,
        features=("hostile",),
        regression_of=(HOSTILE,),
    )


HOSTILE_HEADER = Header(
    tools=(HOSTILE,),
    providers=(Named("gemini-api", HOSTILE, 0),),
    adapters=(Named("anthropic", HOSTILE, 0),),
    features=(Named("hostile", HOSTILE, 0, HOSTILE, f"data:{HOSTILE}"),),
    losses=(Named(HOSTILE, HOSTILE, 0, of="anthropic"),),
    unread=(Unread(HOSTILE, HOSTILE),),
)


THREE = ("unified-llm", "anthropic", "")


def run_of(
    cases: int,
    wire: str = "",
    verdict: Verdict = "passed",
    columns: tuple[str, ...] = THREE,
    number: int = 2,
) -> list[CaseRow]:
    """Cells as in a run, each case with a stream of its own; cells that aren't passed have
    ``number`` findings.
    """
    evidence = Evidence(
        Stream(
            200,
            1125,
            "a" * 32,
            (Read(612.4, 271), Read(640.1, 346, 1, "message"), Read(701.3, 508)),
            3,
            events=('text  {"text": "' + "x" * 60 + '"}',) * 4,
            events_total=9,
        ),
        "b" * 32,
        layers=(
            LayerView("payloads", ('{"type": "text", "text": "' + "x" * 50 + '"}',) * 4, 0, 9),
        ),
    )
    findings = (
        ()
        if verdict == "passed"
        else tuple(
            Finding(f"[{n}].delta", "wrong", "changed", "x" * 1000, "y" * 1000)
            for n in range(number)
        )
    )
    return [
        result(
            verdict,
            case=f"two-calls-{n}",
            line=n + 1,
            exchange=n + 1,
            adapter=column,
            wire=wire,
            evidence=evidence,
            findings=findings,
        )
        for n in range(cases)
        for column in columns
    ]


FIVE = replace(
    HEADER,
    adapters=tuple(
        Named(name, name, order) for order, name in enumerate(("anthropic", "b", "c", "d", "e"))
    ),
)
