"""The drivers of the Interactions API and of the OpenAI-compatible endpoint ask a server that
replays recordings, and the new recordings are compared with those.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import google.genai  # noqa: F401  # first: pytester imports a test's modules twice
import pytest

from harness import load
from harness.cassettes import Cassette, Exchange
from harness.recording.asks import NotRecordable, ask_again, ask_prompts
from harness.recording.drivers import genai as driver
from harness.recording.policy import RecordingRefused
from harness.recording.run import record_requests
from harness.recording.settings import (
    GenerateAsk,
    Limits,
    MissingCredentials,
    MissingLibrary,
    Settings,
)
from harness.server import serve
from tests.recording.providers import KEY
from tests.server.socket_client import tape
from tests.server.wires import (
    CALLING,
    CHAT,
    CHAT_CALLING,
    CHAT_DONE,
    INTERACTIONS,
    MODEL,
    chunk,
    exchange,
    interaction_event,
    interaction_stream,
    text_step,
)
from tests.support.need import need


class Credentials:
    valid = True
    token = "a-token-for-loopback"


def reads_of(cassette: Cassette | Exchange) -> list[list[bytes]]:
    exchanges = cassette.exchanges if isinstance(cassette, Cassette) else [cassette]
    return [[data for _, data in exchange.reads] for exchange in exchanges]


def record(
    provider: str, path: Path, asks: Any, *answers: Exchange, **settings: Any
) -> tuple[Cassette, list[Any]]:
    """The recording from a server with these answers, and the requests that the server got."""
    with serve(tape(*answers), pace="step") as server:
        where = {"base_url": server.base_url, "api_version": "v1beta", **settings}
        cassette = record_requests(
            provider,
            asks,
            path,
            settings=Settings(**({"api_key": KEY} | where)),
            limits=Limits(attempts=1),
        )
        return cassette, server.requests


def asked(text: Any, **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "input": text, **more}


def chatted(text: str, **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "messages": [{"role": "user", "content": text}], **more}


UNHEARD = {"unheard_of": [1], "store": False}
WHOLE = json.dumps({"id": "", "object": "interaction", "status": "completed", "steps": []}).encode()
CHATS = (chunk({"content": "Hi"}, finish_reason="stop"), CHAT_DONE)


@pytest.fixture(autouse=True)
def _openai_is_there(request: pytest.FixtureRequest) -> None:
    if "openai" in request.node.name:
        need("clients", find_spec("openai"), "openai is not installed")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provider", "path", "body", "answer"),
    [
        ("interactions", INTERACTIONS, asked("hi", stream=True, **UNHEARD), CALLING),
        ("interactions", INTERACTIONS, asked([{"type": "brand_new"}, {"type": "text"}]), (WHOLE,)),
        ("interactions", INTERACTIONS, {"agent": "deep-research", "input": "hi"}, (WHOLE,)),
        ("openai-compat", CHAT, chatted("hi", stream=True, google={"x": 1}), CHAT_CALLING),
        (
            "openai-compat",
            CHAT,
            chatted("hi", unheard_of=[1]),
            (b'{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}',),
        ),
    ],
)
def test_the_body_is_sent_and_the_reads_are_kept(
    tmp_path: Path, provider: str, path: str, body: dict[str, Any], answer: tuple[bytes, ...]
) -> None:
    file = tmp_path / "a.yaml"
    ask = GenerateAsk(body, MODEL, body.get("stream") is True)
    cassette, (request,) = record(provider, file, [ask], exchange(path, body, *answer))
    assert (request.path, json.loads(request.body)) == (path, body)
    assert request.headers.get("x-goog-api-key") or request.headers["authorization"]
    assert reads_of(cassette) == [list(answer)]
    (kept,) = load(file).exchanges
    assert (kept.provider, kept.generates, kept.streamed) == (provider, True, ask.streamed)
    assert cassette.origin.kind == "loopback"
    assert KEY not in file.read_text()


@pytest.mark.slow
def test_an_answer_in_the_background_is_polled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "POLL_S", 0.01)
    running = {"id": "v1_slow", "object": "interaction", "status": "in_progress"}
    done = {**running, "status": "completed", "steps": []}
    states = [json.dumps(state).encode() for state in (running, running, done)]
    body = asked("hi", background=True)
    cassette, requests = record(
        "interactions",
        tmp_path / "a.yaml",
        [GenerateAsk(body, MODEL, streamed=False)],
        exchange(INTERACTIONS, body, states[0]),
        *(exchange(f"{INTERACTIONS}/v1_slow", None, data, method="GET") for data in states[1:]),
    )
    assert reads_of(cassette) == [[state] for state in states]
    assert [request.method for request in requests] == ["POST", "GET", "GET"]
    (again,) = ask_again(cassette, "a")
    assert (dict(again.body), again.streamed) == (body, False)


@pytest.mark.slow
def test_a_continuation_is_not_asked_for(tmp_path: Path) -> None:
    """google-genai requests the continuation itself; a recording has one exchange for each request."""
    more = interaction_stream(text_step(0, "and"), status="requires_continuation")
    token = more[-2].replace(b'"status"', b'"continuation_token":"t","status"')
    body = asked("hi", stream=True)
    answer = exchange(INTERACTIONS, body, *more[:-2], token, more[-1])
    cassette, _ = record("interactions", tmp_path / "a.yaml", [GenerateAsk(body, MODEL)], answer)
    assert len(cassette.exchanges) == 1


@pytest.mark.parametrize("provider", ["interactions", "openai-compat"])
def test_vertex_ai_is_asked_with_a_token(tmp_path: Path, provider: str) -> None:
    from google.auth.credentials import AnonymousCredentials

    credentials = AnonymousCredentials()  # type: ignore[no-untyped-call]  # google-auth has no types
    credentials.token = Credentials.token
    place = "/v1/projects/p/locations/europe-west4"
    path, body, answer = {
        "interactions": (f"{place}/interactions", asked("hi", stream=True), CALLING),
        "openai-compat": (
            f"{place}/endpoints/openapi/chat/completions",
            {**chatted("hi", stream=True), "model": f"google/{MODEL}"},
            CHATS,
        ),
    }[provider]
    _, (request,) = record(
        provider,
        tmp_path / "a.yaml",
        [GenerateAsk(body, body["model"])],
        exchange(path, body, *answer),
        project="p",
        location="europe-west4",
        api_version="v1",
        api_key=None,
        credentials=credentials,
    )
    assert request.path == path
    assert request.headers["authorization"] == f"Bearer {Credentials.token}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (b'{"error":{"code":"rate_limit_exceeded","message":"Slow."}}', 429, "429: Slow."),
        (b'{"error":{"code":"service_unavailable","message":"Later."}}', 503, "503: Later."),
        (b'{"error":{"code":"authentication","message":"Who?"}}', 401, "401: Who?"),
    ],
)
def test_errors_of_the_interactions_api_are_refused_by_their_code(
    tmp_path: Path, error: bytes, status: int, words: str
) -> None:
    body = asked("hi", stream=True)
    inside = interaction_event("error", error=json.loads(error)["error"])
    for answer in (
        exchange(INTERACTIONS, body, error, status=status),
        exchange(INTERACTIONS, body, CALLING[0], inside),
    ):
        with pytest.raises(RecordingRefused, match=words):
            record("interactions", tmp_path / "a.yaml", [GenerateAsk(body, MODEL)], answer)


def test_a_quota_of_the_compatible_endpoint_is_refused_with_openai(tmp_path: Path) -> None:
    body = chatted("hi", stream=True)
    error = b'[{"error":{"code":429,"message":"Slow.","status":"RESOURCE_EXHAUSTED"}}]'
    answer = exchange(CHAT, body, error, status=429)
    with pytest.raises(RecordingRefused, match=r"429: Slow\."):
        record("openai-compat", tmp_path / "a.yaml", [GenerateAsk(body, MODEL)], answer)


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["interactions", "openai-compat"])
def test_prompts_become_a_conversation(tmp_path: Path, provider: str) -> None:
    answers = {
        "interactions": exchange(
            INTERACTIONS, asked("x", stream=True), *interaction_stream(text_step(0, "Hi."))
        ),
        "openai-compat": exchange(CHAT, chatted("x", stream=True), *CHATS),
    }
    with serve(tape(answers[provider]), match="path", pace="step") as server:
        cassette = record_requests(
            provider,
            ask_prompts(["Hello", "Again"], provider),
            tmp_path / "a.yaml",
            settings=Settings(api_key=KEY, base_url=server.base_url, model=MODEL),
        )
        assert server.warnings == []
        sent = [json.loads(request.body) for request in server.requests]
    assert len(cassette.exchanges) == 2
    assert "Again" in json.dumps(sent[1])
    assert "Hi" in json.dumps(sent[1])


def test_missing_libraries_and_keys_are_errors_of_openai_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*driver.KEYS, "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    for provider in ("interactions", "openai-compat"):
        with pytest.raises(MissingCredentials, match="no key for the Gemini API"):
            record_requests(provider, [], tmp_path / "a.yaml")
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingLibrary, match=r"pip install 'gemini-conformance\[openai\]'"):
        record_requests("openai-compat", [], tmp_path / "a.yaml", settings=Settings(api_key=KEY))


def test_a_poll_without_its_interaction_cannot_be_asked_again(tmp_path: Path) -> None:
    poll = exchange(f"{INTERACTIONS}/v1_slow", None, WHOLE, method="GET")
    with pytest.raises(NotRecordable, match="exchange 1 of a is not JSON"):
        ask_again(tape(poll), "a")
