"""Strict decoders for the usual messages of a stream: a fast way into the reader.

Nearly every message differs from the message before it only in its text and its counts, and it may
be the last. `continuation` makes a decoder that accepts only this form. `decode_message` accepts
the usual fields of any message of one candidate. Any other field, spelling or type is refused, and
the reader of `GeminiNormalizer` decodes the message. It gives the same events for the usual message
too.
"""

# Annotations are not postponed here: they would be evaluated again for every decoder.

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, Literal

from msgspec import UNSET, UnsetType, ValidationError, defstruct
from msgspec.json import Decoder

from harness.stream.json_codec import MAX_NESTING, Json, nests_deeply

from ..usual import Strict


class _Text(Strict):
    text: str
    thought: bool | None = None
    thoughtSignature: str | None = None


class _Content(Strict):
    parts: tuple[_Text]
    role: Literal["model"] | None = None


class _TextCandidate(Strict):
    content: _Content
    index: Literal[0] | None = None
    finishReason: Literal["STOP"] | None = None


class _Call(Strict):
    name: str
    args: dict[str, Json] | None = None
    id: str | None = None


class UsualPart(Strict):
    """A part that is text, a thought or a whole call."""

    text: str | None = None
    thought: bool | None = None
    thoughtSignature: str | None = None
    functionCall: _Call | None = None


class _ContentOfParts(Strict):
    parts: list[UsualPart] | None = None
    role: Literal["model"] | None = None


class Candidate(Strict):
    """The answer, with its usual annotations."""

    content: _ContentOfParts | None = None
    index: Literal[0] | None = None
    finishReason: str | None = None
    finishMessage: str | None = None
    citationMetadata: dict[str, Json] | None = None
    groundingMetadata: dict[str, Json] | None = None
    avgLogprobs: float | int | None = None
    safetyRatings: list[Json] | None = None


class UsualMessage(Strict):
    """A message with one candidate and without an envelope."""

    candidates: tuple[Candidate]
    usageMetadata: dict[str, Json] | None = None
    modelVersion: str | None = None
    responseId: str | None = None
    createTime: str | None = None


_decode: Final = Decoder(UsualMessage).decode


def decode_message(data: bytes) -> UsualMessage:
    """Decode a usual message; raises one of `REFUSED` for any other."""
    if nests_deeply(data):
        raise ValidationError(f"nested deeper than {MAX_NESTING} levels")
    return _decode(data)


class _ModalityTokenCount(Strict):
    modality: str
    tokenCount: int | UnsetType = UNSET


_NAMES: Final = [(name, str | None, None) for name in ("modelVersion", "responseId", "createTime")]
_COUNTS: Final = {
    **dict.fromkeys(("promptTokenCount", "candidatesTokenCount", "totalTokenCount"), int),
    **dict.fromkeys(("thoughtsTokenCount", "cachedContentTokenCount"), int),
    "toolUsePromptTokenCount": int,
    **dict.fromkeys(("trafficType", "serviceTier"), str),
    **dict.fromkeys(
        (f"{of}TokensDetails" for of in ("prompt", "candidates", "cache", "toolUsePrompt")),
        list[_ModalityTokenCount],
    ),
}


@lru_cache(maxsize=512)
def continuation(wrapped: bool, counts: tuple[str, ...]) -> Callable[[bytes], Any] | None:
    """Return a decoder of messages, in Code Assist's envelope or bare, whose candidate has one
    part, which is text, and perhaps the finish reason ``STOP``, and whose ``usageMetadata`` has
    exactly these fields; None if one of them is not known.
    """
    if not _COUNTS.keys() >= set(counts):
        return None
    usage = defstruct(
        "Counts",
        [(name, _COUNTS[name]) for name in counts],
        bases=(Strict,),
        namespace=dict.fromkeys(_COUNTS.keys() - set(counts)),
    )
    message = defstruct(
        "Continuation",
        [
            ("candidates", tuple[_TextCandidate]),
            *([("usageMetadata", usage)] * bool(counts)),
            *_NAMES,
        ],
        bases=(Strict,),
        namespace={"traceId": None} if counts else {"traceId": None, "usageMetadata": None},
    )
    if wrapped:
        fields: list[Any] = [("response", message), ("traceId", str | None, None)]
        message = defstruct("Envelope", fields, bases=(Strict,))
    return Decoder(message).decode
