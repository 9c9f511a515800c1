"""Asks Code Assist as the Gemini CLI does: an OAuth token, loadCodeAssist for the project, then the
envelope.

https://github.com/google-gemini/gemini-cli/tree/main/packages/core/src/code_assist. What the set-up
says of an account is never taken: it goes past the recording on a client of its own.
"""

from __future__ import annotations

import json
import os
import time
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from harness.pipeline.replay import ReplayError

from ..policy import RecordingRefused
from ..transport import Source, transports
from .genai import MISSING, MissingCredentials, MissingLibrary, library

if TYPE_CHECKING:
    from ..run import GenerateAsk, Settings

TOKENS: Final = ("CODE_ASSIST_ACCESS_TOKEN", "GOOGLE_CLOUD_ACCESS_TOKEN")
CLIENT: Final = ("CODE_ASSIST_CLIENT_ID", "CODE_ASSIST_CLIENT_SECRET")
"""The variables that say which OAuth client a login belongs to, where it does not say so itself."""
ADDRESS: Final = "CODE_ASSIST_TOKEN_URI"
# where tokens are made, no token
TOKEN_ENDPOINT: Final = "https://oauth2.googleapis.com/token"  # noqa: S105
FILE: Final = Path(".gemini", "oauth_creds.json")
"""Where the Gemini CLI keeps its login, below the home folder."""
ENDPOINT: Final = "https://cloudcode-pa.googleapis.com"
VERSION: Final = "v1internal"
_METADATA: Final = {
    "ideType": "IDE_UNSPECIFIED",
    "platform": "PLATFORM_UNSPECIFIED",
    "pluginType": "GEMINI",
}


class CodeAssistDriver:
    def __init__(self, source: Source, settings: Settings) -> None:
        made = transports(library())
        self._http = made.http
        base = settings.base_url or os.environ.get("CODE_ASSIST_ENDPOINT") or ENDPOINT
        version = settings.api_version or os.environ.get("CODE_ASSIST_API_VERSION") or VERSION
        self._base = f"{base.rstrip('/')}/{version}"
        self._headers = {
            "authorization": f"Bearer {settings.credentials or find_token()}",
            "user-agent": "GeminiCLI",
        }
        self._model = settings.model
        self._timeout_s = settings.silence_s
        self._client = self._http.Client(
            transport=made.sync(source), headers=self._headers
        )  # waits as long as the source lets it
        self._project = self._load(settings.project or os.environ.get("GOOGLE_CLOUD_PROJECT"))

    def _load(self, project: str | None) -> str | None:
        """The project that requests are made for."""
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
                    f"loadCodeAssist got no answer at all from {place}: {error}; mend that, then"
                    " record again"
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
                " `gemini` once, it asks"
            )
        found = answer.get("cloudaicompanionProject")
        return found if isinstance(found, str) else project

    def ask(self, ask: GenerateAsk) -> None:
        envelope: dict[str, Any] = dict(ask.body)
        if "request" not in envelope:
            envelope = {
                "user_prompt_id": "prompt_1",
                "request": {**envelope, "session_id": "session_1"},
            }
        model = self._model or envelope.get("model") or ask.model or os.environ.get("HARNESS_MODEL")
        if not model:
            raise ReplayError(
                "no model is named; name one with --model, in the prompt, or in HARNESS_MODEL"
            )
        sent = {"model": model, **({"project": self._project} if self._project else {})}
        envelope = {
            **sent,
            **{key: value for key, value in envelope.items() if key not in ("model", "project")},
        }
        method = "streamGenerateContent?alt=sse" if ask.streamed else "generateContent"
        try:
            with self._client.stream("POST", f"{self._base}:{method}", json=envelope) as response:
                for _ in response.iter_raw():
                    pass
        except self._http.TransportError:
            pass  # what the network did is on the tape

    def close(self) -> None:
        self._client.close()


def find_token() -> str:
    """An OAuth access token: from the environment, else of the Gemini CLI's login, renewed if it
    has expired and that can be done here.

    Raises `MissingCredentials`, which says what to do.
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
    """A new access token for the refresh token of a login, kept nowhere: the file is the Gemini
    CLI's.

    A refresh token is good only with the id and the secret of the client that it was made for. The
    id is in the login's own id_token; the secret is the CLI's, which is not ours to hand on, so
    that somebody has to say it.
    """
    told = {
        "refresh_token": saved.get("refresh_token"),
        "client_id": (
            os.environ.get(CLIENT[0]) or saved.get("client_id") or _client_id(saved.get("id_token"))
        ),
        "client_secret": os.environ.get(CLIENT[1]) or saved.get("client_secret"),
    }
    way_out = f"run `gemini` once, which renews it, or set {TOKENS[0]}"
    missing = [name for name, value in told.items() if not value]
    if missing:
        able = (
            ""
            if "refresh_token" in missing
            else f", or {' and '.join(CLIENT)}, with which it is renewed here"
        )
        raise MissingCredentials(f"the login in {file} has expired; {way_out}{able}")
    try:
        from google.auth.exceptions import GoogleAuthError
        from google.auth.transport.requests import Request
        from google.oauth2.credentials import Credentials
    except ImportError:
        raise MissingLibrary(MISSING) from None
    address = os.environ.get(ADDRESS) or saved.get("token_uri") or TOKEN_ENDPOINT
    # google-auth has no types
    login = Credentials(None, token_uri=address, **told)  # type: ignore[no-untyped-call]
    try:
        login.refresh(Request())  # type: ignore[no-untyped-call]  # google-auth has no types
    except GoogleAuthError as error:
        said = error.args[0] if error.args else type(error).__name__
        raise MissingCredentials(
            f"the login in {file} has expired and could not be renewed ({said}); {way_out}"
        ) from None
    return str(login.token)


def _client_id(id_token: object) -> str | None:
    """Whom a login was made for: ``azp`` of its id_token
    (https://openid.net/specs/openid-connect-core-1_0.html#IDToken).
    """
    try:
        claims = json.loads(urlsafe_b64decode(f"{str(id_token).split('.')[1]}==="))
        return str(claims.get("azp") or claims["aud"])
    except (IndexError, ValueError, KeyError, AttributeError):
        return None
