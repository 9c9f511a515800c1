"""The recording engine on loopback: what each provider is sent, waits and limits, conversations,
programs, and the command.
"""

from __future__ import annotations

import base64
import io
import json
import re
import sys
import threading
import time
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

# before any test: pytester has what was imported in a test imported twice, and httpx2 with it
import google.genai  # noqa: F401
import pytest

from harness import load
from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request, dumps
from harness.cli.main import main
from harness.pipeline.replay import ReplayError
from harness.recording.drivers.code_assist import find_token
from harness.recording.run import record_requests
from harness.recording.settings import GenerateAsk, Limits, MissingCredentials, Settings
from harness.stream.events import End
from tests.support.raw_server import Connection, Script, plain, raw_server, streaming

BODY: dict[str, Any] = {
    "contents": [
        {
            "role": "user",
            "parts": [{"text": "hi", "thoughtSignature": "QUJD", "brandNew": {"snake_key": 1}}],
        }
    ],
    "generationConfig": {"temperature": 0, "futureSetting": True},
    "unheardOf": [1],
}
USAGE = '"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 5, "thoughtsTokenCount": 7, "totalTokenCount": 15}'


def event(text: str) -> bytes:
    candidate = f'{{"content": {{"parts": [{{"text": "{text}"}}],"role": "model"}},"finishReason": "STOP","index": 0}}'
    return f'data: {{"candidates": [{candidate}],{USAGE},"modelVersion": "m"}}\r\n\r\n'.encode()


HELLO = streaming(event("hello"))
ENVIRONMENT = """
    GEMINI_API_KEY GOOGLE_API_KEY GOOGLE_CLOUD_PROJECT GOOGLE_CLOUD_LOCATION GOOGLE_GENAI_HTTP_CLIENT HARNESS_MODEL CODE_ASSIST_ACCESS_TOKEN
    CODE_ASSIST_ENDPOINT CODE_ASSIST_CLIENT_ID CODE_ASSIST_CLIENT_SECRET CODE_ASSIST_TOKEN_URI GOOGLE_CLOUD_ACCESS_TOKEN
    GOOGLE_GEMINI_BASE_URL GOOGLE_VERTEX_BASE_URL GOOGLE_GENAI_API_VERSION CODE_ASSIST_API_VERSION GOOGLE_APPLICATION_CREDENTIALS
"""
KEY = "a-key-for-the-recording"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ENVIRONMENT.split():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


class Seen:
    """Scripts that note what they were asked."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []

    def __call__(self, script: Script) -> Script:
        def noting(connection: Connection) -> None:
            head, _, body = connection.request.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            headers = {
                name.lower(): value for name, _, value in (line.partition(": ") for line in lines)
            }
            self.requests.append((first, headers, json.loads(body)))
            script(connection)

        return noting


@pytest.mark.parametrize("streamed", [True, False])
def test_the_gemini_api_is_sent_the_body_as_it_is(tmp_path: Path, streamed: bool) -> None:
    seen, path = Seen(), tmp_path / "cassettes" / "a.yaml"
    answer = (
        HELLO
        if streamed
        else plain("200 OK", b'{"candidates": []}', "Content-Type: application/json")
    )
    with raw_server(seen(answer)) as url:
        settings = Settings(api_key=KEY, base_url=url, api_version="v1beta", model="m")
        cassette = record_requests(
            "gemini-api", [GenerateAsk(BODY, "other", streamed)], path, settings=settings
        )
    ((first, headers, body),) = seen.requests
    method = "streamGenerateContent?alt=sse" if streamed else "generateContent"
    assert first == f"POST /v1beta/models/m:{method} HTTP/1.1"
    assert body == BODY
    assert headers["x-goog-api-key"] == KEY
    assert cassette == load(path)
    assert cassette.exchanges[0].request is not None
    assert json.loads(cassette.exchanges[0].request.body) == BODY
    assert (cassette.origin.kind, cassette.origin.model) == ("loopback", "m")
    assert (cassette.origin.client or "").startswith("google-genai-sdk/")
    assert KEY not in path.read_text()


def test_vertex_ai_in_express_mode(tmp_path: Path) -> None:
    seen = Seen()
    with raw_server(seen(HELLO)) as url:
        record_requests(
            "vertex-ai",
            [GenerateAsk(BODY, "m")],
            tmp_path / "a.yaml",
            settings=Settings(api_key=KEY, base_url=url),
        )
    ((first, headers, body),) = seen.requests
    assert (
        first == "POST /v1beta1/publishers/google/models/m:streamGenerateContent?alt=sse HTTP/1.1"
    )
    assert (body, headers["x-goog-api-key"]) == (BODY, KEY)


def test_vertex_ai_with_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from google.oauth2.credentials import Credentials

    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "from-the-environment")
    seen, path = Seen(), tmp_path / "a.yaml"
    # google-auth has no types
    credentials = Credentials(token="ya29.a-token-of-thirty-characters")  # type: ignore[no-untyped-call]
    with raw_server(seen(HELLO)) as url:
        settings = Settings(location="europe-west4", base_url=url, credentials=credentials)
        record_requests("vertex-ai", [GenerateAsk(BODY, "m")], path, settings=settings)
    ((first, headers, _),) = seen.requests
    place = "projects/from-the-environment/locations/europe-west4/publishers/google"
    assert first == f"POST /v1beta1/{place}/models/m:streamGenerateContent?alt=sse HTTP/1.1"
    assert headers["authorization"] == "Bearer ya29.a-token-of-thirty-characters"
    assert load(path).exchanges[0].provider == "vertex-ai"
    assert "ya29" not in path.read_text()


def test_vertex_ai_with_a_service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Application Default Credentials: the file that GOOGLE_APPLICATION_CREDENTIALS names
    (https://google.aip.dev/auth/4110).
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    pem = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    token = "ya29.a-token-for-the-service-account"
    granted = json.dumps(
        {"access_token": token, "expires_in": 3599, "token_type": "Bearer"}
    ).encode()
    seen, path, file = Seen(), tmp_path / "a.yaml", tmp_path / "account.json"
    with (
        raw_server(plain("200 OK", granted, "Content-Type: application/json")) as tokens,
        raw_server(seen(HELLO)) as url,
    ):
        account = {
            "type": "service_account",
            "client_email": "a@p.iam.gserviceaccount.com",
            "token_uri": f"{tokens}/token",
        }
        file.write_text(json.dumps({**account, "private_key": pem.decode(), "project_id": "p"}))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
        record_requests(
            "vertex-ai",
            [GenerateAsk(BODY, "m")],
            path,
            settings=Settings(project="p", location="us-central1", base_url=url),
        )
    ((first, headers, _),) = seen.requests
    assert first.startswith(
        "POST /v1beta1/projects/p/locations/us-central1/publishers/google/models/m:"
    )
    assert headers["authorization"] == f"Bearer {token}"
    assert not any(secret in path.read_text() for secret in ("ya29", "PRIVATE KEY", tokens))


OPTIONS = {
    "gemini-api": Settings(model="m", api_version="v1alpha", api_key=KEY),
    "vertex-ai": Settings(model="m", api_version="v1alpha", project="p", location="europe-west4"),
    "code-assist": Settings(model="m", api_version="v1alpha", project="p", credentials="t"),
}
VARIABLES = {
    "gemini-api": {
        "HARNESS_MODEL": "m",
        "GOOGLE_GENAI_API_VERSION": "v1alpha",
        "GOOGLE_GEMINI_BASE_URL": "URL",
        "GOOGLE_API_KEY": KEY,
    },
    "vertex-ai": {
        "HARNESS_MODEL": "m",
        "GOOGLE_GENAI_API_VERSION": "v1alpha",
        "GOOGLE_VERTEX_BASE_URL": "URL",
        "GOOGLE_CLOUD_PROJECT": "p",
        "GOOGLE_CLOUD_LOCATION": "europe-west4",
    },
    "code-assist": {
        "HARNESS_MODEL": "m",
        "CODE_ASSIST_API_VERSION": "v1alpha",
        "CODE_ASSIST_ENDPOINT": "URL",
        "GOOGLE_CLOUD_PROJECT": "p",
        "CODE_ASSIST_ACCESS_TOKEN": "t",
    },
}
PLACES = {
    "gemini-api": "/v1alpha/models/m:streamGenerateContent?alt=sse",
    "vertex-ai": "/v1alpha/projects/p/locations/europe-west4/publishers/google/models/m:streamGenerateContent?alt=sse",
    "code-assist": "/v1alpha:streamGenerateContent?alt=sse",
}


@pytest.mark.parametrize("by", ["option", "environment"])
@pytest.mark.parametrize("provider", PLACES)
def test_where_to_ask_is_said_by_options_or_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: str, by: str
) -> None:
    from google.oauth2.credentials import Credentials

    # google-auth has no types
    credentials = Credentials(token="a-token-of-this-test")  # type: ignore[no-untyped-call]
    monkeypatch.setattr("google.auth.default", lambda **_: (credentials, None))
    seen = Seen()
    tier = (
        [seen(plain("200 OK", b'{"currentTier": {"id": "free-tier"}}'))]
        if provider == "code-assist"
        else []
    )
    with raw_server(*tier, seen(HELLO)) as url:
        settings = Settings()
        if by == "environment":
            for name, value in VARIABLES[provider].items():
                monkeypatch.setenv(name, value.replace("URL", url))
        else:
            settings = replace(OPTIONS[provider], base_url=url)
        record_requests(
            provider, [GenerateAsk({"contents": []})], tmp_path / "a.yaml", settings=settings
        )
    assert seen.requests[-1][0] == f"POST {PLACES[provider]} HTTP/1.1"
    if provider == "code-assist":
        assert (seen.requests[-1][2]["model"], seen.requests[-1][2]["project"]) == ("m", "p")


def test_a_key_that_was_given_is_refused_wherever_it_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with (
        raw_server(streaming(event(f"you said {KEY}"))) as url,
        pytest.raises(CassetteError, match="the key that was given as argument 1"),
    ):
        ask(url, path)
    assert list(tmp_path.rglob("*.yaml*")) == []


TIER = b'{"currentTier": {"id": "free-tier"}, "cloudaicompanionProject": "my-project"}'
CA_EVENT = b'data: {"response": {"candidates": [{"content": {"role": "model","parts": [{"text": "hi"}]}}]},"traceId": "t"}\r\n\r\n'


def test_code_assist_is_asked_for_the_project_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "ya29.the-token-of-the-environment-of-this"
    monkeypatch.setenv("CODE_ASSIST_ACCESS_TOKEN", token)
    seen, path = Seen(), tmp_path / "a.yaml"
    with raw_server(seen(plain("200 OK", TIER)), seen(streaming(CA_EVENT))) as url:
        monkeypatch.setenv("CODE_ASSIST_ENDPOINT", url)
        asks = [
            GenerateAsk({"contents": []}, "m"),
            GenerateAsk(
                {"model": "n", "project": "old", "user_prompt_id": "p", "request": {"contents": []}}
            ),
        ]
        record_requests("code-assist", asks, path)
    (setup, *told) = seen.requests
    assert setup[0] == "POST /v1internal:loadCodeAssist HTTP/1.1"
    assert setup[2]["metadata"]["pluginType"] == "GEMINI"
    assert [first for first, _, _ in told] == [
        "POST /v1internal:streamGenerateContent?alt=sse HTTP/1.1"
    ] * 2
    assert {headers["authorization"] for _, headers, _ in seen.requests} == {f"Bearer {token}"}
    inner = {"contents": [], "session_id": "session_1"}
    assert told[0][2] == {
        "model": "m",
        "project": "my-project",
        "user_prompt_id": "prompt_1",
        "request": inner,
    }
    assert told[1][2] == {
        "model": "n",
        "project": "my-project",
        "user_prompt_id": "p",
        "request": {"contents": []},
    }
    cassette = load(path)
    assert [exchange.provider for exchange in cassette.exchanges] == ["code-assist"] * 2
    assert b"free-tier" not in path.read_bytes()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (plain("401 Unauthorized", b"{}"), "loadCodeAssist answered 401; log in again"),
        (
            lambda connection: connection.reset(),
            r"loadCodeAssist got no answer at all from 127\.0\.0\.1:\d+: .+; correct the cause",
        ),
        (
            plain("200 OK", b'{"ineligibleTiers": [{"reasonCode": "RESTRICTED_AGE"}]}'),
            r"has not joined Code Assist \(RESTRICTED_AGE\)",
        ),
    ],
)
def test_an_account_that_can_not_ask(tmp_path: Path, answer: Script, said: str) -> None:
    with raw_server(answer) as url, pytest.raises(CassetteError, match=said):
        record_requests(
            "code-assist",
            [GenerateAsk({}, "m")],
            tmp_path / "a.yaml",
            settings=Settings(base_url=url, credentials="token"),
        )
    assert not (tmp_path / "a.yaml").exists()


@pytest.mark.parametrize(
    ("saved", "said"),
    [
        (
            None,
            "oauth_creds.json does not exist; log in with `gemini`, or set CODE_ASSIST_ACCESS_TOKEN",
        ),
        ("[]", "has no access_token"),
        ("{", "has no access_token"),
        (
            '{"access_token": "t", "expiry_date": 1000}',
            "has expired; run `gemini` once, which renews it",
        ),
    ],
)
def test_a_login_that_is_none(tmp_path: Path, saved: str | None, said: str) -> None:
    file = tmp_path / "home" / ".gemini" / "oauth_creds.json"
    file.parent.mkdir(parents=True)
    if saved is not None:
        file.write_text(saved)
    with pytest.raises(MissingCredentials, match=said):
        find_token()
    file.write_text('{"access_token": "good", "expiry_date": 99999999999999}')
    assert find_token() == "good"


ID_TOKEN = (
    "e30."
    + base64.urlsafe_b64encode(b'{"azp": "the-client-of-the-login"}').decode().rstrip("=")
    + ".c2ln"
)
EXPIRED: dict[str, Any] = {
    "access_token": "ya29.old",
    "refresh_token": "1//0-refresh",
    "expiry_date": 1000,
}
FRESH = "ya29.a-fresh-token-of-this-test-alone"


@pytest.mark.parametrize(
    ("saved", "environment", "client"),
    [
        ({"client_id": "a", "client_secret": "b"}, {}, ("a", "b")),
        (
            {"id_token": ID_TOKEN},
            {"CODE_ASSIST_CLIENT_SECRET": "b"},
            ("the-client-of-the-login", "b"),
        ),
        (
            {"client_id": "x", "client_secret": "y"},
            {"CODE_ASSIST_CLIENT_ID": "a", "CODE_ASSIST_CLIENT_SECRET": "b"},
            ("a", "b"),
        ),
    ],
)
def test_a_login_that_has_expired_is_renewed_and_stays_as_it_is(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    saved: dict[str, Any],
    environment: dict[str, str],
    client: tuple[str, str],
) -> None:
    file, path = tmp_path / "home" / ".gemini" / "oauth_creds.json", tmp_path / "a.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text := json.dumps(EXPIRED | saved))
    forms: list[dict[str, list[str]]] = []
    seen = Seen()

    def renew(connection: Connection) -> None:
        forms.append(parse_qs(connection.request.partition(b"\r\n\r\n")[2].decode()))
        plain(
            "200 OK",
            json.dumps({"access_token": FRESH, "expires_in": 3599}).encode(),
            "Content-Type: application/json",
        )(connection)

    with (
        raw_server(renew) as tokens,
        raw_server(seen(plain("200 OK", TIER)), seen(streaming(CA_EVENT))) as url,
    ):
        for name, value in {
            **environment,
            "CODE_ASSIST_TOKEN_URI": f"{tokens}/token",
            "CODE_ASSIST_ENDPOINT": url,
        }.items():
            monkeypatch.setenv(name, value)
        record_requests("code-assist", [GenerateAsk({"contents": []}, "m")], path)
    told = dict(
        zip(("client_id", "client_secret"), client, strict=True),
        grant_type="refresh_token",
        refresh_token="1//0-refresh",
    )
    assert [{name: value for name, (value,) in form.items()} for form in forms] == [told]
    assert [headers["authorization"] for _, headers, _ in seen.requests] == [f"Bearer {FRESH}"] * 2
    assert file.read_text() == text
    assert FRESH not in path.read_text()


def test_a_login_that_can_not_be_renewed_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "home" / ".gemini" / "oauth_creds.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(EXPIRED | {"id_token": "no token"}))
    way_out = "has expired; run `gemini` once, which renews it, or set CODE_ASSIST_ACCESS_TOKEN"
    with pytest.raises(
        MissingCredentials,
        match=f"{way_out}, or CODE_ASSIST_CLIENT_ID and CODE_ASSIST_CLIENT_SECRET, with which",
    ):
        find_token()
    file.write_text(json.dumps(EXPIRED | {"client_id": "a", "client_secret": "b"}))
    answer = plain(
        "400 Bad Request",
        b'{"error": "invalid_grant", "error_description": "Token has been revoked."}',
    )
    with raw_server(answer) as tokens:
        monkeypatch.setenv("CODE_ASSIST_TOKEN_URI", tokens)
        with pytest.raises(
            MissingCredentials,
            match=r"could not be renewed \(invalid_grant: Token has been revoked\.\); run `gemini` once",
        ):
            find_token()


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        ("gemini-api", "no key for the Gemini API: set GEMINI_API_KEY"),
        ("vertex-ai", "no credentials for Vertex AI: set GOOGLE_CLOUD_PROJECT"),
        ("code-assist", "no login for Code Assist"),
        ("gemini-cli", "no-such-program does not start"),
        ("pigeon", "unknown provider 'pigeon'; known are gemini-api"),
    ],
)
def test_nobody_to_ask_as(tmp_path: Path, provider: str, said: str) -> None:
    with pytest.raises(ReplayError, match=said):
        record_requests(
            provider,
            [GenerateAsk({"prompt": "x"}, "m")],
            tmp_path / "a.yaml",
            settings=Settings(program=("no-such-program",)),
        )


@pytest.mark.parametrize("account", [None, "{}", '{"type": "service_account"}'])
def test_credentials_of_google_cloud_that_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, account: str | None
) -> None:
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    if account is not None:
        (tmp_path / "account.json").write_text(account)
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
    settings = Settings(project="p", location="l", base_url="http://127.0.0.1:1")
    with pytest.raises(
        MissingCredentials,
        match=r"no credentials for Vertex AI: .*run `gcloud auth application-default login`",
    ):
        record_requests(
            "vertex-ai", [GenerateAsk(BODY, "m")], tmp_path / "a.yaml", settings=settings
        )
    assert not list(tmp_path.rglob("*.yaml*"))


def test_no_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ReplayError, match="no model is named; name one with --model"):
        record_requests(
            "gemini-api", [GenerateAsk(BODY)], tmp_path / "a.yaml", settings=Settings(api_key=KEY)
        )


def limited(delay: str, quota: str = "PerMinute", reason: str = "RATE_LIMIT_EXCEEDED") -> Script:
    details = [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
        {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaId": quota}],
        },
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason},
    ]
    body = json.dumps(
        {
            "error": {
                "code": 429,
                "message": "slow down",
                "status": "RESOURCE_EXHAUSTED",
                "details": details,
            }
        }
    )
    return plain("429 Too Many Requests", body.encode(), "Content-Type: application/json")


OVERLOADED = streaming(
    event("half"), b'{"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}'
)


class Watching:
    def __init__(self) -> None:
        self.told: list[Any] = []

    def asked(self, requests: int, output_tokens: int) -> None:
        self.told.append((requests, output_tokens))

    def waiting(self, seconds: float, why: str) -> None:
        self.told.append((seconds, why))


def ask(url: str, path: Path, asks: Any = None, **options: Any) -> Cassette:
    return record_requests(
        "gemini-api",
        asks or [GenerateAsk(BODY, "m")],
        path,
        settings=Settings(api_key=KEY, base_url=url),
        **options,
    )


def test_a_limit_is_waited_out_as_long_as_the_provider_says(tmp_path: Path) -> None:
    slept: list[float] = []
    watching = Watching()
    with raw_server(limited("34.4s"), plain("503 Busy", b""), OVERLOADED, HELLO) as url:
        cassette = ask(url, tmp_path / "a.yaml", sleep=slept.append, progress=watching)
    assert slept == [34.4, 2.0, 4.0]
    assert [exchange.body for exchange in cassette.exchanges] == [event("hello")]
    assert watching.told == [
        (1, 0),
        (34.4, "429 a quota answer"),
        (2, 0),
        (2.0, "503 an overload answer"),
        (3, 12),
        (4.0, "503 an overload answer"),
        (4, 24),
    ]


@pytest.mark.parametrize(
    ("script", "options", "said"),
    [
        (
            limited("1s"),
            {"limits": Limits(attempts=2)},
            r"request 2 was given a quota answer after 2 attempts \(429: slow down\)",
        ),
        (
            limited("1s", quota="GenerateRequestsPerDayPerProject"),
            {},
            "request 1 was given a quota answer",
        ),
        (limited("1s", reason="QUOTA_EXHAUSTED"), {}, "request 1 was given a quota answer"),
        (limited("301s"), {}, "request 1 was given a quota answer"),
        (plain("403 Forbidden", b"{}"), {}, "request 1 was given an authorization answer"),
        (
            limited("1s"),
            {"limits": Limits(requests=2)},
            "this run has used 2 requests, and 2 is the limit",
        ),
        (
            HELLO,
            {"asks": [GenerateAsk(BODY, "m")] * 3, "limits": Limits(output_tokens=20)},
            "has used 24 output tokens, and 20 is the limit",
        ),
        (lambda connection: connection.reset(), {}, "request 1 got no answer at all"),
    ],
)
def test_what_ends_a_recording(tmp_path: Path, script: Script, options: Any, said: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("what is there stays")
    with raw_server(script) as url, pytest.raises(CassetteError, match=said):
        ask(url, path, sleep=lambda _: None, **options)
    assert path.read_text() == "what is there stays"


def test_an_answer_that_the_case_asks_for_is_kept(tmp_path: Path) -> None:
    with raw_server(limited("1s")) as url:
        assert ask(url, tmp_path / "a.yaml", allow_status=[429]).exchanges[0].status == 429


@pytest.mark.parametrize("end", ["cut", "reset"])
def test_a_broken_answer_is_refused_unless_it_is_meant(tmp_path: Path, end: End) -> None:
    path = tmp_path / "a.yaml"
    with raw_server(HELLO) as url:
        whole = ask(url, path)
    good, other = path.read_bytes(), "cut" if end == "reset" else "reset"
    broke = rf"the answer to request 1 was {end}.* before its end, after 1 read of \d+ bytes; .* allow this end: --allow-end {end}$"
    with raw_server(streaming(event("half"), end=end)) as url:
        for options in ({}, {"before": whole.exchanges}, {"before": None}, {"allow_end": [other]}):
            with pytest.raises(CassetteError, match=broke):
                ask(url, path, **options)
            assert path.read_bytes() == good
        assert ask(url, path, allow_end=[end]).exchanges[0].end == end
        assert (
            ask(url, path, before=load(path).exchanges).exchanges[0].end == end
        )  # it had that end before


@pytest.mark.parametrize("end", ["cut", "reset"])
def test_the_command_keeps_a_good_cassette_where_an_answer_breaks_off(
    project: Path, capsys: pytest.CaptureFixture[str], end: str
) -> None:
    path = project / "cassettes" / "gemini-api" / "two-turns.yaml"
    with raw_server(HELLO) as url:
        assert main(["record", "two-turns", "--base-url", url]) == 0
    good = path.read_bytes()
    with raw_server(HELLO, streaming(event("half"), end=end)) as url:
        for words in (
            ["--all"],
            ["two-turns"],
            ["gemini-api/two-turns"],
            ["gemini-api/two-turns", "--prompt", "Hi", "--model", "m"],
        ):
            assert main(["record", *words, "--base-url", url]) == 1
            said = capsys.readouterr()
            assert f"--allow-end {end}" in said.err
            assert path.read_bytes() == good
        assert main(["record", "two-turns", "--allow-end", end, "--base-url", url]) == 0
        told = f"recorded gemini-api/two-turns: 2 exchanges of gemini-api, 24 output tokens, exchange 1 {end}, exchange 2 {end}\n"
        assert capsys.readouterr().out == told
        assert main(["record", "--all", "--base-url", url]) == 0
        assert capsys.readouterr().out == told
    with raw_server(HELLO) as url:
        assert main(["record", "--all", "--base-url", url]) == 0
    assert [one.end for one in load(path).exchanges] == ["complete", "complete"]


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    "odd",
    [
        b"data:{}\r\n\r\n",
        b": ping\r\n\r\n",
        b"<html>",
        b'{"error": {}}',
        b"data: 7\r\n\r\n",
        b"\xff",
    ],
)
def test_an_answer_that_the_sdk_can_not_read_is_recorded_whole(
    tmp_path: Path, odd: bytes, streamed: bool
) -> None:
    pieces = [event("a"), odd, *[event(str(number)) for number in range(9)]]
    with raw_server(streaming(*pieces)) as url:
        (exchange,) = ask(url, tmp_path / "a.yaml", [GenerateAsk(BODY, "m", streamed)]).exchanges
    assert exchange.body == b"".join(pieces)
    assert exchange.end == "complete"


def test_what_is_asked_next_may_depend_on_the_answer(tmp_path: Path) -> None:
    def talk() -> Generator[GenerateAsk, Exchange, None]:
        answer = yield GenerateAsk(BODY, "m")
        yield GenerateAsk(
            {"contents": [{"role": "user", "parts": [{"text": answer.body.decode()[7:20]}]}]}, "m"
        )

    seen = Seen()
    with raw_server(seen(HELLO)) as url:
        assert len(ask(url, tmp_path / "a.yaml", talk()).exchanges) == 2
    assert seen.requests[1][2]["contents"][0]["parts"][0]["text"] == event("hello").decode()[7:20]


def test_ctrl_c_leaves_whole_cassettes_only(tmp_path: Path) -> None:
    def stop(_: float) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "a.yaml"
    with raw_server(HELLO, limited("5s")) as url, pytest.raises(KeyboardInterrupt):
        ask(url, path, [GenerateAsk(BODY, "m")] * 2, sleep=stop)
    assert not path.exists()
    assert load(tmp_path / "a.yaml.part").exchanges[0].body == event("hello")


PROGRAM = """
import sys, time
assert sys.argv[1:3] == ["-p", "Say hello"], sys.argv
print('{"type":"init","timestamp":"2026-11-21T10:00:00.000Z","session_id":"s","model":"%s"}' % sys.argv[-1], flush=True)
sys.stderr.write("Loaded cached credentials.\\nsecond line\\n")
sys.stdin.read()
time.sleep(0.05)
print('{"type":"result","timestamp":"2026-11-21T10:00:00.200Z","status":"success"}', flush=True)
if len(sys.argv) > 7:
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(41)
"""


def test_a_program_is_recorded_with_times_stderr_and_exit_code(tmp_path: Path) -> None:
    script = tmp_path / "cli.py"
    script.write_text(PROGRAM)
    settings = Settings(model="m", program=(sys.executable, str(script)))
    asks, path = [GenerateAsk({"prompt": "Say hello"})], tmp_path / "a.yaml"
    cassette = record_requests(
        "gemini-cli", asks, path, settings=settings, allow_status=[401]
    )  # what 41 says: nobody is logged in
    (exchange,) = cassette.exchanges
    assert exchange.request is None
    assert (exchange.provider, exchange.generates, exchange.end) == ("gemini-cli", True, "complete")
    first, *_, last = exchange.reads
    assert first[1].startswith(b'{"type":"init"')
    assert last[0] is not None
    assert first[0] is not None
    assert last[0] - first[0] > 40
    assert exchange.headers == {
        "x-exit-code": ["41"],
        "x-stderr": ["Loaded cached credentials.", "second line"],
    }
    assert (cassette.origin.kind, cassette.origin.client, cassette.origin.model) == (
        "recorded",
        Path(sys.executable).name,
        "m",
    )
    killed = Settings(program=(sys.executable, str(script)), arguments=("-m", "m", "die"))
    with pytest.raises(CassetteError, match="request 1 was cut off before its end"):
        record_requests("gemini-cli", asks, path, settings=killed)
    cassette = record_requests("gemini-cli", asks, path, settings=killed, allow_end=["cut"])
    assert (cassette.exchanges[0].end, cassette.exchanges[0].headers["x-exit-code"]) == (
        "cut",
        ["-9"],
    )


API_ERROR = '{"type":"result","timestamp":"t","status":"error","error":{"type":"unknown","message":"[API Error: {\\"error\\":{%s}}]"}}'


@pytest.mark.parametrize(
    ("code", "printed", "status", "what"),
    [
        (41, "", 401, "an authentication answer"),
        (173, "", 429, "a quota answer after 2 attempts"),
        (247, "", 503, "an overload answer after 2 attempts"),
        (
            1,
            API_ERROR % r"\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\"",
            429,
            "a quota answer after 2 attempts",
        ),
        (
            144,
            API_ERROR % r"\"code\":400,\"details\":[{\"reason\":\"API_KEY_INVALID\"}]",
            400,
            "an answer about the key",
        ),
        (53, "", 53, "an error answer"),
        (1, "", 1, "an error answer"),
    ],
)
def test_a_program_that_failed_is_refused_as_an_answer_would_be(
    tmp_path: Path, code: int, printed: str, status: int, what: str
) -> None:
    """The exit codes of the Gemini CLI: its own, or the status of the API modulo 256."""
    script, path = tmp_path / "cli.py", tmp_path / "a.yaml"
    script.write_text(f"import sys\nprint({printed!r})\nsys.exit({code})\n")
    settings, limits = Settings(program=(sys.executable, str(script))), Limits(attempts=2)
    asks, slept = [GenerateAsk({"prompt": "Say hello"})], list[float]()
    with pytest.raises(
        CassetteError, match=rf"was given {what} \({status}: .*allow the status {status}$"
    ):
        record_requests(
            "gemini-cli", asks, path, settings=settings, limits=limits, sleep=slept.append
        )
    assert len(slept) == ("attempts" in what)
    assert not path.exists()
    assert record_requests(
        "gemini-cli", asks, path, settings=settings, allow_status=[status]
    ).exchanges[0].headers["x-exit-code"] == [str(code)]


def test_a_program_asks_at_the_address_and_with_the_key_that_were_given(tmp_path: Path) -> None:
    script = tmp_path / "cli.py"
    script.write_text(
        "import os\nprint(os.environ['GOOGLE_GEMINI_BASE_URL'], len(os.environ['GEMINI_API_KEY']))\n"
    )
    settings = Settings(
        program=(sys.executable, str(script)),
        base_url="http://127.0.0.1:9",
        api_key="a-key-of-19-letters",
    )
    cassette = record_requests(
        "gemini-cli", [GenerateAsk({"prompt": "Say hello"})], tmp_path / "a.yaml", settings=settings
    )
    assert cassette.exchanges[0].body == b"http://127.0.0.1:9 19\n"
    assert cassette.origin.kind == "loopback"


SPEC = """\
harness: 1
cases:
- case: two-turns
  requirement: What the user says follows the answer.
  features: [requests.calls]
  source: https://ai.google.dev/api/generate-content
  cassette: gemini-api/two-turns
  turns:
  - prompt:
      unified-llm: {model: m, messages: [{role: user, content: [{kind: text, text: Hi}]}]}
  - say: And in German?
  expect:
    unified-llm: recorded
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "talk.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    return tmp_path


def texts(seen: Seen) -> list[list[str]]:
    return [
        [part["text"] for content in body["contents"] for part in content["parts"]]
        for _, _, body in seen.requests
    ]


@pytest.mark.parametrize(
    "words",
    ["two-turns", "gemini-api/two-turns", "--missing", "--all", "--missing --provider gemini-api"],
)
def test_the_command_records_what_a_case_says(
    project: Path, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    seen = Seen()
    with raw_server(seen(HELLO), seen(streaming(event("hallo")))) as url:
        assert main(["record", *words.split(), "--base-url", url]) == 0
    assert (
        capsys.readouterr().out
        == "recorded gemini-api/two-turns: 2 exchanges of gemini-api, 24 output tokens\n"
    )
    assert texts(seen) == [["Hi"], ["Hi", "hello", "And in German?"]]
    assert len(load(project / "cassettes/gemini-api/two-turns.yaml").exchanges) == 2
    assert (
        main(["record", "--missing", "--base-url", "http://127.0.0.1:1"]) == 0
    )  # nothing is missing any more
    assert main(["check"]) == 0


def test_the_command_records_prompts_and_asks_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = Seen()
    with raw_server(seen(HELLO)) as url:
        assert (
            main(
                [
                    "record",
                    "gemini-api/hello",
                    "--prompt",
                    "Hi",
                    "--prompt",
                    "Again",
                    "--model",
                    "m",
                    "--base-url",
                    url,
                ]
            )
            == 0
        )
        assert main(["record", "gemini-api/hello", "--base-url", url]) == 0
    assert texts(seen) == [["Hi"], ["Hi", "hello", "Again"]] * 2
    assert "recorded gemini-api/hello: 2 exchanges" in capsys.readouterr().out


NOT_FOUND = plain(
    "404 Not Found",
    b'{"error": {"code": 404, "message": "models/typo is not found", "status": "NOT_FOUND"}}',
)


REQUESTS = """\
harness: 1
cases:
- case: greeting
  requirement: A greeting is sent as it is said.
  features: [requests.calls]
  source: https://ai.google.dev/api/generate-content
  PROVIDER
  prompt:
    art: [{role: nobody}]
    unified-llm: {model: m, messages: [{role: user, content: [{kind: text, text: Hi}]}]}
  expect:
    art: {error: {$re: .*nobody.*}}
    unified-llm: {request: {contents: [{role: user, parts: [{text: Hi}]}]}}
"""


@pytest.mark.parametrize("provider", ["gemini-api", "vertex-ai", "code-assist"])
@pytest.mark.parametrize("said", ["by the case", "on the command line"])
def test_the_command_records_what_a_request_case_asks(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
    said: str,
) -> None:
    by_case = said == "by the case"
    (project / "specs" / "ask.yaml").write_text(
        REQUESTS.replace("PROVIDER", f"provider: {provider}" if by_case else "level: must")
    )
    monkeypatch.setenv("CODE_ASSIST_ACCESS_TOKEN", "a-token-of-this-test")
    seen, name = Seen(), f"{provider}/greeting"
    setup = [seen(plain("200 OK", TIER))] if provider == "code-assist" else []
    with raw_server(*setup, seen(streaming(CA_EVENT) if setup else HELLO)) as url:
        words = [
            "greeting",
            "--base-url",
            url,
            *([] if by_case else ["--provider", provider]),
            "--model",
            "m",
        ]
        assert main(["record", *words]) == 0
    assert f"recorded {name}: 1 exchange of {provider}" in capsys.readouterr().out
    sent = seen.requests[-1][2]
    assert (sent["request"] if setup else sent)["contents"] == [
        {"role": "user", "parts": [{"text": "Hi"}]}
    ]
    (exchange,) = load(project / "cassettes" / f"{name}.yaml").exchanges
    assert exchange.provider == provider
    with raw_server(
        *([seen(plain("200 OK", TIER))] if setup else []),
        seen(streaming(CA_EVENT) if setup else HELLO),
    ) as url:
        assert (
            main(["record", "--all", "--provider", provider, "--model", "m", "--base-url", url])
            == 0
        )  # again as the case says
    assert f"recorded {name}: 1 exchange of {provider}" in capsys.readouterr().out
    assert sent in [body for _, _, body in seen.requests[len(setup) + 1 :]]


def test_a_request_case_of_one_text_is_what_a_program_is_asked(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = project / "specs" / "ask.yaml"
    spec.write_text(REQUESTS.replace("  PROVIDER\n", "").replace("Hi", "Say hello"))
    (project / "cli.py").write_text(PROGRAM)
    words = [
        "record",
        "greeting",
        "--provider",
        "gemini-cli",
        "--allow-status",
        "401",
        "--program",
        f"{sys.executable} cli.py",
    ]
    assert main(words) == 0
    assert (
        load(project / "cassettes" / "gemini-cli" / "greeting.yaml").exchanges[0].provider
        == "gemini-cli"
    )
    spec.write_text(
        spec.read_text().replace("messages: [", "messages: [{role: system, content: Be brief}, ")
    )
    assert main(words) == 1
    assert (
        "a program is given one text, on its command line; this prompt has more"
        in capsys.readouterr().err
    )


def test_several_request_cases_of_one_name_are_told_apart(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("a", "Hi"), ("b", "Ho")):
        spec = REQUESTS.replace("  PROVIDER\n", "").replace("Hi", text)
        (project / "specs" / f"{name}.yaml").write_text(spec)
    assert main(["record", "greeting"]) == 2
    assert (
        "greeting is the name of 2 request cases; say which: a.yaml::greeting, b.yaml::greeting"
        in capsys.readouterr().err
    )
    seen = Seen()
    with raw_server(seen(HELLO)) as url:
        assert main(["record", "b.yaml::greeting", "--model", "m", "--base-url", url]) == 0
    assert texts(seen) == [["Ho"]]
    assert (project / "cassettes" / "gemini-api" / "greeting.yaml").exists()


STREAM_CASE = """\
harness: 1
cases:
- case: told
  requirement: What is recorded is told.
  features: [text.streaming]
  source: https://ai.google.dev/api/generate-content
  cassette: gemini-api/unsaid
  expect:
    events: []
"""


def test_what_nobody_says_how_to_record_is_listed_and_fails_only_by_name(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "specs" / "told.yaml").write_text(STREAM_CASE)
    cli, bare = (
        project / "cassettes" / "gemini-cli" / "run.yaml",
        project / "cassettes" / "gemini-api" / "bare.yaml",
    )
    for path in (cli, bare):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            dumps(
                Cassette(
                    (Exchange(None, 200, {"x-exit-code": ["0"]}, ((1.0, b"{}\n"),), "complete"),),
                    Origin("loopback"),
                )
            )
        )
    unsaid = "gemini-api/unsaid: not recordable: no conversation case says what to ask; write one, or say it to `harness record` with --prompt"
    program = "gemini-cli/run: not recordable: what a program prints does not say how it was set up; record it by its name"
    empty = "gemini-api/bare: not recordable: exchange 1 of gemini-api/bare holds no request that can be sent again"
    with raw_server(HELLO) as url:
        assert main(["record", "--missing", "--base-url", url]) == 0
        said = capsys.readouterr()
        assert "recorded gemini-api/two-turns" in said.out
        assert unsaid in said.err
        assert "gemini-cli" not in said.err
        assert main(["record", "--all", "--base-url", url]) == 0
        said = capsys.readouterr()
        assert "recorded gemini-api/two-turns" in said.out
        assert [line in said.err for line in (unsaid, program, empty)] == [True] * 3
        for name in ("gemini-api/unsaid", "gemini-api/bare", "gemini-cli/run"):
            assert main(["record", name, "--base-url", url]) == 1
            assert f"{name}: not recordable" in capsys.readouterr().err


def test_a_run_of_a_program_is_recorded_anew_by_name(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = b'{"type":"init","timestamp":"t","model":"m"}\n{"type":"message","timestamp":"t","role":"user","content":"Say hello"}\n'
    path = project / "cassettes" / "gemini-cli" / "run.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(
        dumps(
            Cassette(
                (Exchange(None, 200, {"x-exit-code": ["41"]}, ((1.0, lines),), "complete"),),
                Origin("recorded"),
            )
        )
    )
    (project / "cli.py").write_text(PROGRAM)
    assert (
        main(["record", "gemini-cli/run", "--program", f"{sys.executable} cli.py"]) == 0
    )  # it had that status before
    assert (
        "recorded gemini-cli/run: 1 exchange of gemini-cli, 0 output tokens, exchange 1 status 401"
        in capsys.readouterr().out
    )
    assert load(path).exchanges[0].body.endswith(b'"status":"success"}\n')


@pytest.mark.parametrize(
    ("words", "said", "asked"),
    [
        (["--requests", "3"], "this run has used 3 requests, and 3 is the limit", 3),
        (["--output-tokens", "30"], "this run has used 36 output tokens, and 30 is the limit", 3),
        (["--requests", "2"], "this run has used 2 requests, and 2 is the limit", 2),
    ],
)
def test_the_limits_are_those_of_the_whole_run(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str, asked: int
) -> None:
    """Three conversations of two turns, one answer costs 12 tokens."""
    for name in ("b", "c"):
        (project / "specs" / f"{name}.yaml").write_text(SPEC.replace("two-turns", name))
    seen = Seen()
    with raw_server(seen(HELLO)) as url:
        assert main(["record", "--missing", "--base-url", url, *words]) == 1
    told = capsys.readouterr()
    assert told.out == "recorded gemini-api/b: 2 exchanges of gemini-api, 24 output tokens\n"
    assert told.err.count(said) == 2  # where it was reached, and for the one after
    assert len(seen.requests) == asked
    assert [path.name for path in (project / "cassettes").rglob("*.yaml")] == ["b.yaml"]


def test_a_request_without_an_answer_counts_as_well(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "specs" / "b.yaml").write_text(SPEC.replace("two-turns", "b"))
    assert main(["record", "--missing", "--base-url", "http://127.0.0.1:1", "--requests", "1"]) == 1
    assert (
        "gemini-api/two-turns: this run has used 1 request, and 1 is the limit"
        in capsys.readouterr().err
    )
    assert not list((project / "cassettes").rglob("*.yaml*"))


def test_an_error_takes_no_cassettes_place_unless_it_is_meant(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project / "cassettes" / "gemini-api" / "hello.yaml"
    with raw_server(HELLO) as url:
        assert (
            main(
                ["record", "gemini-api/hello", "--prompt", "Hi", "--model", "m", "--base-url", url]
            )
            == 0
        )
    good = path.read_bytes()
    typo = ["record", "gemini-api/hello", "--prompt", "Hi", "--model", "typo"]
    with raw_server(NOT_FOUND) as url:
        for words in (typo, ["record", "gemini-api/hello"]):
            assert main([*words, "--base-url", url]) == 1
            assert (
                "request 1 was given an error answer (404: models/typo is not found)"
                in capsys.readouterr().err
            )
            assert path.read_bytes() == good
        assert main([*typo, "--allow-status", "404", "--base-url", url]) == 0
        said = "recorded gemini-api/hello: 1 exchange of gemini-api, 0 output tokens, exchange 1 status 404\n"
        assert capsys.readouterr().out == said
        assert (
            main(["record", "gemini-api/hello", "--base-url", url]) == 0
        )  # anew: it had that status before
        assert capsys.readouterr().out == said
        assert (
            main([*typo, "--base-url", url]) == 1
        )  # what another request was answered says nothing of this one


def test_a_status_is_expected_only_where_it_was(tmp_path: Path) -> None:
    asks, path = [GenerateAsk(BODY, "m")] * 2, tmp_path / "a.yaml"
    with raw_server(HELLO, NOT_FOUND) as url:
        before = ask(url, path, asks, allow_status=[404]).exchanges
    with raw_server(HELLO, NOT_FOUND) as url:
        assert [one.status for one in ask(url, path, asks, before=before).exchanges] == [200, 404]
    with (
        raw_server(NOT_FOUND, HELLO) as url,
        pytest.raises(CassetteError, match=r"request 1 .* \(404: models/typo is not found\)"),
    ):
        ask(url, tmp_path / "b.yaml", asks, before=before)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            "origin: written",
            "hand.yaml was written by hand, and only what a provider answered is recorded over; ",
        ),
        (
            "origin: imported\n  source: x",
            "hand.yaml was imported, and only what a provider answered is recorded over; ",
        ),
        ("origin: unheard-of", "hand.yaml:4: "),
    ],
)
def test_what_no_provider_answered_is_not_recorded_over_unless_that_is_said(
    project: Path, capsys: pytest.CaptureFixture[str], made: str, said: str
) -> None:
    request = Request(
        "POST",
        "https://generativelanguage.googleapis.com/v1/models/m:generateContent",
        {},
        b'{"contents": []}',
    )
    path = project / "cassettes" / "gemini-api" / "hand.yaml"
    path.parent.mkdir(parents=True)
    text = dumps(Cassette((Exchange(request, 200, {}, (), "complete"),), Origin("written")))
    path.write_text(text.replace("origin: written", f"{made}  # of mine"))
    good, prompt = path.read_bytes(), ["--prompt", "Hi", "--model", "m"]
    seen = Seen()
    with raw_server(seen(HELLO)) as url:
        for words in ([], prompt):
            assert main(["record", "gemini-api/hand", *words, "--base-url", url]) == 1
            told = capsys.readouterr().err
            assert said in told
            assert told.endswith("name another cassette, or record over it with --rewrite\n")
        assert path.read_bytes() == good
        assert seen.requests == []
        assert main(["record", "gemini-api/hand", *prompt, "--rewrite", "--base-url", url]) == 0
        assert load(path).origin.kind == "loopback"
        assert main(["record", "gemini-api/hand", *prompt, "--base-url", url]) == 0


def test_cassettes_written_by_hand_stay_where_all_is_recorded(project: Path) -> None:
    request = Request(
        "POST",
        "https://generativelanguage.googleapis.com/v1/models/m:generateContent",
        {},
        b'{"contents": []}',
    )
    path = project / "cassettes" / "gemini-api" / "hand.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(
        dumps(Cassette((Exchange(request, 200, {}, (), "complete"),), Origin("written")))
    )
    seen = Seen()
    with raw_server(seen(HELLO)) as url:
        assert main(["record", "--all", "--provider", "vertex-ai", "--base-url", url]) == 0
        assert seen.requests == []
        assert main(["record", "--all", "--base-url", url]) == 0
        assert load(path).origin.kind == "written"
        assert (
            main(["record", "gemini-api/hand", "--rewrite", "--base-url", url]) == 0
        )  # what it holds is asked, as without
        assert load(path).origin.kind == "loopback"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 2, "say what to record: names of cases or cassettes, --missing, or --all"),
        (["a", "--all"], 2, "say what to record"),
        (
            ["nothing"],
            2,
            "nothing is no case and no cassette; `harness record nothing --prompt …` says what to ask for a new one",
        ),
        (["a", "b", "--prompt", "x"], 2, "--prompt is recorded as one cassette"),
        (["foo/bar", "--prompt", "x"], 2, "foo of foo/bar is no provider; known are gemini-api, "),
        (["foo/bar", "--prompt", "x"], 2, "or say --provider"),
        (["foo/bar", "--prompt", "x", "--provider", "gemini-api"], 1, "foo/bar: no model is named"),
        (["../out", "--prompt", "x", "--model", "m"], 1, "leads out of"),
        (["gemini-api/x", "--prompt", "x"], 1, "gemini-api/x: no model is named"),
        (
            ["--missing", "--base-url", "http://127.0.0.1:1"],
            1,
            "request 1 got no answer at all from 127.0.0.1:1: [Errno 111]",
        ),
    ],
)
def test_the_command_says_what_is_wrong(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], status: int, said: str
) -> None:
    assert main(["record", *words]) == status
    assert said in capsys.readouterr().err
    assert not (project / "cassettes").exists() or not list((project / "cassettes").rglob("*.yaml"))


NO_SERVER = [
    "",
    "foo",
    "foo:80",
    "127.0.0.1:8080",
    "http://",
    "ftp://x.example",
    "http://a b",
    "http://x:99999",
    "http://[::1",
]


@pytest.mark.parametrize("url", NO_SERVER)
@pytest.mark.parametrize("command", ["record", "drift"])
def test_a_base_url_of_no_server_is_told_before_anything_is_asked(
    project: Path, capsys: pytest.CaptureFixture[str], command: str, url: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([command, "two-turns", "--base-url", url])
    said = f"argument --base-url: {url!r} is not a base URL; a base URL begins with http:// or https:// and names a host, such as http://127.0.0.1:8080"
    assert capsys.readouterr().err == f"harness {command}: {said}; see harness {command} --help\n"


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("gemini-api", "GOOGLE_GEMINI_BASE_URL"),
        ("vertex-ai", "GOOGLE_VERTEX_BASE_URL"),
        ("code-assist", "CODE_ASSIST_ENDPOINT"),
    ],
)
def test_an_address_of_no_server_in_the_environment_or_in_the_settings_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: str, name: str
) -> None:
    def record(base_url: str | None) -> None:
        record_requests(
            provider,
            [GenerateAsk(BODY, "m")],
            tmp_path / "a.yaml",
            settings=Settings(api_key="k", base_url=base_url, credentials="t"),
        )

    monkeypatch.setenv(name, "foo")
    with pytest.raises(
        ReplayError, match=f"{name}: 'foo' is not a base URL; a base URL begins with http://"
    ):
        record(None)
    with pytest.raises(ReplayError, match="base_url: 'localhost:80' is not a base URL"):
        record("localhost:80")
    with (
        raw_server(lambda connection: connection.reset()) as url,
        pytest.raises(CassetteError, match="no answer"),
    ):
        record(url)  # goes before the environment


def test_the_command_says_what_an_earlier_run_left(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = project / "cassettes" / "gemini-api" / "two-turns.yaml.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x")
    assert main(["record", "--missing", "--base-url", "http://127.0.0.1:1"]) == 1
    assert (
        "two-turns.yaml.part is what an earlier recording left when it stopped"
        in capsys.readouterr().err
    )


def test_an_answer_that_is_silent_is_given_up_and_a_line_says_what_is_waited_for(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.cli.record.STILL_S", 0.05)
    path, gate, seen = (
        project / "cassettes" / "gemini-api" / "two-turns.yaml",
        threading.Semaphore(0),
        Seen(),
    )

    def silent(_: Connection) -> None:
        gate.acquire(timeout=30)

    with raw_server(HELLO) as url:
        assert main(["record", "two-turns", "--base-url", url]) == 0
    good, given_up = path.read_bytes(), "nothing came for 0.4 s; --timeout waits longer"
    ask_all = ["record", "--all", "--timeout", "0.4", "--base-url"]
    with raw_server(HELLO, seen(streaming(event("half"), gate=gate))) as url:
        assert main([*ask_all, url]) == 1
        said = capsys.readouterr().err
        assert (
            f"gemini-api/two-turns: the answer to request 2 was given up, after 1 read of {len(event('half'))} bytes: {given_up}"
            in said
        )
        assert "harness: gemini-api/two-turns: waiting for request 2, 0 s so far\n" in said
        assert path.read_bytes() == good
        assert main([*ask_all, url, "--allow-end", "aborted"]) == 0
        assert [one.end for one in load(path).exchanges] == ["aborted", "aborted"]
    assert "x-server-timeout" not in seen.requests[0][1]  # what is waited for here is no header
    with raw_server(silent) as url:
        assert main([*ask_all, url]) == 1
    gate.release(9)
    assert re.search(
        rf"request 1 got no answer at all from 127\.0\.0\.1:\d+: {given_up}",
        capsys.readouterr().err,
    )


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "86401", "soon"])
def test_a_timeout_that_is_none_is_told(
    project: Path, capsys: pytest.CaptureFixture[str], seconds: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["record", "two-turns", f"--timeout={seconds}"])
    assert (
        f"argument --timeout: {seconds} is no time to wait; it is a number of seconds, above 0"
        in capsys.readouterr().err
    )


def test_code_assist_is_given_up_as_well_when_it_is_silent(tmp_path: Path) -> None:
    gate = threading.Semaphore(0)
    settings = Settings(credentials="token", timeout_s=0.3)

    def silent(_: Connection) -> None:
        gate.acquire(timeout=30)

    with raw_server(silent) as url, pytest.raises(CassetteError, match="no answer at all"):
        record_requests(
            "code-assist",
            [GenerateAsk({}, "m")],
            tmp_path / "a.yaml",
            settings=replace(settings, base_url=url),
        )
    stalled = streaming(CA_EVENT, gate=gate)
    with (
        raw_server(plain("200 OK", TIER), stalled) as url,
        pytest.raises(CassetteError, match=r"given up, .*: nothing came for 0\.3 s"),
    ):
        record_requests(
            "code-assist",
            [GenerateAsk({}, "m")],
            tmp_path / "a.yaml",
            settings=replace(settings, base_url=url),
        )
    gate.release(9)
    assert not (tmp_path / "a.yaml").exists()


def test_a_program_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    settings = Settings(program=("sh", "-c", "echo '{}'; sleep 60 & sleep 60"), timeout_s=0.5)
    begun = time.monotonic()
    with pytest.raises(
        CassetteError,
        match=r"request 1 was given up, .*: it ran for 0\.5 s; --timeout waits longer",
    ):
        record_requests(
            "gemini-cli", [GenerateAsk({"prompt": "x"})], tmp_path / "a.yaml", settings=settings
        )
    assert time.monotonic() - begun < 20
    assert not (tmp_path / "a.yaml").exists()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_shows_requests_tokens_and_waits(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with raw_server(HELLO, limited("0.1s"), HELLO) as url:
        assert main(["record", "two-turns", "--base-url", url]) == 0
    drawn = terminal.getvalue()
    assert "gemini-api/two-turns: 3 requests" in drawn
    assert "12 tokens" in drawn
    assert "24 tokens" in drawn
    assert "waiting 0 s: 429 a quota answer" in drawn


def test_ctrl_c_says_what_is_recorded(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "specs" / "b.yaml").write_text(SPEC.replace("two-turns", "b"))

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("harness.cli.record.Bar.waiting", stop)
    with raw_server(HELLO, HELLO, HELLO, limited("5s")) as url:
        assert main(["record", "--missing", "--base-url", url]) == 130
    said = capsys.readouterr()
    assert said.out == "recorded gemini-api/b: 2 exchanges of gemini-api, 24 output tokens\n"
    assert "stopped; 1 of 2 cassettes are recorded, gemini-api/two-turns is as it was" in said.err
    assert [path.name for path in (project / "cassettes").rglob("*.yaml")] == ["b.yaml"]


def test_a_missing_library_is_said_with_the_command(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google", None)
    monkeypatch.setitem(sys.modules, "google.genai", None)
    assert main(["record", "--missing"]) == 1
    assert (
        "google-genai is not installed; pip install 'gemini-conformance[record]'"
        in capsys.readouterr().err
    )
