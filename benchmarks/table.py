"""The figures of a run as a table, compared with the kept figures and with the limit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

Section = dict[str, float]
"""Figures of one unit by name."""

KEPT: Final = Path(__file__).parent / "figures.json"
"""The figures of the last release; ``--keep`` writes it."""
LIMIT: Final = "limit: "
"""Begins the name of the figure that is the limit of its section."""


def table(results: dict[str, Section], kept: dict[str, Any]) -> Iterator[str]:
    """The lines of the table."""
    before: dict[str, Section] = kept.get("results", {})
    yield f"{'':56}{'now':>10}{'kept':>10}{'now/kept':>10}{'now/limit':>11}"
    for title, section in results.items():
        yield title
        limit = next((value for name, value in section.items() if name.startswith(LIMIT)), None)
        for name, now in section.items():
            then = before.get(title, {}).get(name)
            cells = [f"{now:10.3f}", " " * 10 if then is None else f"{then:10.3f}"]
            cells.append(f"{now / then:10.2f}" if then else " " * 10)
            cells.append(f"{now / limit:11.2f}" if limit else "")
            yield f"  {name:54}{''.join(cells)}".rstrip()


def read_kept() -> dict[str, Any]:
    """The figures that are kept, with the versions of the project and of Python."""
    kept: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    return kept
