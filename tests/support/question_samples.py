"""The answers of two providers to one question."""

from __future__ import annotations

from harness.facts import AspectVerdict
from harness.judging.rows import Row
from tests.support.report_samples import result


def answer(
    provider: str, adapter: str, question: str = "weather", **verdicts: AspectVerdict
) -> Row:
    return result(
        spec=f"{provider}/calls.yaml",
        case="call",
        provider=provider,
        adapter=adapter,
        cassette=f"{provider}/calls",
        question=question,
        answered=verdicts,
    )


ANSWERS = [
    answer("gemini-api", "anthropic", calls="kept", signatures="not_carried", usage="kept"),
    answer("gemini-api", "unified-llm", calls="kept", signatures="kept", usage="lost"),
    answer("code-assist", "anthropic", calls="kept"),
    answer("code-assist", "unified-llm", calls="wrong", usage="not_asked"),
]
