"""The unified-llm client: the request that it sends."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness import TranslationError
from harness.dialects.unified_llm.request import tool_result
from harness.server import serve
from harness.systems.unified_llm import (
    Client,
    ConfigurationError,
    StreamAccumulator,
)
from tests.systems.unified_llm.loopback import API, CASSETTES, HELLO, KEY, MODEL, reply


def sent(
    client_options: dict[str, Any], request: dict[str, Any] = HELLO, *, stream: bool = False
) -> httpx2.Request:
    asked: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, json=reply("Hi")[0])

    with Client(
        **{"api_key": KEY, **client_options}, transport=httpx2.MockTransport(handle)
    ) as client:
        list(client.stream(request)) if stream else client.complete(request)
    return asked[0]


ADDRESSES: dict[str, tuple[dict[str, Any], bool, str, str]] = {
    "unary": ({}, False, f"{API}/models/{MODEL}:generateContent", "x-goog-api-key: the-key"),
    "stream": (
        {},
        True,
        f"{API}/models/{MODEL}:streamGenerateContent?alt=sse",
        "x-goog-api-key: the-key",
    ),
    "base URL": (
        {"base_url": "http://h:1/"},
        False,
        f"http://h:1/v1beta/models/{MODEL}:generateContent",
        "x-goog-api-key: the-key",
    ),
    "base URL with a version": (
        {"base_url": "http://h:1/proxy/v1"},
        False,
        f"http://h:1/proxy/v1/models/{MODEL}:generateContent",
        "x-goog-api-key: the-key",
    ),
    "vertex": (
        {"provider": "vertex-ai"},
        True,
        f"https://aiplatform.googleapis.com/v1beta1/publishers/google/models/{MODEL}:streamGenerateContent?alt=sse",
        "x-goog-api-key: the-key",
    ),
    "vertex project": (
        {
            "provider": "vertex-ai",
            "base_url": "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4",
        },
        False,
        "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/google/models/"
        f"{MODEL}:generateContent",
        "x-goog-api-key: the-key",
    ),
    "code assist": (
        {"provider": "code-assist"},
        True,
        "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse",
        "authorization: Bearer the-key",
    ),
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_call_goes_to_its_url_with_the_key_in_a_header(name: str) -> None:
    options, stream, url, header = ADDRESSES[name]
    asked = sent(options, stream=stream)
    key, _, value = header.partition(": ")
    assert (str(asked.url), asked.headers[key]) == (url, value)
    assert KEY not in str(asked.url)
    body = json.loads(asked.content)
    assert body.get("request", body)["contents"] == [{"role": "user", "parts": [{"text": "Hello"}]}]


def test_a_model_name_cannot_change_the_url() -> None:
    asked = sent({}, {**HELLO, "model": "tunedModels/mine?key=x#y"})
    assert str(asked.url) == f"{API}/tunedModels/mine%3Fkey%3Dx%23y:generateContent"


@pytest.mark.parametrize(
    ("provider", "model", "path"),
    [
        ("gemini-api", "gemini:models/m", "/v1beta/models/m:generateContent"),
        ("gemini-api", "tunedModels/m", "/v1beta/tunedModels/m:generateContent"),
        ("vertex-ai", "models/m", "/v1beta1/publishers/google/models/m:generateContent"),
        (
            "vertex-ai",
            "publishers/google/models/m",
            "/v1beta1/publishers/google/models/m:generateContent",
        ),
        (
            "vertex-ai",
            "gemini:projects/p/locations/l/endpoints/7",
            "/v1beta1/projects/p/locations/l/endpoints/7:generateContent",
        ),
    ],
)
def test_a_model_may_be_named_with_its_place(provider: str, model: str, path: str) -> None:
    assert sent({"provider": provider}, {**HELLO, "model": model}).url.path == path


def test_key_and_address_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "second")
    assert sent({"api_key": None}).headers["x-goog-api-key"] == "second"
    monkeypatch.setenv("GEMINI_API_KEY", "first")
    monkeypatch.setenv("GEMINI_BASE_URL", "http://other:9")
    asked = sent({"api_key": None})
    assert (asked.headers["x-goog-api-key"], asked.url.host) == ("first", "other")


def test_without_a_key_there_is_no_client() -> None:
    with pytest.raises(
        ConfigurationError,
        match="no API key; pass api_key, or set GEMINI_API_KEY or GOOGLE_API_KEY",
    ):
        Client()


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        ConfigurationError,
        match="unknown provider 'gemini-cli'; expected one of gemini-api, vertex-ai, code-assist",
    ):
        Client(KEY, provider="gemini-cli")


def test_a_wrong_prompt_is_refused_before_anything_is_sent() -> None:
    with Client(KEY, "http://127.0.0.1:9") as client:
        with pytest.raises(TranslationError, match=r"messages\[0\].role"):
            client.stream({**HELLO, "messages": [{"role": "robot", "content": ""}]})
        with pytest.raises(ConfigurationError, match="names no model"):
            client.complete({"messages": HELLO["messages"]})


def test_local_files_are_read_here(tmp_path: Path) -> None:
    (tmp_path / "cat.gif").write_bytes(b"GIF89a")
    picture = {"kind": "image", "image": {"url": str(tmp_path / "cat.gif"), "detail": "low"}}
    request = {**HELLO, "messages": [{"role": "user", "content": [picture]}]}
    (part,) = json.loads(sent({}, request).content)["contents"][0]["parts"]
    assert part == {
        "inlineData": {"mimeType": "image/gif", "data": base64.b64encode(b"GIF89a").decode()},
        "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"},
    }
    assert picture["image"]["url"] == str(tmp_path / "cat.gif")  # type: ignore[index]  # the request itself is not changed
    missing = {"kind": "image", "image": {"url": str(tmp_path / "dog.gif")}}
    with pytest.raises(
        TranslationError,
        match=r"messages\[0\].content\[0\].image.url: .* cannot be read: .*No such file",
    ):
        sent({}, {**HELLO, "messages": [{"role": "user", "content": [missing]}]})


def test_a_conversation_is_sent_as_it_was_recorded() -> None:
    """Use case 3: two rounds of calls, and then a message of the user. Each request finds its
    exchange by its content.
    """
    tool = {
        "name": "search_file",
        "description": "Search the files of the project",
        "parameters": {
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "a regular expression"},
                "limit": {"type": "integer"},
            },
            "required": ["pattern"],
        },
    }
    question = {"role": "user", "content": "Where is main, and who calls Run?"}
    results: list[list[tuple[Any, bool]]] = [
        [("cmd/main.go:9:func main() {", False), ("search_file: permission denied: vendor/", True)],
        [({"matches": [{"file": "cmd/main.go", "line": 14}], "truncated": False}, False)],
    ]
    with (
        serve(CASSETTES / "gemini-api" / "unified-llm-search-file.yaml", pace="instant") as server,
        Client(KEY, server.base_url) as client,
    ):
        messages: list[Any] = [question]
        for outcomes in [*results, None]:
            response = StreamAccumulator(
                client.stream({"model": MODEL, "messages": messages, "tools": [tool]})
            ).response
            messages.append(response["message"])
            if outcomes is not None:
                calls = response.tool_calls
                messages += [
                    tool_result(call["id"], *outcome)
                    for call, outcome in zip(calls, outcomes, strict=True)
                ]
        messages.append({"role": "user", "content": "Danke schön ✓"})
        last = StreamAccumulator(
            client.stream({"model": MODEL, "messages": messages, "tools": [tool]})
        ).response
        assert server.misses == []
    assert (response.text, last.text) == (
        "main is in cmd/main.go, and calls Run in line 14.",
        "Gern.",
    )
