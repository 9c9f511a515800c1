"""The secrets of a machine and the rules of a project are read from their usual places."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cassettes import CassetteError, loads
from harness.cassettes.redaction.guard import Guard
from harness.cassettes.redaction.secrets import guard, known_secrets, read_rules
from tests.cassettes.redaction.samples import answered


def test_environment_variables_are_secret_by_their_names(tmp_path: Path) -> None:
    environ = {
        "GEMINI_API_KEY": "k-123456",
        "my_token_2": "t-123456",
        "CLIENT_SECRET": "s-123456",
        "DB_PASSWORD": "p-123456",
        "SOME_CREDENTIALS": "c-123456",
        "SHORT_KEY": "1234567",
        "EDITOR": "vim-or-emacs",
        "HOME": str(tmp_path),
    }
    secrets = known_secrets(["argument-1"], environ)
    named = {f"the value of {name}": value for name, value in list(environ.items())[:6]}
    assert secrets == {**named, "the key that was given as argument 1": "argument-1"}


def test_values_under_8_characters_are_not_secret() -> None:
    scanner = Guard(
        {
            "SHORT_KEY": "1234567",
            "LONG_KEY": "12345678",
            "LINES_KEY": "abc\nabcdefg\n",
            "DONE_KEY": "REDACTED",
        }
    )
    assert not scanner.scan(b"1234567 abc abcdefg REDACTED")
    assert scanner.scan(b"123456789")


KEY_LINES = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"]
ACCOUNT = {
    "type": "service_account",
    "project_id": "project-1",
    "private_key": "\n".join(
        ["-----BEGIN PRIVATE KEY-----", *KEY_LINES, "-----END PRIVATE KEY-----", ""]
    ),
    "client_email": "me@project-1.iam.gserviceaccount.com",
}
USER = {
    "type": "authorized_user",
    "client_id": "client-id-1",
    "client_secret": "client-secret-1",
    "refresh_token": "refresh-token-1",
}


@pytest.mark.parametrize(
    "name",
    [
        *("DB_PASSWD", "DBPASS", "GITHUB_PAT", "REGISTRY_AUTH", "SESSION_COOKIE", "SSH_PASSPHRASE"),
        *("SENTRY_DSN", "MYSQL_PWD", "AWS_CREDS"),
    ],
)
def test_the_end_of_a_variable_s_name_tells_that_it_is_secret(name: str) -> None:
    assert list(known_secrets((), {name: "swordfish-1"}).values()) == ["swordfish-1"]


@pytest.mark.parametrize(
    "name", ["PWD", "OLDPWD", "SSH_ASKPASS", "COMPASS", "BYPASS", "XAUTHORITY", "COMPAT", "PASSAGE"]
)
def test_other_names_of_variables_are_not_secret(name: str) -> None:
    assert known_secrets((), {name: "/usr/bin/somewhere"}) == {}


def test_the_password_of_a_url_in_a_variable_is_secret() -> None:
    urls = "postgres://me:sw%40rdfish-1@db/x, redis://:other-fish-2@cache"
    scanner = Guard(known_secrets((), {"DATABASE_URL": urls}))
    for text in ("sw%40rdfish-1", "sw@rdfish-1", "other-fish-2"):
        assert scanner.scan(text.encode()), text
    assert not scanner.scan(b"postgres://me@db/x")


@pytest.mark.parametrize("write", [str, lambda text: base64.b64encode(text.encode()).decode()])
def test_each_line_of_a_key_in_a_variable_is_secret(write: Callable[[str], str]) -> None:
    scanner = Guard(known_secrets((), {"GCP_SA_KEY": write(json.dumps(ACCOUNT))}))
    for text in KEY_LINES:
        assert scanner.scan(f"a {text} b".encode()), text


def test_credential_files_are_read_where_google_keeps_them(tmp_path: Path) -> None:
    named, known = (
        tmp_path / "account.json",
        tmp_path / ".config" / "gcloud" / "application_default_credentials.json",
    )
    own = tmp_path / ".gemini" / "oauth_creds.json"
    for path, content in (
        (named, ACCOUNT),
        (known, {"type": "impersonated", "source_credentials": USER}),
        (own, {"access_token": "access-token-1"}),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
    environ = {"GOOGLE_APPLICATION_CREDENTIALS": str(named), "HOME": str(tmp_path)}
    scanner = guard(environ=environ)
    for text in ("refresh-token-1", "client-secret-1", "access-token-1", *KEY_LINES):
        assert scanner.scan(text.encode()), text
    for text in ("client-id-1", "project-1", ACCOUNT["client_email"], "-----END PRIVATE KEY-----"):
        assert not scanner.scan(text.encode()), text
    assert "the private_key of account.json" in known_secrets((), environ)
    elsewhere = {"CLOUDSDK_CONFIG": str(known.parent)}
    assert sorted(known_secrets((), elsewhere).values()) == ["client-secret-1", "refresh-token-1"]


def test_unreadable_credentials_are_an_error(tmp_path: Path) -> None:
    broken = tmp_path / "account.json"
    environ = {"GOOGLE_APPLICATION_CREDENTIALS": str(broken)}
    assert known_secrets((), environ) == {
        "the value of GOOGLE_APPLICATION_CREDENTIALS": str(broken)
    }
    broken.write_bytes(b"{\xff")
    with pytest.raises(
        CassetteError, match=r"account\.json: can't be read, so its secrets are not known"
    ):
        known_secrets((), environ)


def test_rules_come_from_the_project(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert read_rules(inner) == []
    (tmp_path / "pyproject.toml").write_text(
        "[tool.harness]\nredact = ['customer_id', 're:acct-[0-9]+']\n", encoding="utf-8"
    )
    assert read_rules(inner) == ["customer_id", "re:acct-[0-9]+"]
    kept_url = guard(inner, environ={}).redactor.url("https://h/acct-7?customer_id=8")
    assert kept_url == "https://h/REDACTED?customer_id=REDACTED"


def test_a_guard_with_a_hook_drops_an_exchange(tmp_path: Path) -> None:
    own = guard(tmp_path, before_record=lambda exchange: None, environ={})
    assert b"private" not in own.encode(loads(answered(b"private"), "a.yaml"), "a.yaml")


def test_the_scan_knows_keys_from_arguments_and_rules(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[tool.harness]\nredact = ['customer_id']\n", encoding="utf-8"
    )
    scanner = Guard(known_secrets(["argument-1"], {}), guard(tmp_path, environ={}).redactor)
    assert [str(finding) for finding in scanner.scan(b"argument-1")] == [
        "line 1 shows the key that was given as argument 1"
    ]
    with pytest.raises(CassetteError, match="response body shows a value that must be redacted"):
        scanner.refuse(answered(gzip.compress(b'{"customer_id": "c-1"}')), "a.yaml")


@pytest.mark.parametrize(
    "text",
    ["[tool.harness]\nredact = 'x'\n", "[tool.harness]\nredact = [1]\n", "[tool\n", "tool = 1\n"],
)
def test_faulty_rules_are_an_error_with_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    with pytest.raises(CassetteError, match=r"pyproject\.toml: "):
        read_rules(tmp_path)
