"""Compares two shapes; each difference has a severity and the feature that it concerns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.facts import finish_class
from harness.pipeline.replay import frames_of
from harness.providers.gemini.finish_reasons import FINISH_REASONS
from harness.stream.events import FinishClass
from harness.stream.exchange import Cassette, Exchange

from ..policy import events_of
from .severity import ENDS, FINISH, KINDS, SEVERITIES, SIGNED, Severity, place_of
from .shape import AnswerShape, Presence, collapse, shape_of

_SILENT: Final = frozenset({"unknown", "aborted"})
"""Ends that do not depend on the provider."""


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference in shape."""

    severity: Severity
    exchange: int
    """Counts from 1."""
    path: str
    """The path of a field, or a word such as ``status``."""
    difference: str
    """A text."""
    feature: str
    """An id from the features file."""


def compare_cassettes(recorded: Cassette, now: Cassette) -> list[Drift]:
    """Return the differences in shape between ``recorded`` and ``now``, the most severe first."""
    drifts: list[Drift] = []
    for number, (old, new) in enumerate(zip(recorded.exchanges, now.exchanges, strict=False), 1):
        drifts += [
            Drift(severity, number, path, difference, feature)
            for severity, path, difference, feature in _differences(_shape(old), _shape(new))
        ]
    had, has = len(recorded.exchanges), len(now.exchanges)
    if had != has:
        difference = f"{had} exchanges were recorded, now there are {has}"
        place = min(had, has) + 1
        drifts.append(Drift("breaking", place, "exchanges", difference, "tool-calls.single"))
    return sorted(
        drifts, key=lambda drift: (SEVERITIES.index(drift.severity), drift.exchange, drift.path)
    )


def _shape(exchange: Exchange) -> AnswerShape:
    frames = frames_of(exchange, provider=exchange.provider)
    return shape_of(exchange, frames, events_of(exchange))


_Difference = tuple[Severity, str, str, str]


def _differences(old: AnswerShape, new: AnswerShape) -> Iterator[_Difference]:
    yield from _answers(old, new)
    if (old.status < 400) != (new.status < 400):
        return  # an error and an answer can't be compared
    yield from _fields(old, new)
    yield from _words(old, new)
    yield from _order(old, new)
    yield from _finish(old, new)
    yield from _counts(old, new)


def _answers(old: AnswerShape, new: AnswerShape) -> Iterator[_Difference]:
    """Yield status, framing and end."""
    if old.status != new.status:
        yield "breaking", "status", f"{old.status} → {new.status}", "errors.http"
    if old.end != new.end and not _SILENT & {old.end, new.end}:
        yield (
            "breaking",
            "end",
            f"{old.end} → {new.end}",
            ENDS[new.end if new.end != "complete" else old.end],
        )
    if old.exit_code != new.exit_code:
        yield (
            "breaking",
            "exit code",
            f"{old.exit_code or 'none'} → {new.exit_code or 'none'}",
            "gemini-cli.errors",
        )
    if old.media_type != new.media_type:
        is_sse = new.media_type == "text/event-stream"
        yield (
            "breaking",
            "content-type",
            f"{old.media_type or 'none'} → {new.media_type or 'none'}",
            "framing.event-fields" if is_sse else "framing.unary",
        )
    if old.line_end != new.line_end and old.line_end and new.line_end:
        yield "notable", "line end", f"{old.line_end} → {new.line_end}", "framing.line-ends"
    if old.readable and not new.readable:
        yield "breaking", "messages", "some are not JSON now", "unknown.frames"


def _fields(old: AnswerShape, new: AnswerShape) -> Iterator[_Difference]:
    gone, added = old.types.keys() - new.types.keys(), new.types.keys() - old.types.keys()
    for path in _tops(gone):
        yield (
            place_of(path).gone,
            path,
            f"missing field ({_listed(old.types[path])})",
            _feature(path, old),
        )
    for path in _tops(added):
        yield (
            place_of(path).new,
            path,
            f"new field ({_listed(new.types[path])})",
            _feature(path, new),
        )
    for path in sorted(old.types.keys() & new.types.keys()):
        if more := new.types[path] - old.types[path]:
            severity: Severity = "notable" if more == {"null"} else "breaking"
            yield (
                severity,
                path,
                f"type {_listed(old.types[path])} → {_listed(new.types[path])}",
                _feature(path, new),
            )


def _feature(path: str, shape: AnswerShape) -> str:
    """Return the feature of a path. For errors and signatures it depends on the rest of the
    answer.
    """
    feature = place_of(path).feature
    if feature == "errors.in-stream" and shape.status >= 400:
        return "errors.http"
    if feature == "signatures.call":
        before = (
            ("", *shape.parts)[shape.parts.index("signature")] if "signature" in shape.parts else ""
        )
        return SIGNED.get(before, "signatures.empty-part")
    return feature


def _tops(paths: set[str]) -> list[str]:
    """Return the paths that are not below another path in the list, because a field and its members
    appear and disappear together.
    """
    return sorted(
        path
        for path in paths
        if not any(path.startswith((f"{other}.", f"{other}[")) for other in paths)
    )


def _words(old: AnswerShape, new: AnswerShape) -> Iterator[_Difference]:
    for path in sorted(old.words.keys() & new.words.keys()):
        if more := new.words[path] - old.words[path]:
            yield (
                place_of(path).word,
                path,
                f"new value {_listed(more)}, so far {_listed(old.words[path])}",
                _feature(path, new),
            )


def _order(old: AnswerShape, new: AnswerShape) -> Iterator[_Difference]:
    """Compare the order of the kinds that are in both; `_fields` reports the others."""
    both = {*old.parts} & {*new.parts}
    was, now = (collapse(kind for kind in shape.parts if kind in both) for shape in (old, new))
    if was != now:
        pairs = zip(was, now, strict=False)
        moved = next((here for there, here in pairs if there != here), (*was, *now)[-1])
        yield (
            "notable",
            "order of parts",
            f"{', '.join(was)} → {', '.join(now)}",
            KINDS.get(moved, "unknown.parts"),
        )


def _finish(old: AnswerShape, new: AnswerShape) -> Iterator[_Difference]:
    if old.finish != new.finish and old.finish and new.finish:
        yield (
            "breaking",
            "finish reason",
            f"{old.finish} → {new.finish}",
            FINISH.get(_class_of(new.finish), "finish.other"),
        )
    if old.finish and new.finish and not old.finish_at & new.finish_at:
        yield "notable", "finish reason", _moved(old.finish_at, new.finish_at), "finish.several"


def _class_of(word: str) -> FinishClass:
    """Return the class of a finish reason or a status, on any wire."""
    facts_class = finish_class(word)
    other: FinishClass = "content_filter" if facts_class == "filter" else facts_class or "other"
    return FINISH_REASONS.get(word, other)


def _counts(old: AnswerShape, new: AnswerShape) -> Iterator[_Difference]:
    """Compare which messages contain counts. If all members of an object changed in the same way,
    only the object is reported.
    """
    reported: set[tuple[str, Presence, Presence]] = set()
    for path in sorted(old.counts.keys() & new.counts.keys()):
        was, now = old.counts[path], new.counts[path]
        if not was or not now or was & now:
            continue
        above = path.rpartition(".")[0]
        if (above, was, now) in reported:
            continue
        reported.add((path, was, now))
        severity: Severity = "breaking" if "not in the last" in now else "notable"
        feature = "usage.final-only" if "final" in now else place_of(path).feature
        yield severity, path, _moved(was, now), feature


def _moved(was: Presence, now: Presence) -> str:
    return f"in the messages: {_listed(was)} → {_listed(now)}"


def _listed(words: frozenset[str]) -> str:
    return " or ".join(sorted(words))
