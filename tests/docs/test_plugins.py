"""The examples of the guides work in a distribution of their own, which registers entry points."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_guides import PARTS
from tests.docs.test_pages import ROOT, blocks_of, run_console, surroundings

PLACES = {
    "harness/dialects/plain/response.py": "shop/plain/response.py",
    "harness/dialects/plain/facts.py": "shop/plain/facts.py",
    "harness/dialects/plain/__init__.py": "shop/plain/__init__.py",
    "harness/providers/echo.py": "shop/echo.py",
    "harness/cassettes/importers/tape.py": "shop/tape.py",
    "harness/judging/laws/comments.py": "shop/comments.py",
}
POINTS = {
    "dialect": "[gemini_conformance.dialects]\nplain = shop.plain:DIALECT\n",
    "provider": "[gemini_conformance.providers]\necho = shop.echo:PROVIDER\n",
    "format": "[gemini_conformance.formats]\ntape = shop.tape:TAPE\n",
    "law": "[gemini_conformance.laws]\ncomments = shop.comments:COMMENTS\n",
}
GUIDES = {
    guide: next(text for text in PARTS.values() if f"# Add a {guide}\n" in text) for guide in POINTS
}
METADATA = "Metadata-Version: 2.1\nName: shop\nVersion: 1\n"


def absolute(text: str, folder: str) -> str:
    """The text of a module of ours in this folder with absolute imports, except of its own files."""

    def name(match: re.Match[str]) -> str:
        dots, rest = match[1], match[2]
        package = folder.split("/")[: len(folder.split("/")) - len(dots) + 1]
        return f"from {'.'.join([*package, rest])} import"

    own = ("facts", "response") if folder.endswith("/plain") else ()
    return re.sub(
        r"^from (\.+)([\w.]+) import",
        lambda match: match[0] if match[2] in own else name(match),
        text,
        flags=re.MULTILINE,
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the distribution ``shop``, as pip installs it, and the files of the guides."""
    folder = tmp_path_factory.mktemp("shop")
    for name in ("cassettes", "specs"):
        shutil.copytree(ROOT / name, folder / name)
    for guide in POINTS:
        for block in blocks_of(GUIDES[guide]):
            if not block["file"]:
                continue
            path = folder / PLACES.get(block["file"], block["file"])
            path.parent.mkdir(parents=True, exist_ok=True)
            text = block["body"]
            if block["file"] in PLACES:
                text = absolute(text, block["file"].rpartition("/")[0])
            path.write_text(text, encoding="utf-8")
    return folder


def write_entry_points(folder: Path, text: str) -> None:
    (folder / "shop-1.dist-info").mkdir(exist_ok=True)
    (folder / "shop-1.dist-info/METADATA").write_text(METADATA)
    (folder / "shop-1.dist-info/entry_points.txt").write_text(text)


def python(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=surroundings() | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("guide", POINTS)
def test_the_commands_of_a_guide_run_with_a_plugin(installed: Path, guide: str) -> None:
    write_entry_points(installed, POINTS[guide])
    environment = surroundings() | {"PYTHONPATH": str(installed)}
    consoles = [
        block["body"] for block in blocks_of(GUIDES[guide]) if block["language"] == "console"
    ]
    assert consoles
    for console in consoles:
        run_console(console, installed, environment)


def test_the_page_shows_these_entry_points() -> None:
    """The names of the page are those of the guides; its module paths are those of a reader."""
    page = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
    for points in POINTS.values():
        group, line = points.replace("shop.", "shop_").splitlines()
        name, _, value = line.partition(" = ")
        assert f'[project.entry-points."{group[1:-1]}"]\n{name} = "{value}"\n' in page


FAULTS = {
    "another value": (
        "comments = shop.comments:no_events",
        "must be a Law, got <function no_events",
    ),
    "no module": ("comments = shop.nothing:LAW", "can't be loaded: ModuleNotFoundError"),
    "a number that exists": (
        "again = harness.judging.laws.cuts:CUTS",
        "has the id 1, which exists",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_entry_point_is_named(tmp_path: Path, installed: Path, fault: str) -> None:
    line, message = FAULTS[fault]
    (tmp_path / "shop").symlink_to(installed / "shop")
    write_entry_points(tmp_path, f"[gemini_conformance.laws]\n{line}\n")
    ended = python(tmp_path, "import harness.judging.laws")
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(f"harness.stream.plugins.PluginError: the entry point {line} of shop")
    assert message in last


@pytest.mark.parametrize("first", ["shop.plain", "shop.comments", "shop.plain.response", "harness"])
def test_a_plugin_may_be_imported_before_harness(installed: Path, first: str) -> None:
    write_entry_points(installed, "".join(POINTS.values()))
    code = """
import {first}, shop.plain, shop.comments
from harness.dialects import DIALECTS
from harness.judging.laws import LAWS
assert DIALECTS["plain"] is shop.plain.DIALECT
assert DIALECTS["plain"].translator is shop.plain.response.PlainTranslator
assert LAWS[-1] is shop.comments.COMMENTS
"""
    ended = python(installed, code.format(first=first))
    assert ended.returncode == 0, ended.stderr
