"""The usual event of a stream, a piece of text."""

# Annotations are not postponed here, since the decoder evaluates them.

from typing import Final, Literal

from ..usual import Strict, usual_decoder


class _Text(Strict):
    text: str
    type: Literal["text_delta"]


class _Delta(Strict):
    index: int
    delta: _Text
    type: Literal["content_block_delta"]


decode_text: Final = usual_decoder(_Delta)
