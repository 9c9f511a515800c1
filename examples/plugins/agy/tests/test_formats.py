"""The output of the Antigravity CLI: one exchange for each turn, or a whole run of a script."""

from __future__ import annotations

import pytest
from agy_support import AGY_SCRIPT, AGY_TURN

from harness import replay
from harness.cassettes import CassetteError, Exchange
from harness.cassettes.importers import FORMATS, read
from harness.cassettes.importers.content import Content


def exchanges(data: bytes) -> tuple[Exchange, ...]:
    return read(data).exchanges


INIT, STEP, RESULT = AGY_TURN.splitlines(keepends=True)


def test_each_result_ends_an_exchange() -> None:
    second = STEP.replace(b":0,", b":1,") + RESULT
    first, last = exchanges(b"noise\n" + AGY_TURN + b"\n" + second + b"more noise\n")
    assert first.body == b"noise\n" + AGY_TURN
    assert last.body == b"\n" + second + b"more noise\n"
    assert (first.end, first.status, first.headers) == ("unknown", 200, {})


def test_steps_without_a_result_are_an_exchange_of_their_own() -> None:
    assert [exchange.body for exchange in exchanges(AGY_TURN + STEP)] == [AGY_TURN, STEP]
    assert [exchange.body for exchange in exchanges(STEP.rstrip())] == [STEP.rstrip()]


def test_a_text_that_quotes_a_result_ends_no_exchange() -> None:
    quoting = STEP.replace(rb"Hi\n", rb"{\"event\":\"result\"}")
    assert len(exchanges(INIT + quoting + RESULT)) == 1


def test_the_model_and_the_client_are_known() -> None:
    origin = read(AGY_TURN).origin
    assert (origin.model, origin.client) == ("gemini-3.8-flash-low", "agy")


def test_a_script_has_times_stderr_and_exit_code() -> None:
    (exchange,) = exchanges(AGY_SCRIPT)
    assert [at for at, _ in exchange.reads] == [2640.0, 3140.0]
    assert exchange.headers == {
        "x-program": ["agy"],
        "x-exit-code": ["1"],
        "x-stderr": ["error: interrupted"],
    }
    assert replay(exchange, provider="agy", layer="events")[-1]["message"] == "interrupted"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"nap:1\n", "line 7 does not begin with sleep:, out:, err: or rc:"),
        (b"sleep:soon\n", "line 7: expected seconds, not 'soon'"),
        (b"sleep:-1\n", "line 7: expected seconds"),
        (b"sleep:nan\n", "line 7: expected seconds"),
    ],
)
def test_a_damaged_script_is_an_error(line: bytes, message: str) -> None:
    with pytest.raises(CassetteError, match=message):
        read(AGY_SCRIPT + line)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (AGY_TURN, "agy"),
        (b'Loading\n{"init":{"model":"m"},"event":"init"}\n' + AGY_TURN, "agy"),
        (b'{"conversation_id":"c","status":"SUCCESS","response":"Hi"}', "agy"),
        (AGY_SCRIPT, "agy-script"),
    ],
)
def test_a_recording_is_recognised_by_its_content(data: bytes, name: str) -> None:
    content = Content(data)
    assert next(known.name for known in FORMATS if known.recognises(content)) == name
