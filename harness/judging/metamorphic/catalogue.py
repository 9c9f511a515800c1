"""The catalogue of wire variants: known changes that Gemini's wires or a network can make."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Final

from harness.providers import GENERATE_CONTENT, Provider
from harness.stream.exchange import Exchange

from . import blocks, chat, content, items, session, spelling, steps
from . import bytes as raw
from .messages import Change, Edit, answer_messages, as_events, edited, refused, truncated, without
from .relations import ANSWERED, FAILED, PREFIX, NamedCalls, Relation, equal


@dataclass(frozen=True, slots=True)
class WireVariant:
    """One change of a recorded answer."""

    name: str
    description: str
    relation: Relation
    """Must hold between the facts of the recorded answer and those of the changed one."""
    change: Change
    feature: str = ""
    """The feature in the checklist that the variant belongs to; "" if there is none."""


Table = tuple[tuple[WireVariant, ...], tuple[WireVariant, ...]]
"""The spellings of the whole answers of a provider, and their other variants."""

SAME: Final = equal()
NOT_WELL: Final = equal(less=["finish", "failed", "usage"])
_MORE_TEXT: Final = "more"
_SURROGATE: Final = "a\ud83d"
HUGE_TEXT: Final = "x" * (1 << 20)
BEYOND_64_BITS: Final = 2**64 + 1
DEEP: Final = 50


def _with_argument(value: object) -> Relation:
    """Require that all facts are equal, but the arguments of the first call are ``{"n":
    value}``.
    """

    def replaced(calls: NamedCalls) -> NamedCalls:
        return [(calls[0][0], {"n": value}), *calls[1:]] if calls else calls

    return equal(calls=replaced)


_MEANINGS: Final[Mapping[str, tuple[str, Relation]]] = {
    "cut-every-byte": ("each byte has its own read", SAME),
    "uncut": ("all bytes are in one read", SAME),
    "cut-anywhere": ("reads end at random places", SAME),
    "cut-inside-characters": ("reads end inside UTF-8 characters", SAME),
    "cut-inside-line-ends": ("reads end between CR and LF", SAME),
    "cut-inside-tags": ("reads end inside <tool_code>", SAME),
    "lf": ("lines end in LF", SAME),
    "crlf": ("lines end in CRLF", SAME),
    "cr": ("lines end in CR", SAME),
    "sse": ("each message is one event", SAME),
    "unnamed": ("events have no names", SAME),
    "json-array": ("the messages are one JSON array", SAME),
    "json-lines": ("each line is one event", SAME),
    "snake-case": ("keys are in snake_case", SAME),
    "envelope": ("each message is in an envelope of Code Assist", SAME),
    "key-order": ("keys are in reverse order", SAME),
    "compact": ("messages have no white space and no escapes", SAME),
    "escaped": ("characters beyond ASCII are escaped", SAME),
    "spaced": ("messages have white space", SAME),
    "text-split": ("text is in shorter pieces", SAME),
    "text-joined": ("text is in longer pieces", SAME),
    "letters": ("each character of the text is a delta", SAME),
    "comments": ("there are comments around the events", SAME),
    "event-fields": ("events have names, ids and retry times", SAME),
    "event-ids": ("events have ids that allow a client to resume", SAME),
    "too-deep": (f"an argument is {content.DEEPER} levels deep", ANSWERED),
    "numeric-reasons": ("finish reasons are numbers", SAME),
    "unknown-fields": ("messages and the objects in them have unknown fields", SAME),
    "unknown-part": ("a part is of an unknown kind", SAME),
    "unknown-event": ("an event is of an unknown type", SAME),
    "keep-alive": ("there is a keepalive event between any two events", SAME),
    "frames": ("messages come in frames of the other kind, text or binary", SAME),
    "apart": ("the answer and what is beside it come in two messages", SAME),
    "unknown-item": ("an output item is of an unknown type", SAME),
    "items-overlap": ("an item begins before the one before it is done", SAME),
    "item-ids-rotate": ("items have another id in each event", SAME),
    "pieces-alone": ("texts and arguments are repeated only by their items", SAME),
    "ends-alone": ("texts and arguments come only at the end of their items", SAME),
    "output-empty": ("the last response has no items", SAME),
    "pings": ("there is a ping between all events", SAME),
    "unknown-block-type": ("a block and its delta are of an unknown type", SAME),
    "unknown-step": ("a step and its delta are of an unknown type", SAME),
    "unknown-reason": ("the finish reason is an unknown word", equal(less=["finish"])),
    "unknown-status": ("the status is an unknown word", equal(less=["finish"])),
    "unknown-block": ("the prompt is blocked for an unknown reason", ANSWERED),
    "no-usage": ("there are no token counts", equal(less=["usage"])),
    "usage-last": ("all token counts are at the end", SAME),
    "usage-running": ("a delta has smaller token counts", SAME),
    "signature-moved": ("the signature of a text is alone, after the text", SAME),
    "empty-signatures": ("there are empty signatures between summaries", SAME),
    "vertex": ("signatures have the key of Vertex AI", SAME),
    "indexes": ("every call has an index", SAME),
    "parallel-split": ("parallel calls are in separate messages", SAME),
    "arguments-streamed": ("a call is in pieces with JSON paths", SAME),
    "arguments-split": ("arguments are in shorter pieces", SAME),
    "arguments-cut": ("arguments are in two deltas", SAME),
    "arguments-empty": ("an empty piece precedes arguments", SAME),
    "blocks-overlap": ("a block begins before the block before it ends", SAME),
    "ids-repeated": ("all calls have the same id", SAME),
    "ids-missing": ("no call has an id", SAME),
    "finish-twice": ("the finish reason is sent twice", SAME),
    "finish-missing": ("there is no finish reason", NOT_WELL),
    "no-end-mark": ("there is no end mark", SAME),
    "text-after-finish": ("text follows the finish reason", equal(text=_MORE_TEXT)),
    "batches": ("a message has several events, as on a WebSocket", SAME),
    "calls-overlap": ("a call begins before the call before it ends", SAME),
    "status-updates": ("an unknown status is reported after each step", SAME),
    "steps-repeated": ("the last event repeats the steps", SAME),
    "second-candidate": ("there is a second candidate", SAME),
    "second-choice": ("there is a second choice", SAME),
    "empty-text": ("a piece of text is empty", SAME),
    "huge-text": (f"a piece of text has {len(HUGE_TEXT)} characters", equal(text=HUGE_TEXT)),
    "lone-surrogate": ("text contains one half of a surrogate pair", equal(text=_SURROGATE)),
    "large-integer": ("an argument is larger than 2⁶⁴", _with_argument(BEYOND_64_BITS)),
    "deep-argument": (
        f"an argument is {DEEP} levels deep",
        _with_argument(content.nested(DEEP)),
    ),
    "error-raw": ("an error that is not an event follows the events", PREFIX),
    "error-as-event": ("the last event is an error", PREFIX),
    "error-as-array": ("the last event is an array with an error", PREFIX),
    "error-flat": ("the last event is an error in a flat form", PREFIX),
    "error-instead": ("an error replaces the answer", FAILED),
    "truncated": ("the answer breaks off in the middle", PREFIX),
    "truncated-at-once": ("the answer breaks off before the first byte", PREFIX),
    "truncated-behind-event": ("the answer breaks off between two events", PREFIX),
    "truncated-in-character": ("the answer breaks off inside a UTF-8 character", PREFIX),
    "truncated-anywhere": ("the answer breaks off at a random place", PREFIX),
    "truncated-late": ("the answer breaks off before the last byte", PREFIX),
}
"""Name → description and relation, for all wires."""

_FEATURES: Final = {
    **dict.fromkeys(("lf", "crlf", "cr"), "framing.line-ends"),
    "json-array": "framing.json-array",
    "unnamed": "framing.event-fields",
    "json-lines": "framing.json-lines",
    "escaped": "text.non-ascii",
}


Meanings = Mapping[str, tuple[str, Relation]]
"""Name → description and relation."""


def variants_named(
    changes: Mapping[str, Change], feature: str = "", own: Meanings = MappingProxyType({})
) -> tuple[WireVariant, ...]:
    """Return the variants of one wire. ``feature`` is for variants that have no feature of their
    own, ``own`` has the meanings of names that only this wire has.
    """
    return tuple(
        WireVariant(name, *{**_MEANINGS, **own}[name], change, _FEATURES.get(name, feature))
        for name, change in changes.items()
    )


def edits_named(
    edited: Callable[[Edit], Change],
    edits: Mapping[str, Edit],
    own: Meanings = MappingProxyType({}),
) -> tuple[WireVariant, ...]:
    """Return the variants that are edits of the messages of one wire."""
    return variants_named({name: edited(edit) for name, edit in edits.items()}, own=own)


PLACES: Final[Mapping[str, Callable[[bytes], int | None]]] = {
    "truncated": lambda body: len(body) // 2,
    "truncated-at-once": lambda body: 0,
    "truncated-behind-event": raw.after_first_event,
    "truncated-in-character": raw.first_inside_character,
    "truncated-anywhere": lambda body: raw.random_places(body)[0],
    "truncated-late": lambda body: len(body) - 1,
}

LINE_ENDS: Final = variants_named(
    {"lf": spelling.with_line_ends(b"\n"), "crlf": spelling.with_line_ends(b"\r\n")}
)
"""Spellings for every wire."""

ARRAY: Final = variants_named({"json-array": spelling.respelled(spelling.json_array)})

CUTS: Final = variants_named(
    {
        "cut-every-byte": raw.cut_at(raw.between_bytes),
        "uncut": raw.uncut,
        "cut-anywhere": raw.cut_at(raw.random_places),
        "cut-inside-characters": raw.cut_at(raw.inside_characters),
        "cut-inside-line-ends": raw.cut_at(raw.inside_line_ends),
        "cut-inside-tags": raw.cut_at(raw.inside_tags),
    }
)

SPELLINGS: Final = (
    *LINE_ENDS,
    *variants_named(
        {
            "cr": spelling.respelled(lambda messages: as_events(messages, "\r")),
            "sse": spelling.respelled(as_events),
        }
    ),
    *ARRAY,
    *variants_named(
        {
            "snake-case": spelling.respelled(spelling.in_snake_case),
            "envelope": spelling.respelled(spelling.in_envelopes),
            "key-order": spelling.respelled(spelling.with_reversed_keys),
            "compact": spelling.respelled(spelling.compact),
            "text-split": spelling.redivided(spelling.text_in_pieces),
            "text-joined": spelling.redivided(spelling.text_in_one_piece),
        }
    ),
)
"""Variants with the same content in another spelling."""

_ERROR: Final = json.dumps(raw.ERROR).encode()

OTHERS: Final = (
    *variants_named(
        {
            "comments": raw.around_events(b": ping\n\n", b": pong\n\n"),
            "event-fields": raw.around_events(b"event: message\nid: 7\nretry: 1000\n", b""),
            "too-deep": content.with_too_deep_argument,
        }
    ),
    *edits_named(
        edited,
        {
            "numeric-reasons": spelling.number_reasons,
            "unknown-fields": spelling.add_unknown_fields,
            "unknown-part": content.appended({"hologram": {"x": 1}}),
            "unknown-reason": content.with_finish("BRAND_NEW"),
            "unknown-block": content.block,
            "no-usage": without("usageMetadata"),
            "usage-last": content.move_usage_to_the_end,
            "signature-moved": content.move_signature,
            "parallel-split": content.split_parallel_calls,
            "arguments-streamed": content.stream_arguments,
            "ids-repeated": content.with_ids("same"),
            "ids-missing": content.with_ids(None),
            "finish-twice": content.repeat_finish,
            "finish-missing": content.with_finish(None),
            "text-after-finish": content.appended({"text": _MORE_TEXT}),
            "second-candidate": content.add_candidate,
            "empty-text": content.appended({"text": ""}),
            "huge-text": content.appended({"text": HUGE_TEXT}),
            "lone-surrogate": content.appended({"text": _SURROGATE}),
            "large-integer": content.with_first_argument(BEYOND_64_BITS),
            "deep-argument": content.with_first_argument(content.nested(DEEP)),
        },
    ),
    *variants_named(
        {
            "error-raw": raw.followed_by(json.dumps(raw.ERROR, indent=2).encode() + b"\n"),
            "error-as-event": raw.followed_by(b"data: " + _ERROR + b"\n\n"),
            "error-as-array": raw.followed_by(b"data: [" + _ERROR + b"]\n\n"),
            "error-instead": refused(answer_messages, json.dumps([raw.ERROR])),
            **{name: truncated(raw.messages_to_cut, place) for name, place in PLACES.items()},
        }
    ),
)
"""Variants that change more than the spelling of an answer over HTTP."""

VARIANTS: Final = (*CUTS, *SPELLINGS, *OTHERS)
"""Every wire variant of Gemini's messages, in the order of the catalogue."""

STEP_SPELLINGS: Final = variants_named(
    {
        **steps.STREAM.spellings(),
        "batches": steps.STREAM.respelled(steps.in_batches),
    },
    "interactions.steps",
)
"""Spellings of a stream of the Interactions API."""

_STEP_ERROR: Final = json.dumps(steps.ERROR).encode()

STEP_OTHERS: Final = (
    *variants_named({"comments": steps.STREAM.respelled(steps.STREAM.around)}),
    *edits_named(
        steps.STREAM.edited,
        {
            "unknown-fields": steps.add_unknown_fields,
            "unknown-event": steps.add_unknown_event,
            "unknown-step": steps.with_step(
                "hologram", {"type": "hologram_frame", "frame": "eA=="}
            ),
            "unknown-status": steps.with_status("brand_new"),
            "no-usage": without("metadata", "usage"),
            "usage-running": steps.count_on_the_way,
            "text-split": steps.split_texts,
            "arguments-split": steps.split_arguments,
            "event-ids": steps.add_event_ids,
            "empty-signatures": steps.add_empty_signatures,
            "no-end-mark": steps.remove_end_mark,
            "calls-overlap": steps.overlap_calls,
            "status-updates": steps.update_status,
            "steps-repeated": steps.repeat_steps,
            "ids-repeated": steps.with_ids("same"),
            "ids-missing": steps.with_ids(None),
            "finish-missing": steps.remove_completed,
            "empty-text": steps.with_step("model_output", {"type": "text", "text": ""}),
            "huge-text": steps.with_step("model_output", {"type": "text", "text": HUGE_TEXT}),
            "lone-surrogate": steps.with_step("model_output", {"type": "text", "text": _SURROGATE}),
            "large-integer": steps.with_first_argument(BEYOND_64_BITS),
            "deep-argument": steps.with_first_argument(content.nested(DEEP)),
        },
    ),
    *variants_named(
        {
            "error-raw": steps.ended_by(_STEP_ERROR + b"\n"),
            "error-as-event": steps.ended_by(
                steps.STREAM.written([{"event_type": "error", **steps.ERROR}])
            ),
            "error-instead": refused(steps.stream_events, json.dumps(steps.ERROR)),
            **{name: truncated(steps.stream_events, place) for name, place in PLACES.items()},
        }
    ),
)
"""Variants of a stream of the Interactions API that change more than its spelling."""

CHAT_SPELLINGS: Final = variants_named(
    {
        "crlf": chat.respelled("\r\n"),
        "cr": chat.respelled("\r"),
        "escaped": chat.respelled(ascii_=True),
        "spaced": chat.respelled(spaced=True),
        "key-order": chat.respelled(reverse=True),
    }
)
"""Spellings of a stream of Chat Completions."""

CHAT_OTHERS: Final = (
    *edits_named(
        chat.edited,
        {
            "indexes": chat.add_indexes,
            "arguments-cut": chat.cut_arguments,
            "parallel-split": chat.split_calls,
            "usage-last": chat.move_usage,
            "no-usage": without("usage"),
            "letters": chat.cut_text,
            "signature-moved": chat.move_signature,
            "vertex": chat.rename_vendor,
            "ids-repeated": chat.with_ids("same"),
            "ids-missing": chat.with_ids(None),
            "unknown-fields": chat.add_unknown_fields,
            "unknown-reason": chat.with_finish("brand_new"),
            "finish-missing": chat.with_finish(None),
            "second-choice": chat.add_choice,
        },
    ),
    *variants_named(
        {
            "no-end-mark": chat.ended_by(b""),
            "error-as-event": chat.ended_by(b"data: " + _ERROR + b"\n\n"),
            "error-as-array": chat.ended_by(b"data: [" + _ERROR + b"]\n\n"),
            "error-raw": chat.ended_by(b"[" + _ERROR + b"]\n"),
            "error-instead": refused(chat.chunks_of, json.dumps([raw.ERROR], indent=2)),
            **{name: truncated(chat.chunks_to_cut, place) for name, place in PLACES.items()},
        }
    ),
)
"""Variants of a stream of Chat Completions that change more than its spelling."""

ITEM_SPELLINGS: Final = variants_named(
    {
        **items.STREAM.spellings(),
        "spaced": items.STREAM.respelled(lambda events: items.STREAM.written(events, spaced=True)),
    },
    "openai.items",
)
"""Spellings of a stream of the Responses API."""

ITEM_OTHERS: Final = (
    *variants_named({"comments": items.STREAM.respelled(items.STREAM.around)}),
    *edits_named(
        items.STREAM.edited,
        {
            "unknown-fields": items.add_unknown_fields,
            "unknown-event": items.add_unknown_event,
            "unknown-item": items.add_unknown_item,
            "unknown-status": items.with_status("brand_new"),
            "keep-alive": items.add_keep_alive,
            "no-usage": without("usage"),
            "text-split": items.split_pieces("response.output_text"),
            "arguments-split": items.split_pieces("response.function_call_arguments"),
            "pieces-alone": items.remove_ends,
            "ends-alone": items.remove_pieces,
            "output-empty": items.empty_output,
            "item-ids-rotate": items.rotate_ids,
            "items-overlap": items.overlap_items,
            "finish-missing": items.remove_last,
            "empty-text": items.with_text(""),
            "huge-text": items.with_text(HUGE_TEXT),
            "lone-surrogate": items.with_text(_SURROGATE),
            "large-integer": items.with_first_argument(BEYOND_64_BITS),
            "deep-argument": items.with_first_argument(content.nested(DEEP)),
        },
    ),
    *variants_named(
        {
            "error-as-event": items.ended_by({"type": "error", "error": items.ERROR}),
            "error-flat": items.ended_by({"type": "error", **items.ERROR}),
            "error-instead": refused(items.stream_events, json.dumps({"error": items.ERROR})),
            **{name: truncated(items.stream_events, place) for name, place in PLACES.items()},
        }
    ),
)
"""Variants of a stream of the Responses API that change more than its spelling."""


def _either(
    one: tuple[WireVariant, ...], other: tuple[WireVariant, ...]
) -> tuple[WireVariant, ...]:
    """Return the variants of a provider with two wires: a change applies to answers of its wire."""
    first, second = ({item.name: item for item in items} for items in (one, other))
    return tuple(
        _both(variant, second[name]) if name in second else variant
        for name, variant in first.items()
    ) + tuple(variant for name, variant in second.items() if name not in first)


def _both(one: WireVariant, other: WireVariant) -> WireVariant:
    return replace(one, change=lambda exchange: one.change(exchange) or other.change(exchange))


BLOCK_SPELLINGS: Final = variants_named(
    {
        **blocks.STREAM.spellings(),
        "spaced": blocks.STREAM.respelled(blocks.spaced),
    },
    "anthropic.blocks",
)
"""Spellings of a stream of Anthropic's Messages API."""

_BLOCK_ERROR: Final = json.dumps(blocks.ERROR).encode()

BLOCK_OTHERS: Final = (
    *variants_named({"comments": blocks.STREAM.respelled(blocks.STREAM.around)}),
    *edits_named(
        blocks.STREAM.edited,
        {
            "pings": blocks.ping_everywhere,
            "unknown-fields": blocks.add_unknown_fields,
            "unknown-event": blocks.add_unknown_event,
            "unknown-block-type": blocks.with_block(
                {"type": "hologram"}, {"type": "hologram_delta", "frame": "eA=="}
            ),
            "unknown-reason": blocks.with_reason("brand_new"),
            "no-usage": blocks.remove_usage,
            "text-split": blocks.split_texts,
            "arguments-split": blocks.split_arguments,
            "arguments-empty": blocks.add_empty_deltas,
            "blocks-overlap": blocks.overlap_blocks,
            "no-end-mark": blocks.remove_end,
            "ids-repeated": blocks.with_ids("same"),
            "ids-missing": blocks.with_ids(None),
            "finish-twice": blocks.repeat_reason,
            "finish-missing": blocks.remove_reason,
            "empty-text": blocks.with_text(""),
            "huge-text": blocks.with_text(HUGE_TEXT),
            "lone-surrogate": blocks.with_text(_SURROGATE),
            "large-integer": blocks.with_first_argument(BEYOND_64_BITS),
            "deep-argument": blocks.with_first_argument(content.nested(DEEP)),
        },
    ),
    *variants_named(
        {
            "error-raw": blocks.ended_by(_BLOCK_ERROR + b"\n"),
            "error-as-event": blocks.ended_by(blocks.STREAM.written([blocks.ERROR])),
            "error-instead": refused(blocks.stream_events, json.dumps(blocks.ERROR)),
            **{name: truncated(blocks.stream_events, place) for name, place in PLACES.items()},
        }
    ),
)
"""Variants of a stream of Anthropic's Messages API that change more than its spelling."""

SESSION_SPELLINGS: Final = variants_named(session.SPELLINGS, "session.turns")
"""Spellings of a session of the Live API."""

CONTENTS: Final = (SPELLINGS, OTHERS)
SESSIONS: Final = (SESSION_SPELLINGS, ())
BLOCKS: Final = (BLOCK_SPELLINGS, BLOCK_OTHERS)
STEPS: Final = (STEP_SPELLINGS, STEP_OTHERS)
ITEMS: Final = (_either(ITEM_SPELLINGS, CHAT_SPELLINGS), _either(ITEM_OTHERS, CHAT_OTHERS))
PIECES: Final = (CHAT_SPELLINGS, CHAT_OTHERS)


def spellings_of(exchange: Exchange, provider: Provider) -> tuple[WireVariant, ...]:
    """Return the spellings that an answer of a provider may have. A failed answer is not a
    stream.
    """
    if provider.wire == GENERATE_CONTENT and exchange.status >= 300:
        return (*LINE_ENDS, *ARRAY)
    return _table_of(provider)[0]


def others_of(provider: Provider) -> tuple[WireVariant, ...]:
    """Return the variants that change more than the spelling."""
    return _table_of(provider)[1]


def _table_of(provider: Provider) -> Table:
    name = provider.variant_table
    table: Table = resolve_name(name) if name else (LINE_ENDS, ())
    return table
