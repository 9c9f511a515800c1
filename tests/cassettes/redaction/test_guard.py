"""The guard finds a secret in every place and encoding, and reports nothing in other text."""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import process_time
from urllib.parse import quote

import pytest

from harness.cassettes import Cassette, CassetteError, Exchange, Request
from harness.cassettes.redaction.guard import Guard
from harness.cassettes.redaction.redactor import Redactor
from harness.cassettes.redaction.secrets import guard
from harness.cassettes.vcrpy import export
from harness.cli.scan import scan_file
from tests.cassettes.redaction.samples import (
    NAME,
    ORIGIN,
    PLACES,
    PLAIN,
    SCANNER,
    SECRET,
    SHAPES,
    URL,
    WRITTEN,
    answered,
    kept,
)
from tests.support.need import need


@pytest.mark.parametrize("writing", WRITTEN)
@pytest.mark.parametrize("place", PLACES)
def test_a_known_secret_is_found_in_every_place_and_encoding(place: str, writing: str) -> None:
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
def test_a_shape_is_found_in_every_place(place: str, secret: str) -> None:
    where, put = PLACES[place]
    text = put(secret.replace("\r\n", "\\r\\n").replace("\n", "\\n"))
    with pytest.raises(CassetteError, match=f"{where} shows {SHAPES[secret]}"):
        Guard().refuse(text, "a.yaml")
    Guard().refuse(
        put(f"{secret[:4]} {secret[4:]}".replace("\r\n", "\\r\\n").replace("\n", "\\n")), "a.yaml"
    )


@pytest.mark.parametrize("secret", SHAPES)
@pytest.mark.parametrize("writing", WRITTEN)
def test_a_shape_is_found_in_every_encoding(writing: str, secret: str) -> None:
    findings = {
        finding.kind for finding in Guard().scan(f'x: "{WRITTEN[writing](secret)}"\n'.encode())
    }
    assert SHAPES[secret] in findings
    assert not Guard().scan(f'x: "{WRITTEN[writing](secret[:3] + " " + secret[3:])}"\n'.encode())


@pytest.mark.parametrize(("length", "read"), [(4, 1), (1, 1), (0, 2)])
def test_a_finding_names_the_read_in_which_a_secret_begins(length: int, read: int) -> None:
    body = f"data: {SECRET}\n".encode()
    with pytest.raises(CassetteError, match=f"response body, read {read} shows"):
        SCANNER.refuse(answered(body[: 6 + length], body[6 + length :]), "a.yaml")


def test_a_secret_in_a_file_name_is_found_and_not_shown() -> None:
    name = f"cassettes/{quote(SECRET, safe='')}.yaml"
    with pytest.raises(CassetteError, match=f"^the file: the file's name shows {NAME}"):
        SCANNER.refuse(kept(), name)
    SCANNER.refuse(kept(), "cassettes/a.yaml")


def test_a_secret_as_a_header_name_is_not_shown() -> None:
    findings = Guard({"S": "secret-header"}).scan_cassette(
        Cassette((replace(PLAIN, headers={"x-secret-header": ["1"]}),), ORIGIN)
    )
    assert [str(finding) for finding in findings] == ["exchange 1, response header shows S"]


def test_a_secret_is_found_across_lines() -> None:
    assert SCANNER.scan(
        b'x: "a\\\n  '
        + SECRET[:9].encode()
        + b"\\\n    "
        + SECRET[9:].replace("\\", "\\\\").replace('"', '\\"').encode()
        + b'"'
    )
    assert SCANNER.scan(f"x: |\n  {SECRET[:9]}\n  {SECRET[9:]}\n".encode())
    assert SCANNER.scan(f"#   {SECRET[:9]}\r\n#   {SECRET[9:]}\n".encode())
    assert Guard({"S": "secret-never"}).scan(b'"secret-\\\n  never"')
    encoded = base64.b64encode(b"\xff" * 100 + SECRET.encode()).decode()
    for width in range(5, 40, 3):
        assert SCANNER.scan(
            textwrap.indent("\n".join(textwrap.wrap(encoded, width)), "    ").encode()
        )


def test_a_secret_is_found_in_a_streamed_text() -> None:
    key = next(iter(SHAPES))
    frames = "".join(
        f'data: {{"candidates": [{{"content": {{"parts": [{{"text": "{piece}"}}]}}}}]}}\r\n\r\n'
        for piece in textwrap.wrap(key, 7)
    )
    assert [str(finding) for finding in Guard().scan(frames.encode())] == [
        "line 1 shows a Google API key"
    ]
    reads = tuple(
        (None, read) for read in (b"data: {}\n\n", *frames.encode().splitlines(keepends=True))
    )
    findings = Guard().scan_cassette(Cassette((replace(PLAIN, reads=reads),), ORIGIN))
    assert [str(finding) for finding in findings] == [
        "exchange 1, response body, read 2 shows a Google API key"
    ]
    assert SCANNER.scan(
        "".join(
            f'{{"text": {json.dumps(piece)}}}\n'
            for piece in textwrap.wrap(SECRET, 5, drop_whitespace=False)
        ).encode()
    )


KEY = next(iter(SHAPES))
WRAPPED = {
    "text": lambda secret: json.dumps({"text": f"the key is {secret[:9]}\n   {secret[9:]}"}),
    "text in a text": lambda secret: json.dumps(
        {"a": json.dumps({"text": f"{secret[:9]}\r\n{secret[9:]}"})}
    ),
    "base64 in lines": lambda secret: json.dumps(
        {"text": base64.encodebytes(b"\xfe" * 70 + secret.encode()).decode()}
    ),
    "base64 in lines in pieces": lambda secret: pieces(
        "text", base64.encodebytes(b"\xfe" * 70 + secret.encode()).decode()
    ),
    "code": lambda secret: pieces("code", f'key = "{secret}"'),
    "output": lambda secret: pieces("output", f"{secret}\n"),
    "arguments": lambda secret: pieces("stringValue", secret),
    "pieces in JSON": lambda secret: json.dumps({"log": pieces("text", f"my {secret}")}),
    "pieces in JSON in JSON": lambda secret: json.dumps(
        [json.dumps({"log": pieces("code", f"my {secret}")})]
    ),
    "wrapped in pieces": lambda secret: pieces("text", f"my {secret[:8]}\n{secret[8:]}"),
}


def pieces(name: str, text: str) -> str:
    """A stream whose pieces have seven characters of the text each."""
    return "".join(
        f"data: {json.dumps({'parts': [{name: piece}]})}\r\n\r\n"
        for piece in textwrap.wrap(
            text, 7, drop_whitespace=False, replace_whitespace=False, expand_tabs=False
        )
    )


@pytest.mark.parametrize("secret", [SECRET, KEY])
@pytest.mark.parametrize("wrapped", WRAPPED)
def test_a_wrapped_or_divided_secret_is_found_and_masked(wrapped: str, secret: str) -> None:
    """The parts of the secret are put into a value in their places. The value is still JSON."""
    text = WRAPPED[wrapped](secret)
    other = WRAPPED[wrapped](secret.replace("va~l", "vall").replace("AIza", "AIzz"))
    assert SCANNER.scan(text.encode())
    assert not SCANNER.scan(other.encode())
    data = text.encode()
    for start, stop in reversed(SCANNER.spans(data)):
        data = data[:start] + data[stop:]
    assert not SCANNER.scan(data)
    assert len(data.splitlines()) == len(text.splitlines())
    for line in data.decode().splitlines():
        assert not line or json.loads(line.removeprefix("data: "))


@pytest.mark.parametrize("writing", WRITTEN)
def test_only_the_bytes_of_a_secret_are_spans(writing: str) -> None:
    written = WRITTEN[writing](SECRET)
    data = f'a\n{{"x": "before {written} after"}}\n'.encode()
    spans = SCANNER.spans(data)
    assert spans
    for start, stop in reversed(spans):
        data = data[:start] + data[stop:]
    assert not SCANNER.scan(data)
    assert data.startswith(b'a\n{"x": "before ')
    assert data.endswith(b' after"}\n')


UNSEEN = [
    lambda value: base64.b64encode(f'{{"access_token": "{value}"}}'.encode()).decode(),
    lambda value: json.dumps(
        {"data": base64.encodebytes(f'{"x" * 70}"api_key": "{value}"'.encode()).decode()}
    ),
    lambda value: f"see %7B%22api_key%22:%22{value}%22",
    lambda value: rf'{{"a": "\"api_key\u0022\u003a \u0022{value}\u0022}}"}}',
    lambda value: pieces("code", f'call({{"api_key": "{value}"}})'),
]


@pytest.mark.parametrize("write", UNSEEN)
def test_a_member_where_the_redactor_does_not_look_is_refused(write: Callable[[str], str]) -> None:
    body, hidden = (write(value).encode() for value in ("opaque", "REDACTED"))
    assert Redactor().body(body) == body
    with pytest.raises(CassetteError, match="response body shows a value that must be redacted"):
        Guard().encode(Cassette((replace(PLAIN, reads=((None, body),)),), ORIGIN), "a.yaml")
    Guard().encode(Cassette((replace(PLAIN, reads=((None, hidden),)),), ORIGIN), "a.yaml")


def test_an_export_for_stock_vcrpy_is_scanned() -> None:
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


def test_a_guard_redacts_and_scans_packed_bodies() -> None:
    redacting = Guard(redactor=Redactor(["re:sec.nd"]))
    asking = replace(PLAIN, request=Request("GET", f"{URL}&key=abc&x=second", {"cookie": ["abc"]}))
    for text in (
        redacting.encode(Cassette((asking,), ORIGIN), "a").decode(),
        redacting.export(Cassette((asking,), ORIGIN), "a"),
    ):
        assert "key=REDACTED&x=REDACTED" in text
        assert "cookie" not in text
    packed = replace(PLAIN, reads=((None, gzip.compress(b"second")),))
    with pytest.raises(CassetteError, match="response body shows a value that must be redacted"):
        redacting.encode(Cassette((packed,), ORIGIN), "a")


@pytest.mark.slow
def test_every_secret_has_its_line() -> None:
    scanner = Guard({"one": "secret-one", "two": "secret-two", "three": "secret-three"})
    findings = scanner.scan(b"a\nsecret-two\n\nc%73%65cret-one\nsecret-two\n\\u0073ecret\\x2dthree")
    assert sorted(map(str, findings)) == [
        "line 2 shows two",
        "line 4 shows one",
        "line 6 shows three",
    ]
    for before in range(4):
        assert list(map(str, scanner.scan(b" " * before + 100_000 * b"x\n" + b"secret-one"))) == [
            "line 100001 shows one"
        ]


def test_an_escaped_line_end_ends_a_word() -> None:
    assert Guard().scan(b'{"text": "your key:\\nAQ.Ab8RN6Jx0123456789abcdefghij"}')


# Content that can't be unpacked, and values that were not redacted


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip", "deflate"])
def test_a_body_that_can_not_be_unpacked_is_refused(coding: str) -> None:
    named = f" of coding {coding}" if coding in ("br", "zstd") else ""
    words = f"exchange 2, response body shows content{named} that can't be unpacked"
    with pytest.raises(CassetteError, match=words):
        Guard().refuse(answered(b"\xff\xff\xff\xff", content_encoding=coding), "a.yaml")
    Guard().refuse(answered(b"stored unpacked", content_encoding=coding), "a.yaml")


def test_unredacted_values_are_found_in_a_packed_body() -> None:
    packed = gzip.compress(b"first") + gzip.compress(b'{"access_token": "opaque"}')
    with pytest.raises(CassetteError, match="response body shows a value that must be redacted"):
        Guard().refuse(answered(packed), "a.yaml")
    with pytest.raises(CassetteError, match="response body shows a value that must be redacted"):
        Guard(redactor=Redactor(["re:sec.nd"])).refuse(answered(gzip.compress(b"second")), "a.yaml")
    Guard().refuse(answered(gzip.compress(b'{"access_token": "REDACTED"}')), "a.yaml")


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
def test_unredacted_values_are_findings(exchange: Exchange, finding: str | None) -> None:
    assert [str(finding) for finding in Guard().scan_cassette(Cassette((exchange,), ORIGIN))] == (
        [finding] if finding else []
    )


# Texts without a secret

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
def test_innocent_texts_have_no_findings(text: str) -> None:
    assert not SCANNER.scan(text.encode())
    assert not SCANNER.scan(base64.b64encode(text.encode()))


@pytest.mark.slow
def test_thought_signatures_have_no_findings() -> None:
    chance = random.Random(7)
    for alphabet in base64.b64encode, base64.urlsafe_b64encode:
        signatures = [
            alphabet(chance.randbytes(chance.randrange(150, 5000))).decode() for _ in range(800)
        ]
        text = "".join(
            f'data: {{"text": "", "thoughtSignature": "{signature}"}}\r\n\r\n'
            for signature in signatures
        )
        assert not SCANNER.scan(text.encode())


def test_published_recordings_have_no_findings() -> None:
    """Hosts search published recordings for keys, so a finding there is most likely false."""
    folder = os.environ.get("HARNESS_CORPORA")
    need("corpora", folder, "HARNESS_CORPORA names no folder of recordings")
    assert folder is not None
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())[::20]
    assert files
    findings = {
        str(path): shapes
        for path in files
        if (
            shapes := [
                finding
                for finding in scan_file(path, SCANNER)
                # others need not redact by name, nor the `upload_id` in a URL
                if finding.kind
                not in ("a value that must be redacted", "a parameter that must be redacted")
            ]
        )
    }
    assert findings == {}


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
def test_hostile_texts_are_scanned_quickly(text: str) -> None:
    started = process_time()
    SCANNER.scan(text.encode())
    SCANNER.scan_cassette(Cassette((replace(PLAIN, reads=((None, text.encode()),)),), ORIGIN))
    assert process_time() - started < 5


def test_the_rest_of_a_partly_redacted_value_is_found() -> None:
    scanner = Guard({"the value of MY_KEY": 'hunter"2-environ-7731'})
    text = b'see https://h/?token=REDACTED"2-environ-7731'
    assert [finding.kind for finding in scanner.scan(text)] == ["the value of MY_KEY"]
    assert [text[start:stop] for start, stop in scanner.spans(text)] == [b'"2-environ-7731']
    for clean in (b'REDACTED "2-environ-7731', b"REDACTED-7731", b'a"2-environ-7731'):
        assert (scanner.scan(clean), scanner.spans(clean)) == ([], [])
