"""A secret is found wherever it stands and however it is written; what is none is left alone."""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
import textwrap
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import process_time
from urllib.parse import quote, quote_plus

import pytest

from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request, dumps
from harness.cassettes.journal import Answered, Asked, Read, encode_fact, encode_head
from harness.cassettes.redaction.guard import Guard
from harness.cassettes.redaction.redactor import Redactor
from harness.cassettes.redaction.scanner import Scanner
from harness.cassettes.redaction.secrets import guard, known_secrets, read_rules
from harness.cassettes.vcrpy import export
from harness.cassettes.yaml import parse
from harness.cli.main import main
from harness.cli.scan import scan_file
from tests.support.need import need

SECRET = 'sëcr+t/va~l "ue?=1\\7'
NAME = "the value of MY_TOKEN"
SCANNER = Scanner({NAME: SECRET})
SHAPES = {
    "AIzaSyA-0123456789-0123456789_012345678": "a Google API key",
    "AQ.Ab8RN6Jx0123456789abcdefghij": "a Google API key of the new form",
    "ya29.a0AfH6SMBx-0123456789abcdef": "an OAuth access token",
    "1//0gABCDEFGHIJKLMNOPQRSTUVWXYZ-_0123456789-0123456": "an OAuth refresh token",
    "GOCSPX-abcdefghijklmnopqrst_-012345": "an OAuth client secret",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n": "a private key",
    "-----BEGIN RSA PRIVATE KEY-----\r\nMIIEvQIBADANBgkqhkiG9w0B\r\n": "a private key",
}

# How a secret is written


def every(text: str) -> str:
    """Every character as an escape of JSON's."""
    return "".join(f"\\u{unit:04X}" for unit in map(ord, text))


def in_base64(offset: int, encode: Callable[[bytes], bytes]) -> Callable[[str], str]:
    """In the base64 of something longer, after so many bytes more than a multiple of three."""
    return lambda text: encode(
        b"ab:" + b"(\xfe\xff"[:offset] + text.encode() + b"\xff\xfe)"
    ).decode()


WRITTEN: dict[str, Callable[[str], str]] = {
    "plain": str,
    "URL": lambda text: quote(text, safe=""),
    "URL, small letters": lambda text: (
        quote(text, safe="").replace("%2B", "%2b").replace("%2F", "%2f")
    ),
    "query": quote_plus,
    "URL, every byte": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "URL, twice": lambda text: quote(quote(text, safe=""), safe=""),
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON, not ASCII": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON, slashes": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "JSON, every character": every,
    "JSON in JSON": lambda text: json.dumps(json.dumps(text))[1:-1],
    "JSON in JSON in JSON": lambda text: json.dumps(json.dumps(json.dumps(text)))[1:-1],
    "YAML": lambda text: "".join(
        f"\\x{ord(char):02x}" if ord(char) < 256 else char for char in text
    ),
    **{f"base64 at {offset}": in_base64(offset, base64.b64encode) for offset in range(3)},
    **{
        f"URL-safe base64 at {offset}": in_base64(offset, base64.urlsafe_b64encode)
        for offset in range(3)
    },
    "base64 in JSON": lambda text: base64.b64encode(text.encode()).decode().replace("/", "\\/"),
    "base64 in a URL": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
    "base64 of JSON": lambda text: base64.b64encode(json.dumps({"a": text}).encode()).decode(),
    "base64 of a URL": lambda text: base64.b64encode(f"x={quote_plus(text)}&".encode()).decode(),
    "base64 in lines": lambda text: base64.encodebytes(b"\xff" * 70 + text.encode()).decode(),
}

# Where it stands

URL = "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"
PLAIN = Exchange(
    Request("POST", URL, {"accept": ["*/*"]}, b'{"contents": []}'),
    200,
    {"content-type": ["text/event-stream"]},
    ((1.0, b"{}"),),
)
ORIGIN = Origin("recorded", date="2026-11-21", model="m")


def kept(exchange: Exchange = PLAIN, origin: Origin = ORIGIN) -> str:
    return dumps(Cassette((PLAIN, exchange), origin))


def asked(**changes: object) -> str:
    assert PLAIN.request is not None
    # fields of a request, by name
    return kept(replace(PLAIN, request=replace(PLAIN.request, **changes)))  # type: ignore[arg-type]


def answered(*reads: bytes, **headers: str) -> str:
    told = {name.replace("_", "-"): [value] for name, value in headers.items()}
    return kept(
        replace(
            PLAIN,
            headers=told,
            reads=tuple((float(number), read) for number, read in enumerate(reads)),
        )
    )


def halves(text: str) -> tuple[bytes, bytes]:
    data = f'data: {{"text": "{text}"}}\n\n'.encode()
    return data[:-16], data[-16:]


PLACES: dict[str, tuple[str, Callable[[str], str]]] = {
    "method": ("exchange 2, method", lambda text: asked(method=f"GET {text}")),
    "URL query": ("exchange 2, URL", lambda text: asked(url=f"{URL}&x={text}")),
    "URL path": ("exchange 2, URL", lambda text: asked(url=f"https://h/a/{text}/b")),
    "request header": (
        "exchange 2, request header user-agent",
        lambda text: asked(headers={"user-agent": [f"me {text}"]}),
    ),
    "response header": (
        "exchange 2, response header server",
        lambda text: answered(b"{}", server=f"x {text}"),
    ),
    "request body": (
        "exchange 2, request body",
        lambda text: asked(body=f'{{"text": "{text}"}}'.encode()),
    ),
    "response body": (
        "exchange 2, response body",
        lambda text: answered(f'{{"text": "{text}"}}'.encode()),
    ),
    "two reads": ("exchange 2, response body, read 1", lambda text: answered(*halves(text))),
    "gzip": (
        "exchange 2, response body, unpacked",
        lambda text: answered(
            gzip.compress(f'{{"text": "{text}"}}'.encode(), mtime=0), content_encoding="gzip"
        ),
    ),
    "deflate": (
        "exchange 2, response body, unpacked",
        lambda text: answered(
            zlib.compress(f'{{"text": "{text}"}}'.encode())[:-2], content_encoding="deflate"
        ),
    ),
    "base64 body": (
        "exchange 2, response body",
        lambda text: answered(b"\xff\xfe" * 77 + text.encode() + b"\xff"),
    ),
    "origin note": ("line 7", lambda text: kept(origin=replace(ORIGIN, note=f"about {text}"))),
    "comment": (
        "line 7",
        lambda text: kept().replace(
            "interactions:", f"# {' '.join(text.split(chr(10)))}\ninteractions:"
        ),
    ),
    "escaped line": (
        "exchange 2, response body",
        lambda text: answered(f"\x07\\ {text}\n".encode()),
    ),
    "reason phrase": (
        "exchange 2, reason phrase",
        lambda text: kept(replace(PLAIN, reason_phrase=text)),
    ),
}


@pytest.mark.parametrize("writing", WRITTEN)
@pytest.mark.parametrize("place", PLACES)
def test_a_known_secret_is_found_in_every_place_and_writing(place: str, writing: str) -> None:
    where, put = PLACES[place]
    written = WRITTEN[writing](SECRET)
    with pytest.raises(CassetteError) as refused:
        SCANNER.refuse(put(written), "a.yaml")
    assert f"{where} shows {NAME}" in str(refused.value)
    assert SECRET not in str(refused.value)
    assert written not in str(refused.value)
    innocent = put(WRITTEN[writing](SECRET.replace("va~l", "vall")))
    assert SCANNER.refuse(innocent, "a.yaml") == innocent


@pytest.mark.parametrize("secret", SHAPES)
@pytest.mark.parametrize("place", PLACES)
def test_what_looks_like_a_credential_is_found_in_every_place(place: str, secret: str) -> None:
    where, put = PLACES[place]
    text = put(secret.replace("\r\n", "\\r\\n").replace("\n", "\\n"))
    with pytest.raises(CassetteError, match=f"{where} shows {SHAPES[secret]}"):
        Scanner().refuse(text, "a.yaml")
    Scanner().refuse(
        put(f"{secret[:4]} {secret[4:]}".replace("\r\n", "\\r\\n").replace("\n", "\\n")), "a.yaml"
    )


@pytest.mark.parametrize("secret", SHAPES)
@pytest.mark.parametrize("writing", WRITTEN)
def test_what_looks_like_a_credential_is_found_in_every_writing(writing: str, secret: str) -> None:
    found = {one.what for one in Scanner().scan(f'x: "{WRITTEN[writing](secret)}"\n'.encode())}
    assert SHAPES[secret] in found
    assert not Scanner().scan(f'x: "{WRITTEN[writing](secret[:3] + " " + secret[3:])}"\n'.encode())


@pytest.mark.parametrize(("length", "read"), [(4, 1), (1, 1), (0, 2)])
def test_the_read_in_which_a_secret_begins_is_told(length: int, read: int) -> None:
    body = f"data: {SECRET}\n".encode()
    with pytest.raises(CassetteError, match=f"response body, read {read} shows"):
        SCANNER.refuse(answered(body[: 6 + length], body[6 + length :]), "a.yaml")


def test_a_secret_is_found_in_the_name_of_a_file_and_not_told() -> None:
    name = f"cassettes/{quote(SECRET, safe='')}.yaml"
    with pytest.raises(CassetteError, match=f"^the file: the file's name shows {NAME}"):
        SCANNER.refuse(kept(), name)
    SCANNER.refuse(kept(), "cassettes/a.yaml")


def test_a_header_that_is_called_by_a_secret_is_not_told() -> None:
    found = Scanner({"S": "secret-header"}).scan_cassette(
        Cassette((replace(PLAIN, headers={"x-secret-header": ["1"]}),), ORIGIN)
    )
    assert [str(one) for one in found] == ["exchange 1, response header shows S"]


def test_a_secret_is_found_across_the_lines_of_other_writers() -> None:
    assert SCANNER.scan(
        b'x: "a\\\n  '
        + SECRET[:9].encode()
        + b"\\\n    "
        + SECRET[9:].replace("\\", "\\\\").replace('"', '\\"').encode()
        + b'"'
    )
    assert SCANNER.scan(f"x: |\n  {SECRET[:9]}\n  {SECRET[9:]}\n".encode())
    assert SCANNER.scan(f"#   {SECRET[:9]}\r\n#   {SECRET[9:]}\n".encode())
    assert Scanner({"S": "secret-never"}).scan(b'"secret-\\\n  never"')
    encoded = base64.b64encode(b"\xff" * 100 + SECRET.encode()).decode()
    for width in range(5, 40, 3):
        assert SCANNER.scan(
            textwrap.indent("\n".join(textwrap.wrap(encoded, width)), "    ").encode()
        )


def test_a_secret_is_found_in_a_text_that_was_streamed_in_pieces() -> None:
    key = next(iter(SHAPES))
    frames = "".join(
        f'data: {{"candidates": [{{"content": {{"parts": [{{"text": "{piece}"}}]}}}}]}}\r\n\r\n'
        for piece in textwrap.wrap(key, 7)
    )
    assert [str(one) for one in Scanner().scan(frames.encode())] == [
        "line 1 shows a Google API key"
    ]
    reads = tuple(
        (None, read) for read in (b"data: {}\n\n", *frames.encode().splitlines(keepends=True))
    )
    found = Scanner().scan_cassette(Cassette((replace(PLAIN, reads=reads),), ORIGIN))
    assert [str(one) for one in found] == [
        "exchange 1, response body, read 2 shows a Google API key"
    ]
    assert SCANNER.scan(
        "".join(
            f'{{"text": {json.dumps(piece)}}}\n'
            for piece in textwrap.wrap(SECRET, 5, drop_whitespace=False)
        ).encode()
    )


def test_what_stock_vcrpy_is_given_is_scanned_as_well() -> None:
    packed = replace(
        PLAIN,
        headers={"content-encoding": ["gzip"]},
        reads=((None, gzip.compress(SECRET.encode())),),
    )
    with pytest.raises(CassetteError, match="exchange 1, response body, unpacked shows"):
        guard(environ={"MY_TOKEN": SECRET}).export(Cassette((packed,), ORIGIN), "a.yaml")
    long = replace(PLAIN, reads=((None, ("x " * 36 + SECRET + "\x07").encode()),))
    assert SECRET not in export(Cassette((long,), ORIGIN))
    assert SCANNER.scan(export(Cassette((long,), ORIGIN)).encode())


def test_a_guard_redacts_what_it_writes_and_looks_where_it_could_not() -> None:
    redacting = Guard(Redactor(["re:sec.nd"]))
    asking = replace(PLAIN, request=Request("GET", f"{URL}&key=abc&x=second", {"cookie": ["abc"]}))
    for text in (
        redacting.dumps(Cassette((asking,), ORIGIN), "a"),
        redacting.export(Cassette((asking,), ORIGIN), "a"),
    ):
        assert "key=REDACTED&x=REDACTED" in text
        assert "cookie" not in text
    packed = replace(PLAIN, reads=((None, gzip.compress(b"second")),))
    with pytest.raises(CassetteError, match="response body shows a value that must be redacted"):
        redacting.dumps(Cassette((packed,), ORIGIN), "a")


def test_of_every_secret_the_line_is_told() -> None:
    scanner = Scanner({"one": "secret-one", "two": "secret-two", "three": "secret-three"})
    found = scanner.scan(b"a\nsecret-two\n\nc%73%65cret-one\nsecret-two\n\\u0073ecret\\x2dthree")
    assert sorted(map(str, found)) == ["line 2 shows two", "line 4 shows one", "line 6 shows three"]
    for before in range(4):
        assert list(map(str, scanner.scan(b" " * before + 100_000 * b"x\n" + b"secret-one"))) == [
            "line 100001 shows one"
        ]


def test_an_escape_ends_a_word() -> None:
    assert Scanner().scan(b'{"text": "your key:\\nAQ.Ab8RN6Jx0123456789abcdefghij"}')


# What can't be looked into, and what redaction could not reach


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip", "deflate"])
def test_a_body_that_can_not_be_unpacked_is_refused(coding: str) -> None:
    with pytest.raises(
        CassetteError, match="exchange 2, response body shows content that can't be unpacked"
    ):
        Scanner().refuse(answered(b"\x8b\xff\x00\x01", content_encoding=coding), "a.yaml")
    Scanner().refuse(answered(b"stored unpacked", content_encoding=coding), "a.yaml")


def test_what_is_to_be_redacted_is_found_inside_a_packed_body() -> None:
    packed = gzip.compress(b"first") + gzip.compress(b'{"access_token": "opaque"}')
    with pytest.raises(CassetteError, match="response body shows a value that must be redacted"):
        Scanner().refuse(answered(packed), "a.yaml")
    with pytest.raises(CassetteError, match="response body shows a value that must be redacted"):
        Scanner(redactor=Redactor(["re:sec.nd"])).refuse(
            answered(gzip.compress(b"second")), "a.yaml"
        )
    Scanner().refuse(answered(gzip.compress(b'{"access_token": "REDACTED"}')), "a.yaml")


@pytest.mark.parametrize(
    ("exchange", "finding"),
    [
        (
            replace(PLAIN, headers={"set-cookie": ["abc"]}),
            "exchange 1, response header set-cookie shows a value that must be redacted",
        ),
        (
            replace(PLAIN, request=Request("POST", f"{URL}&key=abc")),
            "exchange 1, URL shows a parameter that must be redacted",
        ),
        (
            replace(PLAIN, request=Request("POST", URL, {"Authorization": ["Bearer abc"]})),
            "exchange 1, request header Authorization shows a value that must be redacted",
        ),
        (
            replace(PLAIN, reads=((None, b'{"id_token": "abc"}'),)),
            "exchange 1, response body shows a value that must be redacted",
        ),
        (
            replace(PLAIN, request=Request("POST", URL, {"x-goog-api-key": ["REDACTED"]})),
            None,
        ),
    ],
)
def test_what_nobody_redacted_is_told(exchange: Exchange, finding: str | None) -> None:
    assert [str(one) for one in Scanner().scan_cassette(Cassette((exchange,), ORIGIN))] == (
        [finding] if finding else []
    )


# What is no secret

INNOCENT = [
    "AIzaSyD-short",
    "AIza is how a key of Google's begins; AIza...",
    "x" * 20 + "AIzaSyA" + "b" * 60,  # inside a longer run of base64
    "Read the FAQ.abcdefghijklmnopqrstuvwxyz",
    "AQ. And then a sentence",
    "AQ.YOUR_KEY",
    "a FAQ.abcdefghijklmnopqrstuvwxyz",
    "pkg.AQ.abcdefghijklmnopqrstuvwxyz",
    "ya29. September",
    "maya29.abcdefghijklmnopqrstuvwxyz",
    "https://h/1//0abc",
    "GOCSPX-...",
    "-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0B",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    '{"promptTokenCount": 1234567890, "thoughtsTokenCount": 987654321}',
    '{"responseId": "1-iZaIza-AIzaBcDeFgHiJkLmNoPqRs"}',
]


@pytest.mark.parametrize("text", INNOCENT)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert not SCANNER.scan(text.encode())
    assert not SCANNER.scan(base64.b64encode(text.encode()))


def test_signatures_are_not_taken_for_secrets() -> None:
    chance = random.Random(7)
    for alphabet in base64.b64encode, base64.urlsafe_b64encode:
        signatures = [
            alphabet(chance.randbytes(chance.randrange(150, 5000))).decode() for _ in range(800)
        ]
        text = "".join(
            f'data: {{"text": "", "thoughtSignature": "{one}"}}\r\n\r\n' for one in signatures
        )
        assert not SCANNER.scan(text.encode())


def test_the_corpus_raises_no_false_alarm() -> None:
    """Recordings that others published have been looked through by hosts that search for keys; what
    is found there is most likely none.
    """
    folder = os.environ.get("HARNESS_CORPORA")
    need("corpora", folder, "HARNESS_CORPORA names no folder of recordings")
    assert folder is not None
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())[::20]
    assert files
    assert {str(path): found for path in files if (found := scan_file(path, SCANNER))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "AIza" * 50_000,
        "\\" * 200_000,
        "\\u005c" * 30_000,
        "QUl6Y" * 40_000,
        "%25" * 60_000,
        '"text":"' * 20_000,
        "\n \n" * 50_000,
    ],
)
def test_nothing_that_is_made_to_be_slow_is(text: str) -> None:
    started = process_time()
    SCANNER.scan(text.encode())
    SCANNER.scan_cassette(Cassette((replace(PLAIN, reads=((None, text.encode()),)),), ORIGIN))
    assert process_time() - started < 5


# This machine's secrets, this project's rules


def test_the_environment_tells_secrets_by_name(tmp_path: Path) -> None:
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
    found = known_secrets(["argument-1"], environ)
    named = {f"the value of {name}": value for name, value in list(environ.items())[:6]}
    assert found == {**named, "the key that was given as argument 1": "argument-1"}


def test_what_is_shorter_than_8_characters_is_no_secret() -> None:
    scanner = Scanner(
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
    scanner = guard(environ=environ).scanner
    for text in ("refresh-token-1", "client-secret-1", "access-token-1", *KEY_LINES):
        assert scanner.scan(text.encode()), text
    for text in ("client-id-1", "project-1", ACCOUNT["client_email"], "-----END PRIVATE KEY-----"):
        assert not scanner.scan(text.encode()), text
    assert "the private_key of account.json" in known_secrets((), environ)
    elsewhere = {"CLOUDSDK_CONFIG": str(known.parent)}
    assert sorted(known_secrets((), elsewhere).values()) == ["client-secret-1", "refresh-token-1"]


def test_credentials_that_can_not_be_read_are_told(tmp_path: Path) -> None:
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


def test_keys_that_were_given_and_rules_are_known_to_the_scan(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[tool.harness]\nredact = ['customer_id']\n", encoding="utf-8"
    )
    scanner = guard(tmp_path, arguments=["argument-1"], environ={}).scanner
    assert [str(one) for one in scanner.scan(b"argument-1")] == [
        "line 1 shows the key that was given as argument 1"
    ]
    with pytest.raises(CassetteError, match="response body shows a value that must be redacted"):
        scanner.refuse(answered(gzip.compress(b'{"customer_id": "c-1"}')), "a.yaml")


@pytest.mark.parametrize(
    "text",
    ["[tool.harness]\nredact = 'x'\n", "[tool.harness]\nredact = [1]\n", "[tool\n", "tool = 1\n"],
)
def test_bad_rules_are_told_with_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    with pytest.raises(CassetteError, match=r"pyproject\.toml: "):
        read_rules(tmp_path)


# The command


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty project on a machine without secrets but one."""
    for name in os.environ:
        if name not in ("PATH", "SYSTEMROOT"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("MY_TOKEN", SECRET)
    monkeypatch.chdir(tmp_path)


def write(name: str, content: str | bytes) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.usefixtures("clean_environment")
def test_clean_files_are_0(capsys: pytest.CaptureFixture[str]) -> None:
    write("cassettes/a.yaml", kept())
    write("cassettes/.git/config", SECRET)
    write("notes.md", "nothing")
    assert main(["scan", "cassettes", "notes.md"]) == 0
    assert capsys.readouterr() == ("", "2 files scanned\n")


@pytest.mark.usefixtures("clean_environment")
def test_a_secret_is_1_and_told_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    write("cassettes/b/leaky.yaml", PLACES["gzip"][1](SECRET))
    write("cassettes/a.txt", f"x\n{SECRET}\n")
    write("cassettes/old.yaml", kept(replace(PLAIN, request=Request("GET", f"{URL}&key=abc"))))
    write(f"cassettes/{quote(SECRET, safe='')}", "x")
    assert main(["scan", "cassettes"]) == 1
    out = capsys.readouterr().out
    assert out.splitlines() == [
        f"cassettes/a.txt: line 2 shows {NAME}",
        "cassettes/old.yaml: exchange 2, URL shows a parameter that must be redacted",
        f"a file: the file's name shows {NAME}",
        # the comment over the body shows what is packed
        f"cassettes/b/leaky.yaml: line 40 shows {NAME}",
        f"cassettes/b/leaky.yaml: exchange 2, response body, unpacked shows {NAME}",
    ]


@pytest.mark.usefixtures("clean_environment")
def test_recordings_of_others_are_looked_into(capsys: pytest.CaptureFixture[str]) -> None:
    packed = replace(
        PLAIN,
        headers={"content-encoding": ["gzip"]},
        reads=((None, gzip.compress(SECRET.encode())),),
    )
    write("stock.yaml", export(Cassette((packed,), ORIGIN)))
    write(
        "unfinished.yaml.part",
        encode_head(ORIGIN)
        + encode_fact(Asked(0, PLAIN.request))
        + encode_fact(Answered(0, 200, "", {}))
        + encode_fact(Read(0, 1.0, b"\xff" + SECRET.encode())),
    )
    assert main(["scan", "stock.yaml", "unfinished.yaml.part"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert f"stock.yaml: exchange 1, response body, unpacked shows {NAME}" in out
    assert f"unfinished.yaml.part: exchange 1, response body shows {NAME}" in out


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize(
    ("name", "content"), [("nowhere.yaml", None), ("damaged.yaml", kept()[:200])]
)
def test_what_can_not_be_read_is_2(
    name: str, content: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        write(name, content)
    write("leaky.txt", SECRET)
    assert main(["scan", name, "leaky.txt"]) == 2
    out, err = capsys.readouterr()
    assert out == f"leaky.txt: line 1 shows {NAME}\n"
    assert err.startswith(f"harness: {name}")


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize("command", ["import", "export"])
def test_import_and_export_know_the_secrets_of_the_machine(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("leaky.yaml", PLACES["gzip"][1](WRITTEN["base64 at 1"](SECRET)))
    assert main([command, "leaky.yaml", "-o", "out.yaml"]) == 2
    assert f"exchange 2, response body, unpacked shows {NAME}" in capsys.readouterr().err
    assert not Path("out.yaml").exists()


@pytest.mark.usefixtures("clean_environment")
def test_import_redacts_by_the_rules_of_the_project() -> None:
    write("pyproject.toml", "[tool.harness]\nredact = ['customer_id']\n")
    write("a.yaml", asked(body=b'{"customer_id": "c-1"}'))
    assert main(["import", "a.yaml", "-o", "out.yaml"]) == 0
    assert '{"customer_id": "REDACTED"}' in Path("out.yaml").read_text(encoding="utf-8")


@pytest.mark.usefixtures("clean_environment")
def test_the_hook_for_pre_commit_runs_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    (hook,) = parse(
        (Path(__file__).parents[3] / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    )
    write("leaky.txt", SECRET)
    program, *arguments = hook["entry"].split()
    assert (hook["id"], hook["language"], program) == ("harness-scan", "python", "harness")
    assert main([*arguments, "leaky.txt"]) == 1
    assert capsys.readouterr().out == f"leaky.txt: line 1 shows {NAME}\n"


FLOW = """\
version: 1
metadata: {harness: 1, origin: written}
interactions:
- request:
    method: POST
    uri: https://generativelanguage.googleapis.com/v1beta/models/m:generateContent?key=abcdef
    headers: {authorization: Bearer abcdefghijkl}
  response: {status: {code: 200}, end: complete}
"""


@pytest.mark.parametrize(
    "text",
    [FLOW, FLOW.replace("{harness: 1, origin: written}", "\n  origin: written\n  harness: 1")],
)
def test_what_is_to_be_redacted_is_found_in_a_cassette_of_any_style(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(text, encoding="utf-8")
    assert main(["scan", str(path)]) == 1
    found = capsys.readouterr().out
    assert "exchange 1, URL shows a parameter that must be redacted" in found
    assert "exchange 1, request header authorization shows a value that must be redacted" in found
