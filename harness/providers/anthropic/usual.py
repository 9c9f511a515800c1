"""A strict decoder for the usual event of a stream: a fast way into the reader.

Most events of a stream are pieces of text. The decoder accepts that form alone; any other field or
type is refused, and the reader of `MessagesNormalizer` decodes the event. It gives the same events
for a piece of text too.
"""

# Annotations are not postponed here, since the decoder evaluates them.

from typing import Final, Literal

from msgspec import MsgspecError, Struct
from msgspec.json import Decoder

REFUSED: Final = (MsgspecError, UnicodeDecodeError)
"""The exceptions of the decoder for any other event."""


class _Text(Struct, forbid_unknown_fields=True, gc=False):
    text: str
    type: Literal["text_delta"]


class _Delta(Struct, forbid_unknown_fields=True, gc=False):
    index: int
    delta: _Text
    type: Literal["content_block_delta"]


decode_text: Final = Decoder(_Delta).decode
