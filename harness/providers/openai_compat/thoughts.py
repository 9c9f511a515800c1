"""Splits the text of Gemini's OpenAI-compatible endpoint into answer and thoughts.

Text between the tags is a thought. A tag may be cut anywhere, so text that could be the beginning
of a tag is held back until the next piece decides. Before the first tag, text that the wire marks
as a thought is a thought.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from harness.stream.json_codec import decode_json
from harness.stream.tool_code import tag_beginning

TAG: Final = "thought"
Piece = tuple[bool | None, str]
"""Whether the text is a thought, None for a tag; and the text."""


def thought_tag(asked: bytes) -> str:
    """Return the name of the tag around thoughts. A request to Vertex AI may choose it by
    ``thought_tag_marker``, which clients nest in different ways.
    """
    if b'"thought_tag_marker"' in asked:
        with suppress(ValueError):
            holder = decode_json(asked)
            while type(holder) is dict:
                if type(marker := holder.get("thought_tag_marker")) is str and marker:
                    return marker
                holder = holder.get("google", holder.get("extra_body"))
    return TAG


class ThoughtSplitter:
    """Splits text that comes in pieces. ``tag``: the name of the tag around thoughts."""

    def __init__(self, tag: str) -> None:
        self._tags = (f"<{tag}>", f"</{tag}>")
        self._inside = False
        self._tagged = False
        self._marked = False
        # the end of the text so far, if it could be the beginning of the tag that is looked for
        self._held = ""

    @property
    def idle(self) -> bool:
        """Whether the next text, if it has no tag and no mark, is text of the answer."""
        return not (self._held or self._inside or self._marked)

    def feed(self, text: str, marked: bool) -> list[Piece]:
        """Return the pieces that this text completes; ``marked``: the wire marks the text as a
        thought.
        """
        pieces: list[Piece] = []
        if marked != self._marked:
            if self._held and not (self._inside or self._tagged):
                pieces += self.close()
            self._marked = marked
        if "<" not in text and not self._held:  # nearly all text
            return [*pieces, (self._is_thought(), text)]
        text = self._held + text
        position = 0
        while (at := text.find(tag := self._tags[self._inside], position)) >= 0:
            if at > position:
                pieces.append((self._is_thought(), text[position:at]))
            pieces.append((None, tag))
            self._inside, self._tagged = not self._inside, True
            position = at + len(tag)
        stop = len(text) - tag_beginning(text, position, tag)
        self._held = text[stop:]
        if position < stop:
            pieces.append((self._is_thought(), text[position:stop]))
        return pieces

    def close(self) -> list[Piece]:
        """Return the text that is still held, unchanged."""
        held, self._held = self._held, ""
        return [(self._is_thought(), held)] if held else []

    def _is_thought(self) -> bool:
        return self._inside or (self._marked and not self._tagged)
