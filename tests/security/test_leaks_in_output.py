"""No secret leaves the process in a report, a message or the output of a command.

Each place is also tried without the mask and then shows the secret, so the test really checks the
place.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.cassettes import Cassette, Origin, dumps
from harness.cassettes.redaction.mask import Mask
from harness.cassettes.redaction.masked_output import MaskedOutput
from harness.cassettes.redaction.redactor import Redactor
from harness.cli.main import main
from harness.facts import Finding
from harness.judging.rows import (
    Evidence,
    LayerView,
    Row,
    Sent,
    Stream,
)
from harness.report import Run, compare_runs, merge
from harness.report.files import read_run, write_report
from tests.security.leak_places import (
    ENVIRONMENT,
    KINDS,
    URL,
    VARIABLE,
    part,
    pieces,
    shown,
    wrapped,
)
from tests.security.samples import exchange
from tests.support.report_samples import HEADER, result


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, ENVIRONMENT)
    monkeypatch.delenv("CI", raising=False)


def unmask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mask, "_shown", lambda self, text: text)
    monkeypatch.setattr(Redactor, "prose", lambda self, text: text)
    monkeypatch.setattr("harness.cassettes.redaction.secrets._mask", lambda _: Mask())  # a new one


# Reports


def with_evidence(**fields: object) -> Row:
    base = result("failed")
    evidence = base.evidence or Evidence()
    return replace(base, evidence=replace(evidence, **fields))


def with_stream(**fields: object) -> Row:
    return with_evidence(stream=Stream(200, 9, "a" * 32, **fields))  # type: ignore[arg-type]  # any field of a stream


def finding(wire: str = "", adapter: str = "", remark: str = "", path: str = "[0]") -> Row:
    changed = Finding(path, "wrong", "changed", wire, adapter, remark=remark)
    return result("failed", findings=(changed,), findings_total=1)


def lines(*texts: str) -> Row:
    return with_evidence(layers=(LayerView("frames", texts, 0, len(texts), 0, True),))


REPORTED: dict[str, Callable[[str], Row]] = {
    "requirement": lambda text: result("failed", requirement=text),
    "reason": lambda text: result("error", reason=f"the adapter raised KeyError: {text}"),
    "link": lambda text: result("known-failing", reason="r", link=f"https://x/?q={text}"),
    "source": lambda text: result(source=f"https://x/?q={text}"),
    "case": lambda text: result(case=text),
    "spec": lambda text: result(spec=f"specs/{text}.yaml"),
    "cassette": lambda text: result(cassette=text),
    "command": lambda text: result(command=f"pytest -k '{text}'"),
    "wire": lambda text: result("failed", wire=part(text=text)),
    "cut wire": lambda text: result(
        "failed", wire=f"{text.partition(' there')[0][:-3]} … (2,000 characters)"
    ),
    "note of the origin": lambda text: result("failed", origin=Origin("written", note=text)),
    "finding, expected": lambda text: finding(text),
    "finding, got": lambda text: finding(adapter=json.dumps({"delta": text})),
    "finding, note": lambda text: finding(remark=text),
    "finding, path": lambda text: finding(path=f"[0].{text}"),
    "frames": lambda text: lines("@0 {}", f"@12 {part(text=text)}"),
    "pieces in frames": lambda text: lines(*pieces("text", text).split("\r\n\r\n")),
    "payloads": lambda text: lines(
        json.dumps({"type": "TOKEN", "data": {"inner": json.dumps([text])}})
    ),
    "counterexample": lambda text: with_evidence(small_case=text),
    "request's URL": lambda text: with_stream(sent=Sent("POST", f"https://x/?q={text}")),
    "request's body": lambda text: with_stream(sent=Sent("POST", URL, json.dumps({"q": text}), 9)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", REPORTED)
def test_a_report_shows_no_secret(tmp_path: Path, place: str, kind: str) -> None:
    """A row is masked when it is made, as the tests of whole runs show, or when it is read."""
    run = Run(HEADER, [REPORTED[place](KINDS[kind]), result("passed", adapter="unified-llm")])
    write_report(run, None, tmp_path / "plain")
    assert shown((tmp_path / "plain" / "results.json").read_bytes())
    write_report(read_run(tmp_path / "plain"), None, tmp_path / "masked")
    files = [path for path in (tmp_path / "masked").rglob("*") if path.is_file()]
    assert len(files) > 5
    assert not any(shown(path.read_bytes()) for path in files)
    masked = read_run(tmp_path / "masked")
    assert merge([masked, masked]).results == masked.results
    assert not compare_runs(masked, read_run(tmp_path / "masked"))
    assert not compare_runs(masked, read_run(tmp_path / "plain"))


def test_the_names_in_results_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The value of a variable may equal one of our names, such as ``KEYCLOAK_REALM=anthropic``."""
    for variable, name in ("A_KEY", "anthropic"), ("B_KEY", "gemini-api"), ("C_KEY", "payloads"):
        monkeypatch.setenv(variable, name)
    monkeypatch.setenv("D_KEY", "known-failing")
    run = Run(HEADER, [result("known-failing", reason="not for anthropic")])
    write_report(run, None, tmp_path)
    (read,) = read_run(tmp_path).results
    assert (read.adapter, read.provider, read.layer, read.verdict) == (
        "anthropic",
        "gemini-api",
        "payloads",
        "known-failing",
    )
    assert read.reason == "not for REDACTED"
    assert (tmp_path / "index.html").is_file()


# The command line


def recorded(text: str) -> str:
    body = part(text=text) + part(functionCall={"name": "f", "args": {"q": text}})
    return dumps(Cassette((exchange(body.encode()),), Origin("written", note=text)))


def answer(name: str, *options: str) -> Callable[[str], list[str]]:
    def command(text: str) -> list[str]:
        Path("a.yaml").write_text(recorded(text), encoding="utf-8")
        return [name, "a.yaml", *options]

    return command


def problem(text: str) -> list[str]:
    Path("a.yaml").write_text(f"harness: 1\ncases:\n- case: {json.dumps(text)}\n", encoding="utf-8")
    return ["check", "a.yaml"]


def named(text: str) -> list[str]:
    return ["show", f"{text}.yaml"]


COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "payloads": answer("replay", "--dialect", "art"),
    "events": answer("replay", "--layer", "events"),
    "frames": answer("replay", "--layer", "frames"),
    "problem of a check": problem,
    "name of a file": named,
    "bad usage": lambda text: ["replay", "--layer", text],
    "unknown command": lambda text: [text],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", COMMANDS)
def test_a_command_prints_no_secret(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    place: str,
    kind: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = COMMANDS[place](KINDS[kind])

    def output() -> str:
        with suppress(SystemExit):
            main(arguments)
        return "".join(capsys.readouterr())

    assert not shown(output())
    with monkeypatch.context() as context:
        unmask(context)
        assert shown(output())


@pytest.mark.parametrize("lines_before", range(0, 44, 2))
def test_a_secret_at_the_cut_of_a_long_output_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, lines_before: int
) -> None:
    monkeypatch.setattr("harness.cassettes.redaction.masked_output.MAX_HELD", 1000)
    monkeypatch.setattr("harness.cassettes.redaction.masked_output.MAX_SECRET", 300)
    stream, before, after = io.StringIO(), "a line\n" * 5 * lines_before, "the end\n" * 300
    output = MaskedOutput(stream, by_line=False)
    for line in (before + wrapped(KINDS["Google API key"]) + "\n" + after).splitlines(True):
        output.write(line)
    output.flush()
    written = stream.getvalue()
    assert not shown(written)
    assert written.startswith(before + "it is REDACTED")
    assert written.endswith(" there\n" + after)


def test_the_traceback_of_a_command_shows_no_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        raise RuntimeError(KINDS["Google API key"])

    monkeypatch.setattr("harness.cli.main._run", fail)
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    with pytest.raises(RuntimeError) as raised:
        main([])
    sys.excepthook(raised.type, raised.value, raised.tb)
    sys.stderr.flush()
    printed = "".join(capsys.readouterr())
    assert "RuntimeError: it is REDACTED there" in printed
    assert not shown(printed)


SHIM = """
import sys
from harness.facts import Text

TEXT = {text!r}

def replay(exchange):
    print(TEXT)
    print(TEXT, file=sys.stderr)
    yield {{"text": TEXT}}, [Text(TEXT)]
"""
"""An adapter that gets a key at its import. When it runs, the environment has no key."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["judge", "leaking_shim:replay", "--cassettes", "a.yaml", "--report", "out"],
        ["replay", "a.yaml", "--adapter", "leaking_shim:replay"],
        ["sweep", "a.yaml", "it is LEAK.yaml", "-o", "out", "--jobs", "1"],
        ["sweep", "a.yaml", "-o", "out", "--adapter", "leaking_shim:replay"],
        ["sweep", "a.yaml", "-o", "out", "--adapter", "leaking_shim:replay", "--jobs", "1"],
    ],
    ids=lambda command: command[0],
)
def test_an_adapter_shows_no_secret(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("MY_API_KEY", ENVIRONMENT)  # which is withheld from the adapter
    monkeypatch.delenv(VARIABLE)
    text = f"it is {ENVIRONMENT} there"
    named = f"{KINDS['Google API key']}.yaml"
    for name in "a.yaml", named:
        Path(name).write_text(recorded("Hi"), encoding="utf-8")
    pytester.makepyfile(leaking_shim=SHIM.format(text=text))
    words = [named if word == "it is LEAK.yaml" else word for word in command]
    run = pytester.run(str(Path(sys.executable).with_name("harness")), *words)
    printed = run.stdout.str() + run.stderr.str()
    files = [path.read_bytes() for path in Path("out").rglob("*") if path.is_file()]
    assert any(b"REDACTED" in text for text in [printed.encode(), *files])
    assert not shown(printed)
    assert not any(map(shown, files))


def test_the_results_name_no_skipped_file_with_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(recorded("Hi"), encoding="utf-8")
    Path(f"{KINDS['Google API key']}.yaml").write_text(recorded("Hi")[:200], encoding="utf-8")
    words = ["judge", "art", "--cassettes", ".", "--questions", "none", "--json", "out.json"]
    assert main(words) == 0
    results = Path("out.json").read_bytes()
    assert b'"path":"it is REDACTED there.yaml"' in results
    assert not shown(results)
    assert not shown("".join(capsys.readouterr()))
