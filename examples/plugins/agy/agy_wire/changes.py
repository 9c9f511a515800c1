"""Changes of runs of the Antigravity CLI: lines with steps, then a result."""

from __future__ import annotations

import copy
import json
from functools import partial
from typing import Any, Final

from harness.judging.metamorphic import messages
from harness.judging.metamorphic.messages import Edit, json_texts, reversed_keys, rewritten
from harness.stream.events import INTERRUPTED
from harness.stream.exchange import Exchange

RunLines = list[dict[str, Any]]

ERROR: Final = {
    "event": "result",
    "result": {"conversation_id": "", "status": "ERROR", "response": "", "error": "overloaded"},
}
NOISE: Final = "Fetching available models..."


def run_lines(exchange: Exchange) -> RunLines | None:
    """Return the lines of a run of one turn that ended well. Its response must be the text of the
    run. None for any other run.
    """
    if exchange.end in INTERRUPTED or exchange.headers:
        return None
    try:
        lines = [json.loads(line) for line in exchange.body.decode().splitlines()]
    except ValueError:
        return None
    kinds = [line.get("event") if isinstance(line, dict) else None for line in lines]
    if kinds[:1] != ["init"] or kinds[-1] != "result" or {*kinds[1:-1]} - {"step_update"}:
        return None
    result = lines[-1]["result"]
    text = "".join(step.get("text_delta", "") for step in _steps(lines))
    well = result.get("status") == "SUCCESS" and result.get("response") == text != ""
    return lines if well else None


def written(lines: RunLines, *, ascii_: bool = False, spaced: bool = False) -> bytes:
    """Return the lines as the CLI writes them, or with escapes or white space."""
    texts = json_texts(lines, ascii_=ascii_, spaced=spaced)
    return "".join(f"{text}\n" for text in texts).encode("utf-8", "surrogatepass")


respelled = partial(rewritten, run_lines)
"""Writes the lines of a whole run again, in a single read."""
edited = partial(messages.edited, read=run_lines, write=written)
"""The change that an `Edit` makes to the lines of a whole run."""


def with_noise(lines: RunLines) -> bytes:
    """Return the lines with other output of the program before, between and inside them."""
    first, *others = written(lines).decode("utf-8", "surrogatepass").splitlines(keepends=True)
    text = f"{NOISE}\nLoaded {first}" + "".join(f"{NOISE}\n{line}" for line in others)
    return text.encode("utf-8", "surrogatepass")


def in_reverse(lines: RunLines) -> bytes:
    """Return every object with its keys in reverse order."""
    return written(reversed_keys(lines))


def split_text(lines: RunLines) -> None:
    """Divide each piece of text into two lines."""
    again: RunLines = []
    for line in lines:
        step = line.get("step_update", {})
        text = step.get("text_delta", "")
        if len(text) > 1:
            first = {**step, "state": "ACTIVE", "text_delta": text[:1]}
            for name in ("usage", "duration_seconds"):
                first.pop(name, None)
            again.append({**line, "step_update": first})
            step["text_delta"] = text[1:]
        again.append(line)
    lines[:] = again


def remove_pieces(lines: RunLines) -> None:
    """Remove the pieces of text. Only the response then has the text."""
    for step in _steps(lines):
        step.pop("text_delta", None)


def remove_init(lines: RunLines) -> None:
    """Remove the first line."""
    del lines[0]


def remove_result(lines: RunLines) -> None:
    """Remove the last line."""
    del lines[-1]


def with_result(**fields: Any) -> Edit:
    """Change fields of the result. The value None removes a field."""

    def edit(lines: RunLines) -> None:
        result = lines[-1]["result"]
        changed = {**result, **fields}
        lines[-1]["result"] = {name: value for name, value in changed.items() if value is not None}

    return edit


def fail(lines: RunLines) -> None:
    """Replace the result by an error."""
    lines[-1] = copy.deepcopy(ERROR)


def fail_at_once(lines: RunLines) -> None:
    """Replace the run by an error."""
    lines[:] = [copy.deepcopy(ERROR)]


def shift_indexes(lines: RunLines) -> None:
    """Number the steps as in a later turn of a conversation."""
    for step in _steps(lines):
        step["step_index"] += 100


def add_unknown(lines: RunLines) -> None:
    """Add fields, a message and a step with unknown names."""
    new = {"new_field": {"deep": [1]}}
    for line in lines:
        line.update(new)
        for part in (line.get("step_update"), line.get("result")):
            if part is not None:
                part.update(new)
    step = {"step_index": 999, "state": "DONE", "step_type": "hologram", "frame": "eA=="}
    lines[1:1] = [
        {"event": "heartbeat", "heartbeat": {}},
        {"event": "step_update", "step_update": step},
    ]


def with_piece(text: str) -> Edit:
    """Add a last piece of text, and remove the response."""

    def edit(lines: RunLines) -> None:
        step = {
            "step_index": 998,
            "state": "DONE",
            "step_type": "agent_response",
            "text_delta": text,
        }
        lines.insert(-1, {"event": "step_update", "step_update": step})
        with_result(response=None)(lines)

    return edit


def with_first_argument(value: Any) -> Edit:
    """Give the first call the arguments ``{"n": value}``."""

    def edit(lines: RunLines) -> None:
        calls = [step for step in _steps(lines) if step.get("step_type") == "tool"]
        for step in calls:
            if step["step_index"] == calls[0]["step_index"]:
                step["tool_info"]["parameters"] = {"n": value}

    return edit


def _steps(lines: RunLines) -> RunLines:
    return [line["step_update"] for line in lines if "step_update" in line]
