"""``harness demo`` and ``harness judge --init``."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli.demo import open_page
from harness.cli.judge_init import FIRST, KINDS
from harness.cli.main import main
from harness.judging.judge_results import decode_results
from harness.stream.exchange import Exchange


@pytest.mark.slow
def test_the_demo_finds_the_two_faults_and_writes_the_page(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "-o", "page"]) == 0
    out = capsys.readouterr().out
    careful, last, empty = decode_results(Path("page/judge.json").read_bytes(), "").adapters
    assert {cell.verdict for cell in careful.cells} == {"passed"}
    lost = [
        {
            aspect
            for cell in given.cells
            for aspect, verdict in cell.aspects.items()
            if verdict == "lost"
        }
        for given in (last, empty)
    ]
    assert lost == [{"calls", "ids", "signatures"}, {"signatures"}]
    assert "Documented wire: 70 of 70 cells passed\n" in out  # the README has the number
    assert "- calls lost in 4 cells: 2 of 3 calls lost" in out
    assert "does the shim report it?" not in out
    events = []
    for aspect in ("calls", "ids"):
        finding = out[out.index(f"- {aspect} lost in 4 cells: ") :]
        events.append(finding[finding.index("\n  native  ") : finding.index("  run: ")])
    assert events[0] == events[1], "a lost id has the event of its call"
    assert "https://github.com/jeremychone/rust-genai/issues/173" in out
    assert "The page: page/index.html\n" in out
    assert "last-call" in Path("page/index.html").read_text(encoding="utf-8")


def test_a_page_without_a_desktop_or_with_a_broken_browser_is_no_error(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)

    def popen(command: list[str], **_: object) -> None:
        started.append(command)
        raise OSError("no browser")

    monkeypatch.setattr(subprocess, "Popen", popen)
    open_page(Path("index.html"))
    assert started == []
    monkeypatch.setenv("DISPLAY", ":0")
    open_page(Path("index.html"))
    assert [command[-1] for command in started] == [(here / "index.html").as_uri()]


NEWLINE = "\n"


def test_init_without_a_kind_lists_the_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["judge", "--init"])
    assert f"--init: expected one argument: {', '.join(KINDS)};" in capsys.readouterr().err


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_shim_names_the_next_line(
    kind: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", "--init", kind, "-o", "my_shim.py"]) == 0
    first, rest = capsys.readouterr().out.split("Then judge it on all exchanges:\n")
    assert first.startswith("Next, judge it as it stands on three exchanges; ")
    assert first.endswith(f"{rest.removesuffix(NEWLINE)} {KINDS[kind].first}{NEWLINE}")
    compile(Path("my_shim.py").read_text(encoding="utf-8"), "my_shim.py", "exec")
    assert main(["judge", "--init", kind, "-o", "my_shim.py"]) == 2
    assert capsys.readouterr().err == (
        "harness: my_shim.py already exists; name another file, or delete it first\n"
    )


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node")
def test_a_new_program_may_be_one_of_node(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "--init", "program", "-o", "new.mjs"]) == 0
    assert 'harness judge "serve: node new.mjs"' in capsys.readouterr().out
    assert main(["judge", "serve: node new.mjs", "--cassettes", "gemini-api/text:1"]) == 1
    assert "new.mjs is not filled in: ask your adapter in answer" in capsys.readouterr().out
    assert main(["judge", "--init", "client", "-o", "new.mjs"]) == 2


@pytest.mark.parametrize("file", ["new_program.py", "new_program.mjs", "new_shim.py"])
def test_the_template_has_the_tokens_of_thoughts(file: str, here: Path) -> None:
    kind = "program" if "program" in file else "function"
    assert main(["judge", "--init", kind, "-o", file]) == 0
    text = Path(file).read_text(encoding="utf-8")
    assert "thoughts=event.thoughts" in text or 'thoughts": 3' in text or "thoughts: 3" in text


def test_the_template_of_a_function_reports_a_cut(here: Path) -> None:
    assert main(["judge", "--init", "function", "-o", "cut_shim.py"]) == 0
    module = runpy.run_path("cut_shim.py")
    reads = module["network"](Exchange(None, 200, {}, ((None, b"a"), (None, b"b")), "cut"))
    assert [next(reads), next(reads)] == [b"a", b"b"]
    with pytest.raises(ConnectionError, match="the answer ended with: cut"):
        next(reads)


@pytest.mark.slow
def test_new_shims_pass_mypy(here: Path) -> None:
    files = [f"{kind}_shim.py" for kind in KINDS]
    for kind, file in zip(KINDS, files, strict=True):
        assert main(["judge", "--init", kind, "-o", file]) == 0
    command = [sys.executable, "-m", "mypy", "--strict", *files]
    assert subprocess.run(command, check=False).returncode == 0


@pytest.mark.parametrize(
    ("kind", "target", "cassette"),
    [
        ("function", "new_function:replay", "gemini-api/text:1"),
        ("client", "serve: new_client:replay", "gemini-api/text:1"),
        ("live", "serve: new_live:replay", "live/text:1"),
        ("program", f"serve: {sys.executable} new_program.py", "gemini-api/text:1"),
    ],
)
def test_a_new_shim_is_red_and_says_what_to_fill_in(
    kind: str, target: str, cassette: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", "--init", kind, "-o", f"new_{kind}.py"]) == 0
    capsys.readouterr()
    assert main(["judge", target, "--cassettes", cassette]) == 1
    assert f"new_{kind}.py is not filled in: " in capsys.readouterr().out


def test_the_first_exchanges_are_of_the_suite(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "unified-llm", *FIRST.split()]) == 0
    assert "Documented wire: 3 of 3 cells passed" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["function", "client", "live", "program"])
def test_a_new_shim_is_asked_only_for_its_wire(
    kind: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(f"wire_{kind}.py")
    assert main(["judge", "--init", kind, "-o", str(file)]) == 0
    target = f"serve: {sys.executable} {file}" if kind == "program" else f"{file.stem}:replay"
    target = f"serve: {target}" if kind in ("client", "live") else target
    assert main(["judge", target, "--cassettes", "anthropic/text:1"]) == 2
    assert "nothing was compared" in capsys.readouterr().err


def test_a_new_function_gets_each_read_and_its_ways_out_work(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", "--init", "function", "-o", "ways_out.py"]) == 0
    text = Path("ways_out.py").read_text(encoding="utf-8")
    text = text.replace("# if not exchange.streamed:", "if not exchange.streamed:")
    text = text.replace("# if exchange.status >= 400:", "if exchange.status >= 400:")
    text = text.replace(
        "raise RuntimeError(", 'raise RuntimeError(f"{len(list(reads))} reads; " + '
    )
    Path("ways_out.py").write_text(text, encoding="utf-8")
    command = ["judge", "ways_out:replay", "--cassettes"]
    for skipped in ("gemini-api/unary:1", "gemini-api/http-errors:1"):
        assert main([*command, skipped]) == 2
        assert "nothing was compared" in capsys.readouterr().err
    assert main([*command, "gemini-api/parallel-calls:1"]) == 1
    assert "3 reads; ways_out.py is not filled in" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (
            "my-shim.py",
            "--init function: my-shim.py can't be a module of Python; use a name such as shim.py",
        ),
        ("json.py", "--init function: Python has a module json; use another name, such as shim.py"),
    ],
)
def test_a_shim_that_could_not_be_imported_is_refused(
    file: str, message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", "--init", "function", "-o", file]) == 2
    assert capsys.readouterr().err == f"harness: {message}\n"
    assert not Path(file).exists()


def test_judge_without_a_target_says_how_to_begin(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge"]) == 2
    assert "harness judge --init function -o shim.py" in capsys.readouterr().err
