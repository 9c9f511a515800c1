"""The catalogue of wire variants: changes that Gemini's wire or a network is known to make."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from harness.providers import Provider
from harness.stream.exchange import Exchange

from . import bytes as raw
from . import chat, content, runs, spelling, steps
from .messages import Change, answer_messages, as_events, edited, refused, truncated, without
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

_LINE_ENDS: Final = "framing.line-ends"
LINE_ENDS: Final = (
    WireVariant("lf", "lines end in LF", SAME, spelling.with_line_ends(b"\n"), _LINE_ENDS),
    WireVariant("crlf", "lines end in CRLF", SAME, spelling.with_line_ends(b"\r\n"), _LINE_ENDS),
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

TEXTS: Final = (
    WireVariant(
        "text-split",
        "text comes in shorter pieces",
        SAME,
        spelling.redivided(spelling.text_in_pieces),
    ),
    WireVariant(
        "text-joined",
        "text comes in longer pieces",
        SAME,
        spelling.redivided(spelling.text_in_one_piece),
    ),
)
"""Another division of the same text."""

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
        ("no-usage", "no tokens are counted", equal(less=["usage"]), without("usageMetadata")),
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
    WireVariant(
        "error-instead",
        "an error comes instead of the answer",
        FAILED,
        refused(answer_messages, json.dumps([raw.ERROR])),
    ),
)

PLACES: Final[tuple[tuple[str, str, Callable[[bytes], int | None]], ...]] = (
    ("truncated", "in the middle", lambda body: len(body) // 2),
    ("truncated-at-once", "before the first byte", lambda body: 0),
    ("truncated-behind-event", "between two events", raw.after_first_event),
    ("truncated-in-character", "inside a UTF-8 character", raw.first_inside_character),
    ("truncated-anywhere", "at a random place", lambda body: raw.random_places(body)[0]),
    ("truncated-late", "before the last byte", lambda body: len(body) - 1),
)
TRUNCATIONS: Final = tuple(
    WireVariant(
        name, f"the connection breaks {where}", PREFIX, truncated(raw.messages_to_cut, place)
    )
    for name, where, place in PLACES
)

SPELLINGS: Final = (*LINE_ENDS, *EVENTS, ARRAY, *KEYS, *TEXTS)
"""Variants with the same content in another spelling."""

OTHERS: Final = (*AROUND, *CONTENT, *ERRORS, *TRUNCATIONS)
"""Variants that change more than the spelling of an answer over HTTP."""

VARIANTS: Final = (*CUTS, *SPELLINGS, *OTHERS)
"""Every wire variant, in the order of the catalogue."""


STEP_SPELLINGS: Final = tuple(
    WireVariant(name, description, SAME, steps.respelled(spell), feature)
    for name, description, spell, feature in (
        ("crlf", "lines end in CRLF", lambda events: steps.written(events, "\r\n"), _LINE_ENDS),
        ("cr", "lines end in CR", lambda events: steps.written(events, "\r"), _LINE_ENDS),
        (
            "unnamed",
            "events have no names",
            lambda events: steps.written(events, named=False),
            "framing.event-fields",
        ),
        ("json-lines", "each line is one event", steps.json_lines, "framing.json-lines"),
        (
            "escaped",
            "characters beyond ASCII are escaped",
            lambda events: steps.written(events, ascii_=True),
            "text.non-ascii",
        ),
        ("key-order", "keys come in reverse order", steps.in_reverse, "interactions.steps"),
    )
)
"""Spellings of a stream of the Interactions API."""

STEP_CHANGES: Final = tuple(
    WireVariant(name, description, relation, steps.edited(edit))
    for name, description, relation, edit in (
        ("unknown-fields", "events and steps have unknown fields", SAME, steps.add_unknown_fields),
        ("unknown-event", "an event is of an unknown type", SAME, steps.add_unknown_event),
        (
            "unknown-step",
            "a step and its delta are of an unknown type",
            SAME,
            steps.with_step("hologram", {"type": "hologram_frame", "frame": "eA=="}),
        ),
        (
            "unknown-status",
            "the status is an unknown word",
            equal(less=["finish"]),
            steps.with_status("brand_new"),
        ),
        ("no-usage", "no tokens are counted", equal(less=["usage"]), without("metadata", "usage")),
        ("usage-running", "a delta has smaller counts", SAME, steps.count_on_the_way),
        ("text-split", "text comes in shorter pieces", SAME, steps.split_deltas("text", "text")),
        (
            "arguments-split",
            "arguments come in shorter pieces",
            SAME,
            steps.split_deltas("arguments_delta", "arguments"),
        ),
        ("event-ids", "events have ids for resuming", SAME, steps.add_event_ids),
        (
            "empty-signatures",
            "empty signatures stand between summaries",
            SAME,
            steps.add_empty_signatures,
        ),
        ("no-end-mark", "no end mark comes", SAME, steps.remove_end_mark),
        ("steps-repeated", "the last event repeats the steps", SAME, steps.repeat_steps),
        ("ids-repeated", "all calls have the same id", SAME, steps.with_ids("same")),
        ("ids-missing", "no call has an id", SAME, steps.with_ids(None)),
        (
            "finish-missing",
            "the last event does not come",
            equal(less=["finish", "failed", "usage"]),
            steps.remove_completed,
        ),
        (
            "empty-text",
            "a piece of text is empty",
            SAME,
            steps.with_step("model_output", {"type": "text", "text": ""}),
        ),
        (
            "huge-text",
            f"a piece of text has {_HUGE} characters",
            equal(text=_HUGE_TEXT),
            steps.with_step("model_output", {"type": "text", "text": _HUGE_TEXT}),
        ),
        (
            "lone-surrogate",
            "text holds one half of a surrogate pair",
            equal(text=_SURROGATE),
            steps.with_step("model_output", {"type": "text", "text": _SURROGATE}),
        ),
        (
            "large-integer",
            "an argument is larger than 2⁶⁴",
            _with_argument(_BEYOND_64_BITS),
            steps.with_first_argument(_BEYOND_64_BITS),
        ),
        (
            "deep-argument",
            f"an argument is {_DEEP} levels deep",
            _with_argument(content.nested(_DEEP)),
            steps.with_first_argument(content.nested(_DEEP)),
        ),
    )
)

_STEP_ERROR: Final = json.dumps(steps.ERROR).encode()

STEP_OTHERS: Final = (
    WireVariant(
        "comments", "comments and ids stand around the events", SAME, steps.respelled(steps.around)
    ),
    *STEP_CHANGES,
    WireVariant(
        "error-raw",
        "a bare error line comes in the place of the last event",
        PREFIX,
        steps.ended_by(_STEP_ERROR + b"\n"),
    ),
    WireVariant(
        "error-as-event",
        "the last event is an error",
        PREFIX,
        steps.ended_by(
            steps.written([{"event_type": "error", **steps.ERROR}]),
        ),
    ),
    WireVariant(
        "error-instead",
        "an error comes instead of the answer",
        FAILED,
        refused(steps.stream_events, json.dumps(steps.ERROR)),
    ),
    *(
        WireVariant(
            name, f"the connection breaks {where}", PREFIX, truncated(steps.stream_events, place)
        )
        for name, where, place in PLACES
    ),
)
"""Variants of a stream of the Interactions API that change more than its spelling."""

CHAT_SPELLINGS: Final = (
    WireVariant("crlf", "lines end in CRLF", SAME, chat.respelled("\r\n"), _LINE_ENDS),
    WireVariant("cr", "lines end in CR", SAME, chat.respelled("\r"), _LINE_ENDS),
    WireVariant(
        "escaped",
        "characters beyond ASCII are escaped",
        SAME,
        chat.respelled(ascii_=True),
        "text.non-ascii",
    ),
    WireVariant("spaced", "messages have white space", SAME, chat.respelled(spaced=True)),
    WireVariant("key-order", "keys come in reverse order", SAME, chat.respelled(reverse=True)),
)
"""Spellings of a stream of Chat Completions."""


CHAT_OTHERS: Final = (
    *(
        WireVariant(name, description, relation, chat.edited(edit))
        for name, description, relation, edit in (
            ("indexes", "every call has an index", SAME, chat.add_indexes),
            ("arguments-cut", "arguments come in two deltas", SAME, chat.cut_arguments),
            ("parallel-split", "parallel calls come in separate deltas", SAME, chat.split_calls),
            ("usage-last", "the counts come in a chunk without choices", SAME, chat.move_usage),
            ("no-usage", "no tokens are counted", equal(less=["usage"]), without("usage")),
            ("letters", "each character of the text is a delta", SAME, chat.cut_text),
            (
                "signature-moved",
                "the signature of a text comes in a delta of its own",
                SAME,
                chat.move_signature,
            ),
            ("vertex", "signatures stand under Vertex AI's key", SAME, chat.rename_vendor),
            ("ids-repeated", "all calls have the same id", SAME, chat.with_ids("same")),
            ("ids-missing", "no call has an id", SAME, chat.with_ids(None)),
            (
                "unknown-fields",
                "chunks and choices have unknown fields",
                SAME,
                chat.add_unknown_fields,
            ),
            (
                "unknown-reason",
                "the finish reason is an unknown word",
                equal(less=["finish"]),
                chat.with_finish("brand_new"),
            ),
            (
                "finish-missing",
                "no finish reason comes",
                equal(less=["finish", "failed", "usage"]),
                chat.with_finish(None),
            ),
            ("second-choice", "another choice stands beside the answer", SAME, chat.add_choice),
        )
    ),
    WireVariant("no-end-mark", "[DONE] is missing", SAME, chat.ended_by(b"")),
    *(
        WireVariant(name, description, PREFIX, chat.ended_by(text))
        for name, description, text in (
            ("error-as-event", "the last event is an error", b"data: " + _ERROR + b"\n\n"),
            (
                "error-as-array",
                "the last event is an array with an error",
                b"data: [" + _ERROR + b"]\n\n",
            ),
            ("error-raw", "a bare array with an error comes last", b"[" + _ERROR + b"]\n"),
        )
    ),
    WireVariant(
        "error-instead",
        "an error comes instead of the answer",
        FAILED,
        refused(chat.chunks_of, json.dumps([raw.ERROR], indent=2)),
    ),
    *(
        WireVariant(
            name, f"the connection breaks {where}", PREFIX, truncated(chat.chunks_to_cut, place)
        )
        for name, where, place in PLACES
    ),
)
"""Variants of a stream of Chat Completions that change more than its spelling."""

RUN_SPELLINGS: Final = tuple(
    WireVariant(name, description, SAME, runs.respelled(spell), feature)
    for name, description, spell, feature in (
        (
            "escaped",
            "characters beyond ASCII are escaped",
            lambda lines: runs.written(lines, ascii_=True),
            "text.non-ascii",
        ),
        ("spaced", "messages have white space", lambda lines: runs.written(lines, spaced=True), ""),
        ("key-order", "keys come in reverse order", runs.in_reverse, "agy.stream-json"),
    )
)
"""Spellings of a run of the Antigravity CLI."""

_NOT_WELL: Final = equal(less=["finish", "failed", "usage"])

RUN_OTHERS: Final = (
    WireVariant(
        "noise",
        "other output stands before, between and glued to the lines",
        SAME,
        runs.respelled(runs.with_noise),
    ),
    *(
        WireVariant(name, description, relation, runs.edited(edit))
        for name, description, relation, edit in (
            ("text-split", "text comes in shorter pieces", SAME, runs.split_text),
            ("response-alone", "text comes with the response alone", SAME, runs.remove_pieces),
            ("response-missing", "no response comes", SAME, runs.with_result(response=None)),
            ("response-empty", "the response is empty", _NOT_WELL, runs.with_result(response="")),
            ("init-missing", "the first line does not come", SAME, runs.remove_init),
            ("finish-missing", "the last line does not come", _NOT_WELL, runs.remove_result),
            ("canceled", "the run was canceled", _NOT_WELL, runs.with_result(status="CANCELED")),
            ("unknown-fields", "lines, steps and fields are unknown", SAME, runs.add_unknown),
            ("no-usage", "no tokens are counted", equal(less=["usage"]), without("usage")),
            ("resumed", "the steps are those of a later turn", SAME, runs.shift_indexes),
            ("empty-text", "a piece of text is empty", SAME, runs.with_piece("")),
            (
                "huge-text",
                f"a piece of text has {_HUGE} characters",
                equal(text=_HUGE_TEXT),
                runs.with_piece(_HUGE_TEXT),
            ),
            (
                "large-integer",
                "an argument is larger than 2⁶⁴",
                _with_argument(_BEYOND_64_BITS),
                runs.with_first_argument(_BEYOND_64_BITS),
            ),
            (
                "deep-argument",
                f"an argument is {_DEEP} levels deep",
                _with_argument(content.nested(_DEEP)),
                runs.with_first_argument(content.nested(_DEEP)),
            ),
            ("error-last", "the result is an error", PREFIX, runs.fail),
            ("error-instead", "an error comes instead of the answer", FAILED, runs.fail_at_once),
        )
    ),
    WireVariant(
        "truncated-behind-line",
        "the output ends between two lines",
        PREFIX,
        truncated(runs.run_lines, lambda body: body.find(b"\n") + 1),
    ),
    *(
        WireVariant(name, f"the output ends {where}", PREFIX, truncated(runs.run_lines, place))
        for name, where, place in PLACES
        if place is not raw.after_first_event
    ),
)
"""Variants of a run of the Antigravity CLI that change more than its spelling."""

_OF_WIRES: Final = {
    "agy": ((*LINE_ENDS, *RUN_SPELLINGS), RUN_OTHERS),
    "interactions": (STEP_SPELLINGS, STEP_OTHERS),
    "openai-compat": (CHAT_SPELLINGS, CHAT_OTHERS),
}
"""Provider → the spellings of its whole answers, and their other variants."""

_NAMES: Final = frozenset(variant.name for variant in VARIANTS)
ALL: Final = (
    *VARIANTS,
    *{
        item.name: item
        for spellings, others in _OF_WIRES.values()
        for item in (*spellings, *others)
        if item.name not in _NAMES
    }.values(),
)
"""The variants of all wires, by name. If two wires have a variant of the same name, that of the
first wire counts.
"""


def spellings_of(exchange: Exchange, provider: Provider) -> tuple[WireVariant, ...]:
    """The spellings that an answer of a provider may have. One that failed is no stream."""
    if provider.gemini_messages:
        return (*LINE_ENDS, ARRAY) if exchange.status >= 300 else SPELLINGS
    return _OF_WIRES.get(provider.name, (LINE_ENDS, ()))[0]


def others_of(provider: Provider) -> tuple[WireVariant, ...]:
    """The variants that change more than the spelling."""
    return OTHERS if provider.gemini_messages else _OF_WIRES.get(provider.name, (LINE_ENDS, ()))[1]
