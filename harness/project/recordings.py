"""Finds the recordings that commands and tests name: files, or cassettes by their names."""

from __future__ import annotations

import errno
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from harness.cassettes import Cassette, CassetteError
from harness.cassettes.load import load, read_recording
from harness.cassettes.yaml import MAX_BYTES

from .configuration import cassettes_of
from .corpus import corpus_folder
from .folders import SUFFIXES, names_below, nearest_name
from .suite import CASSETTES

STDIN: Final = "-"
"""The argument for standard input."""
_NUMBERED: Final = re.compile(r".+:([1-9][0-9]*)")


def find_recording(text: str, cassettes: Path | None = None) -> tuple[Path, int | None]:
    """Return the file or folder that an argument names, and the number of its exchange.

    ``PATH:N`` is only exchange N. A path that does not exist is the name of a cassette of the
    project, of the suite, or of a recording that `harness corpus` fetched. ``-`` is standard input.
    ``cassettes`` is the project's folder of cassettes. None means the folder in the configuration
    of the working folder. Raises `FileNotFoundError` with the most similar name.
    """
    number = number_in(text)
    name = text if number is None else text.rpartition(":")[0]
    if name == STDIN or Path(name).exists():
        return Path(name), number
    folders = (cassettes or cassettes_of(), CASSETTES)
    for folder in (*folders, corpus_folder()):
        for suffix in ("", *SUFFIXES):
            if (path := folder / f"{name}{suffix}").exists():
                return path, number
    names = [known for folder in reversed(folders) for known in names_below(folder)]
    near = nearest_name(name, names)
    any_name = "name a file, or a cassette such as gemini-api/text"
    way_out = f"did you mean {near}?" if near else any_name
    raise FileNotFoundError(errno.ENOENT, f"No such file or directory; {way_out}", text)


def find_path(text: str) -> Path:
    """Return the whole file or folder that an argument names, in the way of `find_recording`.
    Raises `FileNotFoundError`.
    """
    path, number = find_recording(text)
    if number is not None:
        raise FileNotFoundError(errno.ENOENT, f"No such file; omit :{number}", text)
    return path


def number_in(text: str) -> int | None:
    """Return the number of the exchange in ``PATH:N``; None for a path without a number."""
    match = None if Path(text).exists() else _NUMBERED.fullmatch(text)
    return int(match[1]) if match else None


def read_stdin() -> bytes:
    """Return the bytes of standard input. Raises `CassetteError` if there are too many."""
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise CassetteError(f"standard input has more than {MAX_BYTES} bytes")
    return data


def load_recording(
    text: str, cassettes: Path | None = None, provider: str | None = None
) -> Cassette:
    """Return the recording that an argument names, in the way of `find_recording`. It has all
    exchanges, or only the exchange with the given number. ``provider``: see `load`. Raises
    `CassetteError` or `OSError`.
    """
    path, number = find_recording(text, cassettes)
    if str(path) == STDIN:
        cassette = read_recording(read_stdin(), "standard input", provider)
    else:
        cassette = load(path, provider)
    if number is None:
        return cassette
    check_number(path, number, len(cassette.exchanges))
    return replace(cassette, exchanges=cassette.exchanges[number - 1 : number])


def check_number(path: Path, number: int, count: int) -> None:
    """Raise `CassetteError` if a recording with ``count`` exchanges has no exchange ``number``."""
    if number > count:
        raise CassetteError(f"{path}: there is no exchange {number}; the recording has {count}")
