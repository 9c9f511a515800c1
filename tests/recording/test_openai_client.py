"""The client `openai` is served from cassettes of its two APIs, recorded with its exact reads, and
replayed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from harness import load
from harness.cassettes import Exchange
from harness.recording import transports, use_cassette
from harness.recording.endpoints import upstream_by_path
from harness.recording.relay import relay
from harness.recording.run import record_requests
from harness.recording.settings import GenerateAsk, Limits, MissingCredentials, Settings
from harness.server import Server, serve
from tests.server.socket_client import tape
from tests.support.need import need

pytestmark = pytest.mark.slow  # the import of the client takes seconds

CASSETTES = Path(__file__).parents[2] / "cassettes"
OWN = CASSETTES / "openai"
KEY = "sk-proj-" + "Zq7" * 30
TEXT = load(OWN / "text.yaml").exchanges[0]
CALLS = load(OWN / "responses-calls.yaml").exchanges[1]
WHOLE = load(OWN / "responses-whole.yaml").exchanges[0]
CHAT = load(OWN / "chat-calls.yaml").exchanges[1]
CUT = load(OWN / "responses-ends.yaml").exchanges[9]
QUOTA = load(OWN / "chat-errors.yaml").exchanges[2]


def openai() -> Any:
    need("clients", find_spec("openai"), "openai is not installed")
    return import_module("openai")


def body_of(exchange: Exchange) -> dict[str, Any]:
    assert exchange.request is not None
    body: dict[str, Any] = json.loads(exchange.request.body)
    return body


def client_of(base_url: str, **more: Any) -> Any:
    return openai().OpenAI(api_key=KEY, base_url=f"{base_url}/v1", max_retries=0, **more)


def in_pieces(exchange: Exchange) -> list[bytes]:
    """The reads of an answer that is served in three pieces."""
    body, size = exchange.body, len(exchange.body) // 3 + 1
    return [body[at : at + size] for at in range(0, len(body), size)]


@pytest.fixture(name="server")
def _server() -> Iterator[Server]:
    with serve(tape(CALLS, WHOLE, CHAT), pace="step") as server:
        yield server


def test_the_client_streams_responses_from_recordings(server: Server) -> None:
    with client_of(server.base_url) as client:
        events = list(client.responses.create(**body_of(CALLS)))
        whole = client.responses.create(**body_of(WHOLE))
    assert [item.arguments for item in events[-1].response.output] == [
        *('{"city":"Oslo"}', '{"city":"Rome"}'),
    ]
    assert (whole.output_text, whole.usage.total_tokens) == ("The sea is wide.", 15)


def test_the_client_streams_completions_from_recordings(server: Server) -> None:
    with client_of(server.base_url) as client:
        chunks = list(client.chat.completions.create(**body_of(CHAT)))
    calls = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or ()]
    assert [call.id for call in calls if call.id] == ["call_a", "call_b"]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


def test_a_recorded_error_and_a_cut_stream_are_the_clients_errors() -> None:
    errors = openai()
    with serve(tape(QUOTA, CUT)) as server, client_of(server.base_url) as client:
        with pytest.raises(errors.RateLimitError) as caught:
            client.chat.completions.create(**body_of(QUOTA))
        assert caught.value.code == "insufficient_quota"
        with pytest.raises(errors.APIConnectionError):
            list(client.responses.create(**body_of(CUT)))


def test_errors_that_are_made_have_the_form_of_the_wire(server: Server) -> None:
    errors = openai()
    with client_of(server.base_url) as client, pytest.raises(errors.NotFoundError) as caught:
        client.responses.create(model="m", input="what nobody recorded")
    assert (caught.value.code, caught.value.type) == ("not_found", "invalid_request_error")
    with (
        serve(tape(TEXT), fault="status:429") as limited,
        client_of(limited.base_url) as client,
        pytest.raises(errors.RateLimitError) as refused,
    ):
        client.chat.completions.create(model="m", messages=[])
    assert refused.value.code == "rate_limit_exceeded"


@pytest.mark.parametrize(
    ("exchange", "path"),
    [(TEXT, "/v1/responses"), (WHOLE, "/v1/responses"), (CHAT, "/v1/chat/completions")],
    ids=["stream", "whole", "chat"],
)
def test_a_request_is_recorded_with_its_reads(
    tmp_path: Path, exchange: Exchange, path: str
) -> None:
    recorded = tmp_path / "a.yaml"
    body = body_of(exchange)
    pieces = in_pieces(exchange)
    account = {"openai-organization": ["org-secret-of-mine"], "x-request-id": ["req_1"]}
    headers = {**exchange.headers, **account}
    served = replace(exchange, reads=tuple((None, piece) for piece in pieces), headers=headers)
    with serve(tape(served), pace="step", match="path") as server:
        cassette = record_requests(
            "openai",
            [GenerateAsk(body, body["model"], streamed=body.get("stream", False))],
            recorded,
            settings=Settings(api_key=KEY, base_url=server.base_url),
            limits=Limits(attempts=1),
        )
        (request,) = server.requests
    sent = json.loads(request.body)
    assert (request.path, {**sent, "stream": sent.get("stream", False)}) == (
        path,
        {**body, "stream": body.get("stream", False)},
    )
    assert request.headers["authorization"] == f"Bearer {KEY}"
    (kept,) = cassette.exchanges
    assert (kept.body, kept.end, kept.provider) == (exchange.body, "complete", "openai")
    assert [data for _, data in kept.reads] == pieces
    assert cassette.origin.kind == "loopback"
    text = recorded.read_text()
    assert KEY not in text
    assert "org-secret" not in text


def test_a_key_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    openai()
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(MissingCredentials, match="set OPENAI_API_KEY"):
        record_requests(
            "openai",
            [GenerateAsk(body_of(TEXT), "m")],
            tmp_path / "a.yaml",
            settings=Settings(base_url="http://127.0.0.1:9"),
            limits=Limits(attempts=1),
        )


def test_a_client_is_recorded_once_and_then_replayed(tmp_path: Path) -> None:
    path, http = tmp_path / "c.yaml", transports("httpx2")

    def ask(tape: Any, base_url: str) -> list[Any]:
        with client_of(base_url, http_client=http.http.Client(transport=http.sync(tape))) as client:
            return [event.model_dump() for event in client.responses.create(**body_of(CALLS))]

    with (
        serve(tape(CALLS), pace="step") as server,
        use_cassette(path, mode="once") as recording,
    ):
        first = ask(recording, server.base_url)
    with use_cassette(path, mode="none") as recording:
        assert ask(recording, "http://127.0.0.1:9") == first
    (kept,) = load(path).exchanges
    assert (kept.body, kept.provider) == (CALLS.body, "openai")
    assert KEY not in path.read_text()


@pytest.mark.parametrize("exchange", [CALLS, CHAT], ids=["responses", "chat"])
def test_a_client_is_recorded_through_the_relay(tmp_path: Path, exchange: Exchange) -> None:
    """The cassette has each byte and read of the answer, and nothing of the account."""
    path, pieces, body = tmp_path / "c.yaml", in_pieces(exchange), body_of(exchange)
    account = {"openai-organization": ["org-of-mine"], "openai-project": ["proj_of_mine"]}
    headers = {**exchange.headers, **account}
    served = replace(exchange, reads=tuple((None, piece) for piece in pieces), headers=headers)
    with (
        serve(tape(served), pace="step", match="path") as server,
        use_cassette(path, mode="once") as recording,
        relay(recording, upstream_by_path({"OPENAI_BASE_URL": f"{server.base_url}/v1"})) as url,
        client_of(url, organization="org-of-mine", project="proj_of_mine") as client,
    ):
        resource = client.responses if "input" in body else client.chat.completions
        messages = [message.model_dump() for message in resource.create(**body)]
        (request,) = server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["openai-organization"] == "org-of-mine"
    assert request.headers["openai-project"] == "proj_of_mine"
    (kept,) = load(path).exchanges
    assert kept.request is not None
    assert ([data for _, data in kept.reads], kept.end) == (pieces, "complete")
    assert (kept.body, kept.request.body) == (exchange.body, request.body)
    assert (kept.provider, kept.streamed) == ("openai", True)
    text = path.read_text()
    assert all(secret not in text for secret in (KEY, "org-of-mine", "proj_of_mine"))
    with (
        use_cassette(path) as playback,
        relay(playback) as url,
        client_of(url) as client,
    ):
        resource = client.responses if "input" in body else client.chat.completions
        assert [message.model_dump() for message in resource.create(**body)] == messages
