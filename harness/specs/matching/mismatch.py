"""What a comparison found: one `Mismatch` a difference, its path as a person writes it, and all of
them as lines for a terminal.

A path begins without a dot (``[3].delta``, ``usage.total``), a run of items is ``[12..14]``, a key
that is no plain word is quoted, and the whole value is ``$``. Nothing that a model wrote reaches a
terminal raw: what is not printable is escaped.
"""

from __future__ import annotations

import json
import re
from typing import Final, Literal, Protocol

from msgspec import Struct

from harness.stream.json_codec import Json
from harness.stream.printable import excerpt

from .operators import Bindings

Kind = Literal["changed", "missing", "extra", "moved", "recut"]

Path = tuple[str | int | range, ...]

Course = tuple[tuple[int, int], ...]
"""``((3, -1), (7, -2))``: counted numbers from 3 on are off by −1, from 7 on by −2."""

MAX_SHOWN: Final = 1200
"""Characters of a value in one line."""

_WORD: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")


class Mismatch(Struct, frozen=True):
    """One difference.

    ``path`` counts items as the expectation does, for ``extra`` as we got them. ``kind``:
    ``changed``; ``missing`` (expected, not got); ``extra`` (got, not expected); ``moved`` (a
    counted number is off by the same amount from here on); ``recut`` (same text, cut differently).
    ``expected`` and ``got`` are JSON values, None where there is none; of a run of items a list.
    ``note`` is a sentence or ``""``.
    """

    path: str
    kind: Kind
    expected: Json = None
    got: Json = None
    note: str = ""


class Findings(Protocol):
    """Where the comparison of two lists adds its findings, and asks for those of a pair.

    ``loose`` binds no names. ``courses`` say how the counted numbers around the present value are
    shifted; ``silenced`` are the paths of numbers that another finding answers for.
    """

    bindings: Bindings
    loose: Bindings
    courses: dict[str, Course]
    silenced: set[Path]

    def explain(self, path: Path, expected: Json, actual: Json) -> None:
        """Add what differs between two values; nothing if ``actual`` is as expected."""

    def add(self, path: Path, kind: Kind, expected: Json, got: Json, note: str = "") -> None:
        """Add one finding."""


def write_path(path: Path) -> str:
    """A path as text, in ASCII."""
    text = "".join(map(_write_step, path))
    return text.removeprefix(".") or "$"


def _write_step(step: str | int | range) -> str:
    if isinstance(step, range):
        return f"[{step.start}..{step.stop - 1}]"
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _WORD.fullmatch(step) else f"[{json.dumps(step)}]"


def sides(mismatch: Mismatch) -> tuple[str | None, str | None]:
    """What was expected and what came, as JSON text; None where nothing stands there. Long values
    are shortened in the middle.
    """
    expected, got = mismatch.expected, mismatch.got
    if mismatch.kind == "changed" and expected is None and got is None:
        return None, None  # about the comparison, not about a value
    near = mismatch.kind == "missing" and got is None
    return (None if mismatch.kind == "extra" else _value(expected)), (None if near else _value(got))


def _value(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    return excerpt(text, MAX_SHOWN // 2, MAX_SHOWN // 2)
