"""Links to folders of specs and cassettes: their files are collected once, both by folder and by
name.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli.main import main
from tests.pytest_plugin.project import CASE, write

LINKED = "cassettes/shared/gemini-api/hello.yaml"
OWN = "cassettes/gemini-api/hello.yaml"


def outcomes(project: pytest.Pytester, *arguments: str) -> dict[str, int]:
    return project.runpytest_inprocess("-p", "no:cacheprovider", *arguments).parseoutcomes()


def files_of_laws(project: pytest.Pytester, *arguments: str) -> list[str]:
    """The files whose law items pytest collects."""
    result = project.runpytest_inprocess(
        "-p", "no:cacheprovider", "--harness-laws", "--collect-only", "-q", *arguments
    )
    return sorted({line.partition("::")[0] for line in result.outlines if "::law-" in line})


@pytest.fixture
def linked(project: pytest.Pytester) -> Path:
    """A project whose folders of specs and cassettes are links. Each contains a link, and there are
    links to both beside them.
    """
    for name in ("specs", "cassettes"):
        (project.path / name).rename(project.path / f"real_{name}")
        (project.path / name).symlink_to(f"real_{name}")
    outside = project.path.with_name(f"{project.path.name}-outside")
    (outside / "gemini-api").mkdir(parents=True)
    cassette = project.path / "cassettes/gemini-api/hello.yaml"
    (outside / "gemini-api/hello.yaml").write_bytes(cassette.read_bytes())
    (project.path / "cassettes/shared").symlink_to(outside)
    write(project, "more/deep/hello.yaml", CASE)
    (project.path / "specs/more").symlink_to("../more")
    for name in ("specs", "cassettes"):
        (project.path / f"a_{name}").symlink_to(name)
    (project.path / "a_cassette.yaml").symlink_to(OWN)
    return project.path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "count"),
    [
        ("specs", 4),
        ("specs/hello.yaml", 2),
        ("specs/more", 2),
        ("specs/more/deep/hello.yaml", 2),
        ("real_specs", 4),
        ("real_specs/hello.yaml", 2),
        ("a_specs", 4),
        ("a_specs/more", 2),
        ("a_specs/hello.yaml", 2),
        ("a_specs specs", 4),
        ("a_specs real_specs", 4),
        (".", 4),
    ],
)
def test_specs_below_a_link_are_collected(
    linked: Path, project: pytest.Pytester, place: str, count: int
) -> None:
    assert outcomes(project, *place.split()) == {"passed": count}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "files"),
    [
        ("cassettes", [OWN, LINKED]),
        ("cassettes/gemini-api", [OWN]),
        (OWN, [OWN]),
        ("cassettes/shared", [LINKED]),
        (LINKED, [LINKED]),
        ("real_cassettes", [f"real_{OWN}", f"real_{LINKED}"]),
        (f"real_{OWN}", [f"real_{OWN}"]),
        (".", [OWN, LINKED]),
        ("specs", [OWN, LINKED]),
        ("a_cassettes", [f"a_{OWN}", f"a_{LINKED}"]),
        ("a_cassettes/gemini-api", [f"a_{OWN}"]),
        (f"a_{OWN}", [f"a_{OWN}"]),
        ("a_cassettes cassettes", [OWN, LINKED]),
        ("a_cassette.yaml", ["a_cassette.yaml"]),
    ],
)
def test_the_laws_are_asked_of_cassettes_below_a_link(
    linked: Path, project: pytest.Pytester, place: str, files: list[str]
) -> None:
    assert files_of_laws(project, *place.split()) == files


@pytest.mark.slow
def test_the_laws_of_a_cassette_below_a_link_are_judged(
    linked: Path, project: pytest.Pytester
) -> None:
    assert outcomes(project, "--harness-laws", LINKED).keys() == {"passed", "skipped"}


@pytest.mark.slow
def test_a_circular_link_of_cassettes_is_not_walked(project: pytest.Pytester) -> None:
    (project.path / "cassettes/self").symlink_to(".")
    (project.path / "other").mkdir()
    (project.path / "other/back").symlink_to(".")
    (project.path / "cassettes/other").symlink_to("../other")
    assert files_of_laws(project, "cassettes") == [OWN]


@pytest.mark.slow
def test_a_link_to_a_folder_that_is_collected_is_not_walked(project: pytest.Pytester) -> None:
    (project.path / "cassettes/again").symlink_to("gemini-api")
    write(project, "specs/deep/hello.yaml", CASE)
    (project.path / "specs/again").symlink_to("deep")
    assert files_of_laws(project, "cassettes") == [OWN]
    assert files_of_laws(project, "cassettes/again") == ["cassettes/again/hello.yaml"]
    assert outcomes(project, "specs") == {"passed": 4}
    assert outcomes(project, "specs/again") == {"passed": 2}


def test_check_finds_the_files_below_links(
    linked: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(linked)
    assert main(["check"]) == 0
    assert "2 specs, 2 cassettes valid" in capsys.readouterr().out
