"""The command ``harness scan``, and the scan in other commands that write cassettes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from urllib.parse import quote

import pytest

from harness.cassettes import Cassette, Request
from harness.cassettes.journal import Answered, Arrived, Started, encode_fact, encode_head
from harness.cassettes.packed import Unpacking
from harness.cassettes.vcrpy import export
from harness.cassettes.yaml import parse
from harness.cli.main import main
from tests.cassettes.redaction.samples import (
    NAME,
    ORIGIN,
    PLACES,
    PLAIN,
    SECRET,
    URL,
    WRITTEN,
    asked,
    kept,
)


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty project on a machine with a single secret."""
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
def test_clean_files_give_status_0(capsys: pytest.CaptureFixture[str]) -> None:
    write("cassettes/a.yaml", kept())
    write("cassettes/.git/config", SECRET)
    write("notes.md", "nothing")
    assert main(["scan", "cassettes", "notes.md"]) == 0
    assert capsys.readouterr() == ("", "2 files scanned\n")


@pytest.mark.usefixtures("clean_environment")
def test_a_secret_gives_status_1_and_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
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
        # the comment above the body shows the unpacked content
        f"cassettes/b/leaky.yaml: line 40 shows {NAME}",
        f"cassettes/b/leaky.yaml: exchange 2, response body, unpacked shows {NAME}",
    ]


@pytest.mark.usefixtures("clean_environment")
def test_exchanges_of_other_formats_are_searched(capsys: pytest.CaptureFixture[str]) -> None:
    packed = replace(
        PLAIN,
        headers={"content-encoding": ["gzip"]},
        reads=((None, gzip.compress(SECRET.encode())),),
    )
    write("stock.yaml", export(Cassette((packed,), ORIGIN)))
    write(
        "unfinished.yaml.part",
        encode_head(ORIGIN)
        + encode_fact(Started(0, PLAIN.request))
        + encode_fact(Answered(0, 200, "", {}))
        + encode_fact(Arrived(0, 1.0, b"\xff" + SECRET.encode())),
    )
    assert main(["scan", "stock.yaml", "unfinished.yaml.part"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert f"stock.yaml: exchange 1, response body, unpacked shows {NAME}" in out
    assert f"unfinished.yaml.part: exchange 1, response body shows {NAME}" in out


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize(
    ("name", "content"), [("nowhere.yaml", None), ("damaged.yaml", kept()[:200])]
)
def test_an_unreadable_file_gives_status_2(
    name: str, content: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        write(name, content)
    write("leaky.txt", SECRET)
    assert main(["scan", name, "leaky.txt"]) == 2
    out, err = capsys.readouterr()
    assert out == f"leaky.txt: line 1 shows {NAME}\n"
    assert err.startswith(f"harness: {name}")


def zipped(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return file.getvalue()


def tarred(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return file.getvalue()


LEAKY = f"x\n{SECRET}\n".encode()
PACKED = {
    "a.gz": (gzip.compress(LEAKY), "unpacked"),
    "a.bz2": (bz2.compress(LEAKY), "unpacked"),
    "a.xz": (lzma.compress(LEAKY), "unpacked"),
    "a.lzma": (lzma.compress(LEAKY, lzma.FORMAT_ALONE), "unpacked"),
    "two.gz": (gzip.compress(b"y\n") + gzip.compress(LEAKY[2:]), "unpacked"),
    "a.zip": (zipped("b/c.txt", LEAKY), "b/c.txt"),
    "a.tar": (tarred("b/c.txt", LEAKY), "b/c.txt"),
    "a.tgz": (gzip.compress(tarred("b/c.txt", LEAKY)), "unpacked/b/c.txt"),
    "nested.zip": (zipped("a.xz", lzma.compress(LEAKY)), "a.xz/unpacked"),
    "no-ending": (gzip.compress(LEAKY), "unpacked"),
}


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize("name", PACKED)
def test_packed_files_are_unpacked(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    data, inner = PACKED[name]
    write(name, data)
    assert main(["scan", name]) == 1
    out, err = capsys.readouterr()
    assert f"{name}: {inner}: line 2 shows {NAME}\n" in out
    assert err == "1 file scanned\n"


@pytest.mark.usefixtures("clean_environment")
def test_a_packed_recording_is_decoded(capsys: pytest.CaptureFixture[str]) -> None:
    write("key.yaml.gz", gzip.compress(PLACES["gzip"][1](SECRET).encode()))
    assert main(["scan", "key.yaml.gz"]) == 1
    shown = f"key.yaml.gz: unpacked: exchange 2, response body, unpacked shows {NAME}\n"
    assert shown in capsys.readouterr().out


ENCRYPTED = bytearray(zipped("a.txt", b"text"))
ENCRYPTED[6] |= 1
ENCRYPTED[ENCRYPTED.index(b"PK\1\2") + 8] |= 1
DEEP = b"x"
for _ in range(5):
    DEEP = gzip.compress(DEEP)
NOT_READ = {
    "a.7z": (b"7z\xbc\xaf\x27\x1c...", "no reader for 7z"),
    "a.parquet": (b"PAR1...PAR1", "no reader for Parquet"),
    "a.br": (b"\x0b\x02\x80", "it does not begin like a packed file that has a reader"),
    "damaged.gz": (gzip.compress(b"x")[:-4], "Compressed file ended before the end-of-stream*"),
    "encrypted.zip": (bytes(ENCRYPTED), "File <ZipInfo filename='a.txt'* is encrypted, *"),
    "deep.gz": (DEEP, "more than 4 packed files are inside each other"),
    "bomb.gz": (gzip.compress(bytes(2_000_000)), "it has more than 1,000,000 bytes when unpacked"),
    "bomb.zip": (zipped("a", bytes(2_000_000)), "it has more than 1,000,000 bytes when unpacked"),
}


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize("name", NOT_READ)
def test_a_packed_file_that_is_not_unpacked_is_not_scanned(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Unpacking.__init__, "__defaults__", (1_000_000,))
    data, reason = NOT_READ[name]
    write(name, data)
    assert main(["scan", name]) == 1
    out, err = capsys.readouterr()
    assert fnmatch(out, f"{name}: the file shows packed content that is not read: {reason}\n")
    assert err == "0 files scanned, 1 file not scanned\n"


@pytest.mark.usefixtures("clean_environment")
def test_the_part_of_a_damaged_file_that_can_be_unpacked_is_searched(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("a.tar.gz", gzip.compress(tarred("a.txt", LEAKY))[:-4])
    assert main(["scan", "a.tar.gz"]) == 1
    assert f"a.tar.gz: unpacked/a.txt: line 2 shows {NAME}\n" in capsys.readouterr().out


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize("command", [["import"], ["import", "--to", "vcrpy"]], ids=" ".join)
def test_both_kinds_of_import_know_the_secrets_of_the_machine(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    write("leaky.yaml", PLACES["gzip"][1](WRITTEN["base64 at 1"](SECRET)))
    assert main([*command, "leaky.yaml", "-o", "out.yaml"]) == 2
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
    hook, *_ = parse(
        (Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
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
FLOW_WITH_KEY = (
    FLOW.replace("{", "{{")
    .replace("}", "}}")
    .replace("abcdef\n", "{1}\n")
    .replace("Bearer abcdefghijkl", '"Bearer {0}"')
)


@pytest.mark.parametrize(
    "text",
    [FLOW, FLOW.replace("{harness: 1, origin: written}", "\n  origin: written\n  harness: 1")],
)
def test_unredacted_values_are_found_in_any_yaml_style(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(text, encoding="utf-8")
    assert main(["scan", str(path)]) == 1
    output = capsys.readouterr().out
    assert "exchange 1, URL shows a parameter that must be redacted" in output
    assert "exchange 1, request header authorization shows a value that must be redacted" in output


STOCK = """\
interactions:
- request:
    body: '{{"contents": [{{"parts": [{{"text": "Hi"}}]}}], "api_key": "{0}"}}'
    headers:
      authorization: ["Basic {0}"]
      cookie: ["{0}"]
      X-Goog-Api-Key: ["{0}"]
      Api-Key: ["{0}"]
    method: POST
    uri: https://generativelanguage.googleapis.com/v1beta/models/m:generateContent?key={1}
  response:
    body: {{string: '{{"candidates": []}}'}}
    headers: {{Content-Type: [application/json], Set-Cookie: ["{0}"]}}
    status: {{code: 200, message: OK}}
version: 1
"""
HAR = """\
{{"log": {{"entries": [{{"request": {{"method": "POST", "headers": [
{{"name": "authorization", "value": "Basic {0}"}}, {{"name": "cookie", "value": "{0}"}},
{{"name": "x-goog-api-key", "value": "{0}"}}, {{"name": "api-key", "value": "{0}"}}],
"url": "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent?key={1}",
"postData": {{"text": "{{\\"api_key\\": \\"{0}\\"}}"}}}},
"response": {{"status": 200, "statusText": "OK",
"headers": [{{"name": "Set-Cookie", "value": "{0}"}}],
"content": {{"mimeType": "application/json", "text": "{{\\"candidates\\": []}}"}}}}}}]}}}}
"""


@pytest.mark.parametrize("text", [STOCK, HAR], ids=["vcrpy", "HAR"])
def test_values_in_recordings_of_others_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = tmp_path / "foreign.yaml"
    path.write_text(text.format("abcdefghijkl", "abcdefghijkl"), encoding="utf-8")
    assert main(["scan", str(path)]) == 1
    found = capsys.readouterr().out.lower()
    for place in (
        *("request header authorization", "request header cookie", "request header x-goog-api-key"),
        *("request header api-key", "response header set-cookie", "url", "request body"),
    ):
        assert f"exchange 1, {place} shows a" in found


@pytest.mark.parametrize(
    "placeholder",
    [
        *(
            "<filtered>",
            "<FILTERED GOOGLE_API_KEY>",
            "REDACTED",
            "[REDACTED]",
            "DUMMY",
            "dummy-key",
        ),
        *("fake", "fake-api-key-123", "FAKE_KEY", "{{api_key}}", "${GEMINI_API_KEY}", "xxxxxxxx"),
        *("***", "test-key", "your-api-key", "**REDACTED**", "sk-fake", "mock_token", "XXX-XXX"),
        *("TOKEN", "DUMMY_GOOGLE_API_KEY", "X-GOOG-API-KEY-XXX", "REDACTED-BY-COPIER"),
    ],
)
@pytest.mark.parametrize("text", [STOCK, HAR, FLOW_WITH_KEY], ids=["vcrpy", "HAR", "ours"])
def test_placeholders_are_no_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, placeholder: str
) -> None:
    path = tmp_path / "foreign.yaml"
    path.write_text(text.format(placeholder, quote(placeholder)), encoding="utf-8")
    assert main(["scan", str(path)]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("cookie", "status"),
    [
        ("__cf_bm=REDACTED; path=/; expires=Thu, 01-Jan-26 00:30:00 GMT; Secure", 0),
        ("__cf_bm=REDACTED; path=/; HttpOnly, sid=hunter2hunter2; path=/", 1),
        ("__cf_bm=hunter2hunter2; path=/REDACTED", 1),
    ],
)
def test_each_value_of_a_cookie_must_be_a_placeholder(
    tmp_path: Path, cookie: str, status: int
) -> None:
    path = tmp_path / "foreign.yaml"
    text = STOCK.replace('Set-Cookie: ["{0}"]', 'Set-Cookie: ["{1}"]').replace("key={1}", "key=")
    path.write_text(text.format("REDACTED", cookie), encoding="utf-8")
    assert main(["scan", str(path)]) == status


@pytest.mark.parametrize(
    "value",
    [
        *("hunter2hunter2", "fakir-7731-azerty", "c29tZW9uZTpodW50ZXIy", "<k7fG9w0BAQ+/EFA>"),
        *("test1234567890123", "123456789", "testimony", "0f0f0f0f", "my-pa55w0rd"),
        *("token", "REDACTED-7f9a0b", "GEMINI_KEY_7F9A"),
    ],
)
def test_other_values_are_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    path = tmp_path / "foreign.yaml"
    path.write_text(STOCK.format(value, quote(value)), encoding="utf-8")
    assert main(["scan", str(path)]) == 1
    assert value not in capsys.readouterr().out


def test_a_file_that_can_not_be_read_is_not_counted_as_scanned(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty").mkdir()
    assert main(["scan", "empty"]) == 2
    assert "nothing to scan: empty has no file" in capsys.readouterr().err
    assert main(["scan", "nowhere.yaml", "two.yaml"]) == 2
    error = capsys.readouterr().err
    assert "harness: nowhere.yaml: No such file or directory" in error
    assert error.endswith("1 file scanned, 1 file not scanned\n")
