"""Sends requests to Code Assist as the Gemini CLI does: it gets an OAuth token, calls
loadCodeAssist for the project, then sends the request in its envelope.

Source: https://github.com/google-gemini/gemini-cli/tree/main/packages/core/src/code_assist. The
answer of loadCodeAssist describes an account, so it is requested by a client that is not recorded.
"""

from __future__ import annotations

import json
import os
import time
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from ..endpoints import ENDPOINTS
from ..policy import RecordingRefused
from ..settings import GenerateAsk, MissingCredentials, MissingLibrary, Settings
from ..tape import Tape
from ..transport import http_library, transports
from .genai import MISSING, model_of

TOKENS: Final = ("CODE_ASSIST_ACCESS_TOKEN", "GOOGLE_CLOUD_ACCESS_TOKEN")
CLIENT: Final = ("CODE_ASSIST_CLIENT_ID", "CODE_ASSIST_CLIENT_SECRET")
"""The variables with the OAuth client of a login, if the login does not contain it."""
TOKEN_URI: Final = "CODE_ASSIST_TOKEN_URI"  # noqa: S105  # the name of a variable
TOKEN_ENDPOINT: Final = "https://oauth2.googleapis.com/token"  # noqa: S105  # an address, not a token
FILE: Final = Path(".gemini", "oauth_creds.json")
"""The login file of the Gemini CLI, below the home folder."""
VERSION: Final = "v1internal"
_METADATA: Final = {
    "ideType": "IDE_UNSPECIFIED",
    "platform": "PLATFORM_UNSPECIFIED",
    "pluginType": "GEMINI",
}


class CodeAssistDriver:
    """Sends requests with the login of the Gemini CLI, or with a token from the environment."""

    def __init__(self, source: Tape, settings: Settings) -> None:
        library = transports(http_library())
        self._http = library.http
        endpoint = ENDPOINTS["code-assist"]
        base = settings.base_url or os.environ.get(endpoint.variable) or endpoint.base_url
        version = settings.api_version or os.environ.get("CODE_ASSIST_API_VERSION") or VERSION
        self._base = f"{base.rstrip('/')}/{version}"
        self._headers = {
            "authorization": f"Bearer {settings.credentials or find_token()}",
            "user-agent": "GeminiCLI",
        }
        self._model = settings.model
        self._timeout_s = settings.silence_s
        # The transport sets the time limits.
        self._client = self._http.Client(transport=library.sync(source), headers=self._headers)
        self._project = self._load(settings.project or os.environ.get("GOOGLE_CLOUD_PROJECT"))

    def _load(self, project: str | None) -> str | None:
        """Call loadCodeAssist; returns the project for the requests."""
        body: dict[str, Any] = {"metadata": _METADATA}
        if project:
            body = {
                "cloudaicompanionProject": project,
                "metadata": {**_METADATA, "duetProject": project},
            }
        with self._http.Client(headers=self._headers, timeout=self._timeout_s) as client:
            try:
                response = client.post(f"{self._base}:loadCodeAssist", json=body)
            except self._http.TransportError as error:
                place = urlsplit(self._base).netloc
                raise RecordingRefused(
                    f"loadCodeAssist got no answer at all from {place}: {error}; correct the"
                    " cause, then record again"
                ) from None
        if response.status_code != 200:
            raise RecordingRefused(
                f"loadCodeAssist answered {response.status_code}; log in again with `gemini`, then"
                " record again"
            )
        answer = response.json()
        if not answer.get("currentTier"):
            reasons = ", ".join(
                str(tier.get("reasonCode")) for tier in answer.get("ineligibleTiers") or ()
            )
            raise RecordingRefused(
                f"this account has not joined Code Assist{f' ({reasons})' if reasons else ''}; run"
                " `gemini` once to join"
            )
        own_project = answer.get("cloudaicompanionProject")
        return own_project if isinstance(own_project, str) else project

    def ask(self, ask: GenerateAsk) -> None:
        envelope: dict[str, Any] = dict(ask.body)
        if "request" not in envelope:
            envelope = {
                "user_prompt_id": "prompt_1",
                "request": {**envelope, "session_id": "session_1"},
            }
        model = self._model or envelope.get("model") or model_of(ask)
        sent = {"model": model, **({"project": self._project} if self._project else {})}
        envelope = {
            **sent,
            **{key: value for key, value in envelope.items() if key not in ("model", "project")},
        }
        method = "streamGenerateContent?alt=sse" if ask.streamed else "generateContent"
        with self._client.stream("POST", f"{self._base}:{method}", json=envelope) as response:
            for _ in response.iter_raw():
                pass

    def close(self) -> None:
        self._client.close()


def find_token() -> str:
    """Return an OAuth access token: from the environment, else from the Gemini CLI's login. An
    expired login is renewed if its OAuth client is known.

    Raises `MissingCredentials`; the message has a solution.
    """
    token = next((os.environ[name] for name in TOKENS if os.environ.get(name)), None)
    if token:
        return token
    file = Path.home() / FILE
    way_out = f"log in with `gemini`, or set {TOKENS[0]}"
    try:
        saved = json.loads(file.read_text(encoding="utf-8"))
        token, expiry = saved["access_token"], saved.get("expiry_date")
    except FileNotFoundError:
        raise MissingCredentials(
            f"no login for Code Assist: {file} does not exist; {way_out}"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise MissingCredentials(
            f"no login for Code Assist: {file} has no access_token; {way_out}"
        ) from None
    if isinstance(expiry, int | float) and expiry / 1000 < time.time():
        return _renew(saved, file)
    return str(token)


def _renew(saved: dict[str, Any], file: Path) -> str:
    """Return a new access token for the refresh token of a login. It is not stored, because the
    file belongs to the Gemini CLI.

    A refresh token works only with the id and the secret of its OAuth client. The id is in the
    login's id_token. The secret belongs to the Gemini CLI, so the user has to provide it.
    """
    client = {
        "refresh_token": saved.get("refresh_token"),
        "client_id": (
            os.environ.get(CLIENT[0]) or saved.get("client_id") or _client_id(saved.get("id_token"))
        ),
        "client_secret": os.environ.get(CLIENT[1]) or saved.get("client_secret"),
    }
    way_out = f"run `gemini` once, which renews it, or set {TOKENS[0]}"
    missing = [name for name, value in client.items() if not value]
    if missing:
        if "refresh_token" not in missing:
            way_out += f", or {' and '.join(CLIENT)}, which are needed to renew it here"
        raise MissingCredentials(f"the login in {file} has expired; {way_out}")
    try:  # an optional extra
        from google.auth.exceptions import GoogleAuthError
        from google.auth.transport.requests import Request
        from google.oauth2.credentials import Credentials
    except ImportError:
        raise MissingLibrary(MISSING) from None
    address = os.environ.get(TOKEN_URI) or saved.get("token_uri") or TOKEN_ENDPOINT
    login = Credentials(None, token_uri=address, **client)  # type: ignore[no-untyped-call]  # google-auth has no types
    try:
        login.refresh(Request())  # type: ignore[no-untyped-call]  # google-auth has no types
    except GoogleAuthError as error:
        reason = error.args[0] if error.args else type(error).__name__
        raise MissingCredentials(
            f"the login in {file} has expired and could not be renewed ({reason}); {way_out}"
        ) from None
    return str(login.token)


def _client_id(id_token: object) -> str | None:
    """Return the OAuth client of a login: ``azp`` of its id_token
    (https://openid.net/specs/openid-connect-core-1_0.html#IDToken).
    """
    try:
        claims = json.loads(urlsafe_b64decode(f"{str(id_token).split('.')[1]}==="))
        return str(claims.get("azp") or claims["aud"])
    except (IndexError, ValueError, KeyError, AttributeError):
        return None
