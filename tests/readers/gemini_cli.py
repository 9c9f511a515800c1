"""The second reader of the Gemini CLI: reads the raw output of a run slowly and plainly.

A line that is JSON is one event or none. In any other line, objects with a type and a
timestamp are events, and the text around them is unreadable. A document over many lines is read
where it begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from harness.providers.gemini.raw_values import count_gemini
from harness.providers.wire_values import camel, names_in, strings
from harness.stream.json_codec import Json
from tests.readers.account import Facts, note_error, note_exit
from tests.readers.lines import Object, items_in_lines, object_at

_TYPES = {"init", "message", "tool_use", "tool_result", "error", "result"}
_DOCUMENT = {"response", "stats", "error"}
_OPENS = re.compile(r'\{[ \t\r]*\n[ \t]+"')
_READ: dict[str, dict[str, type]] = {
    "init": {},
    "message": {"role": object, "delta": object, "content": str},
    "tool_use": {},
    "tool_result": {"error": object, "status": object, "output": object},
    "error": {},
    "result": {"stats": dict, "status": object},
    "": {"stats": dict, "session_id": str, "response": str, "error": object, "warnings": object},
}
"""The fields of a line, or of a document, that are read if they have this type."""
_STREAM_COUNTS = {
    "input_tokens": "promptTokenCount",
    "output_tokens": "candidatesTokenCount",
    "cached": "cachedContentTokenCount",
    "total_tokens": "totalTokenCount",
}
_DOCUMENT_COUNTS = {
    "prompt": "promptTokenCount",
    "candidates": "candidatesTokenCount",
    "thoughts": "thoughtsTokenCount",
    "cached": "cachedContentTokenCount",
    "total": "totalTokenCount",
}


def gather_cli(body: bytes, exit_code: str = "0", stderr: str = "") -> Facts:
    """Return the facts in the output of one run. ``delta`` is not a fact. Only the time of the
    first line is a fact.

    An ``exit_code`` other than 0 is an error if the output does not report the end of the run;
    ``stderr`` is its first line.
    """
    facts = Facts()
    for item in _items(body.decode("utf-8", "surrogateescape").removeprefix("\ufeff")):
        if isinstance(item, str):
            facts.unreadable.append(item)
        elif "type" not in item and not _DOCUMENT.isdisjoint(item):
            _read_document(facts, item)
        elif isinstance(item.get("type"), str) and item["type"] in _TYPES:
            _read_line(facts, item)
        else:
            facts.others |= names_in(item)
    if exit_code != "0" and not facts.errors and facts.finish is None and not facts.ended_well:
        note_exit(facts, exit_code, stderr)
    return facts


def _items(text: str) -> Iterator[str | Object]:
    """Yield objects, and other text as strings."""
    match = _OPENS.search(text)
    document = object_at(text, match.start()) if match else None
    if match and document and "timestamp" not in document[0]:
        yield from items_in_lines(text[: match.start()], _is_event)
        yield document[0]
        yield from items_in_lines(text[document[1] :], _is_event)
    else:
        yield from items_in_lines(text, _is_event)


def _is_event(value: Object) -> bool:
    return isinstance(value.get("type"), str) and "timestamp" in value


def _read_line(facts: Facts, line: dict[str, Json]) -> None:
    match line["type"]:
        case "init":
            named = {"model": "modelVersion", "session_id": "responseId"}
            facts.others |= {
                named.get(name, camel(name)) if isinstance(value, str) else camel(name)
                for name, value in line.items()
                if value is not None
                and (name != "type" and (value or name not in (*named, "timestamp")))
            }
        case "message" if line.get("role") == "user":
            facts.others.add("role")
        case "message":
            if line.get("role") in ("assistant", "model", "", None):
                facts.add_text(text if isinstance(text := line.get("content"), str) else "")
            _note_left(facts, line)
        case "tool_use":
            name, call_id = _first(line, "tool_name", "name"), _first(line, "tool_id", "id")
            facts.calls.append(("" if name is None else str(name), _arguments(line)[0]))
            facts.marks.append((None if call_id is None else str(call_id), None))
            chosen = _arguments(line)
            _note_left(
                facts,
                line,
                *(key for key in ("tool_name", "name") if line.get(key) == name),
                *(key for key in ("tool_id", "id") if line.get(key) == call_id),
                *chosen[1],
            )
        case "tool_result":
            facts.others.add("functionResponse")
            facts.add_result(
                line.get("status") not in (None, "", "success") or _says_why(line.get("error")),
                line.get("output"),
            )
            message = _message(line.get("error"))
            facts.add_opaque("server_tools", *strings(line.get("output")), message)
            call_id = _first(line, "tool_id", "tool_use_id")
            ids = ("tool_id", "tool_use_id")
            _note_left(facts, line, *(key for key in ids if line.get(key) == call_id))
        case "error":
            facts.others |= {"severity", "message"} & line.keys()
            facts.notices.append(message if isinstance(message := line.get("message"), str) else "")
        case _:
            _read_result(facts, line)


def _message(error: Json) -> Json:
    return error.get("message") if isinstance(error, dict) else error


def _says_why(error: Json) -> bool:
    message = _message(error)
    return isinstance(message, str) and message != ""


def _read_result(facts: Facts, line: dict[str, Json]) -> None:
    stats = line.get("stats")
    if isinstance(stats, dict):
        count_stats(facts, stats)
    if line.get("error") is not None and line.get("status") != "success":
        note_error(facts, line["error"])
    else:
        facts.finish = "" if line.get("status") is None else str(line["status"])
        facts.ended_well = facts.finish == "success"
    _note_left(facts, line, *(["error"] if line.get("status") != "success" else []))


def _note_left(facts: Facts, line: dict[str, Json], *known: str) -> None:
    """Note the names of the fields that were not read."""
    read = _READ[line.get("type", "")]
    facts.others |= {
        camel(name)
        for name, value in line.items()
        if value is not None
        and name not in known
        and not (name in ("type", "timestamp") and "type" in line)
        and not isinstance(value, read.get(name, ()))
    }


def _read_document(facts: Facts, document: dict[str, Json]) -> None:
    _note_left(facts, document)
    session = document.get("session_id")
    facts.others |= {"responseId"} if isinstance(session, str) and session else set()
    stats = document.get("stats")
    if isinstance(stats, dict):
        models = stats.get("models")
        only_one = isinstance(models, dict) and len(models) == 1
        facts.others |= {"modelVersion"} if only_one else set()
        count_stats(facts, stats)
    response = document.get("response")
    if isinstance(response, str):
        facts.add_text(response)
    warnings = document.get("warnings") or []
    facts.notices += [
        str(warning) for warning in (warnings if isinstance(warnings, list) else [warnings])
    ]
    if document.get("error") is not None:
        note_error(facts, document["error"])
    elif isinstance(response, str):
        facts.finish, facts.ended_well = "", True


def count_stats(facts: Facts, stats: dict[str, Json]) -> None:
    """Note statistics in either form: the named counts of all models together, and every other
    whole number at the top level.
    """
    facts.usage |= count_gemini(stats)
    models = stats.get("models")
    streamed = not _STREAM_COUNTS.keys().isdisjoint(stats) or not isinstance(models, dict)
    names = _STREAM_COUNTS if streamed else _DOCUMENT_COUNTS
    tokens = (
        [stats]
        if streamed or not isinstance(models, dict)
        else [model.get("tokens") for model in models.values() if isinstance(model, dict)]
    )
    sums: dict[str, int] = {}
    for counts in tokens:
        if not isinstance(counts, dict):
            continue
        for name, wire in names.items():
            if type(counts.get(name)) is int:
                sums[wire] = sums.get(wire, 0) + counts[name]
    facts.usage |= sums


def _decoded(value: Json) -> Json:
    """Return arguments, which some versions write as JSON text."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return None


def _first(line: dict[str, Json], *names: str) -> Json:
    return next((line[name] for name in names if line.get(name) is not None), None)


def _arguments(line: dict[str, Json]) -> tuple[dict[str, Json], list[str]]:
    """Return the arguments, and the fields that have them or nothing."""
    given = {
        name: value
        for name in ("parameters", "input")
        if isinstance(value := _decoded(line.get(name)), dict)
    }
    lists = [name for name, value in given.items() if isinstance(value.get("todos"), list)]
    is_list = _first(line, "tool_name", "name") == "write_todos"
    chosen = next(iter(lists if is_list and lists else given), None)
    if chosen is None:
        return {}, []
    empty = [name for name in ("parameters", "input") if line.get(name) == {}]
    return given[chosen], [chosen, *empty]
