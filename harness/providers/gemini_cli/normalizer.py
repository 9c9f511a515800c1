"""Reads the output of the Gemini CLI: its lines, or its document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from harness.stream.events import (
    CallEnd,
    CallStart,
    Error,
    Event,
    Finish,
    Metadata,
    Notice,
    Start,
    Text,
    ToolResult,
    Unknown,
    Usage,
)
from harness.stream.json_codec import Json, decode_object

from ..provider import Answer
from ..run_reader import RunReader, take

_DOCUMENT: Final = frozenset({"response", "stats", "error"})
"""The fields of which the document of ``--output-format json`` has at least one."""

_COUNTS: Final[dict[str, str]] = {
    "input": "prompt",
    "output": "candidates",
    "reasoning": "thoughts",
    "cached": "cached",
    "total": "total",
}
"""Field of `Usage` → field of a model's ``tokens`` in the document."""


class CliNormalizer(RunReader):
    """One run: see `harness.providers.provider.Normalizer`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._stderr = answer.stderr[:1]  # a stack trace may follow
        self._calls = 0
        self._names: dict[str, str] = {}

    def _read(self, message: dict[str, Json], out: list[Event]) -> None:
        if "type" not in message and not _DOCUMENT.isdisjoint(message):
            self._read_document(dict(message), out)
            return
        kind = message.get("type")
        read = READERS.get(kind) if type(kind) is str else None
        if read is None:
            self._start(out)
            out.append(Unknown(f"type {kind}", message))
            return
        left = {name: value for name, value in message.items() if name != "type"}
        if kind != "init":
            left.pop("timestamp", None)
            self._start(out)
        read(self, left, message, out)
        out += [
            Unknown(f"field {kind}.{name}", {name: value})
            for name, value in left.items()
            if value is not None
        ]

    def _start(self, out: list[Event]) -> None:
        """Emit the start, which content implies."""
        if not self._started:
            self._started = True
            out.append(Start(self._answer.model, implied=True))

    def _init(self, left: dict[str, Json], message: dict[str, Json], out: list[Event]) -> None:
        self._started = True
        out.append(
            Start(take(left, str, "model") or self._answer.model, take(left, str, "session_id"))
        )
        if "timestamp" in left:
            out.append(Metadata("created", {"timestamp": left.pop("timestamp")}))

    def _message(self, left: dict[str, Json], message: dict[str, Json], out: list[Event]) -> None:
        role = left.pop("role", None)
        if role == "user":  # the echo of the prompt, not content of the answer
            out.append(Metadata("echo", message))
            left.clear()
            return
        left.pop("delta", None)  # marks the text as a piece; every text is one
        text = take(left, str, "content") or ""
        if role == "assistant":
            out.append(Text(text))
        elif role is None or role == "model":
            out.append(Text(text, role=""))
        else:
            out.append(Text(text, role=role if type(role) is str else str(role)))

    def _tool_use(self, left: dict[str, Json], message: dict[str, Json], out: list[Event]) -> None:
        name = _first(left, "tool_name", "name")
        call_id = _first(left, "tool_id", "id")
        self._calls += 1
        name = "" if name is None else str(name)
        call_id = None if call_id is None else str(call_id)
        if call_id is not None:
            self._names[call_id] = name
        out.append(CallStart(self._calls, name, call_id))
        out.append(CallEnd(self._calls, _take_arguments(left, name)))

    def _tool_result(
        self, left: dict[str, Json], message: dict[str, Json], out: list[Event]
    ) -> None:
        call_id = _first(left, "tool_id", "tool_use_id")
        call_id = None if call_id is None else str(call_id)
        error = left.pop("error", None)
        status = left.pop("status", None)
        reason = error.get("message") if type(error) is dict else error
        out.append(
            ToolResult(
                call_id,
                self._names.get(call_id) if call_id is not None else None,
                left.pop("output", None),
                reason if type(reason) is str else None,
                status="" if status is None else str(status),
                raw={"error": error}
                if error is not None and error != {"message": reason}
                else None,
            )
        )

    def _error(self, left: dict[str, Json], message: dict[str, Json], out: list[Event]) -> None:
        out.append(
            Notice(take(left, str, "severity") or "", take(left, str, "message") or "", message)
        )
        left.clear()

    def _result(self, left: dict[str, Json], message: dict[str, Json], out: list[Event]) -> None:
        stats = take(left, dict, "stats")
        if stats is not None:
            names = {
                "input": "input_tokens",
                "output": "output_tokens",
                "cached": "cached",
                "total": "total_tokens",
            }
            out.append(
                Usage(stats, **{field: _count(stats.get(name)) for field, name in names.items()})
            )
        self._ended = True
        status = left.pop("status", None)
        error = left.pop("error", None)
        if error is not None and status != "success":
            out.append(_read_error(error, message))
            return
        if error is not None:
            left["error"] = error
        word = "" if status is None else str(status)
        out.append(Finish("stop" if word == "success" else "failed", word))

    def _read_document(self, left: dict[str, Json], out: list[Event]) -> None:
        """Read the whole run in one object; ``response`` is the text of its last turn."""
        stats = take(left, dict, "stats")
        models = stats.get("models") if stats else None
        named = list(models) if type(models) is dict else []
        self._started = self._ended = True
        out.append(
            Start(
                named[0] if len(named) == 1 else self._answer.model, take(left, str, "session_id")
            )
        )
        if stats is not None:
            out.append(_document_usage(stats))
        text, error = take(left, str, "response"), left.pop("error", None)
        if text is not None:
            out.append(Text(text))
        warnings = left.pop("warnings", None) or []
        for warning in warnings if type(warnings) is list else [warnings]:
            raw = warning if type(warning) is dict else {"warning": warning}
            words = next((value for value in (warning, *raw.values()) if type(value) is str), "")
            out.append(Notice("warning", words, raw))
        out += [
            Unknown(f"field {name}", {name: value})
            for name, value in left.items()
            if value is not None
        ]
        if error is not None:
            out.append(_read_error(error, {"error": error}))
        elif text is not None:  # other documents are answers of a server
            out.append(Finish("stop", ""))


READERS: Final[
    dict[str, Callable[[CliNormalizer, dict[str, Json], dict[str, Json], list[Event]], None]]
] = {
    "init": CliNormalizer._init,
    "message": CliNormalizer._message,
    "tool_use": CliNormalizer._tool_use,
    "tool_result": CliNormalizer._tool_result,
    "error": CliNormalizer._error,
    "result": CliNormalizer._result,
}
"""Type of a line → its reader, which removes the fields that it reads from its first dict; the
second is the whole line.
"""


def _first(left: dict[str, Json], *names: str) -> Json:
    """Return the first of several spellings that is not null. A later one with another value is
    left over.
    """
    value = next((left[name] for name in names if left.get(name) is not None), None)
    for name in names:
        if left.get(name) is None or left[name] == value:
            left.pop(name, None)
    return value


def _take_arguments(left: dict[str, Json], name: str) -> dict[str, Json]:
    """Return the arguments in either spelling, perhaps as JSON text; for ``write_todos``, the
    spelling that has a list.
    """
    given = {
        spelling: value
        for spelling in ("parameters", "input")
        if (value := _as_object(left.get(spelling))) is not None
    }
    chosen = next(iter(given), None)
    if name == "write_todos":
        chosen = next(
            (spelling for spelling, value in given.items() if type(value.get("todos")) is list),
            chosen,
        )
    if chosen is None:
        return {}
    for spelling in ("parameters", "input"):
        if left.get(spelling) in (None, {}) or spelling == chosen:
            left.pop(spelling, None)
    return given[chosen]


def _as_object(value: Json) -> dict[str, Json] | None:
    if type(value) is str:
        return decode_object(value)
    return value if type(value) is dict else None


def _read_error(error: Json, raw: Json) -> Error:
    own = error if type(error) is dict else {"message": error}
    message, kind, code = own.get("message"), own.get("type"), own.get("code")
    return Error(
        message if type(message) is str and message else "an error without a message",
        code if type(code) is int else None,
        kind if type(kind) is str else code if type(code) is str else None,
        raw=raw,
    )


def _document_usage(stats: dict[str, Json]) -> Usage:
    """Return the counts of all models together."""
    models = stats.get("models")
    tokens = (
        [model.get("tokens") for model in models.values() if type(model) is dict]
        if type(models) is dict
        else []
    )
    counts: dict[str, int] = {}
    for model in tokens:
        for field, name in _COUNTS.items():
            count = _count(model.get(name)) if type(model) is dict else None
            if count is not None:
                counts[field] = counts.get(field, 0) + count
    return Usage(stats, **counts)


def _count(value: Json) -> int | None:
    return (
        value
        if type(value) is int
        else int(value)
        if type(value) is float and value.is_integer()
        else None
    )
