"""Builds answers without a cassette, of Google's endpoints and of those that bring their own
(`harness.providers.Endpoint`): errors, model lists, token counts and Code Assist's set-up, each in
the form of its wire.

Shapes: https://cloud.google.com/apis/design/errors, https://ai.google.dev/api/models,
https://ai.google.dev/api/tokens, https://ai.google.dev/gemini-api/docs/api-errors (interactions),
https://ai.google.dev/gemini-api/docs/openai; for Code Assist, its public client
(https://github.com/google-gemini/gemini-cli, ``packages/core/src/code_assist``). A header marks
these answers. A recorded exchange always has priority.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from harness.providers import PROVIDERS, Endpoint, Identity
from harness.stream.json_codec import decode_object

from .connection import HttpRequest
from .response import MADE, ServedAnswer, made_answer, phrase_of

STATUSES: Final = {
    400: ("INVALID_ARGUMENT", "Request contains an invalid argument."),
    401: ("UNAUTHENTICATED", "Request had invalid authentication credentials."),
    403: ("PERMISSION_DENIED", "The caller does not have permission."),
    404: ("NOT_FOUND", "Requested entity was not found."),
    409: ("ABORTED", "The operation was aborted."),
    429: (
        "RESOURCE_EXHAUSTED",
        (
            "You exceeded your current quota, please check your plan and billing details. Please"
            " retry in 1s."
        ),
    ),
    499: ("CANCELLED", "The operation was cancelled."),
    500: ("INTERNAL", "An internal error has occurred. Please retry."),
    501: ("UNIMPLEMENTED", "Operation is not implemented, or supported, or enabled."),
    503: ("UNAVAILABLE", "The model is overloaded. Please try again later."),
    504: ("DEADLINE_EXCEEDED", "The request timed out. Please try again."),
}
"""HTTP status → status of google.rpc, and its message."""

CODES: Final = {
    400: "invalid_request",
    401: "authentication",
    402: "payment_required",
    403: "permission_denied",
    404: "not_found",
    409: "aborted",
    416: "out_of_range",
    429: "rate_limit_exceeded",
    499: "cancelled",
    501: "unimplemented",
    503: "service_unavailable",
    504: "deadline_exceeded",
}
"""HTTP status → code of an error of the Interactions API; ``api_error`` for others
(https://ai.google.dev/gemini-api/docs/api-errors).
"""

_TYPE: Final = "type.googleapis.com/google.rpc."
_QUOTA: Final[list[dict[str, Any]]] = [
    {
        "@type": f"{_TYPE}QuotaFailure",
        "violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}],
    },
    {"@type": f"{_TYPE}RetryInfo", "retryDelay": "1s"},
]


def error_answer(
    request: HttpRequest,
    code: int,
    message: str | None = None,
    details: Sequence[dict[str, Any]] = (),
    note: str = "not recorded",
    fields: Mapping[str, Any] = MappingProxyType({}),
) -> ServedAnswer:
    """Return an error in the form of the API. If the stream would be a JSON array, and on the
    OpenAI-compatible endpoint, it is an array with one item. The Interactions API has no
    ``details``; ``fields`` are further fields on a wire with errors of its own.
    """
    path = unquote(urlsplit(request.url).path)
    own = _endpoint(path)
    if own and own.error:
        body = own.error(code, message or message_of(code), fields)
        return made_answer(code, body, note=note)
    if _INTERACTION.search(path):
        error = {"code": CODES.get(code, "api_error"), "message": message or message_of(code)}
        return made_answer(code, {"error": error}, note=note, indent=None)
    status = STATUSES[code][0] if code in STATUSES else "UNKNOWN"
    described: dict[str, Any] = {
        "code": code,
        "message": message or message_of(code),
        "status": status,
    }
    if details:
        described["details"] = list(details)
    in_array = _wants_array(request) or _COMPATIBLE.search(path)
    content = [{"error": described}] if in_array else {"error": described}
    return made_answer(code, content, note=note)


def _endpoint(path: str) -> Endpoint | None:
    """Return the endpoint of the provider that generates at this path, or that alone has it."""
    known = [(provider.url, provider.endpoint) for provider in PROVIDERS.values()]
    generating = (endpoint for url, endpoint in known if endpoint and url and url.search(path))
    having = (item for _, item in known if item and item.paths and item.paths.search(path))
    return next(chain(generating, having), None)


def message_of(code: int) -> str:
    """Return Google's message for an HTTP status."""
    return STATUSES[code][1] if code in STATUSES else "The request failed."


def debug_info(lines: Sequence[str]) -> dict[str, Any]:
    """Return an error detail with lines for developers."""
    return {"@type": f"{_TYPE}DebugInfo", "stackEntries": list(lines)}


def fault_answer(request: HttpRequest, code: int) -> ServedAnswer:
    """Return the error of the fault ``status:CODE``."""
    return error_answer(request, code, details=_QUOTA if code == 429 else (), note="fault")


def final_answer(request: HttpRequest, identity: Identity) -> ServedAnswer:
    """Return a short answer that ends a conversation. The request selects its wire, mode and
    framing.
    """
    model = identity.model or ""
    own = PROVIDERS[identity.provider or "gemini-api"].endpoint
    if own and own.final:
        body = own.final(urlsplit(request.url).path, model, identity.streamed)
        return _stream(body) if identity.streamed else made_answer(200, json.loads(body))
    if identity.provider == "interactions":
        return _final_interaction(model, streamed=identity.streamed)
    message: dict[str, Any] = {
        "candidates": [
            {"content": {"parts": [{"text": "Done."}], "role": "model"}, "finishReason": "STOP"}
        ]
    }
    if identity.provider == "code-assist":
        message = {"response": message}
    if not _is_stream(request):
        return made_answer(200, message)
    if _wants_array(request):
        return made_answer(200, [message])
    # Gemini's wire has CR LF as the end of a line, unlike the wires of the other functions here.
    return _stream(b"data: " + json.dumps(message).encode() + b"\r\n\r\n")


def _final_interaction(model: str, *, streamed: bool) -> ServedAnswer:
    whole = {"id": "", "object": "interaction", "model": model}
    done = {**whole, "status": "completed"}
    text = {"type": "text", "text": "Done."}
    if not streamed:
        step = {"type": "model_output", "content": [text]}
        return made_answer(200, {**done, "steps": [step]}, indent=None)
    events: list[dict[str, Any]] = [
        {
            "interaction": {**whole, "status": "in_progress"},
            "event_type": "interaction.created",
        },
        {"index": 0, "step": {"type": "model_output"}, "event_type": "step.start"},
        {"index": 0, "delta": text, "event_type": "step.delta"},
        {"index": 0, "event_type": "step.stop"},
        {"interaction": done, "event_type": "interaction.completed"},
    ]
    written = [f"event: {event['event_type']}\ndata: {json.dumps(event)}\n\n" for event in events]
    return _stream("".join([*written, "event: done\ndata: [DONE]\n\n"]).encode())


def _stream(data: bytes) -> ServedAnswer:
    headers = [("Content-Type", "text/event-stream"), (MADE, "not recorded")]
    return ServedAnswer(200, phrase_of(200), headers, [(None, data)])


def _is_stream(request: HttpRequest) -> bool:
    return urlsplit(request.url).path.endswith(":streamGenerateContent")


def _wants_array(request: HttpRequest) -> bool:
    # Without `alt=sse`, the API streams the elements of a JSON array.
    return _is_stream(request) and "alt=sse" not in urlsplit(request.url).query


FINAL_WIRES: Final = frozenset(
    {
        *("gemini-api", "vertex-ai", "code-assist", "interactions"),
        *(name for name, known in PROVIDERS.items() if known.endpoint and known.endpoint.final),
    }
)
"""The providers for which `final_answer` has an answer."""

_INTERACTION: Final = re.compile(r"/interactions(?:[/:]|$)")
_COMPATIBLE: Final = re.compile(r"/openai/|/endpoints/[^/:]+/chat/completions$")
_COMPATIBLE_MODELS: Final = re.compile(r"/openai/models(?:/(?P<model>.+))?$")
_MODELS: Final = re.compile(
    r"/v1[a-z0-9]*/(?P<publisher>(?:projects/[^/]+/locations/[^/]+/)?publishers/google/)?models(?:/(?P<model>[^/:]+))?$"
)
_COUNT: Final = re.compile(r"/models/[^/]+:countTokens$|/v1internal:countTokens$")
_INTERNAL: Final = re.compile(r"/v1internal(?::(?P<method>\w+)|/(?P<operation>operations/.+))$")
_PROJECT: Final = "harness-project"
_TIER: Final = {"id": "standard-tier", "name": "harness", "isDefault": True}
_SET_UP: Final[dict[str, Any]] = {
    "loadCodeAssist": {
        "currentTier": _TIER,
        "allowedTiers": [_TIER],
        "cloudaicompanionProject": _PROJECT,
    },
    "onboardUser": {
        "name": "operations/harness",
        "done": True,
        "response": {"cloudaicompanionProject": {"id": _PROJECT, "name": _PROJECT}},
    },
    "fetchAdminControls": {},
    "listExperiments": {"experimentIds": [], "flags": []},
    "recordCodeAssistMetrics": {},
    "getCodeAssistGlobalUserSetting": {
        "cloudaicompanionProject": _PROJECT,
        "freeTierDataCollectionOptin": False,
    },
    "setCodeAssistGlobalUserSetting": {
        "cloudaicompanionProject": _PROJECT,
        "freeTierDataCollectionOptin": False,
    },
}
"""Code Assist's set-up methods → their answers for a user with a completed set-up."""


def made_up(request: HttpRequest, models: Collection[str]) -> ServedAnswer | None:
    """Return the answer to a request that does not generate; None for an unknown request.
    ``models``: the models of the cassettes.
    """
    path = unquote(urlsplit(request.url).path)
    own = _endpoint(path) if request.method == "POST" else None
    if own and own.made and (body := own.made(path, estimate_tokens(request.body))):
        return made_answer(200, body)
    if request.method == "GET" and (match := _COMPATIBLE_MODELS.search(path)):
        return _compatible_models(request, match["model"], models)
    if request.method == "GET" and (match := _MODELS.search(path)):
        return _models(request, match, models)
    if request.method == "POST" and _COUNT.search(path):
        return made_answer(200, {"totalTokens": estimate_tokens(request.body)})
    match = _INTERNAL.search(path)
    if match is None:
        return None
    # The Gemini CLI reads from this answer which models are available to the user.
    if match["method"] == "retrieveUserQuota":
        return made_answer(
            200,
            {
                "buckets": [
                    {"modelId": model, "tokenType": "REQUESTS", "remainingFraction": 1}
                    for model in sorted(models)
                ]
            },
        )
    content = _SET_UP.get(match["method"] or "onboardUser")
    return None if content is None else made_answer(200, content)


def _models(request: HttpRequest, match: re.Match[str], models: Collection[str]) -> ServedAnswer:
    name = match["model"]
    prefix = "publishers/google/models/" if match["publisher"] else "models/"
    if name is None:
        key = "publisherModels" if match["publisher"] else "models"
        return made_answer(200, {key: [_model(f"{prefix}{model}") for model in sorted(models)]})
    if name in models:
        return made_answer(200, _model(f"{prefix}{name}"))
    return _no_model(request, name, models)


def _no_model(request: HttpRequest, name: str, models: Collection[str]) -> ServedAnswer:
    return error_answer(
        request,
        404,
        f"models/{name} is not found; the served cassettes answer for"
        f" {', '.join(sorted(models)) or 'no model'}.",
    )


def _compatible_models(
    request: HttpRequest, name: str | None, models: Collection[str]
) -> ServedAnswer:
    """Return the list of models or one of them:
    https://ai.google.dev/gemini-api/docs/openai#list-models.
    """
    listed = {
        model.rpartition("/")[2]: {
            "id": f"models/{model.rpartition('/')[2]}",
            "object": "model",
            "owned_by": "google",
        }
        for model in sorted(models)
    }
    if name is None:
        return made_answer(200, {"object": "list", "data": [*listed.values()]}, indent=None)
    short = name.rpartition("/")[2]
    if short in listed:
        return made_answer(200, listed[short], indent=None)
    return _no_model(request, short, models)


def _model(name: str) -> dict[str, Any]:
    short = name.rpartition("/")[2]
    methods = ["generateContent", "countTokens"]
    return {
        "name": name,
        "version": short,
        "displayName": short,
        "supportedGenerationMethods": methods,
    }


def estimate_tokens(body: bytes) -> int:
    """Return an estimate of a request's tokens: a quarter of the characters of its texts, at least
    1.
    """
    return max(1, _text_length(decode_object(body)) // 4)


def _text_length(value: Any) -> int:
    match value:
        case dict():
            return sum(
                len(inner) if key == "text" and type(inner) is str else _text_length(inner)
                for key, inner in value.items()
            )
        case list():
            return sum(map(_text_length, value))
    return 0
