"""The option ``harness import --in-place``."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from harness import load
from harness.cassettes import is_cassette
from harness.cli.main import main
from harness.recording.atomic_file import stage
from tests.cli.project import URL, write

STOCK = f"""\
interactions:
- request:
    body: '{{"contents": []}}'
    headers:
      x-goog-api-key: [hush]
    method: POST
    uri: {URL}
  response:
    body:
      string: 'data: {{"candidates": []}}'
    headers:
      content-type: [text/event-stream]
    status: {{code: 200, message: OK}}
version: 1
"""
DICT_BODY = STOCK.replace("body: '{\"contents\": []}'", "body: {contents: []}")


@pytest.fixture
def folder(here: Path) -> Path:
    """A suite's folder with three vcrpy cassettes and with files of other kinds."""
    write("suite/a.yaml", STOCK)
    write("suite/deep/b.yaml", DICT_BODY)
    write("suite/deep/c.yml", STOCK)
    write("suite/other.yaml", "services: {web: {image: x}}\n")
    write("suite/ours.yaml", Path("two.yaml").read_text(encoding="utf-8"))
    write("suite/notes.txt", "interactions: []\n")
    return here / "suite"


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder, temporary ones too."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_is_converted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(folder)
    (folder / "a.yaml").chmod(0o640)
    assert main(["import", "--in-place", "suite", "--licence", "MIT"]) == 0
    after = contents(folder)
    changed = sorted(Path(name).name for name in after if before.get(name) != after[name])
    assert changed == ["a.yaml", "b.yaml", "c.yml"]
    assert before.keys() == after.keys()
    assert stat.S_IMODE((folder / "a.yaml").stat().st_mode) == 0o640
    for name in ("a.yaml", "deep/b.yaml", "deep/c.yml"):
        assert is_cassette((folder / name).read_bytes())
        cassette = load(folder / name)
        assert (cassette.origin.kind, cassette.origin.licence) == ("imported", "MIT")
        request = cassette.exchanges[0].request
        assert request is not None
        assert request.body.replace(b" ", b"") == b'{"contents":[]}'
        assert b"hush" not in (folder / name).read_bytes()
    assert capsys.readouterr().err.splitlines() == [
        "harness: converted suite/a.yaml; 1 header left out: x-goog-api-key",
        "harness: converted suite/deep/b.yaml; 1 header left out: x-goog-api-key",
        "harness: converted suite/deep/c.yml; 1 header left out: x-goog-api-key",
        "harness: vcrpy reads these only with register(vcr): docs/from-pytest-recording.md",
    ]
    assert main(["import", "--in-place", "suite"]) == 1
    assert "nothing to convert" in capsys.readouterr().err
    write("new.yaml", STOCK.replace("[hush]", "[hush]\n      Cookie: [a=b]"))
    assert main(["import", "new.yaml", "-o", "out.yaml"]) == 0
    assert capsys.readouterr().err == (
        "harness: wrote out.yaml; 2 headers left out: cookie, x-goog-api-key\n"
    )


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("suite/damaged.yaml", STOCK[:-40], "suite/damaged.yaml: recorded interactions"),
        ("suite/leaky.yaml", STOCK.replace("data: ", "ya29.a0AfH6SMBx-0123456789abcdef"), "leaky"),
        ("suite/x.json", "{}", "this name does not end in .yaml or .yml"),
        ("nowhere", "", "nowhere: no such file or folder"),
    ],
)
def test_nothing_is_converted_if_one_file_can_not_be(
    folder: Path, name: str, text: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if text:
        write(name, text)
    before = contents(folder)
    assert main(["import", "--in-place", "suite", name]) == 2
    assert contents(folder) == before
    error = capsys.readouterr().err
    assert problem in error
    assert error.endswith("no file was changed\n")


def test_nothing_is_converted_if_the_disk_is_full(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Path] = []

    def full(path: Path, pieces: Iterable[bytes], mark: str) -> Path:
        calls.append(path)
        if len(calls) == 3:
            raise OSError(28, "No space left on device", str(path))
        return stage(path, pieces, mark)

    monkeypatch.setattr("harness.cli.in_place.stage", full)
    before = contents(folder)
    assert main(["import", "--in-place", "suite"]) == 2
    assert len(calls) == 3
    assert contents(folder) == before


KILLED = """
import os, signal, sys
import harness.cli.in_place as in_place
from harness.cli.main import main

number = 0
real = getattr(in_place, sys.argv[1])

def killed(*arguments):
    global number
    number += 1
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments)

setattr(in_place, sys.argv[1], killed)
main(["import", "--in-place", "suite"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("step", ["stage", "commit"])
def test_a_conversion_after_a_killed_one_cleans_up_and_completes(
    folder: Path, capsys: pytest.CaptureFixture[str], step: str
) -> None:
    names = contents(folder).keys()
    killed = subprocess.run([sys.executable, "-c", KILLED, step], check=False)
    assert killed.returncode == -signal.SIGKILL
    left = contents(folder).keys() - names
    assert left
    assert main(["import", "--in-place", "suite"]) == 0
    assert contents(folder).keys() == names
    error = capsys.readouterr().err
    for file in left:
        assert f"deleted {Path(file).relative_to(folder.parent)}, which a conversion" in error
    for name in ("a.yaml", "deep/b.yaml", "deep/c.yml"):
        assert is_cassette((folder / name).read_bytes())


def test_files_outside_the_folder_stay(folder: Path) -> None:
    write("outside/a.yaml", STOCK)
    (folder / "link").symlink_to("../outside")
    (folder / "one.yaml").symlink_to("../outside/a.yaml")
    assert main(["import", "--in-place", "suite"]) == 0
    assert Path("outside/a.yaml").read_text(encoding="utf-8") == STOCK
    assert main(["import", "--in-place", "suite/one.yaml"]) == 0
    assert is_cassette(Path("outside/a.yaml").read_bytes())
    assert (folder / "one.yaml").is_symlink()


def test_several_files_need_the_option(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "suite/a.yaml", "two.yaml"]) == 2
    assert "all of them with --in-place" in capsys.readouterr().err
