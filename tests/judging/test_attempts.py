"""An adapter that asks again after a failed answer gets the next answer of the recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.judging.aspect_run import JudgedExchange, plan_answers
from harness.judging.attempts import attempts_after
from harness.judging.run import run_plan
from harness.stream.exchange import Exchange, Request
from tests.adapters.shims import ASKS, EXCHANGE, function_adapter

BROKEN = replace(EXCHANGE, reads=EXCHANGE.reads[:1], end="reset")
RETRIES = """
import itertools
from harness.facts import Error, Restart

def replay(at):
    for attempt in itertools.count():
        if attempt == 4:
            raise TimeoutError("too many attempts")
        if attempt:
            yield {"asks": "again"}, [*AGAIN]
        try:
            for message in ask(at.base_url, [user(at.prompt)]):
                yield message, list(facts(message))
            return
        except (OSError, http.client.HTTPException):
            pass
"""
ERROR = Exchange(
    EXCHANGE.request,
    503,
    {"content-type": ["application/json"]},
    ((None, b'{"error": {"code": 503, "message": "overloaded"}}'),),
    provider="gemini-api",
    generates=True,
)


def verdicts(folder: Path, shim: str, first: Exchange, *following: Exchange) -> dict[str, str]:
    """The verdict of each aspect of the first exchange, for a client that asks again."""
    adapter = function_adapter(ASKS + shim, folder, "serve: ")
    item = JudgedExchange("c", 1, first, following)
    [cell] = run_plan(plan_answers([item]), [adapter])
    return dict(cell.aspects)


@pytest.mark.parametrize(
    ("again", "text"),
    [("[]", "wrong"), ("[Restart()]", "kept"), ("[Error(503, 'lost'), Restart()]", "kept")],
)
def test_the_text_over_all_attempts_is_that_of_the_last(
    again: str, text: str, tmp_path: Path
) -> None:
    shim = RETRIES + f"AGAIN = {again}\n"
    assert verdicts(tmp_path, shim, BROKEN, EXCHANGE) == {
        "text": text,
        "finish": "kept",
        "accepted": "kept",
    }


def test_an_error_of_an_attempt_that_failed_is_not_needless(tmp_path: Path) -> None:
    shim = RETRIES + "AGAIN = []\n"
    noisy = shim.replace(
        "HTTPException):\n            pass",
        "HTTPException) as error:\n            yield {}, [Error(None, str(error))]",
    )
    assert verdicts(tmp_path, noisy, ERROR, ERROR, EXCHANGE) == {
        "text": "kept",
        "finish": "kept",
        "accepted": "kept",
    }


def test_an_adapter_that_does_not_ask_again_is_judged_on_the_first(tmp_path: Path) -> None:
    gives_up = """
def replay(at):
    for message in ask(at.base_url, [user(at.prompt)]):
        yield message, list(facts(message))
"""
    assert verdicts(tmp_path, gives_up, BROKEN, EXCHANGE) == {
        "text": "kept",
        "unfinished": "kept",
        "accepted": "kept",
    }


def test_only_the_same_request_after_a_failed_answer_is_an_attempt() -> None:
    assert EXCHANGE.request is not None
    other = replace(EXCHANGE, request=Request("POST", EXCHANGE.request.url, {}, b'{"contents": 1}'))
    spelled = replace(
        EXCHANGE,
        request=replace(EXCHANGE.request, body=EXCHANGE.request.body.replace(b": ", b":")),
    )
    unended = replace(EXCHANGE, reads=EXCHANGE.reads[:1])
    assert attempts_after(BROKEN, [BROKEN, ERROR, spelled, EXCHANGE]) == (BROKEN, ERROR, spelled)
    assert attempts_after(unended, [EXCHANGE]) == (EXCHANGE,)
    assert attempts_after(EXCHANGE, [EXCHANGE]) == ()
    assert attempts_after(BROKEN, [BROKEN, ERROR]) == ()  # examples of failures, not attempts
    assert attempts_after(BROKEN, [other, EXCHANGE]) == ()
    assert attempts_after(replace(BROKEN, request=None), [EXCHANGE]) == ()
