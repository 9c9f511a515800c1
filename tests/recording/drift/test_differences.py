"""The differences between two recordings that are drift, and their severity."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from harness.cassettes import Exchange
from harness.recording.drift import SEVERITIES, Drift, compare_cassettes
from tests.recording.drift.recordings import (
    ALTERED,
    RAN,
    SECRET_TEXT,
    Message,
    Messages,
    drift,
    exchange,
    line,
    message,
    recorded,
    run,
    tape,
)


# Differences that are no drift
def reword(messages: Messages) -> None:
    messages[1]["candidates"][0]["content"]["parts"][0]["text"] = "OTHER"
    messages[3]["candidates"][0]["content"]["parts"][0]["functionCall"]["args"] = {
        "other": [1],
        "nested": {"a": None},
    }
    messages[3]["candidates"][0]["content"]["parts"][0]["thoughtSignature"] = "T1RIRVI="


def count_anew(messages: Messages) -> None:
    for number, entry in enumerate(messages):
        entry["usageMetadata"] = {
            "promptTokenCount": 900 + number,
            "candidatesTokenCount": 7,
            "totalTokenCount": 10**12,
        }


def name_anew(messages: Messages) -> None:
    for entry in messages:
        entry |= {"responseId": "zzz", "modelVersion": "gemini-3-flash-002"}
    messages[3]["candidates"][0]["content"]["parts"][0]["functionCall"]["id"] = "c99"


def cut_elsewhere(messages: Messages) -> None:
    messages[1:3] = [message({"text": piece}) for piece in ("The", " o", "", "wl", " and so on")]


def join(messages: Messages) -> None:
    parts = [part for item in messages for part in item["candidates"][0]["content"]["parts"]]
    messages[:] = [message(parts[0], {"text": "all"}, parts[3], finish="STOP")]


def turn_keys(messages: Messages) -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(message) for message in value] if isinstance(value, list) else value

    messages[:] = [turned(message) for message in messages]


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
def test_other_words_and_other_cuts_are_no_drift(
    project: Path, capsys: pytest.CaptureFixture[str], alter: Callable[[Messages], None]
) -> None:
    messages = recorded()
    alter(messages)
    assert drift(tape(exchange(messages))) == 0
    assert (
        capsys.readouterr().out
        == "gemini-api/a: no drift\n1 of 1 cassettes compared: 0 breaking, 0 notable, 0 harmless\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("alter", "drifts"), ALTERED, ids=lambda value: value[0][1] if isinstance(value, list) else ""
)
def test_each_drift_has_its_severity_and_feature(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    alter: Callable[[Messages], Any],
    drifts: list[tuple[str, str, str, str]],
) -> None:
    messages = copy.deepcopy(recorded())
    alter(messages)
    status = drift(tape(exchange(messages)))
    output = capsys.readouterr()
    lines, counted = output.out.splitlines()[1:-1], output.out.splitlines()[-1]
    assert lines == [
        f"  {severity:<8}  exchange 1  {path}: {says}  [{feature}]"
        for severity, path, says, feature in drifts
    ]
    severities = [severity for severity, *_ in drifts]
    assert status == (3 if "breaking" in severities else 1 if "notable" in severities else 0)
    assert (
        counted
        == f"1 of 1 cassettes compared: {', '.join(f'{severities.count(each)} {each}' for each in SEVERITIES)}"
    )
    assert SECRET_TEXT not in output.out + output.err


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
        [("breaking", "messages", "some are not JSON now", "unknown.frames")],
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("now", "drifts"), ANSWERS, ids=lambda value: value[0][1] if isinstance(value, list) else ""
)
def test_changes_of_status_framing_and_end_are_drift(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    now: Exchange,
    drifts: list[tuple[str, str, str, str]],
) -> None:
    assert drift(tape(now)) == (3 if drifts[0][0] == "breaking" else 1)
    output = capsys.readouterr().out.splitlines()[1:-1]
    assert output == [
        f"  {severity:<8}  exchange 1  {path}: {says}  [{feature}]"
        for severity, path, says, feature in drifts
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
    ("now", "drifts"),
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
                    "new value UNAVAILABLE, so far RESOURCE_EXHAUSTED",
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
                    "new value QUOTA_EXHAUSTED, so far RATE_LIMIT_EXCEEDED",
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
def test_errors_have_a_shape_of_their_own(now: Exchange, drifts: list[Drift]) -> None:
    assert compare_cassettes(tape(error("RESOURCE_EXHAUSTED", INFO, RETRY)), tape(now)) == drifts


def test_a_missing_exchange_is_breaking_drift() -> None:
    single = exchange(recorded())
    (drift,) = compare_cassettes(tape(single, single), tape(single))
    assert (drift.severity, drift.exchange, drift.difference) == (
        "breaking",
        2,
        "2 exchanges were recorded, now there are 1",
    )


@pytest.mark.parametrize(
    ("now", "drifts"),
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
def test_differences_of_the_cli_are_listed_under_their_line_type(
    now: Messages, drifts: list[Drift]
) -> None:
    assert compare_cassettes(run(*RAN), run(*now)) == drifts
