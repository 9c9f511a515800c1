"""The catalogue of wire variants: changes that Gemini's wire or a network is known to make."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from harness.stream.exchange import Exchange

from . import bytes as raw
from . import content, spelling
from .messages import Change, as_events, edited
from .relations import ANSWERED, FAILED, PREFIX, Calls, Relation, equal


@dataclass(frozen=True, slots=True)
class WireVariant:
    """One change of a recorded answer.

    ``relation`` must hold between the facts of the recorded answer and those of the changed one.
    ``feature`` is the line of the checklist that the variant belongs to, "" where it has none.
    """

    name: str
    description: str
    relation: Relation
    change: Change
    feature: str = ""


SAME: Final = equal()

LINE_ENDS: Final = (
    WireVariant("lf", "lines end in LF", SAME, spelling.with_line_ends(b"\n"), "framing.line-ends"),
    WireVariant(
        "crlf", "lines end in CRLF", SAME, spelling.with_line_ends(b"\r\n"), "framing.line-ends"
    ),
)
"""Spellings that every wire has."""

ARRAY: Final = WireVariant(
    "json-array",
    "the messages come as one JSON array",
    SAME,
    spelling.respelled(spelling.json_array),
    "framing.json-array",
)

EVENTS: Final = (
    WireVariant(
        "cr",
        "lines end in CR",
        SAME,
        spelling.respelled(lambda messages: as_events(messages, "\r")),
        "framing.line-ends",
    ),
    WireVariant("sse", "each message is one event", SAME, spelling.respelled(as_events)),
)

KEYS: Final = (
    WireVariant(
        "snake-case",
        "keys are spelled in snake_case",
        SAME,
        spelling.respelled(spelling.in_snake_case),
    ),
    WireVariant(
        "envelope",
        "each message is wrapped as Code Assist does",
        SAME,
        spelling.respelled(spelling.in_envelopes),
    ),
    WireVariant(
        "key-order",
        "keys come in reverse order",
        SAME,
        spelling.respelled(spelling.with_reversed_keys),
    ),
    WireVariant(
        "compact",
        "messages have no white space and no escapes",
        SAME,
        spelling.respelled(spelling.compact),
    ),
)

CUTS: Final = tuple(
    WireVariant(name, description, SAME, change)
    for name, description, change in (
        ("cut-every-byte", "each byte comes in a read of its own", raw.cut_at(raw.between_bytes)),
        ("uncut", "all bytes come in one read", raw.uncut),
        ("cut-anywhere", "reads end at random places", raw.cut_at(raw.random_places)),
        (
            "cut-inside-characters",
            "reads end inside UTF-8 characters",
            raw.cut_at(raw.inside_characters),
        ),
        ("cut-inside-line-ends", "reads end between CR and LF", raw.cut_at(raw.inside_line_ends)),
        ("cut-inside-tags", "reads end inside <tool_code>", raw.cut_at(raw.inside_tags)),
    )
)

_MORE_TEXT: Final = "more"
_SURROGATE: Final = "a\ud83d"
_HUGE: Final = 1 << 20
_HUGE_TEXT: Final = "x" * _HUGE
_BEYOND_64_BITS: Final = 2**64 + 1
_DEEP: Final = 50


def _with_argument(value: object) -> Relation:
    """Equal, with ``{"n": value}`` as the arguments of the first call."""

    def replaced(calls: Calls) -> Calls:
        return [(calls[0][0], {"n": value}), *calls[1:]] if calls else calls

    return equal(calls=replaced)


CONTENT: Final = tuple(
    WireVariant(name, description, relation, edited(edit))
    for name, description, relation, edit in (
        ("numeric-reasons", "finish reasons are numbers", SAME, spelling.number_reasons),
        (
            "unknown-fields",
            "messages and candidates have unknown fields",
            SAME,
            spelling.add_unknown_fields,
        ),
        (
            "unknown-part",
            "a part is of an unknown kind",
            SAME,
            content.appended({"hologram": {"x": 1}}),
        ),
        (
            "unknown-reason",
            "the finish reason is an unknown word",
            equal(less=["finish"]),
            content.with_finish("BRAND_NEW"),
        ),
        (
            "unknown-block",
            "the prompt is blocked for an unknown reason",
            ANSWERED,
            content.block,
        ),
        ("no-usage", "no tokens are counted", equal(less=["usage"]), content.remove_usage),
        (
            "usage-last",
            "all counts come in the last message",
            SAME,
            content.move_usage_to_the_end,
        ),
        (
            "signature-moved",
            "the signature of a text comes in an empty part after it",
            SAME,
            content.move_signature,
        ),
        (
            "parallel-split",
            "parallel calls come in separate messages",
            SAME,
            content.split_parallel_calls,
        ),
        (
            "arguments-streamed",
            "a call comes in pieces with JSON paths",
            SAME,
            content.stream_arguments,
        ),
        ("ids-repeated", "all calls have the same id", SAME, content.with_ids("same")),
        ("ids-missing", "no call has an id", SAME, content.with_ids(None)),
        ("finish-twice", "the finish reason comes twice", SAME, content.repeat_finish),
        (
            "finish-missing",
            "no finish reason comes",
            equal(less=["finish", "failed", "usage"]),
            content.with_finish(None),
        ),
        (
            "text-after-finish",
            "text follows the finish reason",
            equal(text=_MORE_TEXT),
            content.appended({"text": _MORE_TEXT}),
        ),
        (
            "second-candidate",
            "another candidate stands beside the answer",
            SAME,
            content.add_candidate,
        ),
        ("empty-text", "a piece of text is empty", SAME, content.appended({"text": ""})),
        (
            "huge-text",
            f"a piece of text has {_HUGE} characters",
            equal(text=_HUGE_TEXT),
            content.appended({"text": _HUGE_TEXT}),
        ),
        (
            "lone-surrogate",
            "text holds one half of a surrogate pair",
            equal(text=_SURROGATE),
            content.appended({"text": _SURROGATE}),
        ),
        (
            "large-integer",
            "an argument is larger than 2⁶⁴",
            _with_argument(_BEYOND_64_BITS),
            content.with_first_argument(_BEYOND_64_BITS),
        ),
        (
            "deep-argument",
            f"an argument is {_DEEP} levels deep",
            _with_argument(content.nested(_DEEP)),
            content.with_first_argument(content.nested(_DEEP)),
        ),
    )
)

AROUND: Final = (
    WireVariant(
        "comments",
        "comments stand around the events",
        SAME,
        raw.around_events(b": ping\n\n", b": pong\n\n"),
    ),
    WireVariant(
        "event-fields",
        "events have names, ids and retry times",
        SAME,
        raw.around_events(b"event: message\nid: 7\nretry: 1000\n", b""),
    ),
    WireVariant(
        "too-deep",
        f"an argument is {content.DEEPER} levels deep",
        ANSWERED,
        content.with_too_deep_argument,
    ),
)

_ERROR: Final = json.dumps(raw.ERROR).encode()

ERRORS: Final = (
    *(
        WireVariant(name, description, PREFIX, raw.followed_by(text))
        for name, description, text in (
            (
                "error-raw",
                "a bare error document follows the events",
                json.dumps(raw.ERROR, indent=2).encode() + b"\n",
            ),
            ("error-as-event", "the last event is an error", b"data: " + _ERROR + b"\n\n"),
            (
                "error-as-array",
                "the last event is an array with an error",
                b"data: [" + _ERROR + b"]\n\n",
            ),
        )
    ),
    WireVariant("error-instead", "an error comes instead of the answer", FAILED, raw.refused),
)

TRUNCATIONS: Final = tuple(
    WireVariant(name, f"the connection breaks {where}", PREFIX, raw.truncated(place))
    for name, where, place in (
        ("truncated", "in the middle", lambda body: len(body) // 2),
        ("truncated-at-once", "before the first byte", lambda body: 0),
        ("truncated-behind-event", "between two events", raw.after_first_event),
        ("truncated-in-character", "inside a UTF-8 character", raw.first_inside_character),
        ("truncated-anywhere", "at a random place", lambda body: raw.random_places(body)[0]),
        ("truncated-late", "before the last byte", lambda body: len(body) - 1),
    )
)

SPELLINGS: Final = (*LINE_ENDS, *EVENTS, ARRAY, *KEYS)
"""Variants that say the same in another spelling."""

OTHERS: Final = (*AROUND, *CONTENT, *ERRORS, *TRUNCATIONS)
"""Variants that change more than the spelling of an answer over HTTP."""

VARIANTS: Final = (*CUTS, *SPELLINGS, *OTHERS)
"""Every wire variant, in the order of the catalogue."""


def spellings_of(exchange: Exchange, *, gemini: bool) -> tuple[WireVariant, ...]:
    """The spellings that an answer may have; ``gemini``: its messages are Gemini's.

    An answer that failed is never a stream of events.
    """
    if not gemini:
        return LINE_ENDS
    return (*LINE_ENDS, ARRAY) if exchange.status >= 300 else SPELLINGS
