"""The output of a sweep: a file of verdicts for each part, as Parquet or JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from itertools import islice
from typing import Any, Final, Literal

import msgspec

from harness.facts import ASPECTS
from harness.stream.json_codec import Json

from .files import Folder, open_file
from .row import Row
from .summary import Summary

Format = Literal["parquet", "jsonl"]
SUMMARY_KEY: Final = b"harness.summary"
"""The key in a Parquet file's metadata for the summary of its rows."""
BLOCK: Final = 4096
"""The number of rows that are encoded at a time."""
_decode: Final = msgspec.json.Decoder(Row).decode


def default_format() -> Format:
    """Parquet if pyarrow is installed, else JSON lines."""
    return "parquet" if find_spec("pyarrow") else "jsonl"


def write_part(name: str, rows: Iterable[Row], folder: Folder) -> Summary:
    """Write the file of one part. Its suffix is its format. Returns the summary of its rows."""
    summary = Summary()
    counted = _counted(rows, summary)
    content = _parquet(counted, summary) if name.endswith(".parquet") else _lines(counted)
    folder.write(name, content)
    return summary


def _counted(rows: Iterable[Row], summary: Summary) -> Iterator[Row]:
    for row in rows:
        summary.add(row)
        yield row


def _lines(rows: Iterable[Row]) -> bytes:
    encode = msgspec.json.Encoder().encode
    return b"".join(encode(row) + b"\n" for row in rows)


def _parquet(rows: Iterator[Row], summary: Summary) -> bytes:
    from pyarrow import parquet  # the extra

    buffer = BytesIO()
    with parquet.ParquetWriter(buffer, schema(), compression="zstd") as writer:
        while block := list(islice(rows, BLOCK)):
            writer.write_table(table_of(block))
        writer.add_key_value_metadata({SUMMARY_KEY: msgspec.json.encode(summary)})
    return buffer.getvalue()


@cache
def schema() -> Any:
    """The schema of a Parquet file of verdicts: ``aspects`` is a struct of all aspects."""
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
    return pa.schema([(name, kinds.get(name, word)) for name in Row.__struct_fields__])


def table_of(rows: Sequence[Row]) -> Any:
    """The rows as a table of Arrow."""
    import pyarrow as pa  # the extra

    columns: dict[str, Any] = {
        name: [getattr(row, name) for row in rows] for name in Row.__struct_fields__
    }
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
    """The summary of a finished file."""
    if name.endswith(".parquet"):
        from pyarrow.parquet import read_metadata  # the extra

        with open_file(folder.at(name)) as file:
            entries = read_metadata(file).metadata or {}
        if SUMMARY_KEY in entries:
            return msgspec.json.decode(entries[SUMMARY_KEY], type=Summary)
    return Summary.of(read_rows(name, folder))


def read_rows(name: str, folder: Folder) -> Iterator[Row]:
    """The rows of a finished file."""
    with open_file(folder.at(name)) as file:
        if name.endswith(".parquet"):
            from pyarrow.parquet import ParquetFile  # the extra

            for batch in ParquetFile(file).iter_batches():
                yield from map(_row, batch.to_pylist())
        else:
            yield from map(_decode, file)


def _row(values: dict[str, Json]) -> Row:
    """The row with the values of a Parquet file. The file has a value for each aspect and list."""
    values["aspects"] = {name: word for name, word in values["aspects"].items() if word}
    values["laws"] = dict(values["laws"])
    return msgspec.convert(values, Row)
