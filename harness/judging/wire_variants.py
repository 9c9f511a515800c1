"""Lists the ways in which a recorded answer differs from the documented wire: the oddities that its
reader and its framer have noted.

An adapter may refuse such answers. `judging.excuses` has the aspects that each variant excuses.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from harness.providers import Provider
from harness.providers.answer_reader import NO_CODE, OTHER_ID
from harness.providers.gemini import candidates
from harness.providers.gemini.fields import SNAKE
from harness.providers.gemini.function_calls import TEXT
from harness.providers.gemini.parts import SEVERAL
from harness.stream.exchange import Exchange
from harness.stream.framing import Frame, frame_by_content, sse
from harness.stream.framing.frame import BOM
from harness.stream.json_codec import Json, decode_json
from harness.stream.oddities import Oddities

NOT_REQUESTED: Final = candidates.NOT_REQUESTED
_VARIANTS: Final = {
    **{name: name for name in (NO_CODE, NOT_REQUESTED, OTHER_ID, candidates.OLD, SEVERAL, SNAKE)},
    **dict.fromkeys(("finishReason", "blockReason"), "enum numbers"),
    TEXT: "arguments as text",
}
"""The name of an oddity of an answer → the variant that it is."""
_FRAMING: Final = {
    **dict.fromkeys((sse.NAMED, sse.ID), "event:, id: or retry: lines"),
    sse.COMMENT: "comments",
    **{name: name for name in (sse.NO_SPACE, sse.LINES, sse.LONE_CR)},
}
"""The name of an oddity of a stream → the variant that it is."""
_TEXTS: Final = (
    ("[DONE]", "[DONE]"),
    ("[", "an array in an event"),
    ("b'", "a Python bytes literal"),
    ("data:", "data: twice"),
)
"""The beginning of an event that is not an object, and the variant that it is."""


def variants_of_session(
    provider: Provider, frames: Sequence[Frame], oddities: Oddities
) -> list[str]:
    """Return the variants in a session, whose log has one framing."""
    return sorted({*provider.variants(frames, oddities), *oddities.named(_VARIANTS)})


def variants_in(
    exchange: Exchange,
    body: bytes,
    provider: Provider,
    frames: Sequence[Frame],
    oddities: Oddities,
) -> list[str]:
    """Return the variants in an answer's decoded body, as phrases; [] for the documented wire. The
    framing of a program's output is its own.
    """
    framer = frame_by_content(len(body))
    framer.feed(body)
    framer.close()
    both = Oddities(
        first={**getattr(framer.chosen, "oddities", Oddities()).first, **oddities.first}
    )
    variants = {*provider.variants(frames, both)}
    if not provider.program:
        general = oddities.named(_VARIANTS)
        general |= _of_framing(exchange, body, frames, both)
        variants |= general - provider.framing
    if _candidates_requested(exchange) > 1:
        variants.discard(NOT_REQUESTED)
    return sorted(variants)


def _of_framing(
    exchange: Exchange, body: bytes, frames: Sequence[Frame], oddities: Oddities
) -> set[str]:
    variants = oddities.named(_FRAMING)
    if body.startswith(BOM):
        variants.add("a BOM")
    messages = [frame.json for frame in frames if isinstance(frame.json, dict)]
    events = [frame for frame in frames if body.startswith(b"data:", frame.offset)]
    for frame in events:
        text = "[" if isinstance(frame.json, list) else frame.raw or ""
        if frame.partial:
            text = text.removeprefix("data:")
        if frame.raw is not None and not text.strip():
            variants.add("an event without data")
        variants |= {*[name for start, name in _TEXTS if text.lstrip().startswith(start)][:1]}
    if body.removeprefix(BOM).lstrip().startswith(b"["):
        variants.add("an error inside an array" if exchange.status >= 300 else "an array")
    elif events:
        if any(body.startswith(b"[", frame.offset) for frame in frames):
            variants.add("an error inside an array")
        if sse.OPEN in oddities and exchange.end == "complete":
            variants.add("a missing blank line at the end")
    elif len(messages) > 1:
        variants.add("JSON lines")
    elif exchange.streamed and exchange.status < 300 and messages and "error" not in messages[0]:
        variants.add("one document instead of events")
    return variants


def _candidates_requested(exchange: Exchange) -> int:
    """Return the number of candidates that the request asks for; 1 if it does not say."""
    try:
        body = decode_json(exchange.request.body) if exchange.request else None
    except ValueError:
        return 1
    if isinstance(body, dict) and type(body.get("n")) is int:
        return int(body["n"])
    body = body.get("request", body) if isinstance(body, dict) else {}
    for name in ("generationConfig", "generation_config"):
        config = body.get(name) if isinstance(body, dict) else None
        for count in ("candidateCount", "candidate_count"):
            if isinstance(config, dict) and type(config.get(count)) is int:
                return int(config[count])
    return 1


def field_names(value: Json, free: Collection[str]) -> list[str]:
    """Return the names of all fields, without those below a field in ``free``, which others choose;
    a name may be there more than once.
    """
    names: list[str] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            names += item
            pending += [inner for key, inner in item.items() if key not in free]
        elif isinstance(item, list):
            pending += item
    return names
