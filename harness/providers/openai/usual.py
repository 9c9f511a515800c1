"""The usual event of a stream of the Responses API, a piece of text."""

# Annotations are not postponed here, since the decoder evaluates them.

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from ..usual import Strict, usual_decoder


class _Piece(Strict):
    delta: str
    output_index: int
    content_index: int
    type: Literal["response.output_text.delta"]
    item_id: str | None = None
    sequence_number: int | None = None
    obfuscation: str | None = None
    logprobs: Annotated[tuple[Any, ...], Meta(max_length=0)] = ()


decode_text: Final = usual_decoder(_Piece)
