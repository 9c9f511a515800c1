"""Compares the prompt of a question with the request that an adapter sent.

Each value that was asked for is on the wire, at its place, once; nothing else is. A value in
another form with the same meaning is kept; the forms and their evidence are on the page
docs/what-is-asked.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace as with_fields

from harness.facts import Finding
from harness.stream.prompt import Media, Prompt, Text

from .comparison import Comparison, all_parts, functions_of, value_at
from .history import (
    calls_of,
    compare_calls,
    compare_ids,
    compare_results,
    compare_signatures,
    results_of,
)
from .media_comparison import compare_media
from .settings import compare_google, compare_output, compare_settings, compare_thinking
from .texts import compare_messages, compare_system
from .tools import compare_choice, compare_tool_schemas, compare_tools

ASPECTS: Final[Mapping[str, Callable[[Comparison], Iterator[Finding]]]] = {
    "system": compare_system,
    "messages": compare_messages,
    "media": compare_media,
    "tools": compare_tools,
    "schema": compare_tool_schemas,
    "choice": compare_choice,
    "output": compare_output,
    "settings": compare_settings,
    "thinking": compare_thinking,
    "google": compare_google,
    "calls": compare_calls,
    "ids": compare_ids,
    "signatures": compare_signatures,
    "results": compare_results,
}
"""Aspect → its comparison. It may also give findings of the aspects ``limits`` and ``invented``."""


def compare_prompts(both: Comparison) -> list[Finding]:
    """Return the red findings of one request, and one that is kept for each aspect that was asked
    and has none.
    """
    findings = [
        with_fields(finding, adapter=value_at(both.sent.body, finding.place.sent))
        if finding.adapter is None and finding.place.sent
        else finding
        for compare in ASPECTS.values()
        for finding in compare(both)
    ]
    red = {finding.subject for finding in findings}
    kept = (Finding(aspect, "kept") for aspect in asked_aspects(both.asked) if aspect not in red)
    return [*findings, *kept]


def asked_aspects(asked: Prompt) -> list[str]:
    """Return the aspects of which a prompt has values."""
    parts = [*all_parts(asked)]
    has: dict[str, Any] = {
        "system": asked.instructions or any(each.role == "system" for each in asked.messages),
        "messages": any(isinstance(part, Text) for part in parts),
        "media": any(isinstance(part, Media) for part in parts),
        "tools": asked.tools,
        "schema": any(tool.schema for tool in functions_of(asked)),
        "choice": asked.choice,
        "output": asked.format,
        "settings": asked.settings,
        "thinking": asked.reasoning,
        "google": asked.google,
        "calls": calls_of(asked),
        "ids": calls_of(asked),
        "signatures": any(part.signature for part in parts),
        "results": results_of(asked),
    }
    return [name for name, value in has.items() if value]
