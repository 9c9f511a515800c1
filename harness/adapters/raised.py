"""Describes an exception of an adapter, without the stack frames of the harness."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from types import TracebackType
from typing import Final

from harness.facts import Raised
from harness.recording.user_code import is_standard, is_users

from .crash import is_crash

_STANDARD: Final = Path(os.__file__).parent
"""The folder of the standard library."""
_NOT_THEIRS: Final = (str(Path(__file__).parent), str(_STANDARD / "asyncio"))
"""The folders of the stack frames between the harness and the adapter's first stack frame."""

MAX_TRACEBACK: Final = 8000


def trim(error: BaseException) -> bool:
    """Remove the stack frames before the adapter's own first one from the traceback of an
    exception. Returns False if the adapter has no stack frame in it, because the adapter was not
    called.
    """
    trace: TracebackType | None = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename.startswith(_NOT_THEIRS):
        trace = trace.tb_next
    if trace is None:
        return False
    error.__traceback__ = trace
    return True


def raised_by(error: BaseException) -> Raised:
    """Return the description of a trimmed exception."""
    lines = "".join(traceback.format_exception(error))
    shown = lines[-MAX_TRACEBACK:].strip("\n")
    return Raised(
        type(error).__name__,
        message_of(error),
        code_of(error),
        shown,
        place_of(error),
        is_crash(error),
        is_in_shim(error),
    )


def message_of(error: BaseException) -> str:
    """Return the text of an exception."""
    try:
        return str(error)
    except Exception as other:  # noqa: BLE001  # a foreign __str__ may raise any exception
        return f"its text can't be read: {type(other).__name__}"


def code_of(error: BaseException) -> int | str | None:
    """Return the status of an exception: the first number in ``status_code``, ``code`` or
    ``status``, else the first word in them.
    """
    values = [getattr(error, name, None) for name in ("status_code", "code", "status")]
    for kind in (int, str):
        for value in values:
            if isinstance(value, kind) and not isinstance(value, bool) and value != "":
                return kind(value)
    return None


def place_of(error: BaseException) -> str:
    """Return the place of an exception that was raised, such as ``shim.py:12``: the innermost stack
    frame outside of libraries and the harness, else the innermost one.
    """
    frames = [
        (frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    own = [(file, line) for file, line in frames if is_users(file)]
    file, line = (own or frames)[-1]
    return f"{Path(file).name}:{line}"


def is_in_shim(error: BaseException) -> bool:
    """Return whether the shim's own code raised a trimmed exception, or called what raised it in
    the standard library.
    """
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    return [file for file in files if not is_standard(file)][-1:] == files[:1]
