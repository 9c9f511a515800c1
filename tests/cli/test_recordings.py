"""The recordings that commands take: files, cassettes by name, and one exchange of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cassettes import loads
from harness.cassettes.load import load
from harness.cli.main import main
from harness.project.suite import CASSETTES
from harness.providers import with_provider
from tests.cli.project import write
from tests.support.captured import need_scale

NAME = "gemini-api/calls-and-text"
FILE = CASSETTES / f"{NAME}.yaml"
COMMANDS = {
    "replay": ["replay"],
    "replay with an adapter": ["replay", "--adapter", "unified-llm"],
    "show": ["show", "--adapter", "art"],
    "import": ["import"],
    "import to vcrpy": ["import", "--to", "vcrpy"],
}


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_of_the_suite_is_its_file(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for place in ("", ":2"):
        by_name = printed(capsys, *COMMANDS[command], f"{NAME}{place}")
        assert by_name == printed(capsys, *COMMANDS[command], f"{FILE}{place}")
        assert by_name


def test_a_number_is_one_exchange(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(load(FILE).exchanges) > 1
    shown = [printed(capsys, "show", f"{NAME}:{number}") for number in (1, 2)]
    whole = printed(capsys, "show", NAME)
    for number, text in enumerate(shown, 1):
        assert text.startswith(f"exchange {number}:")
        assert text in whole
    assert shown[1] == printed(capsys, "show", f"{NAME}:2", "--exchange", "2")
    _, *lines = printed(capsys, "show", NAME, "--list").splitlines()
    assert printed(capsys, "show", f"{NAME}:2", "--list").splitlines()[1:] == lines[1:2]
    (imported,) = loads(printed(capsys, "import", f"{NAME}:2")).exchanges
    assert with_provider(imported) == load(FILE).exchanges[1]


@pytest.mark.slow
def test_sweep_and_scan_take_names_of_whole_cassettes(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    need_scale()
    write("cassettes/shop/basket.yaml", FILE.read_text(encoding="utf-8"))
    for name in (NAME, "shop/basket", "shop"):
        assert main(["scan", name]) == 0
        assert capsys.readouterr().err == "1 file scanned\n"
        assert main(["sweep", name, "-o", f"out/{name}", "--jobs", "1"]) == 0
        assert "1 file of verdicts" in capsys.readouterr().err
    assert main(["scan", f"{NAME}:2"]) == 2
    assert main(["sweep", f"{NAME}:2", "-o", "out"]) == 2
    assert "No such file; omit :2" in capsys.readouterr().err


def test_files_precede_the_projects_cassettes_and_the_suite(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write("pytest.ini", "[pytest]\nharness_cassettes = tapes\n")
    whole, own = printed(capsys, "show", NAME), printed(capsys, "show", "two.yaml")
    assert whole != own
    write(f"tapes/{NAME}.yaml", Path("two.yaml").read_text(encoding="utf-8"))
    assert printed(capsys, "show", NAME) == own
    write(NAME, FILE.read_text(encoding="utf-8"))
    assert printed(capsys, "show", NAME) == whole


@pytest.mark.parametrize(
    "command",
    [*COMMANDS.values(), ["serve"], ["sweep", "-o", "out"], ["judge", "art", "--cassettes"]],
    ids=str,
)
def test_an_unknown_name_is_one_line_with_the_nearest_name(
    command: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write("cassettes/shop/basket.yaml", Path("two.yaml").read_text(encoding="utf-8"))
    for name, near in {
        "gemini-api/calls-and-texts": NAME,
        "calls-and-text": NAME,
        "gemini-api/calls-and-tex:2": NAME,
        "shop/baskte": "shop/basket",
    }.items():
        assert main([*command, name]) == 2
        first, *more = capsys.readouterr().err.splitlines()
        assert first.endswith(f"{name}: No such file or directory; did you mean {near}?")
        assert not more or command[0] == "judge"


@pytest.mark.parametrize("command", ["show", "import", "serve"])
def test_a_number_too_high_is_one_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, f"{NAME}:99"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "there is no exchange 99" in line
