"""The name of a project and its commit, for the title of its report."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

# SHA-1 or SHA-256.
_COMMIT: Final = re.compile(r"[0-9a-f]{40,64}")


def project_name(root: Path) -> str:
    """Return the name in ``pyproject.toml``, else that of the folder."""
    try:
        table = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        name = table["project"]["name"]
    except (OSError, ValueError, KeyError, TypeError):
        return root.resolve().name
    return name if isinstance(name, str) and name.strip() else root.resolve().name


def commit_of(root: Path) -> str:
    """Return the commit of the repository that contains a folder; "" if there is none or it can't
    be read.
    """
    for place in (root.resolve(), *root.resolve().parents):
        if (place / ".git").exists():
            return _head(place / ".git")
    return ""


def _head(git: Path) -> str:
    try:
        if git.is_file():  # a worktree or a submodule
            git = git.parent / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref: "):
            return head if _COMMIT.fullmatch(head) else ""
        name = head.removeprefix("ref: ")
        common = git / "commondir"
        store = git / common.read_text(encoding="utf-8").strip() if common.exists() else git
        if (store / name).is_file():
            commit = (store / name).read_text(encoding="utf-8").strip()
            return commit if _COMMIT.fullmatch(commit) else ""
        packed = (store / "packed-refs").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return ""
    pairs = (line.split(" ", 1) for line in packed if " " in line)
    return next((commit for commit, ref in pairs if ref == name and _COMMIT.fullmatch(commit)), "")
