"""``harness import --in-place``: replaces recordings by cassettes. If one recording can't be
converted, no file is changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from glob import escape as glob_escape
from pathlib import Path
from typing import Final

from harness.cassettes import Cassette, CassetteError, is_cassette
from harness.cassettes.load import load
from harness.cassettes.redaction.secrets import guard
from harness.project.folders import SUFFIXES, yaml_files
from harness.recording.atomic_file import commit, stage
from harness.recording.locks import lock
from harness.recording.stock_cassettes import is_stock

from .output import note, with_progress

MARK: Final = "import-"
"""A part of the names of temporary files."""


def convert(
    paths: Sequence[Path], complete: Callable[[Cassette], Cassette]
) -> dict[Path, list[str]]:
    """Replace each recording by a cassette. ``complete`` adds the rest of its origin. Returns the
    files that were replaced, each with the names of the headers that were left out.

    Every cassette is written beside its file before the first file is replaced. Raises
    `CassetteError` with a line for each file that can't be converted. In that case, no file has
    changed. Deletes the temporary files of a conversion that was killed.
    """
    with _alone(paths) as alone:
        for file in _left(paths) if alone else ():
            file.unlink(missing_ok=True)
            note(f"deleted {file}, which a conversion that was killed had left")
        return _convert(paths, complete)


def _convert(
    paths: Iterable[Path], complete: Callable[[Cassette], Cassette]
) -> dict[Path, list[str]]:
    staged: dict[Path, Path] = {}
    converted: dict[Path, list[str]] = {}
    problems: list[str] = []
    try:
        for path in paths:
            for file in with_progress(_recordings(path, problems), f"import {path}", "files"):
                target = file.resolve()
                if target in staged:
                    continue
                try:
                    redaction, cassette = guard(target.parent), complete(load(file))
                    pieces = redaction.pieces(cassette, str(file))
                    staged[target] = stage(target, pieces, MARK)
                    converted[file] = redaction.redactor.left_out(cassette)
                except CassetteError as error:
                    problems.append(str(error))
        if problems:
            raise CassetteError("\n".join([*problems, "no file was changed"]))
        for target, temporary in staged.items():
            commit(temporary, target)
    finally:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)
    return converted


@contextmanager
def _alone(paths: Sequence[Path]) -> Iterator[bool]:
    """Lock the folders; False if another conversion has locked one of them."""
    handles: list[int] = []
    try:
        for folder in {_folder(path) for path in paths}:
            with suppress(OSError):  # a folder that does not exist, or that can't be opened
                handles.append(os.open(folder, os.O_RDONLY))
        yield all(lock(handle) for handle in handles)
    finally:
        for handle in handles:
            os.close(handle)


def _folder(path: Path) -> Path:
    return path.resolve() if path.is_dir() else path.resolve().parent


def _left(paths: Sequence[Path]) -> list[Path]:
    """Return the temporary files of earlier conversions of the same files or folders."""
    return sorted(
        file
        for path in paths
        for file in (
            path.rglob(f".*.{MARK}*")
            if path.is_dir()
            else path.parent.glob(f".{glob_escape(path.name)}.{MARK}*")
        )
        if file.is_file() and not file.is_symlink()
    )


def _recordings(path: Path, problems: list[str]) -> Iterator[Path]:
    """Yield the file itself, or the cassettes of vcrpy in a folder and its subfolders. Links out of
    the folder are not followed.
    """
    if path.is_dir():
        folder = path.resolve()
        for file in yaml_files(path):
            if file.resolve().is_relative_to(folder) and is_stock(file.read_bytes()):
                yield file
    elif not path.exists():
        problems.append(f"{path}: no such file or folder")
    elif path.suffix not in SUFFIXES:
        problems.append(
            f"{path}: a cassette is a YAML file, and this name does not end in"
            f" {' or '.join(SUFFIXES)}; write a new file with -o"
        )
    elif not is_cassette(path.read_bytes()):
        yield path
