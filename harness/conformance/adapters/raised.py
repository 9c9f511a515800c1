"""Describes an exception of an adapter, without the frames of the harness."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from types import TracebackType
from typing import Final

from harness.facts import Raised
from harness.recording.user_code import is_users

_STANDARD: Final = Path(os.__file__).parent
"""The folder of the standard library."""
_NOT_THEIRS: Final = (str(Path(__file__).parent), str(_STANDARD / "asyncio"))
"""The folders of the frames between the harness and the adapter's first frame."""

MAX_TRACEBACK: Final = 8000


def trim(error: BaseException) -> bool:
    """Removes the frames before the adapter's own first frame from the traceback of an exception.
    Returns False if there is no frame of the adapter, because the adapter was not reached.
    """
    trace: TracebackType | None = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename.startswith(_NOT_THEIRS):
        trace = trace.tb_next
    if trace is None:
        return False
    error.__traceback__ = trace
    return True


def raised_by(error: BaseException) -> Raised:
    """The description of a trimmed exception."""
    lines = "".join(traceback.format_exception(error))
    shown = lines[-MAX_TRACEBACK:].strip("\n")
    return Raised(type(error).__name__, message_of(error), code_of(error), shown, place_of(error))


def message_of(error: BaseException) -> str:
    """The text of an exception."""
    try:
        return str(error)
    except Exception as other:  # noqa: BLE001  # a foreign __str__ may raise anything
        return f"its text can't be read: {type(other).__name__}"


def code_of(error: BaseException) -> int | str | None:
    """The status of an exception: a number of ``status_code``, ``code`` or ``status``, else a word
    of one of them.
    """
    values = [getattr(error, name, None) for name in ("status_code", "code", "status")]
    for kind in (int, str):
        for value in values:
            if isinstance(value, kind) and not isinstance(value, bool) and value != "":
                return kind(value)
    return None


def place_of(error: BaseException) -> str:
    """``shim.py:12``: the innermost frame that is neither in a library nor in the harness, else the
    innermost one. The exception has been raised.
    """
    frames = [
        (frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    own = [(file, line) for file, line in frames if is_users(file)]
    file, line = (own or frames)[-1]
    return f"{Path(file).name}:{line}"
