"""``harness drift`` against ``harness serve`` on altered cassettes: one alteration a kind of drift,
and those that are none.
"""

from __future__ import annotations

import copy
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from harness import load
from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.cli.main import main
from harness.conformance.project import shipped_features
from harness.providers import PROVIDERS
from harness.recording.drift import SEVERITIES, Drift, compare_cassettes
from harness.recording.drift.severity import ENDS, FINISH, KINDS, PLACES, SIGNED, place_of
from harness.recording.drift.shape import rhythm
from harness.server import serve
from harness.specs import read_features

Message = dict[str, Any]
Messages = list[Message]
SECRET_TEXT: Final = "The owl and the pussycat"
ASKED: Final = {"contents": [{"parts": [{"text": "hi"}], "role": "user"}]}
URL: Final = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse"


def message(
    *parts: Message, finish: str | None = None, counts: tuple[int, int, int] = (5, 3, 8)
) -> Message:
    candidate: Message = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    candidate["safetyRatings"] = [
        {"category": "HARM_CATEGORY_HARASSMENT", "probability": "NEGLIGIBLE"}
    ]
    if finish:
        candidate["finishReason"] = finish
    usage = dict(
        zip(("promptTokenCount", "candidatesTokenCount", "totalTokenCount"), counts, strict=True)
    )
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": "gemini-3-flash-preview",
        "responseId": "r1",
    }


def recorded() -> Messages:
    call = {
        "functionCall": {"id": "c1", "name": "look", "args": {"where": "sea"}},
        "thoughtSignature": "U0lH",
    }
    return [
        message({"text": "**Plan**", "thought": True}, counts=(5, 0, 5)),
        message({"text": SECRET_TEXT}, counts=(5, 2, 7)),
        message({"text": " went to sea"}, counts=(5, 3, 8)),
        message(call, finish="STOP"),
    ]


def exchange(messages: Messages, *, line_end: str = "\r\n", **altered: Any) -> Exchange:
    reads = tuple(
        (float(number), f"data: {json.dumps(one)}{line_end * 2}".encode())
        for number, one in enumerate(messages)
    )
    one = Exchange(
        Request("POST", URL, {}, json.dumps(ASKED).encode()),
        200,
        {"Content-Type": ["text/event-stream"]},
        reads,
        "complete",
    )
    return replace(one, **altered)


def tape(*exchanges: Exchange) -> Cassette:
    return Cassette(exchanges, Origin("recorded"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "GOOGLE_API_KEY",
        "GOOGLE_GEMINI_BASE_URL",
        "HARNESS_MODEL",
        "GOOGLE_GENAI_HTTP_CLIENT",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", "a-key-that-nobody-knows")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    keep(tape(exchange(recorded())))
    return tmp_path


def keep(cassette: Cassette, name: str = "gemini-api/a") -> None:
    path = Path("cassettes", f"{name}.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dumps(cassette), encoding="utf-8")


def drift(now: Cassette, *arguments: str) -> int:
    with serve(now, pace="instant") as server:
        return main(["drift", "--base-url", server.base_url, "--api-version", "v1beta", *arguments])


# What is no drift


def reword(messages: Messages) -> None:
    messages[1]["candidates"][0]["content"]["parts"][0]["text"] = "OTHER"
    messages[3]["candidates"][0]["content"]["parts"][0]["functionCall"]["args"] = {
        "other": [1],
        "nested": {"a": None},
    }
    messages[3]["candidates"][0]["content"]["parts"][0]["thoughtSignature"] = "T1RIRVI="


def count_anew(messages: Messages) -> None:
    for number, one in enumerate(messages):
        one["usageMetadata"] = {
            "promptTokenCount": 900 + number,
            "candidatesTokenCount": 7,
            "totalTokenCount": 10**12,
        }


def name_anew(messages: Messages) -> None:
    for one in messages:
        one |= {"responseId": "zzz", "modelVersion": "gemini-3-flash-002"}
    messages[3]["candidates"][0]["content"]["parts"][0]["functionCall"]["id"] = "c99"


def cut_elsewhere(messages: Messages) -> None:
    messages[1:3] = [message({"text": piece}) for piece in ("The", " o", "", "wl", " and so on")]


def join(messages: Messages) -> None:
    parts = [part for one in messages for part in one["candidates"][0]["content"]["parts"]]
    messages[:] = [message(parts[0], {"text": "all"}, parts[3], finish="STOP")]


def turn_keys(messages: Messages) -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(one) for one in value] if isinstance(value, list) else value

    messages[:] = [turned(one) for one in messages]


def call_twice(messages: Messages) -> None:
    messages[3]["candidates"][0]["content"]["parts"].append({"text": ""})


@pytest.mark.parametrize(
    "alter",
    [
        reword,
        count_anew,
        name_anew,
        cut_elsewhere,
        join,
        turn_keys,
        call_twice,
        lambda messages: None,
    ],
)
def test_what_is_worded_or_cut_otherwise_has_the_same_shape(
    project: Path, capsys: pytest.CaptureFixture[str], alter: Callable[[Messages], None]
) -> None:
    messages = recorded()
    alter(messages)
    assert drift(tape(exchange(messages))) == 0
    assert (
        capsys.readouterr().out
        == "gemini-api/a: no drift\n1 of 1 cassettes compared: 0 breaking, 0 notable, 0 harmless\n"
    )


# What is


def first(messages: Messages) -> Message:
    """The first candidate of the last message."""
    candidate: Message = messages[-1]["candidates"][0]
    return candidate


def call(messages: Messages) -> Message:
    part: Message = first(messages)["content"]["parts"][0]
    return part


def without_usage(messages: Messages, *places: int) -> None:
    for place in places:
        del messages[place]["usageMetadata"]


def swap(messages: Messages) -> None:
    messages[1]["candidates"], messages[3]["candidates"] = (
        messages[3]["candidates"],
        messages[1]["candidates"],
    )
    messages[3]["candidates"][0]["finishReason"] = messages[1]["candidates"][0].pop("finishReason")


def break_off(messages: Messages) -> None:
    messages[3] = {"error": {"code": 500, "message": SECRET_TEXT, "status": "INTERNAL"}}


CONTENT: Final = "candidates[].content"
ALTERED: Final[list[tuple[Callable[[Messages], Any], list[tuple[str, str, str, str]]]]] = [
    # new fields
    (
        lambda m: m[0].update(brandNew={"a": 1}),
        [("notable", "brandNew", "new field (object)", "unknown.fields")],
    ),
    (
        lambda m: m[0].update(createTime="2026"),
        [("harmless", "createTime", "new field (string)", "reply.metadata")],
    ),
    (
        lambda m: m[1]["candidates"][0]["content"]["parts"].append({"hologram": {"a": 1}}),
        [("breaking", f"{CONTENT}.parts[].hologram", "new field (object)", "unknown.parts")],
    ),
    (
        lambda m: m[-1]["usageMetadata"].update(cachedContentTokenCount=1),
        [
            (
                "harmless",
                "usageMetadata.cachedContentTokenCount",
                "new field (number)",
                "usage.cached",
            )
        ],
    ),
    (
        lambda m: m[-1]["usageMetadata"].update(newCount=1),
        [("notable", "usageMetadata.newCount", "new field (number)", "usage.totals")],
    ),
    (
        lambda m: call(m)["functionCall"].update(willContinue=True),
        [
            (
                "breaking",
                f"{CONTENT}.parts[].functionCall.willContinue",
                "new field (boolean)",
                "tool-calls.streamed-arguments",
            )
        ],
    ),
    # missing fields
    (
        lambda m: [one.pop("responseId") for one in m],
        [("notable", "responseId", "missing field (string)", "reply.metadata")],
    ),
    (
        lambda m: [one["candidates"][0].pop("index") for one in m],
        [("harmless", "candidates[].index", "missing field (number)", "candidates.several")],
    ),
    (
        lambda m: call(m).pop("thoughtSignature"),
        [
            (
                "breaking",
                f"{CONTENT}.parts[].thoughtSignature",
                "missing field (string)",
                "signatures.call",
            )
        ],
    ),
    (
        lambda m: call(m)["functionCall"].pop("id"),
        [
            (
                "breaking",
                f"{CONTENT}.parts[].functionCall.id",
                "missing field (string)",
                "tool-calls.missing-id",
            )
        ],
    ),
    (
        lambda m: m.pop(0),
        [
            (
                "notable",
                f"{CONTENT}.parts[].thought",
                "missing field (boolean)",
                "thoughts.summaries",
            )
        ],
    ),
    (
        lambda m: m.pop(),
        [
            (
                "breaking",
                f"{CONTENT}.parts[].functionCall",
                "missing field (object)",
                "tool-calls.single",
            ),
            (
                "breaking",
                f"{CONTENT}.parts[].thoughtSignature",
                "missing field (string)",
                "signatures.call",
            ),
            ("breaking", "candidates[].finishReason", "missing field (string)", "finish.none"),
        ],
    ),
    # types
    (
        lambda m: m[-1]["usageMetadata"].update(totalTokenCount="8"),
        [
            (
                "breaking",
                "usageMetadata.totalTokenCount",
                "type number → number or string",
                "usage.totals",
            )
        ],
    ),
    (
        lambda m: call(m)["functionCall"].update(args="{}"),
        [
            (
                "breaking",
                f"{CONTENT}.parts[].functionCall.args",
                "type object → string",
                "tool-calls.single",
            )
        ],
    ),
    (
        lambda m: m[0]["candidates"][0].update(index=None),
        [("notable", "candidates[].index", "type number → null or number", "candidates.several")],
    ),
    # words of enums
    (
        lambda m: first(m)["safetyRatings"][0].update(probability="MEDIUM"),
        [
            (
                "harmless",
                "candidates[].safetyRatings[].probability",
                "new word MEDIUM, so far NEGLIGIBLE",
                "annotations.safety-ratings",
            )
        ],
    ),
    (
        lambda m: first(m)["content"].update(role="assistant"),
        [("breaking", f"{CONTENT}.role", "new word assistant, so far model", "text.empty-parts")],
    ),
    (
        lambda m: first(m)["content"].update(role=f"{SECRET_TEXT}!"),
        [
            (
                "breaking",
                f"{CONTENT}.role",
                "new word another word, so far model",
                "text.empty-parts",
            )
        ],
    ),
    # the order of parts
    (
        swap,
        [
            (
                "notable",
                "order of parts",
                "thought, text, call, signature → thought, call, signature, text",
                "tool-calls.parallel",
            )
        ],
    ),
    (
        lambda m: first(m)["content"]["parts"].append(
            {"functionCall": {"id": "c2", "name": "look", "args": {}}}
        ),
        [
            (
                "notable",
                "order of parts",
                "thought, text, call, signature → thought, text, call, signature, call",
                "tool-calls.parallel",
            )
        ],
    ),
    # finish
    (
        lambda m: first(m).update(finishReason="MAX_TOKENS"),
        [("breaking", "finish reason", "STOP → MAX_TOKENS", "finish.length")],
    ),
    (
        lambda m: first(m).update(finishReason="SPII"),
        [("breaking", "finish reason", "STOP → SPII", "finish.content-filter")],
    ),
    (
        lambda m: first(m).update(finishReason="TIRED"),
        [("breaking", "finish reason", "STOP → TIRED", "finish.other")],
    ),
    (
        lambda m: m.append({**message(), "candidates": []}),
        [
            (
                "notable",
                "finish reason",
                "in the messages: final → not in the last",
                "finish.several",
            )
        ],
    ),
    # the rhythm of counts
    (
        lambda m: without_usage(m, 0, 1, 2),
        [("notable", "usageMetadata", "in the messages: running → final", "usage.final-only")],
    ),
    (
        lambda m: without_usage(m, 3),
        [
            (
                "breaking",
                "usageMetadata",
                "in the messages: running → not in the last",
                "usage.totals",
            )
        ],
    ),
    (
        lambda m: [one["usageMetadata"].pop("candidatesTokenCount") for one in (m[0], m[2])],
        [
            (
                "notable",
                "usageMetadata.candidatesTokenCount",
                "in the messages: running → here and there",
                "usage.totals",
            )
        ],
    ),
    # errors
    (
        break_off,
        [
            (
                "breaking",
                f"{CONTENT}.parts[].functionCall",
                "missing field (object)",
                "tool-calls.single",
            ),
            (
                "breaking",
                f"{CONTENT}.parts[].thoughtSignature",
                "missing field (string)",
                "signatures.call",
            ),
            ("breaking", "candidates[].finishReason", "missing field (string)", "finish.none"),
            ("breaking", "error", "new field (object)", "errors.in-stream"),
        ],
    ),
    (
        lambda m: m.append({"promptFeedback": {"blockReason": "SAFETY"}}),
        [
            ("breaking", "promptFeedback", "new field (object)", "finish.blocked-prompt"),
            (
                "breaking",
                "usageMetadata",
                "in the messages: running → not in the last",
                "usage.totals",
            ),
            (
                "notable",
                "finish reason",
                "in the messages: final → not in the last",
                "finish.several",
            ),
        ],
    ),
]


@pytest.mark.parametrize(
    ("alter", "found"), ALTERED, ids=lambda value: value[0][1] if isinstance(value, list) else ""
)
def test_another_shape_is_told_with_its_severity_and_feature(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    alter: Callable[[Messages], Any],
    found: list[tuple[str, str, str, str]],
) -> None:
    messages = copy.deepcopy(recorded())
    alter(messages)
    status = drift(tape(exchange(messages)))
    said = capsys.readouterr()
    told, counted = said.out.splitlines()[1:-1], said.out.splitlines()[-1]
    assert told == [
        f"  {severity:<8}  exchange 1  {path}: {says}  [{feature}]"
        for severity, path, says, feature in found
    ]
    severities = [severity for severity, *_ in found]
    assert status == (3 if "breaking" in severities else 1 if "notable" in severities else 0)
    assert (
        counted
        == f"1 of 1 cassettes compared: {', '.join(f'{severities.count(one)} {one}' for one in SEVERITIES)}"
    )
    assert SECRET_TEXT not in said.out + said.err


def as_vertex(messages: Messages) -> Exchange:
    url = "https://aiplatform.googleapis.com/v1beta1/publishers/google/models/gemini-3-flash-preview:streamGenerateContent?alt=sse"
    return exchange(messages, request=Request("POST", url, {}, json.dumps(ASKED).encode()))


def as_code_assist(messages: Messages) -> Exchange:
    body = {"model": "gemini-3-flash-preview", "user_prompt_id": "p", "request": ASKED}
    url = "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse"
    wrapped = [one if "error" in one else {"response": one, "traceId": "t"} for one in messages]
    return exchange(wrapped, request=Request("POST", url, {}, json.dumps(body).encode()))


@pytest.mark.parametrize(
    ("alter", "found"),
    [ALTERED[0], ALTERED[8], ALTERED[12], ALTERED[18], ALTERED[20], ALTERED[24], ALTERED[27]],
)
@pytest.mark.parametrize(
    ("provider", "on_the_wire", "inside"),
    [("vertex-ai", as_vertex, ""), ("code-assist", as_code_assist, "response.")],
)
def test_the_other_providers_are_asked_anew_as_well(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
    on_the_wire: Callable[[Messages], Exchange],
    inside: str,
    alter: Callable[[Messages], Any],
    found: list[tuple[str, str, str, str]],
) -> None:
    monkeypatch.setenv("CODE_ASSIST_ACCESS_TOKEN", "a-token-of-this-test")
    name, messages = f"{provider}/a", copy.deepcopy(recorded())
    keep(tape(on_the_wire(recorded())), name)
    with serve(tape(on_the_wire(recorded())), pace="instant") as server:
        assert main(["drift", "--provider", provider, "--base-url", server.base_url]) == 0
    assert (
        capsys.readouterr().out
        == f"{name}: no drift\n1 of 1 cassettes compared: 0 breaking, 0 notable, 0 harmless\n"
    )
    alter(messages)
    with serve(tape(on_the_wire(messages)), pace="instant") as server:
        status = main(["drift", name, "--base-url", server.base_url])
        assert (server.unused, server.misses) == ([], [])
    words = {"finish reason", "order of parts", "error"}
    assert capsys.readouterr().out.splitlines()[1:-1] == sorted(
        f"  {severity:<8}  exchange 1  {path if path in words else inside + path}: {says}  [{feature}]"
        for severity, path, says, feature in found
    )
    assert status == (3 if any(severity == "breaking" for severity, *_ in found) else 1)


FAILED: Final = b'{"error": {"code": 404, "message": "no such model", "status": "NOT_FOUND"}}'
ANSWERS: Final[list[tuple[Exchange, list[tuple[str, str, str, str]]]]] = [
    (
        exchange(
            [], status=404, headers={"Content-Type": ["application/json"]}, reads=((0.0, FAILED),)
        ),
        [
            ("breaking", "content-type", "text/event-stream → application/json", "framing.unary"),
            ("breaking", "status", "200 → 404", "errors.http"),
        ],
    ),
    (exchange(recorded(), end="cut"), [("breaking", "end", "complete → cut", "stream-end.cut")]),
    (
        exchange(recorded(), line_end="\n"),
        [("notable", "line end", "CRLF → LF", "framing.line-ends")],
    ),
    (
        exchange(recorded(), headers={"Content-Type": ["text/plain; charset=utf-8"]}),
        [("breaking", "content-type", "text/event-stream → text/plain", "framing.unary")],
    ),
    (
        exchange(recorded(), reads=(*exchange(recorded()).reads, (9.0, b"data: not json\r\n\r\n"))),
        [("breaking", "messages", "something among them is no JSON now", "unknown.frames")],
    ),
]


@pytest.mark.parametrize(
    ("now", "found"), ANSWERS, ids=lambda value: value[0][1] if isinstance(value, list) else ""
)
def test_how_it_is_answered_framed_and_ended_is_shape(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    now: Exchange,
    found: list[tuple[str, str, str, str]],
) -> None:
    assert drift(tape(now)) == (3 if found[0][0] == "breaking" else 1)
    told = capsys.readouterr().out.splitlines()[1:-1]
    assert told == [
        f"  {severity:<8}  exchange 1  {path}: {says}  [{feature}]"
        for severity, path, says, feature in found
    ]


def error(status: str, *details: Message, code: int = 429) -> Exchange:
    body = {"error": {"code": code, "message": "no", "status": status, "details": list(details)}}
    return exchange(
        [],
        status=code,
        headers={"Content-Type": ["application/json"]},
        reads=((0.0, json.dumps(body).encode()),),
    )


INFO: Final = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "RATE_LIMIT_EXCEEDED",
    "metadata": {"a": "b"},
}
RETRY: Final = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"}


@pytest.mark.parametrize(
    ("now", "found"),
    [
        (
            error(
                "RESOURCE_EXHAUSTED",
                {**INFO, "metadata": {"c": "d"}},
                {**RETRY, "retryDelay": "7.5s"},
            ),
            [],
        ),
        (
            error("UNAVAILABLE", INFO, RETRY),
            [
                Drift(
                    "breaking",
                    1,
                    "error.status",
                    "new word UNAVAILABLE, so far RESOURCE_EXHAUSTED",
                    "errors.http",
                )
            ],
        ),
        (
            error("RESOURCE_EXHAUSTED", {**INFO, "reason": "QUOTA_EXHAUSTED"}, RETRY),
            [
                Drift(
                    "breaking",
                    1,
                    "error.details[ErrorInfo].reason",
                    "new word QUOTA_EXHAUSTED, so far RATE_LIMIT_EXCEEDED",
                    "errors.http",
                )
            ],
        ),
        (
            error("RESOURCE_EXHAUSTED", INFO),
            [
                Drift(
                    "breaking",
                    1,
                    "error.details[RetryInfo]",
                    "missing field (object)",
                    "errors.quota",
                )
            ],
        ),
    ],
)
def test_errors_have_a_shape_of_their_own(now: Exchange, found: list[Drift]) -> None:
    assert compare_cassettes(tape(error("RESOURCE_EXHAUSTED", INFO, RETRY)), tape(now)) == found


def test_fewer_exchanges_are_told() -> None:
    one = exchange(recorded())
    (found,) = compare_cassettes(tape(one, one), tape(one))
    assert (found.severity, found.exchange, found.says) == (
        "breaking",
        2,
        "2 exchanges were recorded, now there are 1",
    )


def test_an_error_that_the_cassette_is_about_may_come_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = b'{"error": {"code": 403, "message": "no", "status": "PERMISSION_DENIED"}}'
    denied = exchange(
        [], status=403, headers={"Content-Type": ["application/json"]}, reads=((0.0, refused),)
    )
    keep(tape(denied))
    assert drift(tape(denied)) == 0
    assert "no drift" in capsys.readouterr().out


def line(kind: str, **fields: Any) -> Message:
    return {"type": kind, "timestamp": "2026-11-22T10:00:00.000Z", **fields}


def run(*lines: Message) -> Cassette:
    reads = tuple((None, json.dumps(one).encode() + b"\n") for one in lines)
    return tape(Exchange(None, 200, {"x-exit-code": ["0"]}, reads, "complete"))


RAN: Final = [
    line("init", model="m"),
    line("tool_use", parameters={"a": 1}),
    line("result", stats={"models": {"m": {"input": 1}}}),
]


@pytest.mark.parametrize(
    ("now", "found"),
    [
        (
            [
                line("init", model="n"),
                RAN[1],
                line("result", stats={"models": {"n": {"input": 7}, "p": {"input": 2}}}),
            ],
            [],
        ),
        ([RAN[0], line("tool_use", parameters={"b": "c"}), RAN[2]], []),
        (
            [*RAN[:2], line("thinking"), RAN[2]],
            [Drift("notable", 1, "lines[thinking]", "new field (object)", "gemini-cli.unknown")],
        ),
        (
            RAN[:2],
            [Drift("breaking", 1, "lines[result]", "missing field (object)", "gemini-cli.errors")],
        ),
        (
            [*RAN[:2], line("result", stats={"models": {"m": {SECRET_TEXT: 1}}})],
            [
                Drift(
                    "breaking",
                    1,
                    "lines[result].stats.models.*.input",
                    "missing field (number)",
                    "gemini-cli.errors",
                ),
                Drift(
                    "notable",
                    1,
                    "lines[result].stats.models.*.*",
                    "new field (number)",
                    "gemini-cli.errors",
                ),
            ],
        ),
    ],
)
def test_lines_of_the_cli_stand_under_their_type(now: Messages, found: list[Drift]) -> None:
    assert compare_cassettes(run(*RAN), run(*now)) == found


def test_what_the_client_makes_of_an_odd_answer_is_not_told(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """google-genai warns of a word that it does not know, and quotes it."""
    messages = recorded()
    first(messages)["finishReason"] = SECRET_TEXT
    with warnings.catch_warnings(record=True, action="always") as seen:
        assert drift(tape(exchange(messages))) == 3
    said = capsys.readouterr()
    assert "finish reason: STOP → another word  [finish.other]" in said.out
    assert SECRET_TEXT not in said.out + said.err
    assert seen == []


# The command


TALK: Final = """harness: 1
cases:
- case: talk
  requirement: What is said next is sent with what came before.
  features: [requests.contents]
  source: https://ai.google.dev/gemini-api/docs/text-generation
  cassette: gemini-api/talk
  turns:
  - prompt: {unified-llm: {model: gemini-3-flash-preview, messages: [{role: user, content: hi}]}}
  - say: And then?
  expect: {unified-llm: recorded}
"""


def test_a_conversation_is_asked_turn_by_turn(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = exchange([message({"text": SECRET_TEXT}, finish="STOP")])
    keep(tape(answer, answer), "gemini-api/talk")
    Path("specs").mkdir()
    Path("specs/talk.yaml").write_text(TALK, encoding="utf-8")
    reworded = exchange([message({"text": "They sailed away"}, finish="STOP")])
    with serve(tape(reworded, reworded), pace="instant", match="path") as server:
        assert (
            main(["drift", "talk", "--base-url", server.base_url, "--api-version", "v1beta"]) == 0
        )
        assert (server.unused, server.misses) == ([], [])
    assert capsys.readouterr().out.startswith("gemini-api/talk: no drift")


def test_what_can_not_be_asked_is_said_and_ends_with_4(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path("cassettes/gemini-api/a.yaml").read_bytes()
    words = json.dumps(
        {"error": {"code": 403, "message": SECRET_TEXT, "status": "PERMISSION_DENIED"}}
    ).encode()
    assert (
        drift(
            tape(
                exchange(
                    [],
                    status=403,
                    headers={"Content-Type": ["application/json"]},
                    reads=((0.0, words),),
                )
            )
        )
        == 4
    )
    said = capsys.readouterr()
    assert said.out == "0 of 1 cassettes compared: 0 breaking, 0 notable, 0 harmless\n"
    assert (
        "gemini-api/a: request 1 was given an authorization answer (403); nothing is kept"
        in said.err
    )
    assert SECRET_TEXT not in said.err
    assert Path("cassettes/gemini-api/a.yaml").read_bytes() == before
    assert [path.name for path in project.iterdir()] == ["cassettes"]


def test_the_budget_is_that_of_the_whole_run(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(tape(exchange(recorded())), "gemini-api/b")
    assert drift(tape(exchange(recorded())), "--requests", "1") == 4
    said = capsys.readouterr()
    assert said.out.startswith("gemini-api/a: no drift\n1 of 2 cassettes compared")
    assert (
        "gemini-api/b: this run has used 1 request, and 1 is the limit; raise it, or ask for less"
        in said.err
    )


def test_by_default_only_what_was_recorded_is_asked_anew(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(replace(tape(exchange(recorded())), origin=Origin("written")))
    assert drift(tape()) == 0
    assert "nothing was recorded from a provider" in capsys.readouterr().err
    assert drift(tape(exchange(recorded())), "gemini-api/a") == 0
    assert capsys.readouterr().out.startswith("gemini-api/a: no drift")
    keep(replace(tape(exchange(recorded())), origin=Origin("loopback")))
    keep(
        run(*RAN), "gemini-cli/run"
    )  # a program's settings are not in its output, so it is run again only by name
    assert drift(tape(exchange(recorded()))) == 0
    assert capsys.readouterr().out.endswith(
        "1 of 1 cassettes compared: 0 breaking, 0 notable, 0 harmless\n"
    )
    assert drift(tape(), "--provider", "vertex-ai", "gemini-api/a") == 0
    assert "nothing was recorded" in capsys.readouterr().err


def test_a_name_of_nothing_is_bad_usage(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert drift(tape(), "gemini-api/none") == 2
    assert "gemini-api/none is no case and no cassette" in capsys.readouterr().err


RUN: Final = """
import json, sys
words = sys.argv[sys.argv.index("-p") + 1]
stamp = {"timestamp": "2026-11-22T10:00:00.000Z"}
for line in (
    {"type": "init", **stamp, "session_id": "s", "model": sys.argv[sys.argv.index("-m") + 1]},
    {"type": "message", **stamp, "role": "user", "content": words},
    {"type": "message", **stamp, "role": "assistant", "content": "Hello", "delta": True},
    {"type": "result", **stamp, "status": STATUS, "stats": {"total_tokens": 1, "models": {words: {"total_tokens": 1}}}},
):
    print(json.dumps(line), flush=True)
sys.exit(CODE)
"""


def test_a_run_of_the_cli_is_run_again_with_the_prompt_that_it_was_given(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def program(status: str, code: int) -> str:
        Path("run.py").write_text(
            RUN.replace("STATUS", repr(status)).replace("CODE", str(code)), encoding="utf-8"
        )
        return f"{sys.executable} run.py"

    name = "gemini-cli/run"
    assert (
        main(
            [
                "record",
                name,
                "--prompt",
                "What is it?",
                "--model",
                "m",
                "--program",
                program("success", 0),
            ]
        )
        == 0
    )
    assert main(["drift", name, "--program", program("success", 0)]) == 0
    capsys.readouterr()
    assert main(["drift", name, "--program", program("error", 3)]) == 3
    assert capsys.readouterr().out.splitlines()[1:-1] == [
        "  breaking  exchange 1  exit code: 0 → 3  [gemini-cli.errors]",
        "  breaking  exchange 1  lines[result].status: new word error, so far success  [gemini-cli.errors]",
    ]


# The tables


def test_every_feature_that_is_named_is_on_the_checklist() -> None:
    name, text = shipped_features()
    known = {feature.id for feature in read_features(text, name)}
    named = {place.feature for _, place in PLACES} | {
        *FINISH.values(),
        *ENDS.values(),
        *KINDS.values(),
        *SIGNED.values(),
    }
    assert named - known == set()


def test_a_path_is_known_in_either_spelling() -> None:
    assert place_of("usage_metadata.total_token_count") == place_of("usageMetadata.totalTokenCount")
    assert place_of("response.usageMetadata.thoughtsTokenCount").feature == "usage.thoughts"


@pytest.mark.parametrize(
    ("stands", "found"),
    [
        ("x", {"final", "running"}),
        (".x", {"final", "running"}),
        ("..x", {"final"}),
        (".xx", {"running"}),
        ("x.x", {"here and there"}),
        ("xx.", {"not in the last"}),
        ("...", set()),
    ],
)
def test_in_which_messages_counts_stand(stands: str, found: set[str]) -> None:
    assert rhythm([one == "x" for one in stands]) == found


def shipped() -> Iterator[Path]:
    return (Path(__file__).parents[3] / "cassettes").rglob("*.yaml")


def test_no_shipped_cassette_drifts_from_itself() -> None:
    cassettes = [load(path) for path in shipped()]
    assert len(cassettes) > 90
    assert {one.provider for cassette in cassettes for one in cassette.exchanges} >= {*PROVIDERS}
    assert [
        compare_cassettes(cassette, cassette)
        for cassette in cassettes
        if compare_cassettes(cassette, cassette)
    ] == []
