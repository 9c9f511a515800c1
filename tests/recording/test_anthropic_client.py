"""The client `anthropic` is served from cassettes, recorded with its exact reads, and replayed."""

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
from harness.recording.run import record_requests
from harness.recording.settings import GenerateAsk, Limits, MissingCredentials, Settings
from harness.server import Server, serve
from tests.server.socket_client import tape
from tests.support.need import need

pytestmark = pytest.mark.slow  # the import of the client takes seconds

CASSETTES = Path(__file__).parents[2] / "cassettes"
OWN = CASSETTES / "anthropic"
KEY = "sk-ant-api03-" + "Zq7" * 30
TEXT = load(OWN / "text.yaml").exchanges[0]
CALLS = load(OWN / "calls.yaml").exchanges[1]
TOO_LONG = load(OWN / "errors.yaml").exchanges[0]


def anthropic() -> Any:
    need("clients", find_spec("anthropic"), "anthropic is not installed")
    return import_module("anthropic")


def body_of(exchange: Exchange) -> dict[str, Any]:
    assert exchange.request is not None
    body: dict[str, Any] = json.loads(exchange.request.body)
    return body


def client_of(base_url: str, **more: Any) -> Any:
    return anthropic().Anthropic(api_key=KEY, base_url=base_url, max_retries=0, **more)


def in_pieces(exchange: Exchange) -> list[bytes]:
    """The reads of an answer that is served in three pieces."""
    body, size = exchange.body, len(exchange.body) // 3 + 1
    return [body[at : at + size] for at in range(0, len(body), size)]


@pytest.fixture(name="server")
def _server() -> Iterator[Server]:
    paths = [OWN / "calls.yaml", OWN / "errors.yaml"]
    with serve(paths, pace="step") as server:
        yield server


def test_the_client_streams_from_recordings_of_its_own_wire(server: Server) -> None:
    with client_of(server.base_url) as client:
        asked = body_of(CALLS)
        asked.pop("stream")
        with client.messages.stream(**asked) as stream:
            message = stream.get_final_message()
    assert [block.type for block in message.content] == ["text", "tool_use", "tool_use"]
    assert [block.input for block in message.content[1:]] == [{"city": "Oslo"}, {"city": "Bergen"}]
    assert (message.stop_reason, message.usage.output_tokens) == ("tool_use", 71)


def test_errors_have_the_form_of_the_wire(server: Server) -> None:
    errors = anthropic()
    with client_of(server.base_url) as client:
        with pytest.raises(errors.BadRequestError, match="prompt is too long"):
            client.messages.create(**body_of(TOO_LONG))
        unknown = {**body_of(TOO_LONG), "messages": [{"role": "user", "content": "What?"}]}
        with pytest.raises(errors.NotFoundError) as caught:
            client.messages.create(**unknown)
        assert caught.value.body["error"]["type"] == "not_found_error"
        counted = client.messages.count_tokens(model="m", messages=unknown["messages"])
        assert counted.input_tokens > 0


def test_a_fault_is_an_error_of_the_wire() -> None:
    errors = anthropic()
    with (
        serve([OWN / "text.yaml"], fault="status:529") as server,
        client_of(server.base_url) as client,
        pytest.raises(errors.APIStatusError) as caught,
    ):
        client.messages.create(**body_of(TOO_LONG))
    assert caught.value.status_code == 529
    assert caught.value.body["error"]["type"] == "overloaded_error"


def test_own_recordings_come_before_translated_ones() -> None:
    gemini = CASSETTES / "gemini-api" / "text.yaml"
    model = load(gemini).exchanges[0].model
    for path, asked, message_id in (
        (OWN / "text.yaml", body_of(TEXT), "msg_01"),
        (gemini, {**body_of(TEXT), "model": model}, "msg_1"),
    ):
        with (
            serve([path], dialect="anthropic", match="path") as server,
            client_of(server.base_url) as client,
            client.messages.create(**asked) as events,
        ):
            first = next(iter(events))
        assert (first.message.id, first.message.model) == (message_id, asked["model"])


@pytest.mark.parametrize("exchange", [TEXT, CALLS], ids=["text", "calls"])
def test_a_request_is_recorded_with_its_reads(tmp_path: Path, exchange: Exchange) -> None:
    path = tmp_path / "a.yaml"
    body = body_of(exchange)
    pieces = in_pieces(exchange)
    served = replace(exchange, reads=tuple((None, piece) for piece in pieces))
    with serve(tape(served), pace="step") as server:
        cassette = record_requests(
            "anthropic",
            [GenerateAsk(body, body["model"], streamed=True)],
            path,
            settings=Settings(api_key=KEY, base_url=server.base_url),
            limits=Limits(attempts=1),
        )
        (request,) = server.requests
    assert (request.path, json.loads(request.body)) == ("/v1/messages", body)
    assert request.headers["authorization"] == f"Bearer {KEY}"
    (kept,) = cassette.exchanges
    assert (kept.body, kept.end, kept.provider) == (exchange.body, "complete", "anthropic")
    assert [data for _, data in kept.reads] == pieces
    assert cassette.origin.kind == "loopback"
    assert KEY not in path.read_text()


def test_a_key_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(MissingCredentials, match="set ANTHROPIC_API_KEY"):
        record_requests(
            "anthropic",
            [GenerateAsk(body_of(TEXT), "m")],
            tmp_path / "a.yaml",
            settings=Settings(base_url="http://127.0.0.1:9"),
            limits=Limits(attempts=1),
        )


def test_a_client_is_recorded_once_and_then_replayed(tmp_path: Path) -> None:
    path, http = tmp_path / "c.yaml", transports("httpx2")

    def ask(tape: Any, base_url: str) -> list[Any]:
        with client_of(base_url, http_client=http.http.Client(transport=http.sync(tape))) as client:
            return [event.model_dump() for event in client.messages.create(**body_of(CALLS))]

    with (
        serve([OWN / "calls.yaml"], pace="step") as server,
        use_cassette(path, mode="once") as recording,
    ):
        first = ask(recording, server.base_url)
    with use_cassette(path, mode="none") as playback:
        assert ask(playback, "http://127.0.0.1:9") == first
    (kept,) = load(path).exchanges
    assert (kept.body, kept.provider) == (CALLS.body, "anthropic")
    assert KEY not in path.read_text()


def test_the_relay_records_the_client(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--harness-record` records a client that asks the relay, and its key is in no file."""
    asked = body_of(TEXT)
    pytester.makepyfile(
        f"""
        import anthropic
        import pytest

        @pytest.mark.harness_cassette("claude")
        def test_claude(harness_base_url):
            client = anthropic.Anthropic(api_key={KEY!r}, base_url=harness_base_url, max_retries=0)
            with client, client.messages.create(**{asked!r}) as events:
                kinds = [event.type for event in events]
            assert kinds[0] == "message_start" and kinds[-1] == "message_stop"
        """
    )
    served = replace(TEXT, reads=tuple((None, piece) for piece in in_pieces(TEXT)))
    with serve(tape(served), pace="step") as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        pytester.runpytest("--harness-record", "once").assert_outcomes(passed=1)
    monkeypatch.delenv("ANTHROPIC_BASE_URL")
    pytester.runpytest().assert_outcomes(passed=1)
    (path,) = pytester.path.rglob("claude.yaml")
    (kept,) = load(path).exchanges
    assert [data for _, data in kept.reads] == in_pieces(TEXT)
    assert (kept.provider, kept.streamed, kept.end) == ("anthropic", True, "complete")
    assert KEY not in path.read_text(encoding="utf-8")
