"""ART's Gemini adapter on the official SDK: a prompt and CallOptions in, StreamEvents out.

It translates the prompt, calls the SDK once, and reads the answer in the same way as a replay.
Fields that the SDK drops from its objects are lost; docs/dialect-art.md lists those that
StreamEvents would show.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from harness.dialects import Payload
from harness.dialects.art import DIALECT
from harness.dialects.art.request import DEFAULT_MODEL, model_of, translate
from harness.dialects.art.response import refuse
from harness.providers import PROVIDERS
from harness.stream.generation import GenerateRequest, TranslationError
from harness.stream.session import Session

from .genai_sdk import SdkReader, arguments, failures, load_sdk

_LOG = logging.getLogger(__name__)


def _milliseconds() -> float:
    return time.monotonic() * 1000


class GeminiAdapter:
    """Calls Gemini for ART.

    ``http_options`` go to the SDK's client, such as ``{"base_url": …}`` (see
    https://googleapis.github.io/python-genai/); without them it also reads GOOGLE_GEMINI_BASE_URL.
    ``vertexai``: the key is one of Vertex AI's express mode. ``clock`` gives milliseconds
    for the times of METADATA; without a clock METADATA has no times.

    Raises ValueError without a key, ImportError without google-genai.
    """

    def __init__(
        self,
        api_key: str,
        model: str | None = None,
        *,
        http_options: Any = None,
        vertexai: bool = False,
        clock: Callable[[], float] | None = _milliseconds,
    ) -> None:
        if not api_key:
            raise ValueError("GeminiAdapter requires an api_key")
        self.model = model or DEFAULT_MODEL
        self._provider = "vertex-ai" if vertexai else "gemini-api"
        self._client = load_sdk().Client(
            api_key=api_key, vertexai=vertexai, http_options=http_options
        )
        self._clock = clock

    async def call(
        self, prompt: Sequence[Mapping[str, Any]], options: Mapping[str, Any] | None = None
    ) -> AsyncGenerator[Payload]:
        """Yield the StreamEvents of one call; the last is always ``END``.

        ``options`` are CallOptions; ``stream`` chooses the mode. A fault of the prompt, the SDK or
        the stream gives an ``ERROR`` event and raises nothing. A prompt that can't be translated
        (`PROMPT_TRANSLATION_FAILED`) is not sent. Losses of the translation are logged as warnings.
        """
        options = options or {}
        session = Session(
            context={name: value for name, value in options.items() if value is not None}
        )
        session.streamed = bool(options.get("stream"))
        model = model_of(options, self.model)
        try:
            neutral = translate(prompt, {**options, "model": model}, session)
            request = PROVIDERS[self._provider].request(neutral, session)
        except TranslationError as error:
            for payload in refuse(error, session):
                yield payload
            return
        for warning in request.warnings:
            _LOG.warning(warning)
        reader = SdkReader(DIALECT.translator((), session), model, self._provider)
        started = self._clock() if self._clock else 0
        async with aclosing(self._answers(request, session.streamed)) as answers:
            async for answer in answers:
                session.at_ms = self._clock() - started if self._clock else None
                payloads = (
                    reader.fail(answer) if isinstance(answer, Exception) else reader.feed(answer)
                )
                for payload in payloads:
                    yield payload
                if isinstance(answer, Exception):
                    return
        session.at_ms = self._clock() - started if self._clock else None
        for payload in reader.close():
            yield payload

    async def _answers(self, request: GenerateRequest, streamed: bool) -> AsyncGenerator[Any]:
        """Yield the SDK's responses; the last item is its exception, if it raised."""
        models = self._client.aio.models
        try:
            called_with = arguments(request)
            if streamed:
                async for response in await models.generate_content_stream(**called_with):
                    yield response
            else:
                yield await models.generate_content(**called_with)
        except failures() as error:
            yield error

    async def aclose(self) -> None:
        """Close the connections of the SDK's client."""
        await self._client.aio.aclose()
