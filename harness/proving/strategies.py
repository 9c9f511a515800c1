"""Hypothesis strategies for streams. They need ``hypothesis``.

`bodies` are whole, valid streams of the Gemini API. `exchanges` are such streams, cut into reads.
`wild_exchanges` are answers that a broken network or a new model could give::

    @given(exchanges())
    def test_text_is_passed_on(exchange):
        assert text_of(my_adapter(exchange)) == gather_body(exchange.body).text

https://hypothesis.readthedocs.io explains how strategies are used and combined.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from hypothesis import strategies as st

from harness.stream.exchange import Exchange, Request
from harness.stream.json_codec import Json

URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = st.from_regex(r"[a-z][a-z_]{0,9}", fullmatch=True)
SIGNATURES = st.binary(min_size=1, max_size=12).map(lambda data: base64.b64encode(data).decode())
REASONS = st.sampled_from(
    ["STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "MALFORMED_FUNCTION_CALL", "BRAND_NEW"]
)


def values(max_leaves: int = 8) -> st.SearchStrategy[Json]:
    """Return a strategy for any JSON value without lone surrogates, NaN or infinities."""
    scalars = (
        st.none()
        | st.booleans()
        | st.integers(-(2**70), 2**70)
        | st.floats(allow_nan=False, allow_infinity=False)
        | TEXTS
    )
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
        max_leaves=max_leaves,
    )


def parts() -> st.SearchStrategy[dict[str, Json]]:
    """Return a part of an answer: text, thought, call, media or code, with or without a
    signature.
    """
    arguments = st.dictionaries(NAMES, values(), max_size=3)
    kinds = st.one_of(
        st.fixed_dictionaries({"text": TEXTS}),
        st.fixed_dictionaries({"text": TEXTS, "thought": st.just(True)}),
        st.fixed_dictionaries(
            {
                "functionCall": st.fixed_dictionaries(
                    {"name": NAMES, "args": arguments}, optional={"id": NAMES}
                )
            }
        ),
        st.just({"inlineData": {"mimeType": "image/png", "data": "QQ=="}}),
        st.just({"executableCode": {"language": "PYTHON", "code": "1"}}),
    )
    return st.builds(
        lambda part, signature: part | ({"thoughtSignature": signature} if signature else {}),
        kinds,
        st.none() | SIGNATURES,
    )


def messages() -> st.SearchStrategy[list[dict[str, Json]]]:
    """Return the messages of one whole answer.

    The last message has a finish reason. The last message or all messages have token counts. All
    signatures differ, because each of Google's signatures signs its own part.
    """

    def answer(
        contents: list[list[dict[str, Json]]], reason: str, counts: list[int], everywhere: bool
    ) -> list[dict[str, Json]]:
        result: list[dict[str, Json]] = [
            {"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}]}
            for parts in contents
        ]
        result[-1]["candidates"][0]["finishReason"] = reason
        usage = dict(
            zip(
                ("promptTokenCount", "candidatesTokenCount", "totalTokenCount"), counts, strict=True
            )
        )
        for message in result if everywhere else result[-1:]:
            message["usageMetadata"] = usage
        return result

    contents = st.lists(st.lists(parts(), min_size=1, max_size=3), min_size=1, max_size=5).filter(
        _signed_apart
    )
    return st.builds(
        answer,
        contents,
        REASONS,
        st.lists(st.integers(0, 10**6), min_size=3, max_size=3),
        st.booleans(),
    )


def _signed_apart(contents: list[list[dict[str, Json]]]) -> bool:
    signatures = [
        part["thoughtSignature"]
        for parts in contents
        for part in parts
        if "thoughtSignature" in part
    ]
    return len(signatures) == len(set(signatures))


def bodies() -> st.SearchStrategy[bytes]:
    """Return a body of one whole answer: server-sent events with any line end, with or without a
    comment before them, or a JSON array.
    """

    def sse(answer: list[dict[str, Json]], end: str, escape: bool) -> bytes:
        return "".join(
            f"data: {json.dumps(message, ensure_ascii=escape)}{end}{end}" for message in answer
        ).encode()

    streams = st.builds(sse, messages(), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
    arrays = messages().map(lambda answer: json.dumps(answer, indent=1).encode())
    return streams | arrays | streams.map(lambda body: b": ping\n\n" + body)


@st.composite
def exchanges(draw: st.DrawFn) -> Exchange:
    """Return a whole answer, cut into reads at any places."""
    return _cut(draw, draw(bodies()), "complete")


@st.composite
def wild_exchanges(draw: st.DrawFn) -> Exchange:
    """Return an answer with lost, repeated or replaced bytes and any status. It may be
    interrupted.
    """
    body = draw(bodies())
    start, stop = sorted((draw(st.integers(0, len(body))), draw(st.integers(0, len(body)))))
    body = body[:start] + draw(st.binary(max_size=30) | st.just(body[start:stop] * 2)) + body[stop:]
    exchange = _cut(draw, body, draw(st.sampled_from(["complete", "cut", "reset", "unknown"])))
    return Exchange(
        exchange.request,
        draw(st.sampled_from([200, 200, 200, 400, 503])),
        {},
        exchange.reads,
        exchange.end,
        "",
        "gemini-api",
        True,
    )


def _cut(draw: st.DrawFn, body: bytes, end: Any) -> Exchange:
    places = sorted(draw(st.lists(st.integers(0, len(body)), max_size=6)))
    pieces = [
        piece
        for start, stop in zip([0, *places], [*places, len(body)], strict=True)
        if (piece := body[start:stop])
    ]
    times = draw(
        st.none() | st.lists(st.integers(0, 10**9), min_size=len(pieces), max_size=len(pieces))
    )
    read_times = (
        [None] * len(pieces) if times is None else [micros / 1000 for micros in sorted(times)]
    )
    return Exchange(
        Request("POST", URL),
        200,
        {},
        tuple(zip(read_times, pieces, strict=True)),
        end,
        "",
        "gemini-api",
        True,
    )
