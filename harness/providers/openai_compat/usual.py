"""The usual chunk of a stream, which differs from the chunk before it only in its text."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from ..usual import Strict, usual_decoder


class Delta(Strict):
    """A piece of the answer's text."""

    content: str = ""
    role: Literal["assistant"] | None = None


class UsualChoice(Strict):
    """The answer."""

    delta: Delta
    index: Literal[0] = 0
    finish_reason: None = None
    logprobs: None = None


class Chunk(Strict):
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


decode_usual: Final = usual_decoder(Chunk)
