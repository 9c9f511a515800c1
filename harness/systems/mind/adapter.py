"""The mind program as an adapter: one run of it against a served cassette.

The ``context`` of a case has the call of the program: ``arguments``, and if need be ``files`` of
its working folder and ``environment``. The program may send only the requests of the cassette; any
other request is answered with an error.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from harness.dialects.dialect import ContextError, ServedCassette
from harness.stream.json_codec import decode_object

from . import MAIN

CONTEXT: Final = {"arguments": list, "files": dict, "environment": dict}
"""The fields of ``context``: a list of strings, and mappings of strings to strings."""

SETTINGS: Final = ("GEMINI_API_KEY", "GEMINI_MODEL")
WITHHELD: Final = ("--allowed-tools", "--project-dir")
"""Specs and recordings are not trusted: no case lets the program act, or read outside its own
folder.
"""

_GOOGLE: Final = ("GEMINI", "GOOGLE", "CODE_ASSIST", "MIND_")
"""Variables with these beginnings would make the program read from another place than the
recording.
"""

RunProgram = Callable[[Sequence[str], Mapping[str, str], str], tuple[bytes, int]]
"""A run of the program: arguments, environment and working folder → stdout and exit code."""


def adapt(
    context: Mapping[str, Any], served: ServedCassette, run: RunProgram | None = None
) -> list[Any]:
    """Run the program; ``run`` replaces the function that runs it.

    Payloads are the records that were printed, without their ``timestamp`` if that is a time;
    ``{"stdout": line}`` for every line that is not a record; last ``{"exit": code, "asked": n}``,
    with ``"refused"`` if the program sent other requests. Raises `ContextError` for a context with
    an unknown key, or with a path outside the program's own folder.
    """
    context = _read_context(context)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(_GOOGLE)
    }
    environment |= {
        "GEMINI_API_KEY": "no-key-in-a-replay",
        "GOOGLE_GEMINI_BASE_URL": served.base_url,
        **context["environment"],
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, text in context["files"].items():
            (Path(folder) / name).write_text(text, encoding="utf-8", newline="")
        if run is None:
            out, status = served.run_program(MAIN, context["arguments"], environment, folder)
        else:
            out, status = run(context["arguments"], environment, folder)
    lines = out.decode("utf-8", "backslashreplace").splitlines(keepends=True)
    return [*map(_payload, lines), {"exit": status, **served.summary()}]


def _read_context(context: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in context.items():
        if name not in CONTEXT:
            raise ContextError(
                f"context has the unknown key {name!r}; the mind program takes {', '.join(CONTEXT)}"
            )
        values = [*value, *value.values()] if type(value) is dict else value
        if type(value) is not CONTEXT[name] or any(type(item) is not str for item in values):
            raise ContextError(
                f"context.{name} must be a {'mapping' if CONTEXT[name] is dict else 'list'} of"
                " strings"
            )
        if name == "arguments" and (
            withheld := [item for item in value if item.startswith(WITHHELD)]
        ):
            raise ContextError(
                f"context.arguments has {withheld[0]}; in a case the program may only read files of"
                " its own folder"
            )
        if name == "environment" and (odd := sorted(value.keys() - set(SETTINGS))):
            raise ContextError(
                f"context.environment names {odd[0]}; it may only name {' and '.join(SETTINGS)}"
            )
        if name == "files" and any(
            "/" in path or "\\" in path or path in (".", "..") for path in value
        ):
            raise ContextError(
                "context.files must name files of the program's own folder, without a path"
            )
    return {name: context.get(name, kind()) for name, kind in CONTEXT.items()}


def _payload(line: str) -> Any:
    """Return a record without its time, which differs in every run; a line that is not a record,
    unchanged.
    """
    record = decode_object(line)
    if record is None or not line.endswith("\n"):
        return {"stdout": line}
    return {
        name: value for name, value in record.items() if name != "timestamp" or not _is_time(value)
    }


def _is_time(value: Any) -> bool:
    try:
        return type(value) is str and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False
