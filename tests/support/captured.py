"""Captured streams as rows of a table, for the tests of sweeps."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.sweep.contract import Settings, Target

from .need import need

URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
OWN = Settings(Target("unified-llm", "unified-llm", "1"))


def body(text: str = "Oslo", finish: str = "STOP") -> str:
    """An answer of two events."""
    messages: list[dict[str, Any]] = [
        {"candidates": [{"content": {"parts": [{"text": text}]}}]},
        {"candidates": [{"finishReason": finish}], "usageMetadata": {"promptTokenCount": 3}},
    ]
    return "".join(f"data: {json.dumps(message)}\n\n" for message in messages)


def row(name: str, **columns: Any) -> dict[str, Any]:
    """A row with an answer."""
    return {
        "id": name,
        "body": body(),
        "end": "complete",
        "request": {"url": URL, "method": "POST"},
    } | columns


def write_lines(path: Path, *rows: Any) -> Path:
    """A file of JSON lines; a string is written as a line unchanged."""
    lines = [line if isinstance(line, str) else json.dumps(line) for line in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def write_parquet(path: Path, *rows: dict[str, Any], group: int = 2) -> Path:
    """A Parquet file with ``group`` rows in each row group."""
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(list(rows)), path, row_group_size=group)
    return path


def need_scale() -> None:
    """Skip if the extra ``scale`` is not installed."""
    names = ("dask", "distributed", "duckdb", "fsspec", "pyarrow")
    missing = [name for name in names if find_spec(name) is None]
    need("scale", not missing, f"{', '.join(missing)} is not installed")


SHIM = """
import json, os, signal
from harness.facts import Finish, Text, Usage

def replay(exchange):
    for line in exchange.body.decode().splitlines():
        if line.startswith("data:"):
            message = json.loads(line[5:])
            candidate = message["candidates"][0]
            for part in candidate.get("content", {{}}).get("parts", []):
                if part["text"] == "die":
                    os.kill(os.getpid(), signal.SIGKILL)
                if part["text"] == "raise":
                    raise ValueError("no such place")
                yield {{"n": 1}}, [Text(part["text"]{change})]
            if "usageMetadata" in message:
                yield {{"n": 2}}, [Usage(input=message["usageMetadata"]["promptTokenCount"])]
            if "finishReason" in candidate:
                yield {{"n": 3}}, [Finish(candidate["finishReason"])]
"""


def write_shim(folder: Path, name: str, change: str = "") -> Target:
    """A user's adapter that adds ``change`` to the end of its text."""
    (folder / f"{name}.py").write_text(SHIM.format(change=change), encoding="utf-8")
    return Target(f"{name}:replay", name, "1")
