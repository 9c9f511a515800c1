"""Strict decoders for the usual messages of a stream: a fast way into the reader of a wire.

Most messages are pieces of text. A decoder accepts that form alone; a message with any other field
or type goes to the reader, which gives the same events for a usual message too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.json import Decoder

from harness.stream.framing.json_documents import REFUSED


class Strict(Struct, forbid_unknown_fields=True, gc=False):
    """An object without other fields than these."""


_Form = TypeVar("_Form", bound=Strict)


def usual_decoder(form: type[_Form]) -> Callable[[Any], _Form | None]:
    """Return a function that decodes the bytes of a message of this form; it returns None for any
    other message, and for one that is decoded already.
    """
    decode = Decoder(form).decode

    def read(message: Any) -> _Form | None:
        if type(message) is not bytes:
            return None
        try:
            return decode(message)
        except REFUSED:
            return None

    return read
