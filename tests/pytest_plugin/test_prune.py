"""``--harness-prune``: which runs move the cassettes that nothing uses, and what they print."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pytest_plugin.project import run, write

NOT_ALL = "nothing was moved: the run did not have all specs and adapters; run `pytest` without*"


@pytest.fixture
def unused(project: pytest.Pytester) -> Path:
    """A cassette that nothing names."""
    text = (project.path / "cassettes/gemini-api/hello.yaml").read_text(encoding="utf-8")
    return write(project, "cassettes/gemini-api/unused.yaml", text)


def test_a_green_run_of_everything_lists_then_moves(project: pytest.Pytester, unused: Path) -> None:
    write(project, "more/b.yaml", "harness: 1\ncases: []\n")
    result = run(project, "--harness-prune")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "unused: nothing names the cassette gemini-api/unused",
            "not collected: more/b.yaml is a spec outside of the folders of specs",
            "nothing was moved: add --harness-yes to move 1 unused cassette to .harness/unused",
        ]
    )
    text = unused.read_text(encoding="utf-8")
    result = run(project, "--harness-prune", "--harness-yes")
    moved = ".harness/unused/cassettes/gemini-api/unused.yaml"
    result.stdout.fnmatch_lines([f"moved: cassettes/gemini-api/unused.yaml to {moved}"])
    assert (project.path / moved).read_text(encoding="utf-8") == text
    assert not unused.exists()
    assert unused.with_name("hello.yaml").exists()
    again = run(project, "--harness-prune", "--harness-yes")
    again.stdout.fnmatch_lines(["nothing was moved: every cassette is used"])
    assert again.ret == 0
    unused.write_text("", encoding="utf-8")
    run(project, "--harness-prune", "--harness-yes")
    assert (project.path / moved).read_text(encoding="utf-8") == text
    assert (project.path / moved).with_name("unused-2.yaml").exists()


COMPUTED = {
    "a fixture": "def test_it(harness_replay):\n    assert harness_replay('/'.join(NAME))\n",
    "harness.load": (
        "import harness\n\ndef test_it():\n"
        "    assert harness.load(f'casset' + 'tes/{NAME[0]}/{NAME[1]}.yaml'.format(NAME=NAME))\n"
    ),
    "open": (
        "from pathlib import Path\n\ndef test_it():\n"
        "    assert (Path('casset' + 'tes') / NAME[0] / (NAME[1] + '.yaml')).read_text()\n"
    ),
    "a marker": (
        "import pytest\n\n@pytest.mark.harness_cassette('/'.join(NAME))\n"
        "def test_it(harness_cassette):\n    pass\n"
    ),
    "an import": (
        "from harness import load as read\nFOLDER = 'casset' + 'tes'\n"
        "CASSETTE = read('/'.join((FOLDER, *NAME)) + '.yaml')\n\ndef test_it():\n    pass\n"
    ),
}


@pytest.mark.parametrize("code", COMPUTED.values(), ids=COMPUTED)
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["", "workers"])
def test_what_the_run_opened_is_used(
    project: pytest.Pytester, unused: Path, code: str, workers: tuple[str, ...]
) -> None:
    write(project, "tests/test_it.py", f"NAME = ('gemini' + '-api', 'un' + 'used')\n{code}")
    result = run(project, "tests", "--harness-prune", "--harness-yes", *workers)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["nothing was moved: every cassette is used"])
    assert unused.exists()


def test_the_laws_use_no_cassette(project: pytest.Pytester, unused: Path) -> None:
    result = run(project, "cassettes", "--harness-laws", "--harness-prune")
    result.stdout.fnmatch_lines(["unused: nothing names the cassette gemini-api/unused"])


def test_a_run_without_the_option_moves_nothing(project: pytest.Pytester, unused: Path) -> None:
    result = run(project)
    result.stdout.no_fnmatch_line("*moved*")
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
        (["--collect-only"], "nothing was moved: the tests were only collected; run them*"),
        (["-k", "nothing_has_this_name"], "nothing was moved: nothing ran; name the folders*"),
    ],
)
def test_a_selection_moves_nothing_and_is_not_green(
    project: pytest.Pytester, unused: Path, options: list[str], reason: str
) -> None:
    result = run(project, "--harness-prune", "--harness-yes", *options)
    result.stdout.fnmatch_lines([reason])
    assert result.ret != 0
    assert unused.exists()


def test_a_run_of_one_spec_or_one_cell_moves_nothing(
    project: pytest.Pytester, unused: Path
) -> None:
    for name in ("specs/hello.yaml", "specs/hello.yaml::hello[anthropic]"):
        result = project.runpytest_inprocess(name, "--harness-prune", "--harness-yes")
        result.stdout.fnmatch_lines([NOT_ALL])
    assert unused.exists()


def test_a_plugin_that_deselects_makes_a_selection(project: pytest.Pytester, unused: Path) -> None:
    project.makeconftest(
        "def pytest_collection_modifyitems(config, items):\n"
        "    config.hook.pytest_deselected(items=[items.pop()])\n"
    )
    run(project, "--harness-prune").stdout.fnmatch_lines([NOT_ALL])
    assert unused.exists()


def test_a_red_run_and_an_unreadable_spec_move_nothing(
    project: pytest.Pytester, unused: Path
) -> None:
    spec = project.path / "specs/hello.yaml"
    text = spec.read_text(encoding="utf-8")
    spec.write_text(text.replace("delta: Hel,", "delta: Hal,"), encoding="utf-8")
    result = run(project, "--harness-prune", "--harness-yes")
    result.stdout.fnmatch_lines(["nothing was moved: the run is not green; mend it first*"])
    spec.write_text(text.replace("cassette:", "casette:"), encoding="utf-8")
    run(project, "--harness-prune").stdout.fnmatch_lines(["nothing was moved: *"])
    assert unused.exists()


def test_cassettes_outside_of_the_project_are_not_moved(project: pytest.Pytester) -> None:
    text = (project.path / "cassettes/gemini-api/hello.yaml").read_text(encoding="utf-8")
    for name in ("hello", "unused"):
        write(project, f"../shared-cassettes/gemini-api/{name}.yaml", text)
    project.makeini("[pytest]\nharness_cassettes = ../shared-cassettes\n")
    result = run(project, "--harness-prune", "--harness-yes")
    result.stdout.fnmatch_lines(["nothing was moved: the folder of cassettes is outside of*"])
    assert result.ret == 1
    assert (project.path / "../shared-cassettes/gemini-api/unused.yaml").exists()


@pytest.mark.slow
def test_an_interrupted_run_moves_nothing(project: pytest.Pytester, unused: Path) -> None:
    project.makeconftest("def pytest_runtest_call(item):\n    raise KeyboardInterrupt\n")
    result = project.runpytest_subprocess("--harness-prune")
    result.stdout.fnmatch_lines(["nothing was moved: the run did not end normally; mend*"])
    assert unused.exists()


@pytest.mark.slow
def test_workers_move_once(project: pytest.Pytester, unused: Path) -> None:
    result = run(project, "--harness-prune", "--harness-yes", "-n", "2")
    result.stdout.fnmatch_lines(["moved: cassettes/gemini-api/unused.yaml to *"])
    assert result.ret == 0
    assert not unused.exists()
