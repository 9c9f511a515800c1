"""The request after an answer: a faithful request is kept, and each planted fault is found."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from harness.facts import WireFacts
from harness.providers.gemini.facts import read_messages
from harness.providers.second_turn import result_with_image
from tests.support.second_turn import judge_second_turn
from tests.support.wire_answers import facts_of_body

SIGNED = "c2lnbmF0dXJlIG9mIHRoZSBmaXJzdCBjYWxs"
OF_TEXT = "c2lnbmF0dXJlIG9mIHRoZSB0ZXh0"
ANSWER = read_messages(
    [
        {
            "candidates": [
                {
                    "content": {
                        "parts": [
                            {"text": "I look. ", "thoughtSignature": OF_TEXT},
                            {
                                "functionCall": {"id": "a", "name": "f", "args": {"x": 1}},
                                "thoughtSignature": SIGNED,
                            },
                            {"functionCall": {"name": "g", "args": {}}},
                            {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH", "args": {}}},
                        ]
                    },
                    "finishReason": "STOP",
                }
            ]
        }
    ]
)
FIRST = {"contents": [{"role": "user", "parts": [{"text": "Weather?"}]}]}
MODEL: list[dict[str, Any]] = [
    {"text": "I look. ", "thoughtSignature": OF_TEXT},
    {"functionCall": {"id": "a", "name": "f", "args": {"x": 1.0}}, "thoughtSignature": SIGNED},
    {"functionCall": {"id": "own-1", "name": "g"}},
    {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH", "args": {}}},
]
RESULTS: list[dict[str, Any]] = [
    {"functionResponse": {"id": "a", "name": "f", "response": {"result": 1}}},
    {"functionResponse": {"id": "own-1", "name": "g", "response": {"result": 2}}},
]
Change = Callable[[list[dict[str, Any]], list[dict[str, Any]]], Any]


def request_with(change: Change) -> dict[str, Any]:
    model, results = copy.deepcopy(MODEL), copy.deepcopy(RESULTS)
    change(model, results)
    contents = [{"role": "model", "parts": model}, {"role": "user", "parts": results}]
    return {"contents": [*FIRST["contents"], *contents]}


def red(change: Change) -> dict[str, str]:
    findings = judge_second_turn(ANSWER, request_with(change))
    return {aspect: finding.verdict for aspect, finding in findings.items() if finding.red}


def test_a_faithful_request_is_kept() -> None:
    assert red(lambda model, results: None) == {}
    assert judge_second_turn(ANSWER, request_with(lambda *_: None)).keys() == {
        *("calls", "ids", "signatures", "other_signatures", "results", "server_tools", "text")
    }


def test_the_envelope_of_code_assist_is_opened() -> None:
    body = {"model": "m", "request": request_with(lambda *_: None)}
    findings = judge_second_turn(ANSWER, body)
    assert not any(finding.red for finding in findings.values())


def test_signatures_are_compared_as_bytes() -> None:
    def other_alphabet(model: list[dict[str, Any]], results: list[dict[str, Any]]) -> None:
        model[1]["thoughtSignature"] += "=="
        model[2]["thoughtSignature"] = "skip_thought_signature_validator"

    assert red(other_alphabet) == {}


def test_a_provider_may_refuse_results_in_several_contents() -> None:
    whole = request_with(lambda *_: None)
    split = [{"role": "user", "parts": [part]} for part in RESULTS]
    request = {"contents": [*whole["contents"][:2], *split]}
    assert not judge_second_turn(ANSWER, request)["results"].red
    assert not judge_second_turn(ANSWER, whole, "vertex-ai")["results"].red
    finding = judge_second_turn(ANSWER, request, "vertex-ai")["results"]
    assert (finding.verdict, finding.reason) == ("wrong", "results-split")
    assert "the results are in 2 contents" in finding.sentence


FAULTS: list[tuple[str, Change, dict[str, str]]] = [
    ("a call lost", lambda model, results: (model.pop(2), results.pop(1)), {"calls": "lost"}),
    ("a call twice", lambda model, results: model.append(model[2]), {"calls": "wrong"}),
    (
        "an argument changed",
        lambda model, results: model[1]["functionCall"].update(args={"x": 2}),
        {"calls": "wrong"},
    ),
    (
        "the wire's id lost",
        lambda model, results: model[1]["functionCall"].pop("id"),
        {"ids": "lost"},
    ),
    (
        "the wire's id replaced",
        lambda model, results: model[1]["functionCall"].update(id="b"),
        {"ids": "wrong"},
    ),
    (
        "a result with another id than its call",
        lambda model, results: results[1]["functionResponse"].update(id="own-2"),
        {"ids": "wrong"},
    ),
    ("a result lost", lambda model, results: results.pop(), {"results": "lost"}),
    (
        "ids of results exchanged",
        lambda model, results: (
            results[0]["functionResponse"].update(id="own-1"),
            results[1]["functionResponse"].update(id="a"),
        ),
        {"results": "wrong"},
    ),
    (
        "the call's signature lost",
        lambda model, results: model[1].pop("thoughtSignature"),
        {"signatures": "lost"},
    ),
    (
        "the call's signature at another call",
        lambda model, results: model[2].update(thoughtSignature=model[1].pop("thoughtSignature")),
        {"signatures": "wrong"},
    ),
    (
        "the call's signature copied",
        lambda model, results: model[2].update(thoughtSignature=SIGNED),
        {"signatures": "wrong"},
    ),
    (
        "the text's signature lost",
        lambda model, results: model[0].pop("thoughtSignature"),
        {"other_signatures": "lost"},
    ),
    (
        "a signature at the text that no answer had",
        lambda model, results: model.insert(0, {"text": "", "thoughtSignature": "bnVsbA=="}),
        {"other_signatures": "wrong"},
    ),
    ("a server tool lost", lambda model, results: model.pop(), {"server_tools": "lost"}),
    ("text lost", lambda model, results: model[0].update(text=""), {"text": "lost"}),
    ("text behind the calls", lambda model, results: model.append(model.pop(0)), {"text": "wrong"}),
]


@pytest.mark.parametrize(
    ("change", "expected"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS]
)
def test_each_planted_fault_is_seen(change: Change, expected: dict[str, str]) -> None:
    findings = red(change)
    assert findings.items() >= expected.items()
    assert findings.keys() <= expected.keys() | {"ids", "results"}


def test_a_result_of_the_provider_is_no_result_of_the_client() -> None:
    own = {"functionResponse": {"id": "s", "name": "search", "response": {}}}
    assert red(lambda model, results: model.append(own)) == {}


RESULT_TEXTS: list[tuple[list[Any], str]] = [
    ([{"output": "result 1"}, {"output": '{"content": "result 2"}'}], "kept"),
    ([{"output": "result 1"}, {"output": "result 1"}], "wrong"),
    ([{"output": "result 2"}, {"output": "result 1"}], "wrong"),
    ([{"output": "result 1"}, {}], "lost"),
    ([{"output": "result 1"}, {"output": "[object Object]"}], "lost"),
]


@pytest.mark.parametrize(("responses", "verdict"), RESULT_TEXTS)
def test_each_result_has_the_text_that_was_given_for_it(responses: list[Any], verdict: str) -> None:
    def change(model: list[Any], results: list[Any]) -> None:
        for result, response in zip(results, responses, strict=True):
            result["functionResponse"]["response"] = response

    request = request_with(change)
    findings = judge_second_turn(ANSWER, request, given=[True, True])
    assert findings["results"].verdict == verdict
    first_alone = judge_second_turn(ANSWER, request, given=[True, False])
    assert first_alone["results"].verdict == "kept"
    assert judge_second_turn(ANSWER, request)["results"].verdict == "not_asked"


@pytest.mark.parametrize(("number", "verdict"), [(0, "kept"), (1, "wrong")])
def test_only_equal_calls_under_one_id_may_share_a_text(number: int, verdict: str) -> None:
    calls = [
        {"functionCall": {"id": "a", "name": "f", "args": {"x": argument}}}
        for argument in (0, number)
    ]
    result = {"functionResponse": {"id": "a", "name": "f", "response": {"output": "result 1"}}}
    contents = [{"role": "model", "parts": calls}, {"role": "user", "parts": [result, result]}]
    findings = judge_second_turn(answer_of(*calls), {"contents": contents}, given=[True, True])
    assert findings["results"].verdict == verdict


def answer_of(*parts: dict[str, Any]) -> WireFacts:
    body = {"candidates": [{"content": {"parts": list(parts)}, "finishReason": "STOP"}]}
    return facts_of_body(json.dumps(body).encode(), tool_code=True)


def verdicts_of(answer: WireFacts, *model: dict[str, Any]) -> dict[str, str]:
    results = [{"functionResponse": {"name": "f", "response": {}}} for _ in range(2)]
    calls = sum("functionCall" in part for part in model)
    contents = [
        *FIRST["contents"],
        {"role": "model", "parts": list(model)},
        {"role": "user", "parts": results[:calls] or [{"text": "Go on."}]},
    ]
    findings = judge_second_turn(answer, {"contents": contents})
    return {aspect: finding.verdict for aspect, finding in findings.items()}


def test_a_call_that_the_answer_does_not_have_is_wrong() -> None:
    call = {"functionCall": {"name": "f", "args": {}}}
    answer = answer_of({"text": "Hi"})
    assert verdicts_of(answer, {"text": "Hi"}) == {"text": "kept"}
    assert verdicts_of(answer, {"text": "Hi"}, call) == {"calls": "wrong", "text": "kept"}


def test_a_signature_of_an_answer_without_one_is_wrong() -> None:
    answer = answer_of({"text": "Hi"})
    verdict = verdicts_of(answer, {"text": "Hi", "thoughtSignature": "bnVsbA=="})
    assert verdict == {"text": "kept", "other_signatures": "wrong"}
    placeholder = {"text": "Hi", "thoughtSignature": "skip_thought_signature_validator"}
    assert "wrong" not in verdicts_of(answer, placeholder).values()


def test_tool_code_goes_back_as_text_or_as_a_call() -> None:
    block = '<tool_code>{"name": "f", "args": {"x": 1}}</tool_code>'
    answer = answer_of({"text": f"Now {block}"}, {"text": " and.", "thoughtSignature": OF_TEXT})
    end = {"text": " and.", "thoughtSignature": OF_TEXT}
    kept = {"text": "kept", "other_signatures": "kept"}
    assert verdicts_of(answer, {"text": f"Now {block}"}, end) == kept
    call = {"functionCall": {"name": "f", "args": {"x": 1}}}
    called = kept | {"calls": "kept", "results": "not_asked"}
    assert verdicts_of(answer, {"text": "Now "}, call, end) == called
    signed = call | {"thoughtSignature": OF_TEXT}
    assert verdicts_of(answer, {"text": "Now "}, signed, end)["other_signatures"] == "wrong"
    other = {"functionCall": {"name": "f", "args": {"x": 2}}}
    assert verdicts_of(answer, {"text": "Now "}, other, end)["calls"] == "wrong"


@pytest.mark.parametrize(
    ("ids", "verdict"),
    [
        (("a", "a", "b"), "kept"),
        (("a", "new", "b"), "kept"),
        (("new", "a", "b"), "kept"),
        (("new", "other", "b"), "wrong"),
        (("a", "b", "b"), "wrong"),
        (("a", "new", "c"), "wrong"),
        (("a", None, "b"), "lost"),
    ],
)
@pytest.mark.parametrize("in_messages", [False, True])
def test_an_id_that_the_wire_repeats_is_asked_once(
    ids: tuple[str | None, ...], verdict: str, in_messages: bool
) -> None:
    names = ("f", "g", "h")
    answer = answer_of(
        *(
            {"functionCall": {"id": wired, "name": name}}
            for wired, name in zip("aab", names, strict=True)
        )
    )
    sent = list(zip(names, ids, strict=True))
    request: dict[str, Any] = {
        "contents": [
            {"role": "model", "parts": [{"functionCall": {"name": n, "id": i}} for n, i in sent]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": n, "id": i}} for n, i in sent],
            },
        ]
    }
    if in_messages:
        calls = [{"id": i, "function": {"name": n, "arguments": "{}"}} for n, i in sent]
        results = [{"role": "tool", "tool_call_id": i, "content": ""} for _, i in sent]
        request = {"messages": [{"role": "assistant", "tool_calls": calls}, *results]}
    findings = judge_second_turn(answer, request)
    assert findings["ids"].verdict == verdict
    assert findings["calls"].verdict == "kept"
    assert not findings["results"].red


IN_ANOTHER_ORDER = "the results have no ids and are in another order: expected"


@pytest.mark.parametrize(
    ("names", "ids", "numbers", "expected"),
    [
        ("fg", "ab", "12", {}),
        ("gf", "ba", "21", {}),
        ("gf", "ba", "12", {"results": "result 2 has the text of another call's: result 1"}),
        ("gf", "ab", "21", {"results": "the calls are ['f', 'g'], the results are of ['g', 'f']"}),
        ("gf", None, "21", {"results": f"{IN_ANOTHER_ORDER} ['f', 'g'], sent ['g', 'f']"}),
        ("ff", "ba", "21", {}),
        ("ff", "ab", "21", {"results": "result 2 has the text of another call's: result 1"}),
        ("ff", None, "12", {}),
        ("ff", None, "21", {"results": f"{IN_ANOTHER_ORDER} result 2, sent result 1"}),
        ("ff", None, "11", {"results": "result 2 has the text of another call's: result 1"}),
    ],
)
def test_results_may_come_in_any_order_if_they_have_ids(
    names: str, ids: str | None, numbers: str, expected: dict[str, str]
) -> None:
    def given(id_of: str | None) -> dict[str, str]:
        return {"id": id_of} if id_of and ids else {}

    called = list(zip(sorted(names), "ab", "12", strict=True))
    calls = [
        {"functionCall": {"name": name, "args": {"x": number}, **given(call_id)}}
        for name, call_id, number in called
    ]
    results = [
        {"functionResponse": {"name": n, "response": {"output": f"result {number}"}, **given(i)}}
        for n, i, number in zip(names, ids or "--", numbers, strict=True)
    ]
    contents = [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]
    findings = judge_second_turn(answer_of(*calls), {"contents": contents}, given=[True, True])
    assert {aspect: one.note for aspect, one in findings.items() if one.red} == expected


@pytest.mark.parametrize(
    ("sent", "numbers", "expected"),
    [
        ("ffg", (1, 2, 3), {}),
        ("fg", (1, 3), {}),
        ("fg", (3, 1), {"results": "wrong"}),
        ("g", (3,), {"calls": "lost", "signatures": "lost"}),
        ("fffg", (1, 2, 4, 3), {"calls": "wrong"}),
    ],
)
def test_a_copy_of_a_call_may_be_left_out(
    sent: str, numbers: tuple[int, ...], expected: dict[str, str]
) -> None:
    calls = {name: {"functionCall": {"id": name, "name": name, "args": {}}} for name in "fg"}
    signed: dict[str, Any] = calls["f"] | {"thoughtSignature": SIGNED}
    answer = answer_of(calls["f"], signed, calls["g"])
    model = [signed if at == sent.count("f") - 1 else calls[n] for at, n in enumerate(sent)]
    results = [
        {"functionResponse": {"id": name, "name": name, "response": {"output": f"result {number}"}}}
        for name, number in zip(sent, numbers, strict=True)
    ]
    contents = [{"role": "model", "parts": model}, {"role": "user", "parts": results}]
    findings = judge_second_turn(answer, {"contents": contents}, given=[True, True, True])
    assert {aspect: one.verdict for aspect, one in findings.items() if one.red} == expected


@pytest.mark.parametrize(
    ("name", "verdict"), [("default_api:f", "kept"), ("f", "kept"), ("g", "wrong")]
)
def test_the_prefix_of_a_name_may_be_left_out(name: str, verdict: str) -> None:
    answer = answer_of({"functionCall": {"name": "default_api:f", "args": {}}})
    contents = [
        {"role": "model", "parts": [{"functionCall": {"name": name}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": name}}]},
    ]
    assert judge_second_turn(answer, {"contents": contents})["calls"].verdict == verdict


def image(number: int, **changes: str) -> dict[str, Any]:
    """A part with the image of a result."""
    data = base64.b64encode(result_with_image(number)[1]).decode()
    return {"inlineData": {"mimeType": "image/png", "data": data} | changes}


@pytest.mark.parametrize(
    ("images", "beside", "expected"),
    [
        ([1, 2], [], {}),
        ([None, None], [1, 2], {}),
        ([1, None], [2], {}),
        ([1, None], [], {"results": "the image of result 2 is not sent back"}),
        ([None, None], [2], {"results": "the image of result 1 is not sent back"}),
        ([2, 1], [], {"results": "the image of result 1 is in the result of another call"}),
        ([1, 1], [2], {}),
    ],
)
def test_the_image_of_a_result_is_looked_for_in_the_request(
    images: list[int | None], beside: list[int], expected: dict[str, str]
) -> None:
    def change(model: list[Any], results: list[Any]) -> None:
        for number, (result, own) in enumerate(zip(results, images, strict=True), 1):
            result["functionResponse"]["response"] = {"output": result_with_image(number)[0]}
            result["functionResponse"]["parts"] = [image(own)] if own else []
        results += map(image, beside)

    findings = judge_second_turn(ANSWER, request_with(change), given=[True, True])
    assert {aspect: one.note for aspect, one in findings.items() if one.red} == expected


def test_the_image_of_a_result_may_be_a_data_url_of_a_message() -> None:
    answer = answer_of({"functionCall": {"id": "a", "name": "f", "args": {}}})
    text, data = result_with_image(1)
    url = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    call = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    shown = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}
    messages = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": text},
    ]
    whole = judge_second_turn(answer, {"messages": [*messages, shown]}, given=[True])
    assert whole["results"].verdict == "kept"
    lost = judge_second_turn(answer, {"messages": messages}, given=[True])
    assert lost["results"].verdict == "lost"


def test_an_adapter_that_takes_only_the_text_is_not_asked_for_the_image() -> None:
    def change(model: list[Any], results: list[Any]) -> None:
        for number, result in enumerate(results, 1):
            result["functionResponse"]["response"] = {"output": f"result {number}"}

    findings = judge_second_turn(ANSWER, request_with(change), given=[True, True])
    assert findings["results"].verdict == "kept"
