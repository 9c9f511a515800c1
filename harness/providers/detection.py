"""Tells from an exchange which provider answered it, and whether it generates.

The path of the URL says it, on whatever host and behind whatever prefix, for gateways and loopback
servers keep it. Where no request was recorded, or its path says nothing, the first message of the
body does. Of Gemini CLI output only the body is ever there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import unquote

from harness.stream.exchange import Exchange
from harness.stream.framing import Frame, FramingError, frame_by_content
from harness.stream.json_codec import decode_json

from .gemini.fields import Fields, spellings


@dataclass(frozen=True, slots=True)
class Identity:
    """``provider``: its name, None if nothing tells it. ``model``: the one asked for."""

    provider: str | None
    generates: bool
    streamed: bool = False
    model: str | None = None


EXIT_CODE: Final = "x-exit-code"
"""The header of a program's output that holds its exit code; no server sends it."""
STDERR: Final = "x-stderr"
"""The header beside it that holds what the program wrote to stderr, a value a line."""

_OTHER: Final = Identity(None, generates=False)

_METHOD: Final = re.compile(
    r"/v1internal:(?P<internal>\w+)$|(?:^|/)(?P<kind>models|tunedModels|endpoints|dynamic)/(?P<model>[^/]+):(?P<method>\w+)$"
)
_VERTEX_PATH: Final = re.compile(r"/publishers/|/projects/[^/]+/locations/")
_OTHER_PATH: Final = re.compile(r":\w+$|/openai/|/interactions(?:/|$)|/cachedContents|/batches")
_METHODS: Final = {"generateContent": False, "streamGenerateContent": True}
"""The methods that generate, and whether they stream."""

_CLI_EVENT: Final = re.compile(
    rb'\{\s*"type"\s*:\s*"(?:init|message|tool_use|tool_result|error|result)"\s*,\s*"timestamp"\s*:\s*"'
)
_CLI_TYPES: Final = frozenset({"init", "message", "tool_use", "tool_result", "error", "result"})
_LOOK_AT: Final = 50
_STEP: Final = 1 << 16
_MESSAGE: Final = spellings("candidates promptFeedback usageMetadata createTime response")
_ASKED: Final = spellings("model")


def with_provider(exchange: Exchange) -> Exchange:
    """The exchange with the fields that its URL and bodies decide: ``provider``, ``generates``,
    ``streamed`` and ``model``.
    """
    request = exchange.request
    method, url, body = (request.method, request.url, request.body) if request else ("", "", b"")
    # Usually the URL decides, and a long body need not be joined.
    asked = identity = detect_provider(method, url, body, b"" if url else exchange.body)
    if url and not identity.generates:
        identity = detect_provider(method, url, body, exchange.body)
    if not identity.generates and request is None and exchange.header(EXIT_CODE) is not None:
        # A program that printed nothing is known by its exit code.
        identity = Identity("gemini-cli", generates=True)
    return replace(
        exchange,
        provider=identity.provider,
        generates=identity.generates,
        streamed=asked.streamed,
        model=asked.model,
    )


def detect_provider(method: str, url: str, request_body: bytes, response_body: bytes) -> Identity:
    """Who answered. Empty ``url``: no request was recorded."""
    if not url:
        return _identify_body(response_body, alone=True)
    if method.upper() not in ("POST", ""):
        return _OTHER
    place, _, path = unquote(re.split("[?#]", url, maxsplit=1)[0]).partition("//")
    path = path or place
    found = _METHOD.search(path)
    if found is None:
        return _OTHER if _OTHER_PATH.search(path) else _identify_body(response_body, alone=False)
    streams = _METHODS.get(found["internal"] or found["method"])
    if streams is None:
        return _OTHER
    if found["internal"]:
        return Identity(
            "code-assist", generates=True, streamed=streams, model=_asked_model(request_body)
        )
    vertex = _VERTEX_PATH.search(path)
    model = found["model"] if found["kind"] == "models" else f"{found['kind']}/{found['model']}"
    return Identity(
        "vertex-ai" if vertex else "gemini-api", generates=True, streamed=streams, model=model
    )


def _asked_model(request_body: bytes) -> str | None:
    try:
        request = decode_json(request_body)
    except ValueError:
        return None
    model = request.get("model") if type(request) is dict else None
    return model if type(model) is str else None


def _identify_body(body: bytes, *, alone: bool) -> Identity:
    """By the first messages of a body; ``alone``: there is no request, so that an error is taken
    for an answer that went wrong.
    """
    frames = _first_frames(body)
    messages = [frame.json for frame in frames if type(frame.json) is dict]
    if any(
        message.get("type") in _CLI_TYPES and "timestamp" in message
        for message in messages
        if type(message.get("type")) is str
    ):
        return Identity("gemini-cli", generates=alone, streamed=True)
    if any(_is_cli_document(message) for message in messages):
        return Identity("gemini-cli", generates=alone)
    if (
        alone and not messages and _CLI_EVENT.search(body, 0, _STEP)
    ):  # glued to what else the terminal said
        return Identity("gemini-cli", generates=True, streamed=True)
    streamed = len(frames) > 1 or not body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    for message in messages:
        fields = Fields(message, _MESSAGE)
        inner = fields.take("response", dict)
        if inner is not None and not Fields(inner, _MESSAGE).values.keys().isdisjoint(
            ("candidates", "promptFeedback", "usageMetadata")
        ):
            return Identity("code-assist", generates=True, streamed=streamed)
        said = fields.values.keys() & (
            {"candidates", "promptFeedback", "usageMetadata"}
            if alone
            else {"candidates", "promptFeedback"}
        )
        if said:
            return Identity(
                "vertex-ai" if _has_vertex_marks(fields) else None,
                generates=True,
                streamed=streamed,
            )
        if alone and message.get("error"):
            return Identity(None, generates=True, streamed=streamed)
    return _OTHER


def _first_frames(body: bytes) -> list[Frame]:
    """So many frames as it takes to know the body."""
    framer = frame_by_content()
    frames: list[Frame] = []
    try:
        for start in range(0, len(body), _STEP):
            frames += framer.feed(body[start : start + _STEP])
            if len(frames) >= _LOOK_AT:
                return frames[:_LOOK_AT]
        frames += framer.close()
    except FramingError:
        pass
    return frames[:_LOOK_AT]


def _is_cli_document(message: dict[str, object]) -> bool:
    """``gemini --output-format json``."""
    told = type(message.get("response")) is str or type(message.get("session_id")) is str
    return (
        told
        and (type(message.get("stats")) is dict or type(message.get("error")) is dict)
        and "type" not in message
    )


def _has_vertex_marks(fields: Fields) -> bool:
    """Only Vertex AI tells when it answered, and by which traffic."""
    usage = fields.values.get("usageMetadata")
    return "createTime" in fields.values or (
        type(usage) is dict and not usage.keys().isdisjoint(("trafficType", "traffic_type"))
    )
