"""The SDKs whose types are watched: one row each, with the provider that reads such answers and the
message in which a value of each type comes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .python_types import shape_of
from .shapes import Beside, Json, Shape
from .typescript import Declarations

NODE_MODULES = Path(__file__).parents[1] / "clients" / "node_modules"

Stream = list[Json]
"""The messages of an answer."""


@dataclass(frozen=True)
class Root:
    """A type whose values come in messages. ``messages``: a value → the messages of an answer with
    that value; None as the value gives an answer without it.
    """

    shape: Shape
    messages: Callable[[Json], Stream]


@dataclass(frozen=True)
class Source:
    """One SDK. ``version``: its package and version, None if it is not installed. ``roots``: its
    types. ``beside``: see `Beside`.
    """

    name: str
    provider: str
    version: Callable[[], str | None]
    roots: Callable[[], Iterator[Root]]
    beside: Beside


def _installed(package: str) -> str | None:
    try:
        return f"{package} {version(package)} (Python)"
    except PackageNotFoundError:
        return None


def _node(package: str) -> str | None:
    manifest = NODE_MODULES / package / "package.json"
    if not manifest.is_file():
        return None
    return f"{package} {json.loads(manifest.read_text(encoding='utf-8'))['version']} (Node)"


def _declarations(package: str, file: str) -> Declarations:
    return Declarations((NODE_MODULES / package / file).read_text(encoding="utf-8"))


# ---------------------------------------------------------------- generateContent


def _response(value: Json) -> Stream:
    last = {"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}]}
    if not value:
        return [last]
    return [value] if "candidates" in value else [value, last]


GEMINI_BESIDE: Beside = {
    "Candidate": {"finishReason": "STOP"},
    "Content": {"parts": [{"text": "a"}]},
    "Part": {"text": "a"},
    "FunctionCall": {"name": "f"},
    "PartialArg": {"jsonPath": "$.a"},
    "FunctionResponse": {"name": "f", "response": {"a": 1}},
    "Blob": {"mimeType": "image/png", "data": "QUJD"},
    "FileData": {"mimeType": "image/png", "fileUri": "u"},
    "GenerateContentResponsePromptFeedback": {"blockReason": "SAFETY"},
}


def _gemini_python() -> Iterator[Root]:
    types = import_module("google.genai.types")
    yield Root(shape_of(types.GenerateContentResponse), _response)


def _gemini_node() -> Iterator[Root]:
    declared = _declarations("@google/genai", "dist/genai.d.ts")
    yield Root(declared.shape("GenerateContentResponse"), _response)


# ---------------------------------------------------------------- Interactions

_CREATED = {
    "event_type": "interaction.created",
    "interaction": {"id": "v1_a", "status": "in_progress", "model": "m", "object": "interaction"},
}
_COMPLETED = {
    "event_type": "interaction.completed",
    "interaction": {"id": "v1_a", "status": "completed", "model": "m", "object": "interaction"},
}
_STEP_OF_DELTA = {
    "thought_summary": "thought",
    "thought_signature": "thought",
    "arguments_delta": "function_call",
    "function_result": "function_result",
    **dict.fromkeys(("text", "text_annotation_delta", "image"), "model_output"),
    **dict.fromkeys(("audio", "video", "document"), "model_output"),
}
"""A delta of another type belongs to a step of its own type."""
INTERACTIONS_BESIDE: Beside = {
    "StepStart": {"index": 0, "step": {"type": "model_output"}},
    "StepDelta": {"index": 0, "delta": {"type": "text", "text": "a"}},
    "StepStop": {"index": 0},
    "TextContent": {"text": "a"},
    "TextDelta": {"text": "a"},
    "ThoughtSummaryDelta": {"content": {"type": "text", "text": "a"}},
    "ArgumentsDelta": {"arguments": "{}"},
    "FunctionCallStep": {"id": "i", "name": "f", "arguments": {}},
    "FunctionResultStep": {"call_id": "i", "name": "f", "result": "r"},
    "FunctionResultDelta": {"call_id": "i", "name": "f", "result": "r"},
    "InteractionStatusUpdate": {"interaction_id": "v1_a", "status": "in_progress"},
    "ErrorEvent": {"error": {"code": "api_error", "message": "m"}},
    "Error": {"code": "api_error", "message": "m"},
    "Status": {"code": 8, "message": "m"},
    "InteractionSseEventInteraction": {
        "id": "v1_a",
        "status": "completed",
        "object": "interaction",
    },
    "Interaction": {"id": "v1_a", "status": "completed", "object": "interaction"},
    "InteractionCompletedEvent": {"interaction": _COMPLETED["interaction"]},
    "InteractionCreatedEvent": {"interaction": _CREATED["interaction"]},
}


def _event(value: Json) -> Stream:
    """A stream with one event in its place."""
    match value:
        case None:
            return [_CREATED, _COMPLETED]
        case {"event_type": "interaction.created"}:
            return [value, _COMPLETED]
        case {"event_type": "interaction.completed"}:
            return [_CREATED, value]
        case {"event_type": "step.start", "index": index}:
            return [_CREATED, value, {"event_type": "step.stop", "index": index}, _COMPLETED]
        case {"event_type": "step.delta", "index": index, "delta": {"type": kind}}:
            step = {"type": _STEP_OF_DELTA.get(kind, kind)}
            step |= {"id": "i", "name": "f"} if step["type"].endswith("_call") else {}
            start = {"event_type": "step.start", "index": index, "step": step}
            return [_CREATED, start, value, {"event_type": "step.stop", "index": index}, _COMPLETED]
        case {"event_type": "step.stop", "index": index}:
            step = {"type": "model_output"}
            start = {"event_type": "step.start", "index": index, "step": step}
            return [_CREATED, start, value, _COMPLETED]
    return [_CREATED, value, _COMPLETED]


def _whole(value: Json) -> Stream:
    return [value] if value else [_COMPLETED["interaction"]]


def _interactions_python() -> Iterator[Root]:
    types = import_module("google.genai._gaos.types.interactions")
    for name, messages in (
        ("InteractionSSEEvent", _event),
        ("ServerEvent", _event),
        ("Interaction", _whole),
    ):
        if hasattr(types, name):
            yield Root(shape_of(getattr(types, name)), messages)


def _interactions_node() -> Iterator[Root]:
    declared = _declarations("@google/genai", "dist/genai.d.ts")
    yield Root(declared.shape("InteractionSSEEvent"), _event)
    yield Root(declared.shape("Interaction"), _whole)


# ---------------------------------------------------------------- the table

SOURCES: tuple[Source, ...] = (
    Source(
        "google-genai",
        "gemini-api",
        lambda: _installed("google-genai"),
        _gemini_python,
        GEMINI_BESIDE,
    ),
    Source(
        "google-genai interactions",
        "interactions",
        lambda: _installed("google-genai"),
        _interactions_python,
        INTERACTIONS_BESIDE,
    ),
    Source(
        "@google/genai",
        "gemini-api",
        lambda: _node("@google/genai"),
        _gemini_node,
        GEMINI_BESIDE,
    ),
    Source(
        "@google/genai interactions",
        "interactions",
        lambda: _node("@google/genai"),
        _interactions_node,
        INTERACTIONS_BESIDE,
    ),
)
"""A new SDK is one row, and the functions that it names."""


def use_node_modules(folder: Path) -> None:
    """Read the Node SDKs from another folder."""
    global NODE_MODULES
    NODE_MODULES = folder
