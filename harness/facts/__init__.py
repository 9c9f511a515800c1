"""The public vocabulary of facts: the neutral account of one answer, and how two of them differ."""

from .account import Facts, StreamedArguments
from .differences import (
    Call,
    call_findings,
    compare_answers,
    error_findings,
    event_differences,
    field_findings,
    message_findings,
    part_findings,
    result_findings,
    same,
    signature_findings,
    text_and_calls,
    text_findings,
    text_without_calls,
    unreadable_findings,
    usage_findings,
    value_findings,
)

__all__ = [
    "Call",
    "Facts",
    "StreamedArguments",
    "call_findings",
    "compare_answers",
    "error_findings",
    "event_differences",
    "field_findings",
    "message_findings",
    "part_findings",
    "result_findings",
    "same",
    "signature_findings",
    "text_and_calls",
    "text_findings",
    "text_without_calls",
    "unreadable_findings",
    "usage_findings",
    "value_findings",
]
