"""The provider of an exchange, whether it generates, and the declared tools."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from harness.providers import (
    PROVIDERS,
    DeclaredTools,
    Identity,
    declared_tools,
    detect_provider,
    with_provider,
)
from harness.stream.exchange import Exchange, Request
from harness.stream.framing import MAX_FRAME
from harness.stream.json_codec import decode_object
from harness.stream.session import Tool
from tests.support.second_turn import provider_of_body

# The provider

HOST = "https://generativelanguage.googleapis.com"
VERTEX = "https://us-central1-aiplatform.googleapis.com/v1beta1/projects/p/locations/us-central1"

URLS: list[tuple[str, Identity]] = [
    (
        f"{HOST}/v1beta/models/gemini-3.8-flash:generateContent",
        Identity("gemini-api", True, False, "gemini-3.8-flash"),
    ),
    (
        f"{HOST}/v1/models/m:streamGenerateContent?alt=sse&key=x",
        Identity("gemini-api", True, True, "m"),
    ),
    (f"{HOST}/v1beta/models/m%3AgenerateContent", Identity("gemini-api", True, False, "m")),
    (
        f"{HOST}/v1beta/tunedModels/m:generateContent",
        Identity("gemini-api", True, False, "tunedModels/m"),
    ),
    (
        "http://127.0.0.1:8080/router/v2/google/v1beta/models/m:streamGenerateContent",
        Identity("gemini-api", True, True, "m"),
    ),
    ("models/m:generateContent", Identity("gemini-api", True, False, "m")),
    (
        f"{VERTEX}/publishers/google/models/m:generateContent",
        Identity("vertex-ai", True, False, "m"),
    ),
    (
        f"{VERTEX}/endpoints/123:streamGenerateContent",
        Identity("vertex-ai", True, True, "endpoints/123"),
    ),
    (
        "https://aiplatform.googleapis.com/v1/publishers/google/models/m:generateContent",
        Identity("vertex-ai", True, False, "m"),
    ),
    (
        "http://localhost/google-vertex/v1beta1/publishers/google/models/m:generateContent",
        Identity("vertex-ai", True, False, "m"),
    ),
    (
        "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse",
        Identity("code-assist", True, True, "asked"),
    ),
    ("http://127.0.0.1/v1internal:generateContent", Identity("code-assist", True, False, "asked")),
    (f"{HOST}/v1beta/openai/chat/completions", Identity("openai-compat", True, False, "asked")),
    (
        "http://127.0.0.1/google/v1/openai/chat/completions",
        Identity("openai-compat", True, False, "asked"),
    ),
    (
        f"{VERTEX}/endpoints/openapi/chat/completions",
        Identity("openai-compat", True, False, "asked"),
    ),
    (f"{VERTEX}/endpoints/123/chat/completions", Identity("openai-compat", True, False, "asked")),
    ("https://api.openai.com/v1/responses", Identity("openai", True, False, "asked")),
    (
        "https://chatgpt.com/backend-api/codex/responses?x=1",
        Identity("openai", True, False, "asked"),
    ),
    ("https://api.openai.com/v1/chat/completions", Identity("openai", True, False, "asked")),
    ("https://api.groq.com/openai/v1/chat/completions", Identity("openai", True, False, "asked")),
    (
        "https://o.openai.azure.com/openai/deployments/d/chat/completions",
        Identity("openai", True, False, "asked"),
    ),
    ("/v1/chat/completions", Identity("openai", True, False, "asked")),
]
OTHER_URLS = [
    "https://cloudcode-pa.googleapis.com/v1internal:loadCodeAssist",
    f"{HOST}/v1beta/models/m:countTokens",
    f"{HOST}/v1beta/models/m:embedContent",
    f"{HOST}/v1beta/models/m:batchGenerateContent",
    f"{HOST}/v1beta/models",
    f"{HOST}/v1beta/openai/embeddings",
    f"{HOST}/v1beta/openai/responses",
    "https://api.openai.com/v1/responses/compact",
    "https://api.openai.com/v1/responses/resp_1/input_items",
    "https://api.openai.com/v1/embeddings",
    f"{HOST}/v1/interactions/v1_abc",
    f"{HOST}/v1beta/cachedContents",
    "https://oauth2.googleapis.com/token",
    f"{VERTEX}/publishers/mistral/models/m:streamRawPredict",
    "http://[bad",
]


@pytest.mark.parametrize(("url", "identity"), URLS)
def test_the_path_shows_the_provider_on_any_host(url: str, identity: Identity) -> None:
    assert detect_provider("POST", url, b'{"model": "asked"}', b"") == identity
    assert detect_provider("post", url, b'{"model": "asked"}', b"{}") == identity
    assert not detect_provider("GET", url, b"", b"").generates


@pytest.mark.parametrize("url", OTHER_URLS)
def test_other_endpoints_do_not_generate(url: str) -> None:
    assert detect_provider("POST", url, b"", b'{"error": {"code": 400}}') == Identity(None, False)


@pytest.mark.parametrize(
    ("method", "address", "body", "identity"),
    [
        (
            "POST",
            "/v1/asks",
            b'{"model": "m", "stream": true}',
            Identity("a-wire", True, True, "m"),
        ),
        ("POST", "/v1/asks", b'{"agent": "a"}', Identity("a-wire", True, False, "a")),
        ("POST", "/v1/asks?stream=true", b"[]", Identity("a-wire", True, True, None)),
        ("GET", "/v1/asks/7", b"", Identity("a-wire", True, False, None)),
        ("GET", "/v1/asks/7?stream=true&after=3", b"", Identity("a-wire", True, True, None)),
        ("GET", "/v1/asks", b"", Identity(None, False)),
        ("POST", "/v1/asks/7", b"", Identity(None, False)),
        ("DELETE", "/v1/asks/7", b"", Identity(None, False)),
    ],
)
def test_a_wire_can_stream_by_its_body_and_serve_stored_answers(
    method: str, address: str, body: bytes, identity: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = replace(
        PROVIDERS["gemini-api"],
        name="a-wire",
        url=re.compile("/asks$"),
        stored_url=re.compile("/asks/[^/]+$"),
    )
    monkeypatch.setitem(PROVIDERS, "a-wire", wire)
    assert detect_provider(method, f"http://localhost{address}", body, b"") == identity


SSE = b'data: {"candidates": []}\r\n\r\ndata: {"candidates": []}\r\n\r\n'


@pytest.mark.parametrize(
    ("body", "identity"),
    [
        (b'{"candidates": []}', Identity("gemini-api", True, False)),
        (SSE, Identity("gemini-api", True, True)),
        (b'[{"candidates": []}]', Identity("gemini-api", True, True)),
        (b'{"candidates": []}\n{"candidates": []}\n', Identity("gemini-api", True, True)),
        (b'data: {"candidates": [], "createTime": "t"}\n\n', Identity("vertex-ai", True, True)),
        (
            b'{"candidates": [], "usageMetadata": {"trafficType": "ON_DEMAND"}}',
            Identity("vertex-ai", True, False),
        ),
        (
            b'data: {"response": {"candidates": []}, "traceId": "t"}\n\n',
            Identity("code-assist", True, True),
        ),
        (b'{"promptFeedback": {"blockReason": "SAFETY"}}', Identity("gemini-api", True, False)),
        (b'{"usage_metadata": {}}', Identity("gemini-api", True, False)),
        (b'[{"error": {"code": 429}}]', Identity("gemini-api", True, True)),
        (b'\xef\xbb\xbf\n{"error": {"code": 429}}', Identity("gemini-api", True, False)),
        (
            b'{"type":"init","timestamp":"t","session_id":"s","model":"m"}\n',
            Identity("gemini-cli", True, True),
        ),
        (
            b'Loaded cached credentials.\n{"type":"init","timestamp":"t"}\n',
            Identity("gemini-cli", True, True),
        ),
        (b'{"choices": []}', Identity(None, False)),
        (
            b'event: interaction.created\ndata: {"event_type": "interaction.created"}\n\n',
            Identity("interactions", True, True),
        ),
        (b'{"totalTokens": 3}', Identity(None, False)),
        (b"<html>", Identity(None, False)),
        (b"", Identity(None, False)),
        (b"[" * 5000, Identity(None, False)),
        (b'{"a": 1}\n' * 50 + b'{"candidates": []}\n', Identity(None, False)),
        (b'{"a":"' + b"x" * MAX_FRAME, Identity(None, False)),
    ],
)
def test_without_a_request_the_body_shows_the_provider(body: bytes, identity: Identity) -> None:
    assert detect_provider("", "", b"", body) == identity


def test_at_an_unknown_address_only_an_answer_is_detected() -> None:
    url = "https://gateway.example/chat"
    assert detect_provider("POST", url, b"", SSE) == Identity("gemini-api", True, True)
    assert detect_provider("POST", url, b"", b'{"error": {"code": 429}}') == Identity(None, False)
    assert detect_provider("POST", url, b"", b'{"usageMetadata": {}}') == Identity(None, False)


# The declarations of the request


@pytest.mark.parametrize(
    ("body", "tools"),
    [
        (
            b'{"tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}]}',
            [Tool("f", {"type": "OBJECT"})],
        ),
        (
            b'{"tools": [{"function_declarations": [{"name": "f", "parameters_json_schema": {"a": 1}}, {"name": "g"}]}, {}]}',
            None,
        ),
        (b'{"request": {"tools": [{"functionDeclarations": [{"name": "f"}]}]}}', [Tool("f")]),
        (
            b'{"input": "hi", "tools": [{"type": "function", "name": "f", "parameters": {"a": 1}},'
            b' {"type": "google_search"}, {"type": "function", "name": "g"}]}',
            None,
        ),
        (
            b'{"messages": [], "tools": [{"type": "function", "function": {"name": "f", "parameters":'
            b' {"a": 1}}}, {"type": "function", "function": {"name": "g"}}, {"type": "custom"}]}',
            None,
        ),
        (b'{"tools": [{"type": "function", "function": 5}]}', []),
        (b'{"tools": {"functionDeclarations": []}}', []),
        (b'{"tools": [{"functionDeclarations": [{"name": 5}, null]}, 5]}', []),
        (b"[]", []),
        (b"{", []),
        (b"", []),
    ],
)
def test_declared_tools(body: bytes, tools: list[Tool] | None) -> None:
    expected = [Tool("f", {"a": 1}), Tool("g")] if tools is None else tools
    provider = provider_of_body(decode_object(body) or {})
    assert declared_tools(provider.read_request(body)) == expected
    assert list(DeclaredTools(provider, body)) == expected


@pytest.mark.parametrize(
    ("body", "prompt"),
    [
        ({"contents": [{"parts": [{"text": "Hi"}, {"text": "?"}]}, {"role": "model"}]}, "Hi?"),
        ({"input": "Hi?"}, "Hi?"),
        ({"input": {"type": "text", "text": "Hi?"}}, "Hi?"),
        ({"input": [{"type": "image", "data": "QQ=="}, {"type": "text", "text": "Hi?"}]}, "Hi?"),
        (
            {
                "input": [
                    {"type": "user_input", "content": [{"type": "text", "text": "Hi?"}]},
                    {"type": "model_output", "content": [{"type": "text", "text": "No."}]},
                    {"type": "function_result", "result": "8"},
                ]
            },
            "Hi?",
        ),
        (
            {
                "messages": [
                    {"role": "user", "content": "No."},
                    {"role": "user", "content": [{"type": "text", "text": "Hi?"}]},
                    {"role": "tool", "content": "8"},
                ]
            },
            "Hi?",
        ),
        ({"messages": [{"role": "user", "content": "Hi?"}]}, "Hi?"),
        ({"messages": [{"role": "assistant", "content": "No."}]}, ""),
        ({"input": 5}, ""),
    ],
)
def test_the_prompt_is_the_last_text_of_the_user(body: dict[str, object], prompt: str) -> None:
    assert provider_of_body(body).prompt_of(body).last_text == prompt


def test_a_program_that_wrote_nothing_is_known_by_its_exit_code() -> None:
    silent = Exchange(None, 200, {"X-Exit-Code": ["41"]}, (), "complete")
    assert (with_provider(silent).provider, with_provider(silent).generates) == ("gemini-cli", True)
    assert not with_provider(Exchange(None, 200, {}, (), "complete")).generates
    asked = Request("GET", "https://generativelanguage.googleapis.com/v1beta/models", {}, b"")
    assert not with_provider(
        Exchange(asked, 200, {"x-exit-code": ["41"]}, (), "complete")
    ).generates
