"""`harness record`: the recorded cassettes, and their requests."""

from __future__ import annotations

import sys
from pathlib import Path

import google.genai  # noqa: F401  # first: pytester imports a test's modules twice
import pytest

from harness import load
from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request, dumps
from harness.cli.main import main
from harness.recording.settings import GenerateAsk
from tests.recording.command_support import SPEC
from tests.recording.providers import (
    BODY,
    CA_EVENT,
    HELLO,
    PROGRAM,
    TIER,
    Seen,
    ask,
    event,
)
from tests.support.raw_server import plain, raw_server, streaming


@pytest.mark.slow
@pytest.mark.parametrize("end", ["cut", "reset"])
def test_an_answer_that_breaks_off_replaces_no_cassette(
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
            output = capsys.readouterr()
            assert f"--allow-end {end}" in output.err
            assert path.read_bytes() == good
        assert main(["record", "two-turns", "--allow-end", end, "--base-url", url]) == 0
        message = f"recorded gemini-api/two-turns: 2 exchanges of gemini-api, 24 output tokens, exchange 1 {end}, exchange 2 {end}\n"
        assert capsys.readouterr().out == message
        assert main(["record", "--all", "--base-url", url]) == 0
        assert capsys.readouterr().out == message
    with raw_server(HELLO) as url:
        assert main(["record", "--all", "--base-url", url]) == 0
    assert [exchange.end for exchange in load(path).exchanges] == ["complete", "complete"]


def texts(seen: Seen) -> list[list[str]]:
    return [
        [part["text"] for content in body["contents"] for part in content["parts"]]
        for _, _, body in seen.requests
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    ["two-turns", "gemini-api/two-turns", "--missing", "--all", "--missing --provider gemini-api"],
)
def test_the_command_records_the_cassette_of_a_case(
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
    )  # nothing is missing now
    assert main(["check"]) == 0


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["gemini-api", "vertex-ai", "code-assist"])
@pytest.mark.parametrize("message", ["by the case", "on the command line"])
def test_the_command_records_the_request_of_a_request_case(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
    message: str,
) -> None:
    by_case = message == "by the case"
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
        )  # again with the settings of the case
    assert f"recorded {name}: 1 exchange of {provider}" in capsys.readouterr().out
    assert sent in [body for _, _, body in seen.requests[len(setup) + 1 :]]


@pytest.mark.slow
def test_a_request_case_with_a_single_text_is_a_programs_prompt(
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
        "a program gets one text, on its command line; this prompt has more than one"
        in capsys.readouterr().err
    )


@pytest.mark.slow
def test_a_name_of_several_request_cases_is_ambiguous(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("a", "Hi"), ("b", "Ho")):
        spec = REQUESTS.replace("  PROVIDER\n", "").replace("Hi", text)
        (project / "specs" / f"{name}.yaml").write_text(spec)
    assert main(["record", "greeting"]) == 2
    assert (
        "greeting is the name of 2 request cases; name one: a.yaml::greeting, b.yaml::greeting"
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
  requirement: The text is passed on.
  features: [text.streaming]
  source: https://ai.google.dev/api/generate-content
  cassette: gemini-api/unsaid
  expect:
    events: []
"""


@pytest.mark.slow
def test_cassettes_that_can_not_be_recorded_fail_only_by_name(
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
    unsaid = "gemini-api/unsaid: not recordable: no conversation case has its prompts; write one, or use `harness record` with --prompt"
    program = "gemini-cli/run: not recordable: the output of a program does not contain its configuration; configure it, and record the cassette by its name"
    empty = "gemini-api/bare: not recordable: exchange 1 of gemini-api/bare has no request that can be sent again"
    with raw_server(HELLO) as url:
        assert main(["record", "--missing", "--base-url", url]) == 0
        output = capsys.readouterr()
        assert "recorded gemini-api/two-turns" in output.out
        assert unsaid in output.err
        assert "gemini-cli" not in output.err
        assert main(["record", "--all", "--base-url", url]) == 0
        output = capsys.readouterr()
        assert "recorded gemini-api/two-turns" in output.out
        assert [line in output.err for line in (unsaid, program, empty)] == [True] * 3
        for name in ("gemini-api/unsaid", "gemini-api/bare", "gemini-cli/run"):
            assert main(["record", name, "--base-url", url]) == 1
            assert f"{name}: not recordable" in capsys.readouterr().err


def test_a_run_of_a_program_is_recorded_again_by_name(
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message", "asked"),
    [
        (["--requests", "3"], "this run has used 3 requests, and 3 is the limit", 3),
        (["--output-tokens", "30"], "this run has used 36 output tokens, and 30 is the limit", 3),
        (["--requests", "2"], "this run has used 2 requests, and 2 is the limit", 2),
    ],
)
def test_the_limits_are_those_of_the_whole_run(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str, asked: int
) -> None:
    """Three conversations of two turns; one answer costs 12 tokens."""
    for name in ("b", "c"):
        (project / "specs" / f"{name}.yaml").write_text(SPEC.replace("two-turns", name))
    seen = Seen()
    with raw_server(seen(HELLO)) as url:
        assert main(["record", "--missing", "--base-url", url, *words]) == 1
    output = capsys.readouterr()
    assert output.out == "recorded gemini-api/b: 2 exchanges of gemini-api, 24 output tokens\n"
    assert output.err.count(message) == 2  # at the limit, and for the next one
    assert len(seen.requests) == asked
    assert [path.name for path in (project / "cassettes").rglob("*.yaml")] == ["b.yaml"]


@pytest.mark.slow
def test_a_request_without_an_answer_counts_towards_the_limit(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "specs" / "b.yaml").write_text(SPEC.replace("two-turns", "b"))
    assert main(["record", "--missing", "--base-url", "http://127.0.0.1:1", "--requests", "1"]) == 1
    assert (
        "gemini-api/two-turns: this run has used 1 request, and 1 is the limit"
        in capsys.readouterr().err
    )
    assert not list((project / "cassettes").rglob("*.yaml*"))


@pytest.mark.slow
def test_an_error_replaces_no_cassette_unless_it_is_allowed(
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
                "request 1 got an error answer (404: models/typo is not found)"
                in capsys.readouterr().err
            )
            assert path.read_bytes() == good
        assert main([*typo, "--allow-status", "404", "--base-url", url]) == 0
        message = "recorded gemini-api/hello: 1 exchange of gemini-api, 0 output tokens, exchange 1 status 404\n"
        assert capsys.readouterr().out == message
        assert (
            main(["record", "gemini-api/hello", "--base-url", url]) == 0
        )  # recorded again, since it had that status before
        assert capsys.readouterr().out == message
        assert (
            main([*typo, "--base-url", url]) == 1
        )  # the status of another request does not apply to this one


@pytest.mark.slow
def test_a_status_is_expected_only_at_the_request_that_had_it(tmp_path: Path) -> None:
    asks, path = [GenerateAsk(BODY, "m")] * 2, tmp_path / "a.yaml"
    with raw_server(HELLO, NOT_FOUND) as url:
        before = ask(url, path, asks, allow_status=[404]).exchanges
    with raw_server(HELLO, NOT_FOUND) as url:
        assert [exchange.status for exchange in ask(url, path, asks, before=before).exchanges] == [
            200,
            404,
        ]
    with (
        raw_server(NOT_FOUND, HELLO) as url,
        pytest.raises(CassetteError, match=r"request 1 .* \(404: models/typo is not found\)"),
    ):
        ask(url, tmp_path / "b.yaml", asks, before=before)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            "origin: written",
            "hand.yaml was written by hand, and only recorded cassettes are overwritten; ",
        ),
        (
            "origin: imported\n  source: x",
            "hand.yaml was imported, and only recorded cassettes are overwritten; ",
        ),
        ("origin: unheard-of", "hand.yaml:4: "),
    ],
)
def test_written_cassettes_are_overwritten_only_with_rewrite(
    project: Path, capsys: pytest.CaptureFixture[str], made: str, message: str
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
            output = capsys.readouterr().err
            assert message in output
            assert output.endswith("name another cassette, or overwrite it with --rewrite\n")
        assert path.read_bytes() == good
        assert seen.requests == []
        assert main(["record", "gemini-api/hand", *prompt, "--rewrite", "--base-url", url]) == 0
        assert load(path).origin.kind == "loopback"
        assert main(["record", "gemini-api/hand", *prompt, "--base-url", url]) == 0


@pytest.mark.slow
def test_cassettes_written_by_hand_are_kept_with_all(project: Path) -> None:
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
        )  # its content is asked, as without it
        assert load(path).origin.kind == "loopback"
