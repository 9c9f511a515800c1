"""`harness record`: messages, bad usage, waiting, and the progress bar."""

from __future__ import annotations

import io
import re
import sys
import threading
from dataclasses import replace
from pathlib import Path

import google.genai  # noqa: F401  # first: pytester imports a test's modules twice
import pytest

from harness import load
from harness.cassettes import CassetteError
from harness.cli.main import COMMANDS, main
from harness.cli.record import NEW_CASSETTE
from harness.pipeline.replay import ReplayError
from harness.recording.run import record_requests
from harness.recording.settings import GenerateAsk, Settings
from tests.recording.clients import leave_part
from tests.recording.command_support import SPEC
from tests.recording.providers import (
    BODY,
    CA_EVENT,
    HELLO,
    TIER,
    Seen,
    event,
    limited,
)
from tests.support.raw_server import Connection, plain, raw_server, streaming


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (
            [],
            2,
            "name what to record: cases or cassettes, --missing, or --all; to record a new cassette:"
            " harness record gemini-api/hello --prompt 'Say hello' --model gemini-2.5-flash\n",
        ),
        (["a", "--all"], 2, "name what to record"),
        (
            ["nothing"],
            2,
            "nothing is not a case and not a cassette; to record a new one, use `harness record nothing --prompt …`",
        ),
        (["a", "b", "--prompt", "x"], 2, "--prompt records one cassette"),
        (
            ["foo/bar", "--prompt", "x"],
            2,
            "foo of foo/bar is not a provider; expected gemini-api, ",
        ),
        (["foo/bar", "--prompt", "x"], 2, "or add --provider"),
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
def test_each_error_of_the_command_has_its_message(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], status: int, message: str
) -> None:
    assert main(["record", *words]) == status
    assert message in capsys.readouterr().err
    assert not (project / "cassettes").exists() or not list((project / "cassettes").rglob("*.yaml"))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            ["record", "--missing"],
            "nothing to record: no case in {here}/specs names a cassette that is missing in"
            " {here}/cassettes; name other folders with --specs and --cassettes; ",
        ),
        (
            ["record", "--all"],
            "nothing to record: no case in {here}/specs names a cassette that is missing in"
            " {here}/cassettes, and no cassette in {here}/cassettes was recorded; name other folders"
            " with --specs and --cassettes; ",
        ),
        (
            ["drift"],
            "nothing to compare: no cassette in {here}/cassettes was recorded from a provider; name"
            " another folder with --cassettes; ",
        ),
        (
            ["drift", "--provider", "openai"],
            "nothing to compare: no cassette in {here}/cassettes was recorded from openai; name"
            " another folder with --cassettes; ",
        ),
    ],
)
def test_an_empty_folder_is_named_with_a_way_out(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 0
    assert capsys.readouterr().err == f"harness: {reason.format(here=tmp_path)}{NEW_CASSETTE}\n"
    assert NEW_CASSETTE.endswith(COMMANDS["record"].example)


def test_a_broken_spec_stops_only_the_recordings_that_it_may_be_about(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = project / "specs" / "broken.yaml"
    broken.write_text("harness: 1\ncases:\n- case: other\n  casette: gemini-api/other\n")
    with raw_server(HELLO) as url:
        assert main(["record", "two-turns", "--base-url", url]) == 0
    assert "broken.yaml:3: requirement is missing" in capsys.readouterr().err
    broken.write_text("harness: 1\ncases:\n- case: two-turns-again\n  casette: gemini-api/other\n")
    assert main(["record", "two-turns"]) == 2
    assert main(["record", "--missing"]) == 2


def test_an_unusual_finish_reason_is_named(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = event("half").replace(b"STOP", b"MAX_TOKENS")
    with raw_server(HELLO, streaming(cut)) as url:
        assert main(["record", "two-turns", "--base-url", url]) == 0
    assert capsys.readouterr().out.endswith(" output tokens, exchange 2 ends with MAX_TOKENS\n")


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
def test_a_base_url_without_a_server_is_bad_usage(
    project: Path, capsys: pytest.CaptureFixture[str], command: str, url: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([command, "two-turns", "--base-url", url])
    message = f"argument --base-url: {url!r} is not a base URL; a base URL begins with http:// or https:// and names a host, such as http://127.0.0.1:8080"
    assert (
        capsys.readouterr().err == f"harness {command}: {message}; see harness {command} --help\n"
    )


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("gemini-api", "GOOGLE_GEMINI_BASE_URL"),
        ("vertex-ai", "GOOGLE_VERTEX_BASE_URL"),
        ("code-assist", "CODE_ASSIST_ENDPOINT"),
    ],
)
def test_an_invalid_base_url_is_an_error(
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
        record(url)  # the option overrides the environment


def test_the_command_names_the_journal_of_an_earlier_run(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leave_part(project / "cassettes" / "gemini-api" / "two-turns.yaml")
    assert main(["record", "--missing", "--base-url", "http://127.0.0.1:1"]) == 1
    assert (
        "two-turns.yaml.earlier.part was left by an earlier recording that stopped"
        in capsys.readouterr().err
    )


@pytest.mark.slow
def test_a_silent_answer_is_given_up_after_a_message(
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
    good, given_up = path.read_bytes(), "no byte arrived for 0.4 s; allow more time with --timeout"
    ask_all = ["record", "--all", "--timeout", "0.4", "--base-url"]
    with raw_server(HELLO, seen(streaming(event("half"), gate=gate))) as url:
        assert main([*ask_all, url]) == 1
        output = capsys.readouterr().err
        assert (
            f"gemini-api/two-turns: the answer to request 2 was given up, after 1 read of {len(event('half'))} bytes: {given_up}"
            in output
        )
        assert "harness: gemini-api/two-turns: waiting for request 2, 0 s so far\n" in output
        assert path.read_bytes() == good
        assert main([*ask_all, url, "--allow-end", "aborted"]) == 0
        assert [exchange.end for exchange in load(path).exchanges] == ["aborted", "aborted"]
    assert "x-server-timeout" not in seen.requests[0][1]  # the recorder's time limit is not sent
    with raw_server(silent) as url:
        assert main([*ask_all, url]) == 1
    gate.release(9)
    assert re.search(
        rf"request 1 got no answer at all from 127\.0\.0\.1:\d+: {given_up}",
        capsys.readouterr().err,
    )


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "86401", "soon"])
def test_an_invalid_timeout_is_an_error(
    project: Path, capsys: pytest.CaptureFixture[str], seconds: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["record", "two-turns", f"--timeout={seconds}"])
    assert (
        f"argument --timeout: {seconds} is not a time; use a number of seconds, above 0"
        in capsys.readouterr().err
    )


@pytest.mark.slow
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
        pytest.raises(CassetteError, match=r"given up, .*: no byte arrived for 0\.3 s"),
    ):
        record_requests(
            "code-assist",
            [GenerateAsk({}, "m")],
            tmp_path / "a.yaml",
            settings=replace(settings, base_url=url),
        )
    gate.release(9)
    assert not (tmp_path / "a.yaml").exists()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.slow
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
    assert "waiting 0 s: a quota answer (429)" in drawn


@pytest.mark.slow
def test_ctrl_c_lists_the_recorded_cassettes(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "specs" / "b.yaml").write_text(SPEC.replace("two-turns", "b"))

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("harness.cli.record.Bar.waiting", stop)
    with raw_server(HELLO, HELLO, HELLO, limited("5s")) as url:
        assert main(["record", "--missing", "--base-url", url]) == 130
    output = capsys.readouterr()
    assert output.out == "recorded gemini-api/b: 2 exchanges of gemini-api, 24 output tokens\n"
    assert (
        "stopped; 1 of 2 cassettes were recorded, gemini-api/two-turns was not changed"
        in output.err
    )
    assert [path.name for path in (project / "cassettes").rglob("*.yaml")] == ["b.yaml"]


def test_a_missing_library_is_reported_with_the_command(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google", None)
    monkeypatch.setitem(sys.modules, "google.genai", None)
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    missing = "google-genai is not installed; pip install 'gemini-conformance[record]'"
    assert main(["record", "--missing"]) == 1
    key = "and set GEMINI_API_KEY to a key of https://aistudio.google.com/apikey"
    assert f": {missing}; {key}\n" in capsys.readouterr().err
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    assert main(["record", "--missing"]) == 1
    assert f": {missing}\n" in capsys.readouterr().err
