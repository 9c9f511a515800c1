"""The output of a sweep: a Parquet file of verdicts for each part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from io import BytesIO
from itertools import islice
from typing import Any, Final

import msgspec

from harness.facts import ASPECTS
from harness.stream.printable import printable, shorten

from .files import Folder, open_file
from .row import COLUMNS, StreamRow
from .summary import Summary

SUMMARY_KEY: Final = b"harness.summary"
"""The key in a Parquet file's metadata for the summary of its rows."""
BLOCK: Final = 4096
"""The number of rows that are encoded at a time."""


def write_part(name: str, rows: Iterable[StreamRow], folder: Folder) -> Summary:
    """Write the file of one part. Returns the summary of its rows."""
    from pyarrow import parquet  # the extra

    summary, buffer, remaining = Summary(), BytesIO(), iter(rows)
    with parquet.ParquetWriter(buffer, schema(), compression="zstd") as writer:
        while block := list(islice(remaining, BLOCK)):
            written, table = _written(block)
            for row in written:
                summary.add(row)
            writer.write_table(table)
        writer.add_key_value_metadata({SUMMARY_KEY: msgspec.json.encode(summary)})
    folder.write(name, buffer.getvalue())
    return summary


def _written(rows: Sequence[StreamRow]) -> tuple[Sequence[StreamRow], Any]:
    """Return the rows and their table. A row with a value that no column can have becomes an error
    with the reason.
    """
    import pyarrow as pa  # the extra

    faults = (pa.ArrowException, OverflowError, UnicodeError)
    try:
        return rows, table_of(rows)
    except faults:
        rows = list(rows)
    for place, row in enumerate(rows):
        try:
            table_of([row])
        except faults as error:
            kind = type(error).__name__
            rows[place] = StreamRow(
                id=printable(row.id),
                source=printable(row.source),
                adapter=row.adapter,
                version=row.version,
                verdict="error",
                group=f"the row can't be written: {kind}",
                sentence=f"the row can't be written: {kind}: {printable(shorten(str(error), 200))}",
            )
    return rows, table_of(rows)


@cache
def schema() -> Any:
    """Return the schema of a Parquet file of verdicts: ``aspects`` is a struct of all aspects."""
    import pyarrow as pa  # the extra

    word = pa.dictionary(pa.int32(), pa.string())
    kinds = {
        "id": pa.string(),
        "source": pa.string(),
        "status": pa.int32(),
        "aspects": pa.struct([(aspect, pa.string()) for aspect in ASPECTS]),
        "laws": pa.map_(pa.string(), pa.string()),
        "sentence": pa.string(),
        "digest": pa.string(),
        **dict.fromkeys(("variants", "worse", "better"), pa.list_(pa.string())),
    }
    return pa.schema([(name, kinds.get(name, word)) for name in COLUMNS])


def table_of(rows: Sequence[StreamRow]) -> Any:
    """Return the rows as a table of Arrow."""
    import pyarrow as pa  # the extra

    columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in COLUMNS}
    for name in ("provider", "end"):
        columns[name] = [value or None for value in columns[name]]
    columns["laws"] = [list(laws.items()) for laws in columns["laws"]]
    aspects = [
        pa.array([row.aspects.get(aspect) for row in rows], pa.string()) for aspect in ASPECTS
    ]
    columns["aspects"] = pa.StructArray.from_arrays(aspects, names=list(ASPECTS))
    return pa.Table.from_arrays(
        [
            column if isinstance(column, pa.Array) else pa.array(column, field.type)
            for field, column in zip(schema(), columns.values(), strict=True)
        ],
        schema=schema(),
    )


def read_summary(name: str, folder: Folder) -> Summary:
    """Return the summary of a finished file."""
    from pyarrow.parquet import read_metadata  # the extra

    with open_file(folder.at(name)) as file:
        return msgspec.json.decode(read_metadata(file).metadata[SUMMARY_KEY], type=Summary)
