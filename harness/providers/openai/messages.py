"""The vocabulary of OpenAI's two APIs: their paths, and the recognition of their bodies.

Sources: https://platform.openai.com/docs/api-reference/responses,
https://platform.openai.com/docs/api-reference/chat and, for types, the client ``openai``.
"""

from __future__ import annotations

import re
from typing import Final

from harness.stream.json_codec import Json

from ..openai_compat.normalizer import OBJECTS
from ..provider import FirstMessages, Identity

NAME: Final = "openai"
_NOT_GOOGLE: Final = r"(?<!/v1/openai)(?<!/v1beta/openai)"
"""Gemini's compatible endpoint has no Responses API."""
GENERATE: Final = re.compile(
    rf"(?:^|{_NOT_GOOGLE}/)(?:chat/completions|responses(?:/[^/]+/cancel)?)/?$"
)
"""The paths of POST requests that are answered by a model, on any host and after any prefix."""
STORED: Final = re.compile(r"(?:^|/)(?:chat/completions|responses)/[^/]+/?$")
"""The paths of GET requests that fetch an answer, or the rest of its stream."""
PATHS: Final = re.compile(rf"{_NOT_GOOGLE}/(?:chat/completions|responses)(?:/|$)")
"""Every path of the two APIs that only this provider serves."""
_EVENT: Final = re.compile(r"response\.[a-z_.]+")


def is_response(message: Json) -> bool:
    """Return whether a message is an event of the Responses API, or a response."""
    if type(message) is not dict:
        return False
    kind = message.get("type")
    if type(kind) is str and _EVENT.fullmatch(kind):
        return True
    return message.get("object") == "response" and "choices" not in message


def is_chat(message: Json) -> bool:
    """Return whether a message is one of Chat Completions."""
    if type(message) is not dict:
        return False
    return message.get("object") in OBJECTS or type(message.get("choices")) is list


def detect(first: FirstMessages) -> Identity | None:
    """Recognize a body by any of its messages, so that also the rest of a stream is recognized.
    ``choices`` without an ``object`` may be of any server, so the user has to name the provider.
    """
    chat = (message for message in first.messages if message.get("object") in OBJECTS)
    if any(map(is_response, first.messages)) or any(chat):
        return Identity(NAME, generates=True, streamed=first.streamed)
    return None
