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


def _declarations(package: str, file: str, *, is_module: bool = False) -> Declarations:
    text = (NODE_MODULES / package / file).read_text(encoding="utf-8")
    return Declarations(text, is_module=is_module)


def _module(package: str, name: str) -> Declarations:
    return _declarations(package, f"resources/{name}.d.ts", is_module=True)


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


# ---------------------------------------------------------------- Messages

_MESSAGE: Json = {
    "id": "msg_a",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
_MESSAGE_START = {"type": "message_start", "message": _MESSAGE}
_MESSAGE_DELTA = {
    "type": "message_delta",
    "delta": {"stop_reason": "end_turn", "stop_sequence": None},
    "usage": {"output_tokens": 1},
}
_MESSAGE_STOP = {"type": "message_stop"}
_BLOCK_OF_DELTA = {
    "text_delta": {"type": "text", "text": ""},
    "citations_delta": {"type": "text", "text": ""},
    "thinking_delta": {"type": "thinking", "thinking": "", "signature": ""},
    "signature_delta": {"type": "thinking", "thinking": "", "signature": ""},
    "input_json_delta": {"type": "tool_use", "id": "i", "name": "f", "input": {}},
}
ANTHROPIC_BESIDE: Beside = {
    "BetaRawMessageStartEvent": {"message": _MESSAGE},
    "BetaMessage": _MESSAGE,
    "BetaRawMessageDeltaEvent": {
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 1},
    },
    "BetaRawContentBlockStartEvent": {
        "index": 0,
        "content_block": {"type": "text", "text": "a"},
    },
    "BetaRawContentBlockDeltaEvent": {"index": 0, "delta": {"type": "text_delta", "text": "a"}},
    "BetaRawContentBlockStopEvent": {"index": 0},
    "BetaUsage": {"input_tokens": 1, "output_tokens": 1},
    "BetaMessageDeltaUsage": {"output_tokens": 1},
    "BetaTextBlock": {"text": "a"},
    "BetaTextDelta": {"text": "a"},
    "BetaThinkingDelta": {"thinking": "a"},
    "BetaSignatureDelta": {"signature": "QUJD"},
    "BetaInputJSONDelta": {"partial_json": "{}"},
    "BetaMCPToolListingBlock": {"mcp_server_name": "s", "tools": [{"name": "f"}]},
}


def _message_event(value: Json) -> Stream:
    """A stream with one event in its place."""
    match value:
        case {"type": "message_start"}:
            return [value, _MESSAGE_DELTA, _MESSAGE_STOP]
        case {"type": "message_delta"}:
            return [_MESSAGE_START, value, _MESSAGE_STOP]
        case {"type": "content_block_start", "index": index}:
            stop = {"type": "content_block_stop", "index": index}
            return [_MESSAGE_START, value, stop, _MESSAGE_DELTA, _MESSAGE_STOP]
        case {"type": "content_block_delta", "index": index, "delta": {"type": kind}}:
            block = _BLOCK_OF_DELTA.get(kind, {"type": kind.removesuffix("_delta")})
            start = {"type": "content_block_start", "index": index, "content_block": block}
            stop = {"type": "content_block_stop", "index": index}
            return [_MESSAGE_START, start, value, stop, _MESSAGE_DELTA, _MESSAGE_STOP]
    return [_MESSAGE_START, _MESSAGE_DELTA, _MESSAGE_STOP]


def _anthropic_python() -> Iterator[Root]:
    types = import_module("anthropic.types.beta")
    yield Root(shape_of(types.BetaRawMessageStreamEvent), _message_event)


def _anthropic_node() -> Iterator[Root]:
    declared = _module("@anthropic-ai/sdk", "beta/messages/messages")
    yield Root(declared.shape("BetaRawMessageStreamEvent"), _message_event)


# ---------------------------------------------------------------- Responses

_RESPONSE = {"id": "resp_a", "object": "response", "model": "m", "output": []}
_RESPONSE_CREATED = {
    "type": "response.created",
    "sequence_number": 0,
    "response": {**_RESPONSE, "status": "in_progress"},
}
_RESPONSE_COMPLETED = {
    "type": "response.completed",
    "sequence_number": 9,
    "response": {**_RESPONSE, "status": "completed"},
}
_ITEM_OF = {
    "response.reasoning": {"type": "reasoning", "summary": []},
    "response.function_call": {"type": "function_call", "call_id": "c", "name": "f"},
    "response.custom_tool": {"type": "custom_tool_call", "call_id": "c", "name": "f"},
    "response.code_interpreter": {"type": "code_interpreter_call"},
    "response.mcp_call": {"type": "mcp_call"},
    "response.shell_call_command": {"type": "shell_call"},
    "response.shell_call_output": {"type": "shell_call_output"},
    "response.image_generation": {"type": "image_generation_call"},
    "response.": {"type": "message", "role": "assistant", "content": []},
}
"""The beginning of the name of an event → the item that it is about."""
_RESPONSE_BESIDE = {**_RESPONSE, "status": "completed"}
_TEXT_PART = {"type": "output_text", "text": "a", "annotations": []}
OPENAI_BESIDE: Beside = {
    "Response": _RESPONSE_BESIDE,
    **{
        f"Response{name}Event": {"response": _RESPONSE_BESIDE}
        for name in ("Created", "Queued", "InProgress", "Completed", "Failed", "Incomplete")
    },
    **{
        f"Response{name}DeltaEvent": {"delta": "a", "output_index": 0}
        for name in (
            *("Text", "Refusal", "ReasoningText", "ReasoningSummaryText", "McpCallArguments"),
            *("FunctionCallArguments", "CustomToolCallInput", "CodeInterpreterCallCode"),
            *("ShellCallCommand", "Audio", "AudioTranscript"),
        )
    },
    **{
        f"Response{name}DoneEvent": {field: "{}", "output_index": 0}
        for name, field in {
            "Text": "text",
            "Refusal": "refusal",
            "ReasoningText": "text",
            "ReasoningSummaryText": "text",
            "McpCallArguments": "arguments",
            "FunctionCallArguments": "arguments",
            "CustomToolCallInput": "input",
            "CodeInterpreterCallCode": "code",
            "ShellCallCommand": "command",
        }.items()
    },
    **{
        f"Response{name}Event": {"output_index": 0, "part": part}
        for name, part in {
            **dict.fromkeys(("ContentPartAdded", "ContentPartDone"), _TEXT_PART),
            "ReasoningSummaryPartAdded": {"type": "summary_text", "text": ""},
            "ReasoningSummaryPartDone": {"type": "summary_text", "text": "a"},
        }.items()
    },
    "Part": {"text": "a"},
    "PartReasoningText": {"text": "a"},
    "ReasoningText": {"text": "a"},
    "ResponseShellCallCommandAddedEvent": {"output_index": 0, "command": ""},
    "ResponseShellCallOutputContentDeltaEvent": {"output_index": 0, "delta": {"stdout": "a"}},
    "ResponseShellCallOutputContentDoneEvent": {"output_index": 0, "output": []},
    "ResponseOutputItemAddedEvent": {"output_index": 0, "item": {"type": "message"}},
    "ResponseOutputItemDoneEvent": {
        "output_index": 0,
        "item": {"type": "message", "content": [_TEXT_PART]},
    },
    "ResponseOutputTextAnnotationAddedEvent": {
        "output_index": 0,
        "annotation": {"type": "url_citation", "url": "u"},
    },
    "ResponseImageGenCallPartialImageEvent": {"output_index": 0, "partial_image_b64": "QUJD"},
}


def _response_event(value: Json) -> Stream:
    """A stream with one event in its place, after the beginning of its item."""
    match value:
        case None:
            return [_RESPONSE_CREATED, _RESPONSE_COMPLETED]
        case {"type": "response.created"}:
            return [value, _RESPONSE_COMPLETED]
        case {"type": "response.completed" | "response.failed" | "response.incomplete"}:
            return [_RESPONSE_CREATED, value]
        case {"type": str(kind), "output_index": index} if "output_item" not in kind:
            item = next(item for name, item in _ITEM_OF.items() if kind.startswith(name))
            begun = {"type": "response.output_item.added", "output_index": index, "item": item}
            return [_RESPONSE_CREATED, begun, value, _RESPONSE_COMPLETED]
    return [_RESPONSE_CREATED, value, _RESPONSE_COMPLETED]


def _responses_python() -> Iterator[Root]:
    types = import_module("openai.types.responses")
    yield Root(shape_of(types.ResponseStreamEvent), _response_event)


def _responses_node() -> Iterator[Root]:
    declared = _module("openai", "responses/responses")
    yield Root(declared.shape("ResponseStreamEvent"), _response_event)


# ---------------------------------------------------------------- Chat Completions

_PIECE = {"id": "chatcmpl-a", "object": "chat.completion.chunk", "created": 1, "model": "m"}
CHAT_BESIDE: Beside = {
    "ChatCompletionChunk": {**_PIECE, "choices": []},
    "Choice": {"index": 0, "delta": {"content": "a"}, "finish_reason": None},
    "ChoiceDelta": {"content": "a"},
    "Delta": {"content": "a"},
    "ToolCall": {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}},
    "ChoiceDeltaToolCall": {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}},
}


def _piece(value: Json) -> Stream:
    last = {**_PIECE, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return [value, last] if value else [last]


def _chat_python() -> Iterator[Root]:
    types = import_module("openai.types.chat")
    yield Root(shape_of(types.ChatCompletionChunk), _piece)


def _chat_node() -> Iterator[Root]:
    declared = _module("openai", "chat/completions/completions")
    yield Root(declared.shape("ChatCompletionChunk"), _piece)


# ---------------------------------------------------------------- Live

LIVE_BESIDE: Beside = {
    **GEMINI_BESIDE,
    "LiveServerContent": {"turnComplete": True},
    "LiveServerToolCall": {"functionCalls": [{"name": "f"}]},
}


def session(value: Json) -> Stream:
    match value:
        case {"serverContent": {"turnComplete": True}}:
            return [value]
    return [*([value] if value else []), {"serverContent": {"turnComplete": True}}]


def _live_python() -> Iterator[Root]:
    types = import_module("google.genai.types")
    yield Root(shape_of(types.LiveServerMessage), session)


def _live_node() -> Iterator[Root]:
    declared = _declarations("@google/genai", "dist/genai.d.ts")
    yield Root(declared.shape("LiveServerMessage"), session)


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
        "anthropic",
        "anthropic",
        lambda: _installed("anthropic"),
        _anthropic_python,
        ANTHROPIC_BESIDE,
    ),
    Source(
        "openai responses",
        "openai",
        lambda: _installed("openai"),
        _responses_python,
        OPENAI_BESIDE,
    ),
    Source("openai chat", "openai", lambda: _installed("openai"), _chat_python, CHAT_BESIDE),
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
    Source(
        "@anthropic-ai/sdk",
        "anthropic",
        lambda: _node("@anthropic-ai/sdk"),
        _anthropic_node,
        ANTHROPIC_BESIDE,
    ),
    Source(
        "openai responses (Node)", "openai", lambda: _node("openai"), _responses_node, OPENAI_BESIDE
    ),
    Source("openai chat (Node)", "openai", lambda: _node("openai"), _chat_node, CHAT_BESIDE),
    Source(
        "google-genai live", "live", lambda: _installed("google-genai"), _live_python, LIVE_BESIDE
    ),
    Source("@google/genai live", "live", lambda: _node("@google/genai"), _live_node, LIVE_BESIDE),
)
"""A new SDK is one row, and the functions that it names."""


def use_node_modules(folder: Path) -> None:
    """Read the Node SDKs from another folder."""
    global NODE_MODULES
    NODE_MODULES = folder
