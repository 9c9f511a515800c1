"""The name and the commit of a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.project.identity import commit_of, project_name

COMMIT, OTHER = "a" * 40, "b" * 40


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('[project]\nname = "webshop"\n', "webshop"),
        ("[tool.x]\n", "folder"),
        ("not toml [", "folder"),
        ("[project]\nname = 7\n", "folder"),
    ],
)
def test_the_name_is_that_of_the_package_or_of_the_folder(
    text: str, name: str, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    assert project_name(folder) == "folder"
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    assert project_name(folder) == name


@pytest.mark.parametrize(
    ("files", "commit"),
    [
        ({"HEAD": "ref: refs/heads/main\n", "refs/heads/main": f"{COMMIT}\n"}, COMMIT),
        ({"HEAD": f"{COMMIT}\n"}, COMMIT),
        (
            {
                "HEAD": "ref: refs/heads/main\n",
                "packed-refs": f"# pack\n{OTHER} refs/heads/x\n{COMMIT} refs/heads/main\n",
            },
            COMMIT,
        ),
        ({"HEAD": "ref: refs/heads/new\n"}, ""),
        ({"HEAD": "ref: refs/heads/main\n", "refs/heads/main": "<script>\n"}, ""),
        ({}, ""),
    ],
)
def test_the_commit_is_read_from_the_files_of_git(
    files: dict[str, str], commit: str, tmp_path: Path
) -> None:
    assert commit_of(tmp_path / "inner") == ""
    (tmp_path / ".git").mkdir()
    for name, text in files.items():
        path = tmp_path / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert commit_of(tmp_path / "inner") == commit


def test_the_commit_of_a_worktree_is_its_own(tmp_path: Path) -> None:
    own = tmp_path / "main/.git/worktrees/w"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/w\n", encoding="utf-8")
    (own / "commondir").write_text("../..\n", encoding="utf-8")
    (tmp_path / "main/.git/refs/heads").mkdir(parents=True)
    (tmp_path / "main/.git/refs/heads/w").write_text(f"{COMMIT}\n", encoding="utf-8")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/.git").write_text(f"gitdir: {own}\n", encoding="utf-8")
    assert commit_of(tmp_path / "tree") == COMMIT
