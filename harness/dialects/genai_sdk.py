"""google-genai as a wire: requests as its objects, and what its client yields or raises as a
dialect's payloads.

A dump of an SDK object is one more spelling that the normalizers read, so an answer takes the same
way here as from the raw wire: one frame an object. What the client raises becomes what the wire
would have said: the body of an HTTP error, an error inside the stream, a cut.

The SDK is optional: `load_sdk` says how to get it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from harness.providers import PROVIDERS, Answer
from harness.stream.events import End, Error, Event
from harness.stream.framing import Frame
from harness.stream.generation import GenerateRequest

from .dialect import Payload, Translator

NOT_OF_THE_ANSWER: Final = {"sdk_http_response", "automatic_function_calling_history", "parsed"}
"""What the SDK adds to a response by itself."""

ENDS: Final[dict[str, End]] = {
    "RemoteProtocolError": "cut",
    "ClientPayloadError": "cut",
    "ReadError": "reset",
    "ClientOSError": "reset",
}
"""An exception of the SDK's HTTP libraries in the middle of an answer → how the answer ended."""


def load_sdk() -> ModuleType:
    """The module ``google.genai``; raises ImportError that says how to install it."""
    try:
        return import_module("google.genai")
    except ImportError as error:
        raise ImportError(
            "google-genai is not installed; pip install 'gemini-conformance[genai]'"
        ) from error


def failures() -> tuple[type[Exception], ...]:
    """What a call of the SDK may raise: its own errors, those of its HTTP libraries, and those of
    reading what it did not expect.
    """
    sdk = load_sdk()
    libraries = ("httpx2", "httpx", "aiohttp")
    found = [
        _loaded(name, "HTTPError" if name != "aiohttp" else "ClientError") for name in libraries
    ]
    return (
        sdk.errors.APIError,
        *(error for error in found if error),
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
    )


def _loaded(library: str, name: str) -> type[Exception] | None:
    try:
        error: type[Exception] = getattr(import_module(library), name)
    except ImportError:
        return None
    return error


def arguments(asked: GenerateRequest) -> dict[str, Any]:
    """What ``generate_content`` and ``generate_content_stream`` are called with, so that the SDK
    sends ``asked.body`` and nothing else.

    Objects are made from JSON text, because only there signatures are base64. Functions are never
    called by the SDK itself.
    """
    types = load_sdk().types
    body = asked.body
    config = {
        **body.get("generationConfig", {}),
        **{key: body[key] for key in ("systemInstruction", "tools", "toolConfig") if key in body},
    }
    alone = {"automaticFunctionCalling": {"disable": True}, "automaticContinuation": False}
    return {
        "model": asked.model,
        "contents": [
            types.Content.model_validate_json(json.dumps(content)) for content in body["contents"]
        ],
        "config": types.GenerateContentConfig.model_validate_json(json.dumps(config | alone)),
    }


class SdkReader:
    """One answer as the SDK gives it: ``feed`` each response, then ``close``; ``fail`` in its place
    when the client raised.

    ``translator`` makes the dialect's payloads of one answer. ``provider`` is the surface that the
    client talks to.
    """

    def __init__(
        self,
        translator: Translator,
        model: str | None,
        provider: str = "gemini-api",
    ) -> None:
        self._provider = PROVIDERS[provider]
        self._model = model
        self._normalizer = self._provider.normalizer(
            Answer(model=model, tool_code=self._provider.tool_code)
        )
        self._translator = translator

    def feed(self, response: Any) -> list[Payload]:
        """The payloads that a ``GenerateContentResponse`` completes."""
        dump = response.model_dump(
            mode="json", by_alias=True, exclude_none=True, exclude=NOT_OF_THE_ANSWER
        )
        return self._translate(self._normalizer.feed(Frame(0, dump)))

    def close(self, end: End = "complete") -> list[Payload]:
        """What is still owed when the answer has ended."""
        return [*self._translate(self._normalizer.close(end)), *self._translator.close()]

    def fail(self, error: Exception) -> list[Payload]:
        """What an exception of the client means for the stream, which ends with it."""
        if isinstance(error, load_sdk().errors.APIError):
            return self._fail_by_api(error)
        end = ENDS.get(type(error).__name__)
        if end:
            return self.close(end)
        return [
            *self._translate([Error(f"{type(error).__name__}: {error}")]),
            *self._translator.close(),
        ]

    def _fail_by_api(self, error: Any) -> list[Payload]:
        status = getattr(
            error.response, "status_code", 200
        )  # 200: the error came inside the stream
        if status != 200:
            self._normalizer = self._provider.normalizer(Answer(status=status, model=self._model))
        details = error.details
        plain = (
            status != 200 and isinstance(details, dict) and details.keys() == {"message", "status"}
        )
        frame = (
            Frame(0, raw=details["message"]) if plain else Frame(0, details)
        )  # the SDK wraps a body that is no JSON so
        return [*self._translate(self._normalizer.feed(frame)), *self.close()]

    def _translate(self, events: Sequence[Event]) -> list[Payload]:
        return [payload for event in events for payload in self._translator.feed(event)]
