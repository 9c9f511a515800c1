"""The mind program's tools: their results, and the calls that they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from time import sleep

import pytest

from harness.dialects.mind.tools import DECLARATIONS
from harness.systems.mind.files import Files, ToolError
from harness.systems.mind.main import Toolbox
from harness.systems.mind.shell_and_web import ShellAndWebTools
from tests.systems.mind.loopback import Json, Reply, gemini


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a secret beside it, and symlinks that lead to the secret."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("import os\nprint('Moss')\n")
    (folder / "read.me").write_text("Moss grows.\n")
    (folder / "image.bin").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "secret").write_text("Moss key")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "out").symlink_to(tmp_path)
    return folder


RESULTS: dict[str, tuple[str, Json, Json]] = {
    "a file": ("read_file", {"path": "src/main.py"}, {"content": "import os\nprint('Moss')\n"}),
    "a folder": (
        "list_directory",
        {"path": "src"},
        {"entries": [{"name": "main.py", "type": "file"}], "count": 1},
    ),
    "a search": (
        "search_file_content",
        {"pattern": "M[o]ss"},
        {
            "matches": [
                {"path": "read.me", "line": 1, "text": "Moss grows."},
                {"path": "src/main.py", "line": 2, "text": "print('Moss')"},
            ],
            "count": 2,
        },
    ),
    "a search in one file": (
        "search_file_content",
        {"pattern": "^Moss", "path": "read.me"},
        {"matches": [{"path": "read.me", "line": 1, "text": "Moss grows."}], "count": 1},
    ),
    "names": ("glob", {"pattern": "**/*.py"}, {"matches": ["src/main.py"], "count": 1}),
    "names with links among them": (
        "glob",
        {"pattern": "*"},
        {"matches": ["image.bin", "read.me", "src"], "count": 3},
    ),
    "a question": (
        "codebase_investigator",
        {"query": "where is MAIN"},
        {"relevant_files": ["src/main.py"]},
    ),
    "writing": (
        "write_file",
        {"path": "src/new.py", "content": "x"},
        {"path": "src/new.py", "bytes": 1},
    ),
    "replacing": (
        "replace",
        {"path": "read.me", "old_string": "Moss", "new_string": "Fern"},
        {"path": "read.me", "success": True},
    ),
    "the shell": (
        "run_shell_command",
        {"command": "pwd -P; echo no >&2"},
        {"stdout": "$PROJECT\n", "stderr": "no\n", "exit_code": 0},
    ),
}


@pytest.mark.parametrize(("name", "arguments", "result"), RESULTS.values(), ids=RESULTS)
def test_the_result_of_a_tool(project: Path, name: str, arguments: Json, result: Json) -> None:
    expected = json.loads(json.dumps(result).replace("$PROJECT", str(project.resolve())))
    outcome = Toolbox(project, list(DECLARATIONS)).run(name, arguments)
    assert (outcome.failed, outcome.result) == (False, expected)


REFUSED: dict[str, tuple[str, Json, str]] = {
    "above the project": (
        "read_file",
        {"path": "../secret"},
        "'../secret' is outside the project folder",
    ),
    "an absolute path": ("read_file", {"path": "/etc/passwd"}, "'/etc/passwd' is outside"),
    "a link to a file": ("read_file", {"path": "link"}, "'link' is outside"),
    "through a link to a folder": ("read_file", {"path": "out/secret"}, "'out/secret' is outside"),
    "a folder above": ("list_directory", {"path": ".."}, "'..' is outside"),
    "a linked folder": ("list_directory", {"path": "out"}, "'out' is outside"),
    "a search above": ("search_file_content", {"pattern": "x", "path": ".."}, "'..' is outside"),
    "names at any depth of any depth": (
        "glob",
        {"pattern": "**/" * 30 + "x"},
        "x' has more than 2 `**`",
    ),
    "names above": ("glob", {"pattern": "../*"}, "'../*' is not a pattern inside"),
    "names of the system": ("glob", {"pattern": "/etc/*"}, "'/etc/*' is not a pattern inside"),
    "writing above": ("write_file", {"path": "../new", "content": "x"}, "'../new' is outside"),
    "writing through a link": ("write_file", {"path": "link", "content": "x"}, "'link' is outside"),
    "replacing above": (
        "replace",
        {"path": "out/secret", "old_string": "M", "new_string": "N"},
        "'out/secret' is outside",
    ),
    "what is not there": (
        "replace",
        {"path": "read.me", "old_string": "Fern", "new_string": "x"},
        "String not found in read.me",
    ),
    "no path": ("read_file", {"path": "a\0b"}, "'a\\x00b' is not a path"),
    "no text": ("read_file", {"path": "image.bin"}, "image.bin is not UTF-8 text"),
    "a folder as a file": ("read_file", {"path": "src"}, "Is a directory"),
    "a pattern that is none": (
        "search_file_content",
        {"pattern": "("},
        "'(' is not a regular expression: missing )",
    ),
    "a missing argument": ("write_file", {"path": "x"}, "write_file needs the argument content"),
    "an argument of another type": (
        "read_file",
        {"path": 3},
        "the argument path of read_file is not a string",
    ),
    "a file of the machine": (
        "web_fetch",
        {"url": "file:///etc/passwd"},
        "'file:///etc/passwd' is not an http or https URL",
    ),
    "text that is none": (
        "write_file",
        {"path": "x", "content": "\ud800"},
        "surrogates not allowed",
    ),
}


@pytest.mark.parametrize(("name", "arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_a_call_that_a_tool_refuses(
    project: Path, name: str, arguments: Json, message: str
) -> None:
    outcome = Toolbox(project, list(DECLARATIONS)).run(name, arguments)
    assert outcome.failed
    assert message in str(outcome.result)
    assert (project.parent / "secret").read_text() == "Moss key"
    assert not (project.parent / "new").exists()


def test_a_search_does_not_follow_links(project: Path) -> None:
    assert "key" not in str(Files(project).tools["search_file_content"]({"pattern": "Moss"}))
    with pytest.raises(ToolError):
        Files(project).inside("out/project/../secret")


def test_a_search_takes_linear_time(project: Path) -> None:
    (project / "a.txt").write_text("a" * 5000 + "b")
    tools = Files(project)
    assert tools.search_file_content({"pattern": "(a+)+$"})["count"] == 0
    assert tools.search_file_content({"pattern": "a+b"})["count"] == 1


@pytest.mark.slow
def test_a_command_and_its_children_end_at_the_time_limit(project: Path) -> None:
    with pytest.raises(ToolError, match=r"longer than 0\.2 s"):
        ShellAndWebTools(project, shell_seconds=0.2).run_shell_command(
            {"command": "(sleep 0.5; touch late) & sleep 30"}
        )
    sleep(0.6)
    assert not (project / "late").exists()


def test_search_and_fetch(project: Path) -> None:
    links = '<a href="/url?q=https://moss.example/a%20b&amp;x">1</a> <a href="https://fern.example">2</a> <a href="http://127.0.0.1/own">3</a>'
    with gemini() as server:
        server.models = Reply(links)
        web = Toolbox(project, ["google_web_search", "web_fetch"], f"{server.base_url}/search")
        search_result = web.run("google_web_search", {"query": "moss & fern"}).result
        fetched = web.run("web_fetch", {"url": f"{server.base_url}/page"}).result
        server.models = Reply("gone", 410)
        gone = web.run("web_fetch", {"url": f"{server.base_url}/page"})
    assert search_result == {
        "results": [{"url": "https://moss.example/a b"}, {"url": "https://fern.example"}]
    }
    assert fetched == {"url": f"{server.base_url}/page", "content": links}
    assert (gone.failed, gone.result) == (True, "HTTP Error 410: Gone")
    assert server.listed == ["/search?q=moss+%26+fern", "/page", "/page"]


def test_every_declared_tool_is_there(project: Path) -> None:
    assert {*Files(project).tools, *ShellAndWebTools(project).tools} == set(DECLARATIONS)
