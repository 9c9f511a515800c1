"""The wire variants of a run of the Antigravity CLI."""

from __future__ import annotations

from typing import Final

from harness.judging.metamorphic import content
from harness.judging.metamorphic.catalogue import (
    BEYOND_64_BITS,
    DEEP,
    HUGE_TEXT,
    LINE_ENDS,
    NOT_WELL,
    PLACES,
    SAME,
    Meanings,
    edits_named,
    variants_named,
)
from harness.judging.metamorphic.messages import truncated, without
from harness.judging.metamorphic.relations import PREFIX

from . import changes

_MEANINGS: Final[Meanings] = {
    "noise": ("there is other output before, between and inside the lines", SAME),
    "canceled": ("the run was canceled", NOT_WELL),
    "response-alone": ("only the response has the text", SAME),
    "response-missing": ("there is no response", SAME),
    "response-empty": ("the response is empty", NOT_WELL),
    "init-missing": ("the first line is missing", SAME),
    "resumed": ("the steps have the numbers of a later turn", SAME),
    "error-last": ("the result is an error", PREFIX),
    "truncated-behind-line": ("the answer breaks off between two lines", PREFIX),
}

SPELLINGS: Final = variants_named(
    {
        "escaped": changes.respelled(lambda lines: changes.written(lines, ascii_=True)),
        "spaced": changes.respelled(lambda lines: changes.written(lines, spaced=True)),
        "key-order": changes.respelled(changes.in_reverse),
    },
    "agy.stream-json",
)
"""Spellings of a run of the Antigravity CLI."""


def _after_first_line(body: bytes) -> int:
    return body.find(b"\n") + 1


OTHERS: Final = (
    *variants_named({"noise": changes.respelled(changes.with_noise)}, own=_MEANINGS),
    *edits_named(
        changes.edited,
        {
            "text-split": changes.split_text,
            "response-alone": changes.remove_pieces,
            "response-missing": changes.with_result(response=None),
            "response-empty": changes.with_result(response=""),
            "init-missing": changes.remove_init,
            "finish-missing": changes.remove_result,
            "canceled": changes.with_result(status="CANCELED"),
            "unknown-fields": changes.add_unknown,
            "no-usage": without("usage"),
            "resumed": changes.shift_indexes,
            "empty-text": changes.with_piece(""),
            "huge-text": changes.with_piece(HUGE_TEXT),
            "large-integer": changes.with_first_argument(BEYOND_64_BITS),
            "deep-argument": changes.with_first_argument(content.nested(DEEP)),
            "error-last": changes.fail,
            "error-instead": changes.fail_at_once,
        },
        _MEANINGS,
    ),
    *variants_named(
        {
            "truncated-behind-line": truncated(changes.run_lines, _after_first_line),
            **{
                name: truncated(changes.run_lines, place)
                for name, place in PLACES.items()
                if name != "truncated-behind-event"
            },
        },
        own=_MEANINGS,
    ),
)
"""Variants of a run of the Antigravity CLI that change more than its spelling."""

TABLE: Final = ((*LINE_ENDS, *SPELLINGS), OTHERS)
"""The spellings of a whole run, and its other variants."""
