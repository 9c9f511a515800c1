"""Sends requests with google-genai on our transports. Only this module imports the SDK.

``extra_body`` merges a request's body into the SDK's request, so that fields that the SDK does not
know are sent too.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final

from harness.pipeline.replay import ReplayError

from ..settings import GenerateAsk, MissingCredentials, MissingLibrary, Settings
from ..tape import Tape
from ..transport import http_library, transports

if TYPE_CHECKING:
    from google.genai.types import HttpOptions

MISSING: Final = "google-genai is not installed; pip install 'gemini-conformance[record]'"
POLL_S: Final = 2.0
"""Seconds between two requests for the status of a background answer."""
KEYS: Final = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
"""The variables that may contain an API key; the first that is set is used
(https://ai.google.dev/gemini-api/docs/api-key).
"""


def import_genai(also: str = "") -> Any:
    """Return the module `google.genai`; raises `MissingLibrary`. ``also`` is what the user needs
    besides the library.
    """
    try:  # an optional extra
        from google import genai
    except ImportError:
        raise MissingLibrary(f"{MISSING}; {also}" if also else MISSING) from None
    return genai


def http_options(source: Tape, **options: Any) -> tuple[HttpOptions, Callable[[], None]]:
    """Return ``HttpOptions`` with ``options`` and with transports that record to or answer from
    ``source``; and a function that closes the connections of the blocking transport. Raises
    `MissingLibrary`.
    """
    genai = import_genai()
    library = transports(http_library())
    sync = library.sync(source)
    http_options = genai.types.HttpOptions(
        client_args={"transport": sync},
        async_client_args={"transport": library.asynchronous(source)},
        **options,
    )
    return http_options, sync.close


def api_key(settings: Settings) -> str | None:
    """Return the API key: from the settings, else from the environment."""
    return settings.api_key or next(
        (os.environ[name] for name in KEYS if os.environ.get(name)), None
    )


def gemini_key(settings: Settings) -> str:
    """Return the API key of the Gemini API; raises `MissingCredentials` if there is none."""
    key = api_key(settings)
    if not key:
        raise MissingCredentials(
            f"no key for the Gemini API: set {KEYS[1]}; get a key at"
            " https://aistudio.google.com/apikey"
        )
    return key


def model_of(ask: GenerateAsk) -> str:
    """Return the model of a request, else of the environment; raises `ReplayError` if there is
    none.
    """
    model = ask.model or os.environ.get("HARNESS_MODEL")
    if not model:
        raise ReplayError(
            "no model is named; name one with --model, in the prompt, or in HARNESS_MODEL"
        )
    return model


class GeminiApiDriver:
    """Sends requests to the Gemini API with a key."""

    _also: ClassVar[str] = f"and set {KEYS[1]} to a key of https://aistudio.google.com/apikey"
    """What the user needs besides the library."""

    def __init__(self, tape: Tape, settings: Settings) -> None:
        genai = import_genai(self._also if not api_key(settings) else "")
        self._model = settings.model
        self._auth_error = import_module("google.auth.exceptions").GoogleAuthError
        options, self._close = http_options(
            tape,
            # A retry would be recorded as an additional exchange.
            retry_options=genai.types.HttpRetryOptions(attempts=1),
            **{
                name: value
                for name in ("api_version", "base_url")
                if (value := getattr(settings, name)) is not None
            },
        )
        self._client = genai.Client(http_options=options, **self._login(settings))

    def _login(self, settings: Settings) -> dict[str, Any]:
        """Return the address and credentials for the SDK's client, as its arguments."""
        return {"vertexai": False, "api_key": gemini_key(settings)}

    def ask(self, ask: GenerateAsk) -> None:
        try:
            self._send(ask)
        except self._auth_error as error:
            reason = error.args[0] if error.args else type(error).__name__
            raise MissingCredentials(
                f"no credentials for Vertex AI: {reason}; run `gcloud auth application-default"
                " login`"
            ) from None

    def _send(self, ask: GenerateAsk) -> None:
        arguments = {
            "model": self._model or model_of(ask),
            "contents": "-",
            "config": {"http_options": {"extra_body": dict(ask.body)}},
        }
        if ask.streamed:
            for _ in self._client.models.generate_content_stream(**arguments):
                pass
        else:
            self._client.models.generate_content(**arguments)

    def close(self) -> None:
        self._client.close()
        self._close()


class VertexAiDriver(GeminiApiDriver):
    """Sends requests to Vertex AI with Application Default Credentials, a service account or an
    express key.
    """

    _also = f"and set GOOGLE_CLOUD_PROJECT, or {KEYS[0]} for express mode"

    def _login(self, settings: Settings) -> dict[str, Any]:
        return vertex_login(settings)


def vertex_login(settings: Settings) -> dict[str, Any]:
    """Return the place and credentials for the SDK's client at Vertex AI, as its arguments."""
    project = settings.project or os.environ.get("GOOGLE_CLOUD_PROJECT")
    location = settings.location or os.environ.get("GOOGLE_CLOUD_LOCATION")
    if project and not settings.api_key:
        return {
            "vertexai": True,
            "project": project,
            "location": location or "global",
            "credentials": settings.credentials,
        }
    key = api_key(settings)
    if not key:
        raise MissingCredentials(
            "no credentials for Vertex AI: set GOOGLE_CLOUD_PROJECT (and run `gcloud auth"
            f" application-default login`), or {KEYS[0]} for express mode"
        )
    return {"vertexai": True, "api_key": key}


class InteractionsDriver(GeminiApiDriver):
    """Sends requests to the Interactions API with a key, or to that of Vertex AI with
    `Settings.project`. A background answer is polled until it is complete.
    """

    def _login(self, settings: Settings) -> dict[str, Any]:
        return vertex_login(settings) if settings.project else super()._login(settings)

    def _send(self, ask: GenerateAsk) -> None:
        body = {**ask.body}
        body.pop("stream", None)
        if self._model or not body.get("agent"):
            body["model"] = self._model or model_of(ask)
        named: dict[str, Any] = {key: body[key] for key in ("model", "agent") if key in body}
        if "input" in body:
            named["input"] = "-"  # the SDK accepts only steps that it knows
        background = body.get("background") is True
        if not background:
            named["automatic_continuation"] = False  # each request is a separate exchange
        interactions = self._client.interactions
        with warnings.catch_warnings(action="ignore"):  # a warning about the continuation
            if ask.streamed:
                for _ in interactions.create(**named, stream=True, extra_body=body):
                    pass
                return
            answer = interactions.create(**named, extra_body=body)
        while background and answer.status in ("in_progress", "queued"):
            time.sleep(POLL_S)
            answer = interactions.get(id=answer.id)
