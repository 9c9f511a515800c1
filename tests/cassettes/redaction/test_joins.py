"""A secret in pieces of a stream is found with other pieces between, and masked in its pieces."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from harness.cassettes.redaction import joins
from harness.cassettes.redaction.guard import Guard
from harness.cassettes.redaction.mask import Mask
from tests.cassettes.redaction.samples import NAME, SCANNER, SECRET, SHAPES

Frames = Callable[[str, str], list[object]]


def candidate(*parts: object, **fields: object) -> dict[str, object]:
    return {"content": {"parts": list(parts), "role": "model"}, **fields}


def candidates(*items: object) -> dict[str, object]:
    return {"candidates": list(items), "modelVersion": "m"}


def choice(index: int, **delta: object) -> dict[str, object]:
    return {"choices": [{"index": index, "delta": delta}]}


def delta(index: int, **fields: object) -> dict[str, object]:
    return {"event_type": "step.delta", "index": index, "delta": fields}


def response(kind: str, piece: str, **place: object) -> dict[str, object]:
    return {"type": f"response.{kind}.delta", **place, "delta": piece}


BETWEEN: dict[str, Frames] = {
    "a thought": lambda piece, other: [
        candidates(candidate({"text": piece})),
        candidates(candidate({"text": other, "thought": True})),
    ],
    "an answer between thoughts": lambda piece, other: [
        candidates(candidate({"text": piece, "thought": True})),
        candidates(candidate({"text": other})),
    ],
    "a thought in the same frame": lambda piece, other: [
        candidates(candidate({"text": other, "thought": True}, {"text": piece})),
    ],
    "another part": lambda piece, other: [
        candidates(candidate({"text": piece}, {"text": other})),
    ],
    "code": lambda piece, other: [
        candidates(candidate({"text": piece}, {"executableCode": {"code": other}})),
    ],
    "the result of code": lambda piece, other: [
        candidates(
            candidate({"codeExecutionResult": {"outcome": "OK", "output": other}}, {"text": piece})
        ),
    ],
    "another candidate": lambda piece, other: [
        candidates(candidate({"text": piece}), candidate({"text": other}, index=1)),
    ],
    "another candidate in its own frame": lambda piece, other: [
        candidates(candidate({"text": piece}, index=0)),
        candidates(candidate({"text": other}, index=1)),
    ],
    "another candidate in any order": lambda piece, other: [
        candidates(candidate({"text": other}, index=1), candidate({"text": piece})),
        candidates(candidate({"text": ""}, index=0), candidate({"text": other}, index=1)),
    ],
    "other arguments": lambda piece, other: [
        candidates(
            candidate(
                {
                    "functionCall": {
                        "partialArgs": [
                            {"jsonPath": "$.a", "stringValue": piece},
                            {"jsonPath": "$.b", "stringValue": other},
                        ]
                    }
                }
            )
        ),
    ],
    "a source": lambda piece, other: [
        {"candidates": [candidate({"text": piece}, groundingMetadata={"text": other})]},
    ],
    "a choice": lambda piece, other: [choice(0, content=piece), choice(1, content=other)],
    "reasoning": lambda piece, other: [
        choice(0, content=piece),
        choice(0, reasoning_content=other),
    ],
    "another call": lambda piece, other: [
        choice(0, tool_calls=[{"index": 0, "function": {"arguments": piece}}]),
        choice(0, tool_calls=[{"index": 1, "function": {"arguments": other}}]),
    ],
    "another item": lambda piece, other: [
        response("output_text", piece, output_index=0, content_index=0),
        response("output_text", other, output_index=1, content_index=0),
    ],
    "another item by its id": lambda piece, other: [
        response("output_text", piece, item_id="msg_1", sequence_number=len(other)),
        response("output_text", other, item_id="msg_2", sequence_number=len(piece)),
    ],
    "another content part": lambda piece, other: [
        response("output_text", piece, item_id="msg_1", output_index=0, content_index=1),
        response("output_text", other, item_id="msg_1", output_index=0, content_index=2),
    ],
    "another part of a summary": lambda piece, other: [
        response("reasoning_summary_text", piece, output_index=0, summary_index=0),
        response("reasoning_summary_text", other, output_index=0, summary_index=1),
    ],
    "a parallel call": lambda piece, other: [
        response("function_call_arguments", piece, item_id="fc_1", output_index=1),
        response("function_call_arguments", other, item_id="fc_2", output_index=2),
    ],
    "another step": lambda piece, other: [
        delta(0, type="text", text=piece),
        delta(1, type="text", text=other),
    ],
    "a summary": lambda piece, other: [
        delta(0, type="text", text=piece),
        delta(0, type="thought_summary", content={"type": "text", "text": other}),
    ],
}
WRITTEN: dict[str, Callable[[list[object]], str]] = {
    "events": lambda frames: "".join(f"data: {json.dumps(frame)}\r\n\r\n" for frame in frames),
    "lines": lambda frames: "".join(f"{json.dumps(frame)}\n" for frame in frames),
    "an array": lambda frames: json.dumps(frames, indent=2),
    "a cut array": lambda frames: json.dumps(frames, indent=2)[:-1],
    "excerpts": lambda frames: "\n\0\n".join(f"@12 {json.dumps(frame)}" for frame in frames),
}


def stream(between: str, written: str, secret: str) -> str:
    frames: list[object] = []
    for start in range(0, len(secret), 6):
        frames += BETWEEN[between](secret[start : start + 6], f" other {start} ")
    return WRITTEN[written](frames)


@pytest.mark.parametrize("secret", [SECRET, next(iter(SHAPES)), next(reversed(SHAPES))])
@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("between", BETWEEN)
def test_a_secret_is_found_in_pieces_with_others_between(
    between: str, written: str, secret: str
) -> None:
    text = stream(between, written, secret)
    assert SCANNER.scan(text.encode())
    data = text.encode()
    for start, stop in reversed(SCANNER.spans(data)):
        data = data[:start] + data[stop:]
    assert not SCANNER.scan(data)
    assert data.count(b" other ") == text.count(" other ")
    if written == "events":
        for line in data.decode().splitlines():
            assert not line or json.loads(line.removeprefix("data: "))
    assert not Guard({NAME: SECRET}).scan(
        stream(between, written, f"{secret[:3]} {secret[3:]}").encode()
    )


@pytest.mark.parametrize("between", BETWEEN)
def test_pieces_of_different_texts_are_no_secret(between: str) -> None:
    """The parts of a value in two texts that no reader joins."""
    first, second = "gAfGsecretpiece", "secondpiece7731"
    text = WRITTEN["events"](BETWEEN[between](f"a {first} b", f"c {second} d"))
    assert not Guard({NAME: first + second}).scan(text.encode())


@pytest.mark.parametrize("depth", [20, 10**3, 10**5])
def test_pieces_in_deep_json_are_found(depth: int) -> None:
    frame = '{"a":[' * depth + '{"text": "%s"}, {"text": " other "}' + "]}" * depth
    for pieces in (SECRET[:6], SECRET[6:9], SECRET[9:]), ("s\u00ebcr",):
        text = "".join(f"data: {frame % json.dumps(piece)[1:-1]}\n\n" for piece in pieces)
        # Paths as deep as this are shortened, so only pieces without others between are found.
        whole = text if depth < 50 else text.replace(', {"text": " other "}', "")
        assert bool(SCANNER.scan(whole.encode())) == (len(pieces) > 1)


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("between", BETWEEN)
def test_a_secret_is_found_across_the_blocks_of_a_body_with_many_pieces(
    between: str, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joins, "BLOCK", 60)
    monkeypatch.setattr(joins, "OVERLAP", 30)
    for before in range(0, 60, 7):
        frames: list[object] = [candidates(candidate({"text": "before"}))] * before
        for start in range(0, len(SECRET), 6):
            frames += BETWEEN[between](SECRET[start : start + 6], f" other {start} ")
        frames += [candidates(candidate({"text": "after"}))] * 60
        assert SCANNER.scan(WRITTEN[written](frames).encode())


def test_a_body_with_many_pieces_is_joined_in_blocks() -> None:
    data = b'{"text": "a piece"}\n' * (3 * joins.BLOCK)
    assert max(map(len, joins.joins(data))) == joins.BLOCK


@pytest.mark.parametrize("gap", ["", "...", " \N{HORIZONTAL ELLIPSIS} (2,000 characters)"])
def test_a_short_rest_of_a_private_key_is_masked(gap: str) -> None:
    text = f"it is -----BEGIN RSA PRIVATE KEY-----\\nMIIabcd+ef/gh{gap}"
    assert Mask().text(text) == "it is REDACTED"
