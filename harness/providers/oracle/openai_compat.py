"""The oracle of Gemini's OpenAI-compatible endpoint: Chat Completions and Gemini's additions.

Signatures stand in ``extra_content``, and thoughts in the text, between tags or marked as a
thought. A tag may be split over deltas, but not across a call, a signature, a refusal or the end.
"""

from __future__ import annotations

import re

from harness.facts import Facts
from harness.stream.json_codec import Json

from .chat_completions import ChatReader
from .gemini import present

VENDORS = ("google", "vertex")
"""The keys under ``extra_content``."""


def gather_compat(
    body: bytes, status: int = 200, *, interrupted: bool = False, tag: str = "thought"
) -> Facts:
    """The facts of choice 0 in a raw body; ``tag`` is the name of the tag around thoughts."""
    return _CompatReader(status, tag).gather(body, interrupted)


def signature_of(holder: dict[str, Json]) -> str | None:
    """The signature beside a call, a delta or a message; the older field counts last."""
    for vendor in VENDORS:
        extra = _extra(holder, vendor)
        if isinstance(extra.get("thought_signature"), str) and extra["thought_signature"]:
            return str(extra["thought_signature"])
    old = holder.get("thought_signature")
    return old if isinstance(old, str) and old else None


def _extra(holder: dict[str, Json], vendor: str) -> dict[str, Json]:
    content = holder.get("extra_content")
    extra = content.get(vendor) if isinstance(content, dict) else None
    return extra if isinstance(extra, dict) else {}


class _CompatReader(ChatReader):
    """``_pending``: texts in which a tag could continue, each with its mark; ``_inside``: between
    two tags; ``_tagged``: a tag came before; ``_last``: the kind of the last piece of the last
    delta; ``_marked``: a delta was marked as a thought.
    """

    live = False

    def __init__(self, status: int, tag: str) -> None:
        super().__init__(status)
        self._tags = re.compile(f"<(/?){re.escape(tag)}>")
        self._pending: list[tuple[str, bool]] = []
        self._inside = False
        self._tagged = False
        self._last = "text"
        self._marked = False

    def read_text(self, text: str, holder: dict[str, Json]) -> None:
        marked = signature_of(holder) is None and _is_thought(holder)
        if self._pending and self._pending[-1][1] != marked:
            inside, tagged = self._state()
            if not (inside or tagged):
                self.end_text()
        self._pending.append((text, marked))

    def end_text(self) -> None:
        text = "".join(piece for piece, _ in self._pending)
        latest = len(text) - len(self._pending[-1][0]) if self._pending else 0
        self._last = "text"
        start = 0
        for match in self._matches(text):
            self._note(text[start : match.start()], match.start() > latest)
            self._inside, self._tagged = not match[1], True
            start = match.end()
        self._note(text[start:], len(text) > latest)
        self._pending = []

    def read_beside(self, holder: dict[str, Json]) -> None:
        self.facts.others |= _left(holder)
        self._marked = self._marked or _is_thought(holder)
        signature = signature_of(holder)
        if signature:
            has_text = isinstance(holder.get("content"), str) and holder["content"]
            self.end_text()
            self.facts.signatures.append((self._last if has_text else "text", signature))
        old = holder.get("thought_signature")
        if old and old != signature:
            self.facts.others.add("thoughtSignature")

    def call_signature(self, piece: dict[str, Json]) -> str | None:
        self.facts.others |= _left(piece)
        return signature_of(piece)

    def _finish(self, interrupted: bool) -> Facts:
        facts = super()._finish(interrupted)
        if self._marked and not (facts.thoughts or self._tagged):
            facts.others.add("thought")
        return facts

    def _matches(self, text: str) -> list[re.Match[str]]:
        """The tags that open or close a thought, in turn."""
        inside, matches = self._inside, []
        for match in self._tags.finditer(text):
            if bool(match[1]) == inside:
                inside = not inside
                matches.append(match)
        return matches

    def _state(self) -> tuple[bool, bool]:
        matches = self._matches("".join(piece for piece, _ in self._pending))
        inside = not matches[-1][1] if matches else self._inside
        return inside, self._tagged or bool(matches)

    def _note(self, text: str, is_latest: bool) -> None:
        """Note a piece of text or of a thought; ``is_latest``: its end came with the last delta."""
        if not text:
            return
        marked = self._pending[0][1]  # it counts before the first tag only
        kind = "thought" if self._inside or (marked and not self._tagged) else "text"
        if kind == "thought":
            self.facts.add_thought(text)
        else:
            self.facts.add_text(text)
        if is_latest:
            self._last = kind


def _is_thought(holder: dict[str, Json]) -> bool:
    return any(_extra(holder, vendor).get("thought") is True for vendor in VENDORS)


def _left(holder: dict[str, Json]) -> set[str]:
    """The fields under ``extra_content`` that are no mark and no signature."""
    content = holder.get("extra_content")
    if not isinstance(content, dict):
        return set() if content is None else {"extraContent"}
    left = present(content, {*VENDORS})
    for vendor in VENDORS:
        left |= present(_extra(holder, vendor), {"thought", "thoughtSignature"})
    return left
