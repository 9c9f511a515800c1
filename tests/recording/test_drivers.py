"""The drivers: the request to each provider, and its credentials."""

from __future__ import annotations

import base64
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import google.genai  # noqa: F401  # first: pytester imports a test's modules twice
import pytest

from harness import load
from harness.cassettes import CassetteError
from harness.pipeline.replay import ReplayError
from harness.recording.drivers.code_assist import find_token
from harness.recording.run import record_requests
from harness.recording.settings import GenerateAsk, Limits, MissingCredentials, Settings
from tests.recording.providers import BODY, CA_EVENT, HELLO, KEY, PROGRAM, TIER, Seen, ask, event
from tests.support.raw_server import Connection, Script, plain, raw_server, streaming


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
            "gemini-api",
            [GenerateAsk(BODY, "other", streamed)],
            path,
            settings=settings,
            allow_incomplete=True,
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


@pytest.mark.slow
def test_vertex_ai_with_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from google.oauth2.credentials import Credentials

    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "from-the-environment")
    seen, path = Seen(), tmp_path / "a.yaml"
    credentials = Credentials(token="ya29.a-token-of-thirty-characters")  # type: ignore[no-untyped-call]  # google-auth has no types
    with raw_server(seen(HELLO)) as url:
        settings = Settings(location="europe-west4", base_url=url, credentials=credentials)
        record_requests("vertex-ai", [GenerateAsk(BODY, "m")], path, settings=settings)
    ((first, headers, _),) = seen.requests
    place = "projects/from-the-environment/locations/europe-west4/publishers/google"
    assert first == f"POST /v1beta1/{place}/models/m:streamGenerateContent?alt=sse HTTP/1.1"
    assert headers["authorization"] == "Bearer ya29.a-token-of-thirty-characters"
    assert load(path).exchanges[0].provider == "vertex-ai"
    assert "ya29" not in path.read_text()


@pytest.mark.slow
def test_vertex_ai_with_a_service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Application Default Credentials: the file in GOOGLE_APPLICATION_CREDENTIALS
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
def test_options_or_the_environment_give_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: str, by: str
) -> None:
    from google.oauth2.credentials import Credentials

    credentials = Credentials(token="a-token-of-this-test")  # type: ignore[no-untyped-call]  # google-auth has no types
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


def test_a_given_key_is_refused_at_any_place_of_the_answer(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with (
        raw_server(streaming(event(f"you said {KEY}"))) as url,
        pytest.raises(CassetteError, match="the key that was given as argument 1"),
    ):
        ask(url, path)
    assert list(tmp_path.rglob("*.yaml*")) == []


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
    (setup, *sent) = seen.requests
    assert setup[0] == "POST /v1internal:loadCodeAssist HTTP/1.1"
    assert setup[2]["metadata"]["pluginType"] == "GEMINI"
    assert [first for first, _, _ in sent] == [
        "POST /v1internal:streamGenerateContent?alt=sse HTTP/1.1"
    ] * 2
    assert {headers["authorization"] for _, headers, _ in seen.requests} == {f"Bearer {token}"}
    inner = {"contents": [], "session_id": "session_1"}
    assert sent[0][2] == {
        "model": "m",
        "project": "my-project",
        "user_prompt_id": "prompt_1",
        "request": inner,
    }
    assert sent[1][2] == {
        "model": "n",
        "project": "my-project",
        "user_prompt_id": "p",
        "request": {"contents": []},
    }
    cassette = load(path)
    assert [exchange.provider for exchange in cassette.exchanges] == ["code-assist"] * 2
    assert b"free-tier" not in path.read_bytes()


@pytest.mark.parametrize(
    ("answer", "message"),
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
def test_an_account_without_code_assist_is_an_error(
    tmp_path: Path, answer: Script, message: str
) -> None:
    with raw_server(answer) as url, pytest.raises(CassetteError, match=message):
        record_requests(
            "code-assist",
            [GenerateAsk({}, "m")],
            tmp_path / "a.yaml",
            settings=Settings(base_url=url, credentials="token"),
        )
    assert not (tmp_path / "a.yaml").exists()


@pytest.mark.parametrize(
    ("saved", "message"),
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
def test_an_unusable_login_is_an_error(tmp_path: Path, saved: str | None, message: str) -> None:
    file = tmp_path / "home" / ".gemini" / "oauth_creds.json"
    file.parent.mkdir(parents=True)
    if saved is not None:
        file.write_text(saved)
    with pytest.raises(MissingCredentials, match=message):
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
    variables = dict(
        zip(("client_id", "client_secret"), client, strict=True),
        grant_type="refresh_token",
        refresh_token="1//0-refresh",
    )
    assert [{name: value for name, (value,) in form.items()} for form in forms] == [variables]
    assert [headers["authorization"] for _, headers, _ in seen.requests] == [f"Bearer {FRESH}"] * 2
    assert file.read_text() == text
    assert FRESH not in path.read_text()


def test_a_login_that_can_not_be_renewed_names_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "home" / ".gemini" / "oauth_creds.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(EXPIRED | {"id_token": "no token"}))
    way_out = "has expired; run `gemini` once, which renews it, or set CODE_ASSIST_ACCESS_TOKEN"
    with pytest.raises(
        MissingCredentials,
        match=f"{way_out}, or CODE_ASSIST_CLIENT_ID and CODE_ASSIST_CLIENT_SECRET, which are needed to renew it",
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
    ("provider", "message"),
    [
        ("gemini-api", "no key for the Gemini API: set GEMINI_API_KEY"),
        ("vertex-ai", "no credentials for Vertex AI: set GOOGLE_CLOUD_PROJECT"),
        ("code-assist", "no login for Code Assist"),
        ("gemini-cli", "no-such-program does not start"),
        ("pigeon", "unknown provider 'pigeon'; known ones are gemini-api"),
    ],
)
def test_missing_credentials_are_an_error(tmp_path: Path, provider: str, message: str) -> None:
    with pytest.raises(ReplayError, match=message):
        record_requests(
            provider,
            [GenerateAsk({"prompt": "x"}, "m")],
            tmp_path / "a.yaml",
            settings=Settings(program=("no-such-program",)),
        )


@pytest.mark.parametrize("account", [None, "{}", '{"type": "service_account"}'])
def test_invalid_google_cloud_credentials_are_an_error(
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


def test_a_missing_model_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ReplayError, match="no model is named; name one with --model"):
        record_requests(
            "gemini-api", [GenerateAsk(BODY)], tmp_path / "a.yaml", settings=Settings(api_key=KEY)
        )


@pytest.mark.slow
def test_a_program_is_recorded_with_times_stderr_and_exit_code(tmp_path: Path) -> None:
    script = tmp_path / "cli.py"
    script.write_text(PROGRAM)
    settings = Settings(model="m", program=(sys.executable, str(script)))
    asks, path = [GenerateAsk({"prompt": "Say hello"})], tmp_path / "a.yaml"
    cassette = record_requests(
        "gemini-cli", asks, path, settings=settings, allow_status=[401]
    )  # the meaning of 41: no login
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
    ("code", "printed", "status", "reason"),
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
def test_a_failed_program_is_refused_like_a_failed_answer(
    tmp_path: Path, code: int, printed: str, status: int, reason: str
) -> None:
    """The exit codes of the Gemini CLI: its own codes, or the status of the API modulo 256."""
    script, path = tmp_path / "cli.py", tmp_path / "a.yaml"
    script.write_text(f"import sys\nprint({printed!r})\nsys.exit({code})\n")
    settings, limits = Settings(program=(sys.executable, str(script))), Limits(attempts=2)
    asks, slept = [GenerateAsk({"prompt": "Say hello"})], list[float]()
    with pytest.raises(
        CassetteError, match=rf"got {reason} \({status}: .*allow the status {status}"
    ):
        record_requests(
            "gemini-cli", asks, path, settings=settings, limits=limits, sleep=slept.append
        )
    assert len(slept) == ("attempts" in reason)
    assert not path.exists()
    assert record_requests(
        "gemini-cli", asks, path, settings=settings, allow_status=[status]
    ).exchanges[0].headers["x-exit-code"] == [str(code)]


def test_a_program_gets_the_base_url_and_the_key_of_the_settings(tmp_path: Path) -> None:
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
        "gemini-cli",
        [GenerateAsk({"prompt": "Say hello"})],
        tmp_path / "a.yaml",
        settings=settings,
        allow_incomplete=True,
    )
    assert cassette.exchanges[0].body == b"http://127.0.0.1:9 19\n"
    assert cassette.origin.kind == "loopback"


@pytest.mark.slow
def test_a_program_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    settings = Settings(program=("sh", "-c", "echo '{}'; sleep 600 & sleep 600"), timeout_s=0.5)
    with pytest.raises(
        CassetteError,
        match=r"request 1 was given up, .*: it ran for 0\.5 s; allow more time with --timeout",
    ):
        record_requests(
            "gemini-cli", [GenerateAsk({"prompt": "x"})], tmp_path / "a.yaml", settings=settings
        )
    assert not (tmp_path / "a.yaml").exists()
