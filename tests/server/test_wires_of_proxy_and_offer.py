"""The Interactions API and the compatible endpoint behind `/v1/messages`, and in offers."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from harness.cassettes import Exchange
from harness.server import serve
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
    interaction_stream,
    text_step,
)

WHOLE = {"id": "v1_a", "object": "interaction", "status": "completed", "model": MODEL}
SAID = {"type": "model_output", "content": [{"type": "text", "text": "Hi."}]}
COMPLETION = {
    "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": "Hi."}}],
    "model": MODEL,
    "object": "chat.completion",
}
ANSWERS: dict[str, tuple[str, tuple[bytes, ...], bytes]] = {
    "interactions": (
        INTERACTIONS,
        interaction_stream(text_step(0, "Hi.")),
        json.dumps({**WHOLE, "steps": [SAID]}).encode(),
    ),
    "openai-compat": (
        CHAT,
        (chunk({"content": "Hi."}), chunk({}, finish_reason="stop"), CHAT_DONE),
        json.dumps(COMPLETION).encode(),
    ),
}


def answer(provider: str, streamed: bool) -> Exchange:
    path, stream, whole = ANSWERS[provider]
    request = {"model": MODEL, **({"stream": True} if streamed else {})}
    return exchange(path, request, *(stream if streamed else [whole]))


@pytest.mark.parametrize("asked", [True, False], ids=["asked streamed", "asked unary"])
@pytest.mark.parametrize("recorded", [True, False], ids=["recorded streamed", "recorded unary"])
@pytest.mark.parametrize("provider", ANSWERS)
def test_messages_are_answered_from_either_mode(provider: str, recorded: bool, asked: bool) -> None:
    cassette = tape(answer(provider, recorded))
    message = {"role": "user", "content": "Hello"}
    request = {"model": MODEL, "max_tokens": 9, "messages": [message], "stream": asked}
    with serve(cassette, dialect="anthropic", match="path", pace="instant") as server:
        response = httpx2.post(f"{server.base_url}/v1/messages", json=request)
    assert response.status_code == 200
    if asked:
        assert '"text":"Hi."' in response.text
    else:
        assert response.json()["content"] == [{"type": "text", "text": "Hi."}]


def post(url: str, request: dict[str, Any]) -> httpx2.Response:
    return httpx2.post(url, json={"model": "any", **request})


@pytest.mark.slow
@pytest.mark.parametrize("provider", ANSWERS)
def test_an_offer_takes_any_address_and_ends_with_a_final_answer(provider: str) -> None:
    path, stream, _ = ANSWERS[provider]
    history = "input" if provider == "interactions" else "messages"
    with serve(pace="instant") as server, server.offer(answer(provider, True), final=True) as offer:
        url = offer.base_url + path.replace("v1beta", "v1alpha")
        assert post(url, {history: [1]}).status_code == 404  # the other mode
        first = post(url, {history: [1], "stream": True})
        assert first.content == b"".join(stream)
        again = post(url, {history: [1], "stream": True})
        assert (again.status_code, offer.asked_again) == (409, 1)
        assert "Done." in post(url, {history: [1, 2], "stream": True}).text
        assert [request.status for request in offer.requests] == [404, 200, 409, 200]
        assert f"model any, recorded {MODEL}" in offer.requests[1].notes


@pytest.mark.parametrize("provider", ANSWERS)
def test_a_final_answer_can_be_unary(provider: str) -> None:
    path, _, _ = ANSWERS[provider]
    history = "input" if provider == "interactions" else "messages"
    with (
        serve(pace="instant") as server,
        server.offer(answer(provider, False), final=True) as offer,
    ):
        assert post(offer.base_url + path, {history: [1]}).status_code == 200
        assert "Done." in post(offer.base_url + path, {history: [1, 2]}).text


@pytest.mark.slow
def test_an_offered_interaction_is_polled_after_it_was_answered() -> None:
    running = {**WHOLE, "status": "in_progress"}
    background = exchange(
        INTERACTIONS, {"model": MODEL, "background": True}, json.dumps(running).encode()
    )
    with serve(pace="instant") as server, server.offer(background) as offer:
        stored = f"{offer.base_url}{INTERACTIONS}/v1_a"
        assert httpx2.get(stored).status_code == 404
        post(offer.base_url + INTERACTIONS, {"input": "x", "background": True})
        assert httpx2.get(stored).json()["status"] == "in_progress"
        assert httpx2.post(f"{stored}/cancel").json()["status"] == "cancelled"
        assert httpx2.get(stored).json()["status"] == "cancelled"
        assert [request.generates for request in offer.requests] == [False, True, *[False] * 3]
        assert offer.answered == 1


@pytest.mark.parametrize(
    ("offered", "path"),
    [
        (exchange(INTERACTIONS, {"stream": True}, *CALLING), CHAT),
        (exchange(CHAT, {"stream": True}, *CHAT_CALLING), INTERACTIONS),
    ],
)
def test_a_request_on_another_wire_is_a_miss(offered: Exchange, path: str) -> None:
    with serve(pace="instant") as server, server.offer(offered) as offer:
        missed = post(offer.base_url + path, {"stream": True})
        assert (missed.status_code, offer.answered) == (404, 0)
        assert "but the offered exchange is from" in missed.text
