"""Sends requests to the OpenAI-compatible endpoint with `openai`
(https://ai.google.dev/gemini-api/docs/openai).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from ..endpoints import ENDPOINTS
from ..settings import MissingCredentials, MissingLibrary, Settings
from ..tape import Tape
from .genai import gemini_key
from .sdk_driver import SdkDriver, client_of

_SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)


class OpenAiCompatDriver(SdkDriver):
    """Sends requests to the Gemini API with a key, or to Vertex AI with Application Default
    Credentials if the settings have a project.
    """

    def __init__(self, tape: Tape, settings: Settings) -> None:
        client = client_of("openai", "OpenAI")
        path, key = _vertex(settings) if settings.project else _gemini(settings)
        endpoint = ENDPOINTS["openai-compat"]
        base = settings.base_url or os.environ.get(endpoint.variable)
        if settings.project and not base:
            base = ENDPOINTS["vertex-ai"].regional(path)
        base_url = (base or endpoint.base_url).rstrip("/") + path
        super().__init__(tape, settings.model, client, key=key, base_url=base_url)

    def method(self, body: Mapping[str, Any]) -> tuple[Callable[..., Any], tuple[str, ...]]:
        """Return the method for completions, whatever the body."""
        return self._client.chat.completions.create, ("model", "messages")


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
