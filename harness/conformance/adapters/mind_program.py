"""The mind program as an adapter: one run of it against a recorded conversation, told as its lines
of stdout and how it ended.

A case for it has ``mind-program`` in its ``expect``, and says in ``context`` how the program is
called: ``arguments``, and if need be ``files`` of its working folder and ``environment``. The
cassette's exchanges are what it may ask for, each by the very request that was recorded; any other
request is answered with an error, as a miss is by `harness.server`. So an expectation that holds
says what was printed and what was sent.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from harness.specs import Case
from harness.stream.exchange import Cassette, Exchange
from harness.stream.json_codec import decode_json

from ..judge import Adapter, AdapterError, AdapterMissing
from .process import run_process

MIND_PROGRAM: Final = "mind-program"
"""The adapter's name, and that of its event model."""

COMMAND: Final = (sys.executable, "-m", "harness.dialects.mind.program")
TIMEOUT_S: Final = 60.0
CONTEXT: Final = {"arguments": list, "files": dict, "environment": dict}
"""What ``context`` may say: strings, and mappings of strings to strings."""

SETTINGS: Final = ("GEMINI_API_KEY", "GEMINI_MODEL")
WITHHELD: Final = ("--allowed-tools", "--project-dir")
"""A spec and its recording may come from a stranger: no case lets the program act, or read outside
its own folder.
"""

_GOOGLES: Final = ("GEMINI", "GOOGLE", "CODE_ASSIST", "MIND_")
"""Variables that begin so would lead the program elsewhere than to the recording."""

Run = Callable[[Sequence[str], Mapping[str, str], Path], tuple[bytes, int]]
"""A run of the program: arguments, environment and working folder → stdout and exit code."""


def run_as_process(
    arguments: Sequence[str], environment: Mapping[str, str], folder: Path
) -> tuple[bytes, int]:
    """As a user runs it; raises `AdapterError` where it hangs or floods."""
    out, _, status = run_process([*COMMAND, *arguments], environment, folder, TIMEOUT_S)
    return out, status


def make_mind_program(load: Callable[[str], Cassette], run: Run = run_as_process) -> Adapter:
    """The callable that the judge knows; ``load`` gives the cassette of a name.

    Payloads are the records that were printed, without their ``timestamp`` where that is a time;
    ``{"stdout": line}`` for every line that is no record; last ``{"exit": code, "asked": n}``, n
    being how many of the recorded requests were sent, and ``"refused": […]`` if there were others.
    Raises `AdapterError` for a context that it doesn't know or that leads out of the program's own
    folder, `AdapterMissing` without google-genai.
    """

    def adapt(exchange: Exchange, case: Case) -> list[Any]:
        cassette, context = load(case.cassette), _read_context(case.context)
        if find_spec("google") is None or find_spec("google.genai") is None:
            raise AdapterMissing(
                "the mind program needs google-genai: pip install 'gemini-conformance[genai]'"
            )
        with tempfile.TemporaryDirectory() as folder:
            for name, text in context["files"].items():
                (Path(folder) / name).write_text(text, encoding="utf-8", newline="")
            return _run(cassette, context, Path(folder), run)

    return adapt


def _read_context(context: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in context.items():
        if name not in CONTEXT:
            raise AdapterError(
                f"context names {name!r}; of the mind program it may have {', '.join(CONTEXT)}"
            )
        values = [*value, *value.values()] if type(value) is dict else value
        if type(value) is not CONTEXT[name] or any(type(one) is not str for one in values):
            raise AdapterError(
                f"context.{name} must be a {'mapping' if CONTEXT[name] is dict else 'list'} of"
                " strings"
            )
        if name == "arguments" and (withheld := [one for one in value if one.startswith(WITHHELD)]):
            raise AdapterError(
                f"context.arguments has {withheld[0]}; in a case the program reads files of its own"
                " folder, and does no more"
            )
        if name == "environment" and (odd := sorted(value.keys() - set(SETTINGS))):
            raise AdapterError(
                f"context.environment names {odd[0]}; it may have {' and '.join(SETTINGS)}"
            )
        if name == "files" and any(
            "/" in one or "\\" in one or one in (".", "..") for one in value
        ):
            raise AdapterError(
                "context.files names files of the program's own folder, without a path"
            )
    return {name: context.get(name, kind()) for name, kind in CONTEXT.items()}


def _run(cassette: Cassette, context: Mapping[str, Any], folder: Path, run: Run) -> list[Any]:
    from harness.server import serve

    with serve(cassette, pace="instant") as server:
        known = {name: value for name, value in os.environ.items() if not name.startswith(_GOOGLES)}
        known |= {"GEMINI_API_KEY": "no-key-in-a-replay", "GOOGLE_GEMINI_BASE_URL": server.base_url}
        out, status = run(context["arguments"], known | context["environment"], folder)
        refused = [miss for miss in server.misses if "enerateContent" in miss]
        ended = {"exit": status, "asked": len(cassette.exchanges) - len(server.unused)}
    lines = out.decode("utf-8", "backslashreplace").splitlines(keepends=True)
    return [*map(_payload, lines), ended | ({"refused": refused} if refused else {})]


def _payload(line: str) -> Any:
    """A record without its time, since that is another in every run; what is no record as it
    stands.
    """
    try:
        record = decode_json(line.encode())
    except ValueError:
        return {"stdout": line}
    if type(record) is not dict or not line.endswith("\n"):
        return {"stdout": line}
    return {
        name: value for name, value in record.items() if name != "timestamp" or not _is_time(value)
    }


def _is_time(value: Any) -> bool:
    try:
        return type(value) is str and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False
