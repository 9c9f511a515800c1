"""The documentation is correct: files are written, commands run and Python executed as each page
shows, in an empty project.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from harness.cassettes.yaml import parse
from tests.conftest import FEWER_PLUGINS
from tests.support.commands import MAINS, run

ROOT = Path(__file__).parents[2]
INDEX = ROOT / "docs" / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
CHANGELOG = ROOT / "CHANGELOG.md"
PAGES = [ROOT / "README.md", *sorted({*(ROOT / "docs").glob("*.md")} - {INDEX})]
GUIDES = [page for page in PAGES if "<!-- line: " in page.read_text(encoding="utf-8")]
"""Pages with guides that change the package: `test_guides` follows them in a copy of it."""
FINDINGS = sorted((ROOT / "docs" / "findings").glob("*.md"))
GENERATED = [ROOT / "docs" / f"{name}.md" for name in ("threads", "findings", "request-findings")]
"""Pages that are generated from data and have no commands or code."""
ELSEWHERE = [
    ROOT / "docs" / f"{name}.md"
    for name in (*("troubleshooting", "declared-losses", "can-gemini-take-it"),)
]
"""Pages without examples, or whose examples another test runs."""
_BLOCK = re.compile(
    r"(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<language>\w+)\n(?P<body>.*?)```\n", re.DOTALL
)
_PROJECT = re.compile(r"^<!-- project: (\S+) -->\n", re.MULTILINE)
"""What follows is about another project: that of the named page, or a ``new`` one."""
_FILE = re.compile(r"`((?:harness|tests)/[\w./-]+\.py)`")
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
_ANCHOR = re.compile(r"\]\((?!https?:)([^)#]*)#([^)]+)\)")
_ANY_BLOCK = re.compile(r"^```.*?^```\n", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[re.Match[str]]:
    return blocks_of(page.read_text(encoding="utf-8"))


def blocks_of(text: str) -> list[re.Match[str]]:
    return list(_BLOCK.finditer(text))


def projects(page: Path, folder: Path) -> list[tuple[Path, str, str]]:
    """The folder of each project of a page, the page that it continues, and its text."""
    first, *rest = _PROJECT.split(page.read_text(encoding="utf-8"))
    others = zip(rest[::2], rest[1::2], strict=True)
    return [
        (folder, "new", first),
        *((folder / f"project-{n}", name, text) for n, (name, text) in enumerate(others, 1)),
    ]


def surroundings() -> dict[str, str]:
    """The environment of a user at a terminal, with the commands of this Python."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {
        **{name: value for name, value in os.environ.items() if name != "CI"},
        "PATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_ADDOPTS": " ".join(FEWER_PLUGINS),
    }


def run_page(page: Path, folder: Path, environment: dict[str, str]) -> int:
    """Write, execute and run the blocks of a page; returns the number of blocks."""
    done = 0
    for project, continued, text in projects(page, folder):
        project.mkdir(exist_ok=True)
        if continued != "new":
            run_page(page.parent / continued, project, environment)
        done += run_blocks(text, project, environment)
    return done


def run_blocks(text: str, folder: Path, environment: dict[str, str]) -> int:
    """Write, execute and run the blocks of a text in a project; returns their number."""
    done = 0
    for block in blocks_of(text):
        if block["file"]:
            target = folder / block["file"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block["body"], encoding="utf-8", newline="\n")
        elif block["language"] == "python":
            code = f"__import__('warnings').simplefilter('error')\n{block['body']}"
            ended = run("python", "-c", code, cwd=folder, environment=environment)
            assert ended.status == 0, ended.output
        elif block["language"] == "console":
            run_console(block["body"], folder, environment)
        else:
            continue
        done += 1
    return done


def run_console(text: str, folder: Path, environment: dict[str, str]) -> None:
    """Run each ``$ command`` and compare its output with the output shown below it. ``…`` stands
    for any text, and on a line of its own for any lines. A last line ``# exit 1`` has the exit
    status, if it is not 0.
    """
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        status = 0
        if shown and (last := re.fullmatch(r"# exit (\d+)", shown[-1])):
            status, shown = int(last[1]), shown[:-1]
        ended, output = run_line(command, folder, environment)
        assert ended == status, f"$ {command}\n{output}"
        assert fits(shown, output.splitlines()), (
            f"$ {command}\n{output}\nis not what the page shows:\n" + "\n".join(shown)
        )


def run_line(command: str, folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """The status and the output of a command line. It runs in this process if it is one of `MAINS`,
    except with another package or plugin.
    """
    words = shlex.split(command)
    if words[0] in MAINS and "PYTHONPATH" not in environment:
        here = run(*words, cwd=folder, environment=environment, merged=True)
        return here.status, here.stdout
    ended = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        text=True,
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return ended.returncode, ended.stdout


def fits(shown: list[str], lines: list[str]) -> bool:
    if not shown:
        return not lines
    if shown[0] == "…":
        return len(shown) == 1 or any(
            fits(shown[1:], lines[start:]) for start in range(len(lines) + 1)
        )
    pattern = re.sub(r"([\[\]?*])", r"[\1]", shown[0]).replace("…", "*")
    return (
        bool(lines)
        and fnmatchcase(lines[0].strip(), pattern.strip())
        and fits(shown[1:], lines[1:])
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page not in GUIDES + GENERATED + ELSEWHERE],
    ids=lambda page: page.name,
)
def test_each_page_works_as_shown(page: Path, tmp_path: Path) -> None:
    environment = surroundings()
    assert run_page(page, tmp_path, environment) > 0
    for project, _, _ in projects(page, tmp_path):
        if (project / "specs").exists():
            command = ("pytest", "specs", "-q", "-p", "no:cacheprovider")
            ended = run(*command, cwd=project, environment=environment)
            assert ended.status == 0, ended.output


@pytest.mark.slow
def test_the_commands_of_the_workflow_run(tmp_path: Path) -> None:
    """In the project of the README, as CI runs them, without the installation of the package."""
    environment = surroundings()
    run_page(ROOT / "README.md", tmp_path, environment)
    (workflow,) = (
        parse(block["body"])
        for block in blocks(ROOT / "docs" / "github-actions.md")
        if block["file"] == ".github/workflows/plain.yaml"
    )
    commands = [
        step["run"]
        for step in workflow["jobs"]["replay"]["steps"]
        if not step.get("run", "pip").startswith("pip")
    ]
    assert len(commands) == 3
    environment |= {"CI": "true", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    for command in commands:
        ran = subprocess.run(
            ["bash", "-ec", command],
            cwd=tmp_path,
            env=environment,
            text=True,
            capture_output=True,
            check=False,
        )
        assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
    assert "The one cell passed." in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert (
        tmp_path / workflow["jobs"]["replay"]["steps"][-1]["with"]["path"] / "index.html"
    ).exists()


def test_the_numbers_of_cassettes_are_those_of_the_readme() -> None:
    files = (ROOT / "cassettes").glob("*/*.yaml")
    origins = Counter(
        origin
        for path in files
        for origin in re.findall(r"^  origin: (\w+)$", path.read_text(encoding="utf-8"), re.M)[:1]
    )
    said = (
        f"Of its {origins.total()} cassettes, {origins['written']} are written by hand from the"
        f" documented wires, {origins['imported']} are imported, and {origins['loopback']} are"
        " recorded over loopback"
    )
    assert said in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert origins.keys() == {"written", "imported", "loopback"}


def test_the_index_lists_every_page() -> None:
    listed = set(_LINK.findall(INDEX.read_text(encoding="utf-8")))
    assert listed == {"../README.md", "../CONTRIBUTING.md", *(page.name for page in PAGES[1:])}


@pytest.mark.parametrize(
    "page", [INDEX, CONTRIBUTING, *PAGES, *FINDINGS], ids=lambda page: page.name
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = _ANY_BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    names = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    before = [names[:number].count(name) for number, name in enumerate(names)]
    return {f"{name}-{n}" if n else name for name, n in zip(names, before, strict=True)}


@pytest.mark.parametrize(
    "page", [INDEX, CONTRIBUTING, CHANGELOG, *PAGES], ids=lambda page: page.name
)
def test_links_lead_to_headings(page: Path) -> None:
    for target, anchor in _ANCHOR.findall(page.read_text(encoding="utf-8")):
        there = page.parent / target if target else page
        assert anchor in anchors(there), f"{page.name} links to {target}#{anchor}"


@pytest.mark.parametrize("page", [INDEX, CONTRIBUTING, *PAGES], ids=lambda page: page.name)
def test_files_of_the_package_are_there(page: Path) -> None:
    for name in _FILE.findall(page.read_text(encoding="utf-8")):
        assert (ROOT / name).exists() or "NAME" in name, f"{page.name} names {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_yaml_on_the_pages_is_valid(page: Path) -> None:
    for block in blocks(page):
        if block["language"] == "yaml":
            assert parse(block["body"]), page.name


def test_the_check_of_output_can_fail() -> None:
    assert fits(["a … c", "…", "z"], ["a b c", "x", "y", "z"])
    assert not fits(["a", "z"], ["a", "y", "z"])
    assert not fits(["a"], ["a", "b"])
