"""The unified-llm client asks Gemini: a whole answer, a stream, and a call of a tool.

Each answer is short. Without a key each test skips with the reason; with
HARNESS_REQUIRE=live-gemini-api it fails instead. HARNESS_MODEL names the model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from harness.systems.unified_llm import Client, StreamAccumulator
from harness.systems.unified_llm.call import KEY_NAMES
from tests.support.need import need

MODEL = os.environ.get("HARNESS_MODEL", "gemini-3.8-flash")


@pytest.fixture
def client() -> Iterator[Client]:
    key = next((os.environ[name] for name in KEY_NAMES if os.environ.get(name)), None)
    need("live-gemini-api", key, f"Gemini is not asked: no key; set {KEY_NAMES[0]}")
    with Client(key) as client:
        yield client


def request(text: str, **more: Any) -> dict[str, Any]:
    return {
        "model": f"gemini:{MODEL}",
        "messages": [{"role": "user", "content": text}],
        "max_tokens": 1024,
        **more,
    }


def test_a_whole_answer(client: Client) -> None:
    response = client.complete(request("Say hello in one word."))
    assert response.text.strip()
    assert response["finish_reason"]["reason"] == "stop"
    assert response["usage"]["input_tokens"] > 0


def test_a_stream(client: Client) -> None:
    events = list(client.stream(request("Say hello in one word.")))
    assert (events[0]["type"], events[-1]["type"]) == ("STREAM_START", "FINISH")
    assert StreamAccumulator(events).response == events[-1]["response"]


def test_a_call_and_its_result(client: Client) -> None:
    ran: list[dict[str, Any]] = []

    def temperature(arguments: dict[str, Any]) -> dict[str, int]:
        ran.append(arguments)
        return {"celsius": 4}

    tool = {
        "name": "temperature",
        "description": "The temperature of a city, in degrees Celsius",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
        "execute": temperature,
    }
    response = client.generate(request("How warm is Oslo? Use the tool.", tools=[tool]))
    assert [list(arguments) for arguments in ran] == [["city"]]
    assert "4" in response.text
