"""A strict decoder for the usual event of a stream: a fast way into the reader.

Most events of a stream of the Responses API are pieces of text. The decoder accepts that form
alone; any other field or type is refused, and the reader of `ResponsesReader` decodes the event. It
gives the same events for a piece of text too.
"""

# Annotations are not postponed here, since the decoder evaluates them.

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, MsgspecError, Struct
from msgspec.json import Decoder

REFUSED: Final = (MsgspecError, UnicodeDecodeError)
"""The exceptions of the decoder for any other event."""


class _Piece(Struct, forbid_unknown_fields=True, gc=False):
    delta: str
    output_index: int
    content_index: int
    type: Literal["response.output_text.delta"]
    item_id: str | None = None
    sequence_number: int | None = None
    obfuscation: str | None = None
    logprobs: Annotated[tuple[Any, ...], Meta(max_length=0)] = ()


decode_text: Final = Decoder(_Piece).decode
