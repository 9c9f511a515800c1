"""``harness --print-completion``, and the help of each command with its exit statuses."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from harness.cli.main import COMMANDS, main
from harness.providers import PROVIDERS
from tests.support.need import need

ROOT = Path(__file__).parents[2]


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    need("completion", find_spec("shtab"), "shtab is not installed")
    with pytest.raises(SystemExit, match="0"):
        main(["--print-completion", shell])
    return capsys.readouterr().out


def completed(line: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The words that bash offers at the end of a line."""
    words = line.split(" ")
    code = (
        f"{script('bash', capsys)}\nCOMP_WORDS=({' '.join(words)})\n[[ ${{#COMP_WORDS[@]}} -lt"
        f" {len(words)} ]] && COMP_WORDS+=('')\nCOMP_CWORD={len(words) - 1}\n_shtab_harness\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return subprocess.run(
        ["bash", "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()


@pytest.mark.skipif(os.name == "nt", reason="bash is a Unix program")
def test_bash_completes_commands_options_and_choices(capsys: pytest.CaptureFixture[str]) -> None:
    assert completed("harness ju", capsys) == ["judge"]
    assert completed("harness judge --ba", capsys) == ["--baseline"]
    assert completed("harness judge --init ", capsys) == [
        "function",
        "client",
        "live",
        "program",
        "gateway",
    ]
    assert completed("harness replay --provider ", capsys) == list(PROVIDERS)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_valid_and_has_all_commands(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = script(shell, capsys)
    assert [name for name in COMMANDS if name not in text] == []
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=text, text=True, check=False).returncode == 0


def test_without_shtab_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(SystemExit, match="2"):
        main(["--print-completion", "bash"])
    assert capsys.readouterr().err == (
        "harness: --print-completion needs shtab; install it: pip install"
        " 'gemini-conformance[completion]'; see harness --help\n"
    )


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["jugde", "x"], "unknown command 'jugde' (did you mean judge?); commands are demo, "),
        (["xyzzy"], "unknown command 'xyzzy'; commands are "),
        (
            ["judge", "--repot", "x"],
            "unrecognized arguments: --repot (did you mean --report?); see ",
        ),
    ],
)
def test_a_misspelt_word_has_a_hint(
    arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert hint in capsys.readouterr().err


def test_help_imports_no_module_of_a_command() -> None:
    code = (
        "import sys; before = {*sys.modules}  # those of a coverage measurement\n"
        "from harness.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "print([name for name in sys.modules if name not in before and name.split('.')[0] in"
        " ('harness', 'msgspec', 'pydantic', 'yaml', 'vcr', 'jinja2', 'dataclasses')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == str(
        [
            "harness",
            "harness.cli",
            "harness.stream",
            "harness.stream.garbage_collector",
            "harness.stream.printable",
            "harness.cli.output",
            "harness.cli.main",
        ]
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_each_help_has_the_exit_statuses(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    assert COMMANDS[command].epilog in capsys.readouterr().out
