"""Faults of adapters of every dialect that treat a bad end as a good one.

Our own dialects had most of them before law 9.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.dialects import DIALECTS
from harness.stream import events as ev

from .pipeline import Table

ENDS = (ev.Finish, ev.Blocked, ev.Error, ev.Incomplete)
CONTENT = (
    *(ev.Text, ev.Reasoning, ev.CallStart, ev.NamelessCall, ev.ToolResult),
    *(ev.Media, ev.Code, ev.CodeResult, ev.ServerCall, ev.ServerResult),
)
STOP = ev.Finish("stop", "STOP")


def ending_well(events: Iterator[ev.Event], *, with_content: bool) -> Iterator[ev.Event]:
    """The events, with a natural stop if there is no end, with or without content."""
    content = ended = False
    for event in events:
        content = content or isinstance(event, CONTENT)
        ended = ended or isinstance(event, ENDS)
        yield event
    if not ended and content is with_content:
        yield STOP


def nothing_understood_ends_well(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A web page, the stream of another provider and an empty body are an empty answer that ended
    well.
    """
    return ending_well(events, with_content=False)


def no_reason_ends_well(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """An answer without a finish reason ended well."""
    return ending_well(events, with_content=True)


def malformed_ends_well(event: ev.Event) -> ev.Event:
    """An answer whose call was malformed ended well."""
    return STOP if isinstance(event, ev.Finish) and event.reason == "malformed" else event


def continuation_ends_well(event: ev.Event) -> ev.Event:
    """An answer that is continued in another one ended well."""
    return STOP if isinstance(event, ev.Finish) and event.reason == "continuation" else event


BAD_ENDS = tuple(Table(dialect) for dialect in DIALECTS)
for table in BAD_ENDS:
    table.events(nothing_understood_ends_well)
    table.events(no_reason_ends_well)
    table.event(malformed_ends_well)
    table.event(continuation_ends_well)
