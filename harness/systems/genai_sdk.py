"""Calls Gemini through google-genai for a dialect: requests as SDK objects, and payloads from the
SDK's return values or exceptions.

A dump of an SDK object is one more spelling of the wire. So an answer is read as from the raw wire,
with one frame for each object. An exception is translated back into the wire's form: the body of an
HTTP error, an error inside the stream, or a cut.

The SDK is optional; the error of `load_sdk` has the command that installs it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from harness.dialects import Payload, Translator
from harness.providers import PROVIDERS, Answer
from harness.stream.events import End, Error, Event
from harness.stream.framing import Frame
from harness.stream.generation import GenerateRequest

NOT_OF_THE_ANSWER: Final = {"sdk_http_response", "automatic_function_calling_history", "parsed"}
"""Fields of a response that the SDK adds itself."""

ENDS: Final[dict[str, End]] = {
    "RemoteProtocolError": "cut",
    "ClientPayloadError": "cut",
    "ReadError": "reset",
    "ClientOSError": "reset",
}
"""The class of an exception of the SDK's HTTP libraries → how the answer ended."""


def load_sdk() -> ModuleType:
    """Return the module ``google.genai``; raises ImportError with the install command if it is
    missing.
    """
    try:
        return import_module("google.genai")
    except ImportError as error:
        raise ImportError(
            "google-genai is not installed; pip install 'gemini-conformance[genai]'"
        ) from error


def failures() -> tuple[type[Exception], ...]:
    """Return the exceptions that a call of the SDK may raise: its own errors, those of its HTTP
    libraries, and those of its code for an unexpected answer.
    """
    http = []
    libraries = (("httpx2", "HTTPError"), ("httpx", "HTTPError"), ("aiohttp", "ClientError"))
    for library, name in libraries:
        with suppress(ImportError):
            http.append(getattr(import_module(library), name))
    own = load_sdk().errors.APIError
    return (own, *http, OSError, ValueError, TypeError, KeyError, AttributeError)


def arguments(request: GenerateRequest) -> dict[str, Any]:
    """Return the arguments of ``generate_content`` and ``generate_content_stream`` that make the
    SDK send exactly ``request.body``.

    Objects are made from JSON text, because only there signatures are base64. The SDK never calls
    functions itself.
    """
    types = load_sdk().types
    body = request.body
    config = {
        **body.get("generationConfig", {}),
        **{key: body[key] for key in ("systemInstruction", "tools", "toolConfig") if key in body},
    }
    passive = {"automaticFunctionCalling": {"disable": True}, "automaticContinuation": False}
    return {
        "model": request.model,
        "contents": [
            types.Content.model_validate_json(json.dumps(content)) for content in body["contents"]
        ],
        "config": types.GenerateContentConfig.model_validate_json(json.dumps(config | passive)),
    }


class SdkReader:
    """Reads one answer: ``feed`` each response, then ``close``; ``fail`` if the SDK raised.

    ``translator`` makes the dialect's payloads. ``provider`` is the API that the client talks to.
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
        """Return the payloads that one ``GenerateContentResponse`` completes."""
        dump = response.model_dump(
            mode="json", by_alias=True, exclude_none=True, exclude=NOT_OF_THE_ANSWER
        )
        return self._translate(self._normalizer.feed(Frame(0, dump)))

    def close(self, end: End = "complete") -> list[Payload]:
        """Return the last payloads, when the answer has ended."""
        return [*self._translate(self._normalizer.close(end)), *self._translator.close()]

    def fail(self, error: Exception) -> list[Payload]:
        """Return the last payloads, when the SDK raised."""
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
        # an error without a response was inside the stream
        status = getattr(error.response, "status_code", 200)
        if status != 200:
            self._normalizer = self._provider.normalizer(Answer(status=status, model=self._model))
        details = error.details
        # the SDK wraps a body that is not JSON in these two keys
        wrapped = isinstance(details, dict) and details.keys() == {"message", "status"}
        raw = details["message"] if status != 200 and wrapped else None
        frame = Frame(0, details) if raw is None else Frame(0, None, raw)
        return [*self._translate(self._normalizer.feed(frame)), *self.close()]

    def _translate(self, events: Sequence[Event]) -> list[Payload]:
        return [payload for event in events for payload in self._translator.feed(event)]
