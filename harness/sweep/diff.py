"""Compares the output of two sweeps of the same streams with DuckDB. It finds the facts that A kept
and B loses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from .files import file_system, is_url, need
from .stream import SweepError
from .summary import Example

PAIRS: Final = """\
CREATE TEMP TABLE pairs AS
SELECT id, b.source, b.provider, b.model, b.sentence,
       a.verdict AS verdict_a, b.verdict AS verdict_b,
       a.aspects AS aspects_a, b.aspects AS aspects_b
FROM a FULL JOIN b USING (id, digest)
"""
"""The rows of both sweeps. Rows with the same id and digest are joined. ``a`` and ``b`` are views
of the two outputs.
"""

LOSSES: Final = """\
WITH changed AS (
    SELECT *, CAST(CAST(aspects_b AS JSON) AS MAP(VARCHAR, VARCHAR)) AS now,
           unnest(map_entries(CAST(CAST(aspects_a AS JSON) AS MAP(VARCHAR, VARCHAR)))) AS before
    FROM pairs
    WHERE verdict_a <> 'error' AND verdict_b <> 'error' AND aspects_a IS DISTINCT FROM aspects_b
)
SELECT before.key AS aspect, provider, model,
       coalesce(now[before.key], 'not compared') AS verdict,
       count(*) AS rows,
       list({'id': id, 'source': source, 'sentence': sentence} ORDER BY id)[1:3] AS examples
FROM changed
WHERE before.value = 'kept' AND now[before.key] IS DISTINCT FROM 'kept'
GROUP BY ALL
ORDER BY rows DESC, aspect, provider, model, verdict
"""
"""Each aspect that A kept and B does not keep."""

ERRORS: Final = """\
SELECT id, source, sentence
FROM pairs
WHERE verdict_a <> 'error' AND verdict_b = 'error'
ORDER BY id LIMIT 3
"""
"""The rows that A could judge and B could not."""

COUNTS: Final = """\
SELECT count(*) FILTER (verdict_a IS NOT NULL AND verdict_b IS NOT NULL) AS both,
       count(*) FILTER (verdict_b IS NULL) AS only_a,
       count(*) FILTER (verdict_a IS NULL) AS only_b,
       count(*) FILTER (verdict_a <> 'error' AND verdict_b = 'error') AS new_errors,
       count(*) FILTER (verdict_a = 'failed' AND verdict_b = 'passed') AS mended
FROM pairs
"""
"""The numbers of rows in both sweeps, and in only one of them."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The rows in which A kept an aspect, and B has the same other verdict for this aspect."""

    aspect: str
    provider: str
    model: str
    verdict: str
    rows: int
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class SweepDifferences:
    """The losses of B, and numbers of rows."""

    losses: tuple[Difference, ...]
    errors: tuple[Example, ...]
    both: int
    """Rows in both sweeps."""
    only_a: int
    """Rows only in A."""
    only_b: int
    """Rows only in B."""
    new_errors: int
    """Rows that are judged in A and an error in B."""
    mended: int
    """Rows that failed in A and passed in B."""

    @property
    def worse(self) -> bool:
        """Whether B loses anything."""
        return bool(self.losses or self.new_errors)


def compare_sweeps(a: str, b: str) -> SweepDifferences:
    """Compare two outputs: files, folders or globs. Raises `SweepError`."""
    need("duckdb")
    import duckdb  # the extra

    with duckdb.connect() as connection:
        for name, path in (("a", a), ("b", b)):
            if is_url(path):
                connection.register_filesystem(file_system(path)[0])
            try:
                connection.execute(f"CREATE VIEW {name} AS {_view(path)}")
            except duckdb.Error as error:
                reason = str(error).splitlines()[0]
                raise SweepError(f"{path}: not an output of `harness sweep -o`: {reason}") from None
        connection.execute(PAIRS)
        losses = [
            Difference(
                aspect,
                provider or "",
                model or "",
                verdict,
                rows,
                tuple(Example(**example) for example in examples),
            )
            for aspect, provider, model, verdict, rows, examples in _all(connection, LOSSES)
        ]
        errors = tuple(Example(*row) for row in _all(connection, ERRORS))
        (counts,) = _all(connection, COUNTS)
    return SweepDifferences(tuple(losses), errors, *counts)


def _all(connection: Any, query: str) -> Sequence[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = connection.execute(query).fetchall()
    return rows


def _view(path: str) -> str:
    """Return the query that reads an output. It reads only one of the rows with the same id and
    digest.
    """
    pattern = path if path.endswith(".parquet") else f"{path.rstrip('/')}/*.parquet"
    quoted = "'" + pattern.replace("'", "''") + "'"
    return f"SELECT DISTINCT ON (id, digest) * FROM read_parquet({quoted})"  # noqa: S608  # the path is quoted
