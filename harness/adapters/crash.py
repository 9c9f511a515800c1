"""Decides whether an exception is a crash of the adapter, or an error that it raises on purpose."""

from __future__ import annotations

import json
import sys
from dis import opmap
from types import TracebackType
from typing import Final

from harness.recording.user_code import is_standard

_EXACT: Final = (
    *(KeyError, IndexError, AttributeError, TypeError, AssertionError),
    *(NameError, UnboundLocalError, RecursionError),
)
"""Types that are crashes wherever they are raised. A subclass of another library may be an error
that is raised on purpose.
"""
_CODECS: Final = (UnicodeError, json.JSONDecodeError)
"""Types of codecs, with their subclasses, such as those of orjson and requests."""
_VALIDATION: Final = frozenset({"ValidationError", "DecodeError"})
"""The names of the errors of `_VALIDATORS`."""
_VALIDATORS: Final = frozenset({"pydantic", "pydantic_core", "msgspec"})
_RAISE: Final = opmap["RAISE_VARARGS"]

CRASHES: Final[dict[str, frozenset[str]]] = {
    "python": frozenset(kind.__name__ for kind in _EXACT)
    | {"ModuleNotFoundError", "ImportError", "ZeroDivisionError", "StopIteration"}
    | {"UnicodeDecodeError", "UnicodeEncodeError", "JSONDecodeError", "ValidationError"},
    "javascript": frozenset({"TypeError", "RangeError", "ReferenceError", "SyntaxError"}),
    "java": frozenset(
        {
            *("NullPointerException", "ClassCastException", "IndexOutOfBoundsException"),
            *("ArrayIndexOutOfBoundsException", "StringIndexOutOfBoundsException"),
            *("NoSuchElementException", "NumberFormatException", "StackOverflowError"),
        }
    ),
    "csharp": frozenset(
        {
            *("NullReferenceException", "InvalidCastException", "KeyNotFoundException"),
            *("IndexOutOfRangeException", "ArgumentOutOfRangeException", "FormatException"),
            *("JsonException", "StackOverflowException"),
        }
    ),
}
"""The names of the types that are crashes, for each language of a program."""
_ANY: Final = frozenset[str]().union(*CRASHES.values())


def is_crash(error: BaseException) -> bool:
    """Return whether an exception is a crash. It is none if a ``raise`` statement outside of the
    standard library raised it. An exception that native code raised is decided by its type: those
    of Python are crashes. A group is a crash if one of its exceptions is.
    """
    if isinstance(error, BaseExceptionGroup):
        raised = [inner for inner in error.exceptions if inner.__traceback__]
        if raised:
            return any(map(is_crash, raised))
    kind = type(error)
    package = kind.__module__.partition(".")[0]
    is_validation = package in _VALIDATORS and kind.__name__ in _VALIDATION
    if kind in _EXACT or isinstance(error, _CODECS) or is_validation:
        return True
    origin = _origin(error.__traceback__)
    if origin is not None and _raises(origin):
        return is_standard(origin.tb_frame.f_code.co_filename)
    return package in sys.stdlib_module_names


def is_crash_by_name(kind: str, language: str = "") -> bool:
    """Return whether a type that a program names is a crash. Without a known ``language``, the
    tables of all languages apply. The name may have its module before it.
    """
    return kind.rpartition(".")[2] in CRASHES.get(language, _ANY)


def _origin(trace: TracebackType | None) -> TracebackType | None:
    """Return the innermost stack frame, in which the exception was raised."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _raises(trace: TracebackType) -> bool:
    """Return whether the instruction that ended a stack frame is a ``raise`` statement."""
    code, at = trace.tb_frame.f_code.co_code, trace.tb_lasti
    return 0 <= at < len(code) and code[at] == _RAISE
