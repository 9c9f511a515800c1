"""Sends requests to the OpenAI-compatible endpoint with `openai` on our transports.

``extra_body`` sends the fields that the library does not know
(https://ai.google.dev/gemini-api/docs/openai).
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Final

from ..endpoints import ENDPOINTS
from ..settings import GenerateAsk, MissingCredentials, MissingLibrary, Settings
from ..tape import Tape
from ..transport import transports
from .genai import gemini_key, model_of

MISSING: Final = "openai is not installed; pip install 'gemini-conformance[openai]'"
_SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)


class OpenAiCompatDriver:
    """Sends requests to the Gemini API with a key, or to Vertex AI with Application Default
    Credentials if the settings have a project.
    """

    def __init__(self, tape: Tape, settings: Settings) -> None:
        try:  # an optional extra
            openai = import_module("openai")
        except ImportError:
            raise MissingLibrary(MISSING) from None
        self._model = settings.model
        library = transports("httpx2")  # the only library that openai 3 uses
        path, key = _vertex(settings) if settings.project else _gemini(settings)
        endpoint = ENDPOINTS["openai-compat"]
        base = settings.base_url or os.environ.get(endpoint.variable)
        if settings.project and not base:
            base = ENDPOINTS["vertex-ai"].regional(path)
        self._client = openai.OpenAI(
            api_key=key,
            base_url=(base or endpoint.base_url).rstrip("/") + path,
            max_retries=0,  # a retry would be recorded as an additional exchange
            http_client=library.http.Client(transport=library.sync(tape)),
        )

    def ask(self, ask: GenerateAsk) -> None:
        rest = {**ask.body, "model": self._model or model_of(ask)}
        rest.pop("stream", None)
        named = {name: rest.pop(name) for name in ("model", "messages") if name in rest}
        completions = self._client.chat.completions
        if ask.streamed:
            for _ in completions.create(**named, stream=True, extra_body=rest):
                pass
        else:
            completions.create(**named, extra_body=rest)

    def close(self) -> None:
        self._client.close()


def _gemini(settings: Settings) -> tuple[str, str]:
    """Return the path of the Gemini API, and the key."""
    return f"/{settings.api_version or 'v1beta'}/openai", gemini_key(settings)


def _vertex(settings: Settings) -> tuple[str, str]:
    """Return the path of Vertex AI, and a token."""
    location = settings.location or os.environ.get("GOOGLE_CLOUD_LOCATION") or "global"
    path = f"/{settings.api_version or 'v1'}/projects/{settings.project}/locations/{location}"
    return f"{path}/endpoints/openapi", _token(settings.credentials)


def _token(credentials: Any) -> str:
    try:
        auth = import_module("google.auth")
        credentials = credentials or auth.default(scopes=_SCOPES)[0]
        if not credentials.valid:
            credentials.refresh(import_module("google.auth.transport.requests").Request())
    except ImportError:
        raise MissingLibrary(
            "google-auth is not installed; pip install 'gemini-conformance[record]'"
        ) from None
    except import_module("google.auth.exceptions").GoogleAuthError as error:
        raise MissingCredentials(
            f"no credentials for Vertex AI: {error}; run `gcloud auth application-default login`"
        ) from None
    return str(credentials.token)
