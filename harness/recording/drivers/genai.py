"""google-genai on our transports: the one place that imports it.

A request goes through the SDK as it stands: its body is merged in by ``extra_body``, so that what
the SDK has no field for is sent too.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from harness.pipeline.replay import ReplayError

from ..transport import Source, transports

if TYPE_CHECKING:
    from google.genai.types import HttpOptions

    from ..cassette import Recording
    from ..run import GenerateAsk, Settings

MISSING: Final = "google-genai is not installed; pip install 'gemini-conformance[record]'"
KEYS: Final = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
"""The variables that hold an API key, the first that is set wins
(https://ai.google.dev/gemini-api/docs/api-key).
"""


class MissingLibrary(ReplayError):
    """A library that recording needs is not installed; the message has the command."""


class MissingCredentials(ReplayError):
    """Nobody to ask as: no key, no token; the message says where one is looked for."""


def import_genai() -> Any:
    """The module `google.genai`; raises `MissingLibrary`."""
    try:
        from google import genai
    except ImportError:
        raise MissingLibrary(MISSING) from None
    return genai


def library() -> str:
    """The HTTP library that google-genai uses here, by its own rule: what GOOGLE_GENAI_HTTP_CLIENT
    says, else httpx2, else httpx.

    Raises `MissingLibrary` if that is not installed.
    """
    asked = os.environ.get("GOOGLE_GENAI_HTTP_CLIENT", "").lower().strip()
    found = asked if asked in ("httpx2", "httpx") else "httpx2" if find_spec("httpx2") else "httpx"
    if find_spec(found) is None:
        raise MissingLibrary(
            f"{found} is not installed, which asks the provider; pip install"
            " 'gemini-conformance[record]'"
        )
    return found


def http_options(source: Source, **options: Any) -> tuple[HttpOptions, Callable[[], None]]:
    """Options whose transports, sync and async, take and answer by ``source``; and what closes the
    sync one's connections.

    ``options`` are HttpOptions' own. Raises `MissingLibrary`.
    """
    genai = import_genai()
    made = transports(library())
    sync = made.sync(source)
    asynchronous = made.asynchronous(source)
    told = genai.types.HttpOptions(
        client_args={"transport": sync}, async_client_args={"transport": asynchronous}, **options
    )
    return told, sync.close


def api_key(settings: Settings) -> str | None:
    """The key to ask with: the one that is given, else the environment's."""
    return settings.api_key or next(
        (os.environ[name] for name in KEYS if os.environ.get(name)), None
    )


class GenaiDriver:
    """Asks the Gemini API (a key) or Vertex AI (Application Default Credentials, a service account,
    or an express key).
    """

    def __init__(self, tape: Recording, settings: Settings, *, vertex: bool) -> None:
        self._genai = import_genai()
        self._tape = tape
        transport_error = transports(library()).http.TransportError
        self._auth_error = import_module("google.auth.exceptions").GoogleAuthError
        self._odd = (
            self._genai.errors.APIError,
            transport_error,
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
        )
        self._model = settings.model
        given = {
            name: value
            for name in ("api_version", "base_url")
            if (value := getattr(settings, name)) is not None
        }
        options, self._close = http_options(tape, **given)
        self._client = (
            self._vertex(settings, options) if vertex else self._gemini(settings, options)
        )

    def _gemini(self, settings: Settings, options: HttpOptions) -> Any:
        key = api_key(settings)
        if not key:
            raise MissingCredentials(
                f"no key for the Gemini API: set {KEYS[1]}, made at"
                " https://aistudio.google.com/apikey"
            )
        return self._genai.Client(vertexai=False, api_key=key, http_options=options)

    def _vertex(self, settings: Settings, options: HttpOptions) -> Any:
        project = settings.project or os.environ.get("GOOGLE_CLOUD_PROJECT")
        location = settings.location or os.environ.get("GOOGLE_CLOUD_LOCATION")
        if project and not settings.api_key:
            place = {
                "project": project,
                "location": location or "global",
                "credentials": settings.credentials,
            }
            return self._genai.Client(vertexai=True, http_options=options, **place)
        key = api_key(settings)
        if not key:
            raise MissingCredentials(
                "no credentials for Vertex AI: set GOOGLE_CLOUD_PROJECT (and run `gcloud auth"
                f" application-default login`), or {KEYS[0]} for express mode"
            )
        return self._genai.Client(vertexai=True, api_key=key, http_options=options)

    def ask(self, ask: GenerateAsk) -> None:
        model = self._model or ask.model or os.environ.get("HARNESS_MODEL")
        if not model:
            raise ReplayError(
                "no model is named; name one with --model, in the prompt, or in HARNESS_MODEL"
            )
        try:
            self._ask(ask, model)
        except self._auth_error as error:
            said = error.args[0] if error.args else type(error).__name__
            raise MissingCredentials(
                f"no credentials for Vertex AI: {said}; run `gcloud auth application-default login`"
            ) from None

    def _ask(self, ask: GenerateAsk, model: str) -> None:
        models, before = self._client.models, len(self._tape.takes)
        config = {"http_options": {"extra_body": dict(ask.body)}}
        try:
            if ask.streamed:
                for _ in models.generate_content_stream(model=model, contents="-", config=config):
                    pass
            else:
                models.generate_content(model=model, contents="-", config=config)
        except self._odd:
            # What the SDK makes of an answer is not asked here, and at an odd one it raises many
            # things: the answer is on the tape.
            if len(self._tape.takes) == before:
                raise

    def close(self) -> None:
        self._client.close()
        self._close()
