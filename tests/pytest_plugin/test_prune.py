"""``--harness-prune``: which runs delete the cassettes that nothing uses, and what they print."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pytest_plugin.project import run, write

NOT_ALL = "nothing was deleted: the run did not have all specs and adapters; run `pytest` without*"


@pytest.fixture
def unused(project: pytest.Pytester) -> Path:
    """A cassette that nothing names."""
    text = (project.path / "cassettes/gemini-api/hello.yaml").read_text(encoding="utf-8")
    return write(project, "cassettes/gemini-api/unused.yaml", text)


def test_a_green_run_of_everything_deletes_and_names(
    project: pytest.Pytester, unused: Path
) -> None:
    write(project, "more/b.yaml", "harness: 1\ncases: []\n")
    result = run(project, "--harness-prune")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "not collected: more/b.yaml is a spec outside of the folders of specs",
            "deleted: cassettes/gemini-api/unused.yaml",
        ]
    )
    assert not unused.exists()
    assert unused.with_name("hello.yaml").exists()
    again = run(project, "--harness-prune")
    again.stdout.fnmatch_lines(["nothing was deleted: every cassette is used"])
    assert again.ret == 0


def test_a_run_without_the_option_deletes_nothing(project: pytest.Pytester, unused: Path) -> None:
    result = run(project)
    result.stdout.no_fnmatch_line("*deleted*")
    assert unused.exists()


def test_a_marker_uses_its_cassette(project: pytest.Pytester, unused: Path) -> None:
    write(project, "tests/test_shop.py", "NAME = 'gemini-api/unused'\n")
    assert run(project, "--harness-prune").ret == 0
    assert unused.exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["-k", "hello"], NOT_ALL),
        (["--harness-provider", "gemini-api"], NOT_ALL),
        (["--harness-dialect", "anthropic"], NOT_ALL),
        (["--ignore", "specs/other.yaml"], NOT_ALL),
        (["--collect-only"], "nothing was deleted: the tests were only collected; run them*"),
        (["-k", "nothing_has_this_name"], "nothing was deleted: nothing ran; name the folders*"),
    ],
)
def test_a_selection_deletes_nothing_and_is_not_green(
    project: pytest.Pytester, unused: Path, options: list[str], reason: str
) -> None:
    result = run(project, "--harness-prune", *options)
    result.stdout.fnmatch_lines([reason])
    assert result.ret != 0
    assert unused.exists()


def test_a_run_of_one_spec_or_one_cell_deletes_nothing(
    project: pytest.Pytester, unused: Path
) -> None:
    for name in ("specs/hello.yaml", "specs/hello.yaml::hello[anthropic]"):
        result = project.runpytest_inprocess(name, "--harness-prune")
        result.stdout.fnmatch_lines([NOT_ALL])
    assert unused.exists()


def test_a_plugin_that_deselects_makes_a_selection(project: pytest.Pytester, unused: Path) -> None:
    project.makeconftest(
        "def pytest_collection_modifyitems(config, items):\n"
        "    config.hook.pytest_deselected(items=[items.pop()])\n"
    )
    run(project, "--harness-prune").stdout.fnmatch_lines([NOT_ALL])
    assert unused.exists()


def test_a_red_run_and_an_unreadable_spec_delete_nothing(
    project: pytest.Pytester, unused: Path
) -> None:
    spec = project.path / "specs/hello.yaml"
    text = spec.read_text(encoding="utf-8")
    spec.write_text(text.replace("delta: Hel,", "delta: Hal,"), encoding="utf-8")
    result = run(project, "--harness-prune")
    result.stdout.fnmatch_lines(["nothing was deleted: the run is not green; mend it first*"])
    spec.write_text(text.replace("cassette:", "casette:"), encoding="utf-8")
    run(project, "--harness-prune").stdout.fnmatch_lines(["nothing was deleted: *"])
    assert unused.exists()


def test_cassettes_outside_of_the_project_are_not_deleted(project: pytest.Pytester) -> None:
    text = (project.path / "cassettes/gemini-api/hello.yaml").read_text(encoding="utf-8")
    for name in ("hello", "unused"):
        write(project, f"../shared-cassettes/gemini-api/{name}.yaml", text)
    project.makeini("[pytest]\nharness_cassettes = ../shared-cassettes\n")
    result = run(project, "--harness-prune")
    result.stdout.fnmatch_lines(["nothing was deleted: the folder of cassettes is outside of*"])
    assert result.ret == 1
    assert (project.path / "../shared-cassettes/gemini-api/unused.yaml").exists()


@pytest.mark.slow
def test_an_interrupted_run_deletes_nothing(project: pytest.Pytester, unused: Path) -> None:
    project.makeconftest("def pytest_runtest_call(item):\n    raise KeyboardInterrupt\n")
    result = project.runpytest_subprocess("--harness-prune")
    result.stdout.fnmatch_lines(["nothing was deleted: the run did not end normally; mend*"])
    assert unused.exists()


@pytest.mark.slow
def test_workers_delete_once(project: pytest.Pytester, unused: Path) -> None:
    result = run(project, "--harness-prune", "-n", "2")
    result.stdout.fnmatch_lines(["deleted: cassettes/gemini-api/unused.yaml"])
    assert result.ret == 0
    assert not unused.exists()
