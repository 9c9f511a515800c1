"""The usual event of a stream, a piece of text."""

# Annotations are not postponed here, since the decoder evaluates them.

from typing import Final, Literal

from ..usual import Strict, usual_decoder


class _Text(Strict):
    text: str
    type: Literal["text"]


class _Delta(Strict):
    index: int
    delta: _Text
    event_type: Literal["step.delta"]


decode_text: Final = usual_decoder(_Delta)
