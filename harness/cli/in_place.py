"""``harness import --in-place``: replaces recordings by cassettes. If one recording can't be
converted, no file is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from harness.cassettes import Cassette, CassetteError, is_cassette
from harness.cassettes.load import load
from harness.cassettes.redaction.secrets import guard
from harness.project.project import SUFFIXES, yaml_files
from harness.recording.persister import commit, stage
from harness.recording.stock_cassettes import is_stock


def convert(paths: Iterable[Path], complete: Callable[[Cassette], Cassette]) -> list[Path]:
    """Replace each recording by a cassette. ``complete`` adds the rest of its origin. Returns the
    files that were replaced.

    Every cassette is written beside its file before the first file is replaced. Raises
    `CassetteError` with a line for each file that can't be converted. In that case, no file has
    changed.
    """
    staged: dict[Path, Path] = {}
    converted: list[Path] = []
    problems: list[str] = []
    try:
        for path in paths:
            for file in _recordings(path, problems):
                target = file.resolve()
                if target in staged:
                    continue
                try:
                    pieces = guard(target.parent).pieces(complete(load(file)), str(file))
                    staged[target] = stage(target, pieces)
                    converted.append(file)
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


def _recordings(path: Path, problems: list[str]) -> Iterator[Path]:
    """The file itself, or the cassettes of vcrpy in a folder and its subfolders. Links out of the
    folder are not followed.
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
