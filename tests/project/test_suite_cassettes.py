"""A case may name a recording of the package; nothing writes to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cassettes import CassetteError
from harness.cassettes.load import load
from harness.cli.main import main
from harness.project.project import Project
from harness.project.suite import CASSETTES, suite_name
from tests.pytest_plugin.project import write

NAME = "gemini-api/text"
FILE = CASSETTES / f"{NAME}.yaml"
SPEC = f"""\
harness: 1
cases:
- case: a
  requirement: r
  features: [text.streaming]
  source: https://ai.google.dev
  cassette: {NAME}
  expect: {{anthropic: {{$contains: [{{type: message_stop}}]}}}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project without cassettes, in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "a.yaml").write_text(SPEC, encoding="utf-8")
    return Project([tmp_path / "specs"], tmp_path / "cassettes")


def test_the_recording_of_the_package_is_read(project: Project) -> None:
    assert project.cassette(NAME) == load(FILE)
    assert project.has_cassette(NAME)
    assert project.reads_suite([NAME])
    assert project.cassette_names == []


def test_the_recording_of_the_project_is_read_first(project: Project) -> None:
    own = project.cassettes / f"{NAME}.yaml"
    own.parent.mkdir(parents=True)
    own.write_bytes((CASSETTES / "gemini-api" / "thoughts.yaml").read_bytes())
    assert project.cassette(NAME) == load(own) != load(FILE)
    assert not project.reads_suite([NAME])


def test_a_recording_is_written_to_the_project(project: Project) -> None:
    assert project.cassette_path(NAME) == project.cassettes / f"{NAME}.yaml"


@pytest.mark.parametrize("name", ["../specs/gemini-api/text", str(FILE.with_suffix(""))])
def test_no_name_leads_out_of_the_folders(project: Project, name: str) -> None:
    with pytest.raises(CassetteError, match="leads out"):
        project.cassette(name)


def test_no_name_leads_out_of_the_suite_by_a_link(project: Project) -> None:
    """In the project, ``here/..`` is inside its folder; in the suite it is not."""
    (project.cassettes / "a" / "b").mkdir(parents=True)
    (project.cassettes / "here").symlink_to(project.cassettes / "a" / "b")
    with pytest.raises(CassetteError, match=rf"leads out of {CASSETTES}"):
        project.cassette("here/../../specs/features")


def test_the_nearest_name_of_the_package_is_proposed(project: Project) -> None:
    with pytest.raises(CassetteError, match=r"did you mean gemini-api/text\?"):
        project.cassette("gemini-api/txt")


@pytest.mark.parametrize(("name", "suite"), [(NAME, suite_name()), ("gemini-api/own", "")])
def test_a_report_names_the_suite_of_its_recordings(
    pytester: pytest.Pytester, name: str, suite: str
) -> None:
    write(pytester, "cassettes/gemini-api/own.yaml", FILE.read_text(encoding="utf-8"))
    write(pytester, "specs/a.yaml", SPEC.replace(NAME, name))
    ran = pytester.runpytest_inprocess("specs", "-p", "no:cacheprovider", "--harness-report", "out")
    ran.assert_outcomes(passed=1)
    document = json.loads((pytester.path / "out" / "results.json").read_text(encoding="utf-8"))
    assert document["header"].get("suite", "") == suite


def test_it_is_neither_unused_nor_deleted_nor_missing(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    before = FILE.read_bytes()
    assert main(["check", "--prune"]) == 0
    assert capsys.readouterr().out == "1 spec valid, 0 problems\n"
    assert main(["record", "--missing"]) == 0
    assert "nothing to record" in capsys.readouterr().err
    assert FILE.read_bytes() == before
    assert not project.cassettes.exists()
