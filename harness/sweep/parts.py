"""Divides the input of a sweep into parts. Each part becomes one file of the output.

A part is a row group of a Parquet file, some megabytes of JSON lines, or some recordings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from harness.cassettes import CassetteError, UnknownFormat
from harness.cassettes.load import read_recording
from harness.cassettes.redaction.secrets import mask
from harness.cassettes.yaml import MAX_BYTES

from .files import File, Folder, is_url, list_files, need, open_file
from .stream import COLUMNS, CapturedStream, SweepError, stream_of_row

PART_BYTES: Final = 16 * 1024 * 1024
"""The maximum size of a part of JSON lines, and of the recordings in a part together."""
MAX_FILES: Final = 50
"""The maximum number of recordings in a part."""
BATCH: Final = 256
"""The maximum number of streams that are in memory at a time."""
_HEAD: Final = 1 << 16
_IS_ROW: Final = re.compile(rb'\s*\{(?=[^\r\n]*"id"\s*:)(?=[^\r\n]*"body(?:_base64)?"\s*:)')
_PLACE: Final = re.compile(r"(?P<path>.+):(?P<number>[1-9][0-9]*)")
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class InputPart:
    """A part of the input."""

    kind: str
    """``parquet``, ``lines`` or ``files``."""
    name: str
    paths: tuple[str, ...]
    size: int
    rows: int
    """The number of its rows, or of its files for recordings."""
    start: int = 0
    """The row group, or the byte at which the part begins."""
    stop: int = 0
    """The byte at which it ends."""
    row: int = 1
    """The number of its first row in its file, counted from 1."""
    in_folder: bool = False
    """Whether the user named only the folder of its files. A file of an unknown format is then not
    an error.
    """


def plan(arguments: Sequence[str], target: Folder) -> list[InputPart]:
    """Return the parts of all arguments. The same files give the same parts with the same names.
    Files of the output are not read as input. Raises `SweepError` or `OSError`, also if no file has
    a stream.
    """
    parts: list[InputPart] = []
    inputs: list[File] = []
    for argument in arguments:
        files, in_folder = list_files(argument)
        recordings: list[File] = []
        for file in files:
            if file.path.startswith(f"{target.path.rstrip('/')}/"):
                continue
            inputs.append(file)
            if file.path.endswith(".parquet"):
                parts += _row_groups(file)
            elif _has_rows(file):
                parts += _line_parts(file)
            else:
                recordings.append(file)
        parts += _recordings(recordings, in_folder)
    if not inputs:
        raise SweepError(f"{' '.join(arguments)}: there is no input, only the output")
    if not any(part.rows for part in parts) or all(map(_is_empty, inputs)):
        raise SweepError(
            f"{' '.join(arguments)}: there is no row and no recording, so nothing was judged; check"
            " that the capture has written streams, or name another file"
        )
    return list({part.name: part for part in parts}.values())


def _name(files: Sequence[File], number: int) -> str:
    """Return the name of a part: a readable word, its number in the file, and a digest of its
    files.
    """
    digest = blake2b(digest_size=6)
    for file in files:
        digest.update(f"{file.path}\n{file.size}\n{file.changed}\n".encode())
    shown = mask().text(files[0].path.rpartition("/")[2])
    word = re.sub(r"[^A-Za-z0-9_-]+", "-", shown)[:40].strip("-")
    return f"{word}-{digest.hexdigest()}-{number:06d}"


def _row_groups(file: File) -> Iterator[InputPart]:
    parquet = _parquet(file.path)
    names = set(parquet.schema_arrow.names)
    if "id" not in names or "body" not in names:
        raise SweepError(
            f"{file.path}: the columns are {', '.join(sorted(names))}; id and body are required"
        )
    row = 1
    for number in range(parquet.metadata.num_row_groups):
        group = parquet.metadata.row_group(number)
        yield InputPart(
            "parquet",
            _name([file], number),
            (file.path,),
            group.total_byte_size,
            group.num_rows,
            number,
            row=row,
        )
        row += group.num_rows


def _parquet(path: str) -> Any:
    need("pyarrow")
    from pyarrow import ArrowInvalid  # the extra
    from pyarrow.parquet import ParquetFile

    try:
        return ParquetFile(open_file(path) if is_url(path) else path)
    except ArrowInvalid as error:
        raise SweepError(f"{path}: not a readable Parquet file: {error}") from None


def _has_rows(file: File) -> bool:
    """Return whether a file has rows as JSON lines: its first line has an id and a body."""
    with open_file(file.path) as lines:
        return _IS_ROW.match(lines.read(_HEAD).removeprefix(b"\xef\xbb\xbf")) is not None


def _is_empty(file: File) -> bool:
    """Return whether a file has only white space."""
    if file.size > _HEAD:
        return False
    with open_file(file.path) as content:
        return not content.read(_HEAD).strip()


def _line_parts(file: File) -> Iterator[InputPart]:
    """Yield parts of whole lines. A part has at most `PART_BYTES`, unless one line is longer."""
    start = place = number = 0
    row, rows = 1, 0
    with open_file(file.path) as lines:
        for line in lines:
            if rows and place + len(line) - start > PART_BYTES:
                yield _line_part(file, number, start, place, row, rows)
                start, row, rows, number = place, row + rows, 0, number + 1
            place += len(line)
            rows += 1
    yield _line_part(file, number, start, place, row, rows)


def _line_part(file: File, number: int, start: int, stop: int, row: int, rows: int) -> InputPart:
    name = _name([file], number)
    return InputPart("lines", name, (file.path,), stop - start, rows, start, stop, row)


def _recordings(files: Sequence[File], in_folder: bool) -> Iterator[InputPart]:
    group: list[File] = []
    for number, file in enumerate(files):
        group.append(file)
        size = sum(member.size for member in group)
        if len(group) == MAX_FILES or size > PART_BYTES or number == len(files) - 1:
            paths = tuple(member.path for member in group)
            yield InputPart("files", _name(group, 0), paths, size, len(group), in_folder=in_folder)
            group = []


def batches(part: InputPart) -> Iterator[list[CapturedStream]]:
    """Yield the streams of a part, `BATCH` at a time. Raises `SweepError` or `OSError` for a file
    that can't be read.
    """
    streams = {"parquet": _of_row_group, "lines": _of_lines, "files": _of_files}[part.kind](part)
    while batch := list(islice(streams, BATCH)):
        yield batch


def _of_row_group(part: InputPart) -> Iterator[CapturedStream]:
    (path,) = part.paths
    parquet = _parquet(path)
    columns = [name for name in parquet.schema_arrow.names if name in COLUMNS]
    number = part.row
    for batch in parquet.iter_batches(BATCH, row_groups=[part.start], columns=columns):
        for row in batch.to_pylist():
            yield stream_of_row(row, f"{path}:{number}")
            number += 1


def _of_lines(part: InputPart) -> Iterator[CapturedStream]:
    (path,) = part.paths
    with open_file(path) as lines:
        lines.seek(part.start)
        for number, line in enumerate(islice(lines, part.rows), part.row):
            yield stream_of_line(line, f"{path}:{number}")


def stream_of_line(line: bytes, source: str) -> CapturedStream:
    """Return the stream of a line of JSON; for a faulty line, a stream without an exchange."""
    try:
        row = _decode(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        fault = "the line is not JSON"
        return CapturedStream(source, source, None, f"{fault}: {error}", group=fault)
    if not isinstance(row, dict):
        fault = "the line is not a JSON object"
        return CapturedStream(source, source, None, fault, group=fault)
    return stream_of_row(row, source)


def _of_files(part: InputPart) -> Iterator[CapturedStream]:
    for path in part.paths:
        try:
            with open_file(path) as file:
                data = file.read(MAX_BYTES + 1)
            exchanges = read_recording(data, path).exchanges
        except UnknownFormat as error:
            yield CapturedStream(path, path, None, _reason(error, path), skipped=part.in_folder)
            continue
        except (CassetteError, OSError) as error:
            yield CapturedStream(path, path, None, _reason(error, path))
            continue
        for number, exchange in enumerate(exchanges, 1):
            source = f"{path}:{number}"
            yield CapturedStream(source, source, exchange)


def _reason(error: Exception, path: str) -> str:
    return str(error).removeprefix(f"{path}: ")


def stream_at(source: str) -> CapturedStream | None:
    """Return the stream at a place such as ``day.parquet:17``: a row of a table, or an exchange of
    a recording. None if the text does not name such a place. Raises `SweepError` or `OSError`.
    """
    match = _PLACE.fullmatch(source)
    if match is None:
        return None
    path, number = match["path"], int(match["number"])
    if not is_url(path) and not Path(path).is_file():
        return None
    files, in_folder = list_files(path)
    if path.endswith(".parquet"):
        parts = _row_groups(files[0])
    elif _has_rows(files[0]):
        parts = _line_parts(files[0])
    else:
        parts = _recordings(files, in_folder)
    count = 0
    for part in parts:
        inside = part.kind == "files" or part.row <= number < part.row + part.rows
        streams = (stream for batch in batches(part) for stream in batch) if inside else iter(())
        for stream in streams:
            if stream.source in (source, path):
                return stream
            count += part.kind == "files"
        if part.kind != "files":
            count = part.row + part.rows - 1
    raise SweepError(f"{path}: there is no row or exchange {number}; it has {count}")
