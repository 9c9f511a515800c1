"""Names and links that lead out of a folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness import load
from harness.cassettes import CassetteError, Origin
from harness.cassettes.journal import Answered, Started
from harness.cassettes.redaction.secrets import guard
from harness.cli.main import main
from harness.project.folders import yaml_files
from harness.project.project import Project
from harness.recording.atomic_file import save
from harness.recording.journal import Journal
from harness.report import Header, Named, Run, render
from harness.specs.spec_error import SpecError
from tests.security.samples import SPEC, spec
from tests.support.report_samples import HEADER, result

NOWHERE = [
    "../outside",
    "gemini-api/../../outside",
    "/etc/passwd",
    "loop",
    "one",
    "\0",
    "x" * 5000,
    "\ud800",
    "folder/outside",
    "link",
]


@pytest.mark.parametrize("name", NOWHERE, ids=lambda name: ascii(name)[1:20])
def test_no_name_of_a_cassette_leaves_its_folder(name: str, project: Path) -> None:
    (project / "cassettes/loop.yaml").symlink_to("loop.yaml")
    (project / "cassettes/one.yaml").symlink_to("two.yaml")
    (project / "cassettes/two.yaml").symlink_to("one.yaml")
    (project / "cassettes/folder").symlink_to(project)
    (project / "cassettes/link.yaml").symlink_to(project / "outside.yaml")
    assert load("cassettes/link.yaml").exchanges  # an unprotected reader
    with pytest.raises(CassetteError, match=r"leads out of|is not a path|does not exist"):
        Project([Path("specs")], Path("cassettes")).cassette(name)


@pytest.mark.parametrize(
    "name", ["../outside", "a/b", "/etc/passwd", "..", ".", "a\\\\b", "a\\0", "a%2fb", "-"]
)
def test_no_name_of_a_case_is_a_path(name: str) -> None:
    assert spec(SPEC)
    with pytest.raises(SpecError, match="case"):
        spec(SPEC.replace("case: hello", f'case: "{name}"'))


@pytest.mark.parametrize("number", ["0", "-1", "2", "9" * 30])
@pytest.mark.parametrize("command", ["replay", "show"])
def test_an_exchange_that_is_not_there_is_an_error(
    command: str, number: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "outside.yaml", f"--exchange={number}"]) == 2
    assert "there is no exchange" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["import"], ["import", "--to", "vcrpy"]], ids=" ".join)
@pytest.mark.parametrize("target", ["there.yaml", "dangling.yaml"])
def test_no_file_is_overwritten_or_written_through_a_link(
    command: list[str], target: str, project: Path
) -> None:
    Path("there.yaml").write_text("precious", encoding="utf-8")
    Path("dangling.yaml").symlink_to("made.yaml")
    assert main([*command, "outside.yaml", "-o", target]) == 2
    assert Path("there.yaml").read_text(encoding="utf-8") == "precious"
    assert not Path("made.yaml").exists()


def test_a_recording_is_not_written_through_a_link(project: Path) -> None:
    precious, cassette = project / "precious", project / "new.yaml"
    precious.write_text("precious", encoding="utf-8")
    cassette.symlink_to(precious)
    (project / "elsewhere").mkdir()
    (project / ".harness").symlink_to("elsewhere")
    journal = Journal(cassette, lambda request: (Origin("recorded"), guard()))
    journal.put(Started(0, None))
    journal.put(Answered(0, 200, "OK", {}))
    assert list((project / "elsewhere").rglob("*.part")) == []
    save(cassette, [b"text\n"])
    assert not cassette.is_symlink()
    assert cassette.read_text(encoding="utf-8") == "text\n"
    assert precious.read_text(encoding="utf-8") == "precious"


def test_a_folder_that_links_to_itself_is_walked_once(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "specs/self").symlink_to(".")
    (project / "specs/up").symlink_to("..")
    assert [path.name for path in yaml_files(project / "specs")] == ["hello.yaml"]
    assert main(["check"]) == 0
    assert "1 spec, 1 cassette valid" in capsys.readouterr().out
    assert main(["scan", "specs"]) == 0
    assert "1 file scanned" in capsys.readouterr().err


def test_names_in_results_stay_in_the_report_folder() -> None:
    header = Header(
        tools=(),
        providers=HEADER.providers,
        adapters=(Named("../../evil", "x", 0), Named("/etc/a\0b", "y", 1)),
        features=HEADER.features,
    )
    files = render(Run(header, [result(adapter="../../evil"), result(adapter="/etc/a\0b")]))
    in_place = re.compile(
        r"(badges/)?[a-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9._-]+)?\.(html|json|xml|md|svg|txt)"
    )
    assert len(files) > 4
    assert [name for name in files if not in_place.fullmatch(name)] == []
