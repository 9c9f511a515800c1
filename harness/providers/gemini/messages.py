"""Recognizes the paths and messages of Gemini's wire, for the detection of providers."""

from __future__ import annotations

from typing import Any, Final

from msgspec import MsgspecError, Raw, Struct
from msgspec.json import Decoder

from .fields import SpelledFields, spellings

METHOD: Final = r":(?P<method>generateContent|streamGenerateContent)$"
_OTHER_KIND: Final = "(?:tunedModels|endpoints|dynamic)/"
MODEL_METHOD: Final = (
    f"(?:^|/)(?:models/|(?={_OTHER_KIND}))(?P<model>(?:{_OTHER_KIND})?[^/]+){METHOD}"
)
"""The end of a path that asks a model to generate. The name of a model of another kind keeps the
kind: ``tunedModels/x``.
"""
VERTEX_PATH: Final = r"(?:/publishers/|/projects/[^/]+/locations/).*"

_MESSAGE: Final = spellings("candidates promptFeedback usageMetadata createTime response")
_ANSWER: Final = frozenset({"candidates", "promptFeedback", "usageMetadata"})


class _Counts(Struct, forbid_unknown_fields=True):
    promptTokenCount: Raw = Raw()
    candidatesTokenCount: Raw = Raw()
    totalTokenCount: Raw = Raw()
    thoughtsTokenCount: Raw = Raw()
    cachedContentTokenCount: Raw = Raw()
    toolUsePromptTokenCount: Raw = Raw()
    promptTokensDetails: Raw = Raw()
    candidatesTokensDetails: Raw = Raw()
    cacheTokensDetails: Raw = Raw()
    toolUsePromptTokensDetails: Raw = Raw()
    serviceTier: Raw = Raw()


class _Plain(Struct, forbid_unknown_fields=True):
    candidates: Raw = Raw()
    usageMetadata: _Counts | None = None
    modelVersion: Raw = Raw()
    responseId: Raw = Raw()


_decode_plain: Final = Decoder(_Plain).decode


def is_plain(message: bytes) -> bool:
    """Return whether a message has only fields that all surfaces send in bare messages, so that it
    shows no provider.
    """
    try:
        _decode_plain(message)
    except (MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def is_decision(message: dict[str, Any]) -> bool:
    """Return whether a message is a Decision: answers to questions, or a refusal in lower case. The
    endpoint does not stream, and its answer is not one of generateContent.
    """
    match message:
        case {"answers": {**answers}} if answers:
            return all(type(item) is dict and "type" in item for item in answers.values())
        case {"prompt_feedback": {"block_reason": str(reason)}}:
            return reason.islower() and "candidates" not in message
    return False


def is_answer(message: dict[str, Any], has_request: bool) -> bool:
    """Return whether a message is a GenerateContentResponse. Answers of other methods have counts
    too, so counts alone are not enough if there is a request.
    """
    if is_decision(message):
        return False
    names = SpelledFields(message, _MESSAGE).values.keys() & _ANSWER
    return bool(names - {"usageMetadata"} if has_request else names)


def is_error(message: dict[str, Any]) -> bool:
    """Return whether a message is an error of Google's APIs: a number as its code, or a gRPC
    status.
    """
    error = message.get("error")
    return type(error) is dict and (
        type(error.get("code")) is int or type(error.get("status")) is str
    )


def is_envelope(message: dict[str, Any]) -> bool:
    """Return whether a message is a GenerateContentResponse in Code Assist's envelope."""
    inner = SpelledFields(message, _MESSAGE).take("response", dict)
    return inner is not None and is_answer(inner, False)


def has_vertex_marks(message: dict[str, Any]) -> bool:
    """Return whether a message has a field that only Vertex AI sends."""
    fields = SpelledFields(message, _MESSAGE)
    usage = fields.values.get("usageMetadata")
    return "createTime" in fields.values or (
        type(usage) is dict and not usage.keys().isdisjoint(("trafficType", "traffic_type"))
    )
