"""Each guide to extend the package is followed literally, in a copy of the package."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.docs.test_pages import GUIDES, ROOT, blocks_of, projects, run_console, surroundings

PARTS = {
    f"{page.stem} {number}": text
    for page in GUIDES
    for number, (_, _, text) in enumerate(projects(page, ROOT))
    if "<!-- line: " in text
}
"""Each guide: a page, or a part of one."""
_LINE = re.compile(
    r"<!-- line: (?P<file>\S+) -->\n```diff\n (?P<before>.*)\n\+(?P<added>.*)\n```\n"
)
"""A line to add to a file, below a line that occurs once in the file."""


def follow(guide: str, clone: Path) -> set[str]:
    """Write the files and add the lines of a guide; returns the names of the files and new folders
    of the package that it touches.
    """
    folders = {folder for folder in (clone / "harness").rglob("*") if folder.is_dir()}
    files = {block["file"]: block["body"] for block in blocks_of(guide) if block["file"]}
    for name, body in files.items():
        assert not (clone / name).exists()
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(body, encoding="utf-8")
    lines = list(_LINE.finditer(guide))
    for line in lines:
        path = clone / line["file"]
        text = path.read_text(encoding="utf-8")
        assert text.count(f"{line['before']}\n") == 1, f"{line['file']} has no {line['before']!r}"
        added = text.replace(f"{line['before']}\n", f"{line['before']}\n{line['added']}\n")
        path.write_text(added, encoding="utf-8")
    code = {clone / name for name in files if name.startswith("harness/")}
    new = {path if path.parent in folders else path.parent for path in code}
    return {
        *(str(path.relative_to(clone)) for path in new),
        *(line["file"] for line in lines),
    }


@pytest.mark.slow
@pytest.mark.parametrize("guide", PARTS.values(), ids=PARTS)
def test_a_guide_works_as_written(guide: str, tmp_path: Path) -> None:
    for folder in ("harness", "cassettes", "specs"):  # with the bytecode of unchanged modules
        shutil.copytree(ROOT / folder, tmp_path / folder)
    touched = follow(guide, tmp_path)
    assert len(touched) == 2, "the guide says one file or folder, and one line"
    environment = surroundings() | {"PYTHONPATH": str(tmp_path)}
    for block in blocks_of(guide):
        if block["language"] == "console":
            run_console(block["body"], tmp_path, environment)
