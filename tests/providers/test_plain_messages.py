"""Messages without a mark of a provider are recognized in one check, with the same result as asking
each provider.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cassettes.load import load
from harness.providers import PROVIDERS, FirstMessages, Identity, detect_provider, detection
from harness.providers.gemini.messages import is_plain
from tests.cassettes.test_shipped_wire import CASSETTES

PLAIN: dict[str, Any] = {
    "candidates": [{"content": {"parts": [{"text": "Hi"}], "role": "model"}}],
    "usageMetadata": {"promptTokenCount": 1, "promptTokensDetails": [{"modality": "TEXT"}]},
    "modelVersion": "m",
    "responseId": "r",
}


def test_no_provider_recognizes_a_plain_message() -> None:
    assert is_plain(json.dumps(PLAIN).encode())
    for has_request in (False, True):
        for streamed in (False, True):
            first = FirstMessages(b"", [PLAIN], streamed, has_request)
            assert [provider.detect(first) for provider in PROVIDERS.values()] == [None] * len(
                PROVIDERS
            )


@pytest.mark.parametrize("key", ["createTime", "response", "event_type", "object", "type", "error"])
def test_a_message_with_a_mark_is_not_plain(key: str) -> None:
    assert not is_plain(json.dumps({**PLAIN, key: "x"}).encode())


@pytest.mark.parametrize("key", ["trafficType", "traffic_type"])
def test_a_message_with_a_mark_in_its_counts_is_not_plain(key: str) -> None:
    assert not is_plain(json.dumps({**PLAIN, "usageMetadata": {key: "ON_DEMAND"}}).encode())


def by_asking_each(body: bytes, url: str) -> Identity:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(detection, "_are_plain", lambda frames, has_request: False)
        return detect_provider("POST", url, b"", body)


@pytest.mark.slow
def test_shipped_bodies_have_the_same_provider_by_both_ways() -> None:
    for path in CASSETTES.rglob("*.yaml"):
        for exchange in load(path).exchanges:
            body = exchange.body
            for url in ("", "https://gateway.example/x"):
                assert detect_provider("POST", url, b"", body) == by_asking_each(body, url)


PIECES = st.sampled_from(
    [
        b'{"candidates": [{}]}', b'{"candidates": null}', b'{"usageMetadata": {}}', b'{}', b"[]",
        b'{"usageMetadata": null}', b'{"usageMetadata": {"trafficType": "x"}}', b'{"error": {}}',
        b'{"candidates": [], "createTime": "x"}', b'{"response": {"candidates": []}}', b"x",
        b'{"candidates": [], "candidates": null}', b'{"candidates": ["\xff"]}', b'{"responseId": 1}',
        b'{"candidates": [' + b"[" * 300 + b"]" * 300 + b"]}", b'{"type": "init", "timestamp": 1}',
        b'{"\\u0063reateTime": "x", "candidates": []}', b'{"session_id": "s", "stats": {}}',
        b'{"modelVersion": "m"}', b'{"event_type": "step.start"}', b'{"object": "interaction"}',
    ]
)  # fmt: skip


@pytest.mark.slow
@given(
    st.lists(PIECES, max_size=5),
    st.sampled_from([b"\n\n", b"\r\n\r\n", b"\n"]),
    st.sampled_from(["", "https://gateway.example/x"]),
)
def test_streams_have_the_same_provider_by_both_ways(
    messages: list[bytes], end: bytes, url: str
) -> None:
    body = b"".join(b"data: " + message + end for message in messages)
    assert detect_provider("POST", url, b"", body) == by_asking_each(body, url)
