"""A strict decoder for the usual chunk of a stream: a fast way into the reader.

Nearly every chunk differs from the chunk before it only in its text. These types accept only this
form. A chunk with any other field or type goes to the reader of `ChatReader`, which would
give the same events for a usual chunk too.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, MsgspecError, Struct
from msgspec.json import Decoder

REFUSED: Final = (MsgspecError, UnicodeDecodeError)
"""The exceptions of the decoder for any other message."""


class _Strict(Struct, forbid_unknown_fields=True, gc=False):
    """An object without other fields than these."""


class Delta(_Strict):
    """A piece of the answer's text."""

    content: str = ""
    role: Literal["assistant"] | None = None


class UsualChoice(_Strict):
    """The answer."""

    delta: Delta
    index: Literal[0] = 0
    finish_reason: None = None
    logprobs: None = None


class Chunk(_Strict):
    """A chat.completion.chunk."""

    choices: Annotated[tuple[UsualChoice, ...], Meta(max_length=1)]
    object: Literal["chat.completion.chunk"]
    id: str | None = None
    model: str | None = None
    created: int | None = None
    usage: None = None
    service_tier: str | None = None
    system_fingerprint: str | None = None
    obfuscation: str | None = None


decode_usual: Final = Decoder(Chunk).decode
