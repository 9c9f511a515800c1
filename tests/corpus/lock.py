"""Writes the lock of public recordings from folders that have a MANIFEST.jsonl: facts only.

    python -m tests.corpus.lock DIR… [--git DIR] [-o FILE]

A folder has the recordings of each repository in ``OWNER+NAME``, with the licence files. ``--git``
names a folder with clones, ``OWNER+NAME`` or ``OWNER+NAME/repo``: the ids and sizes of their
recordings come from the commit, because a copy may have blanked cookies. Without a clone, a
recording with blanked cookies is left out. Recordings without a repository are left out too.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.json import encode

from harness.project.corpus import LOCK, CorpusFile, Repository, blob_id, read_lock

WIRES = {
    "googleai": "gemini-api",
    "vertex": "vertex-ai",
    "gemini-cli-sdk": "gemini-api",
    "gemini-cli-stream-json": "gemini-cli",
    "googleai-interactions": "interactions",
    "googleai-openai-compat": "openai-compat",
    "gateway-gemini": "gemini-api",
}
"""The provider in a manifest without wires → the wire."""
LICENCES = {
    "MIT": "Permission is hereby granted, free of charge",
    "Apache-2.0": "Apache License, Version 2.0",
    "BSD-3-Clause": "Redistribution and use in source and binary forms",
    "0BSD": "with or without fee is hereby granted. THE SOFTWARE IS PROVIDED",
}
"""The licence → a text that only it has."""
READ = {
    "charmbracelet+fantasy": {"Apache-2.0"},
    "open-telemetry+opentelemetry-python-contrib": {"Apache-2.0"},  # BSD is of copied code
    "tidyverse+ellmer": {"MIT"},
}
"""The licences that were read by hand."""


def licence_of(folder: Path) -> str:
    """The licence of a repository, by the text of its files. Raises `ValueError`."""
    texts = [" ".join(path.read_text("utf-8").split()) for path in folder.glob("LICENSE*")]
    names = {name for name, part in LICENCES.items() if any(part in text for text in texts)}
    names = READ.get(folder.name, names)
    if not names:
        raise ValueError(f"{folder}: the licence is not known; read it, and add it to READ")
    return " OR ".join(sorted(names))


def git_files(clones: Path | None, folder: str, commit: str) -> dict[str, tuple[str, int]] | None:
    """Path → blob id and size, at a commit of a clone; None if there is no such clone."""
    if clones is None:
        return None
    clone = next(
        (path for path in (clones / folder / "repo", clones / folder) if path.is_dir()), None
    )
    if clone is None:
        return None
    command = ["git", "-C", str(clone), "ls-tree", "-r", "-l", "-z", commit]
    ran = subprocess.run(command, capture_output=True, check=False)
    if ran.returncode:
        return None
    files = {}
    for line in ran.stdout.decode().split("\0")[:-1]:
        facts, _, path = line.partition("\t")
        _, kind, blob, size = facts.split()
        if kind == "blob" and size.isdigit():
            files[path] = (blob, int(size))
    return files


def counts(row: Mapping[str, Any]) -> tuple[int, int]:
    """The numbers of exchanges, and of streamed ones."""
    if "n_by_wire" in row:
        return row["n_exchanges"], row["n_streamed"]
    return row["n_generate"], row["n_streamed"]


def repositories(folders: list[Path], clones: Path | None) -> tuple[list[Repository], Counter[str]]:
    """The repositories, and why recordings were left out."""
    rows: dict[str, dict[str, tuple[Path, dict[str, Any]]]] = defaultdict(dict)
    left_out: Counter[str] = Counter()
    for folder in folders:
        for line in (folder / "MANIFEST.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            head, _, path = row["path"].partition("/")
            if not re.fullmatch(r"[0-9a-f]{40}", row["commit"] or "") or "+" not in head:
                left_out["no repository, or no whole commit"] += 1
                continue
            rows[head][path] = (folder, row)
    found = []
    for head, files in sorted(rows.items(), key=lambda item: item[0].lower()):
        first, row = next(iter(files.values()))
        known = git_files(clones, head, row["commit"])
        recordings = []
        for path, (folder, row) in sorted(files.items()):
            content = (folder / head / path).read_bytes()
            blob, size = blob_id(content), len(content)
            if known is not None:
                if path not in known:
                    left_out["not in the commit"] += 1
                    continue
                blob, size = known[path]
            elif row.get("cookies_blanked") or b"=BLANKED" in content:
                left_out["blanked cookies, and no clone"] += 1
                continue
            wire = row.get("wire") or WIRES[row["provider"]]
            recordings.append(CorpusFile(path, blob, size, wire, *counts(row)))
        licence = licence_of(first / head)
        name = head.replace("+", "/", 1)
        found.append(Repository(name, row["commit"], licence, tuple(recordings)))
    return found, left_out


def text_of(repositories: list[Repository]) -> bytes:
    """The lock: one line for each repository."""
    return b"".join(encode(repository) + b"\n" for repository in repositories if repository.files)


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the lock of public recordings.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--git", type=Path, metavar="DIR", help="a folder with clones")
    parser.add_argument("-o", "--output", type=Path, default=LOCK, metavar="FILE")
    options = parser.parse_args()
    found, left_out = repositories(options.folders, options.git)
    options.output.write_bytes(text_of(found))
    read = read_lock(options.output)
    files = sum(len(repository.files) for repository in read)
    print(
        f"{len(read)} repositories, {files} recordings, {sum(r.exchanges for r in read)} exchanges"
    )
    for reason, number in left_out.items():
        print(f"left out: {number}: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
