"""The aspect ``accepted``: a request that the API refuses is red in both turns, unless the adapter
only passes on what it was given.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from harness.adapters import Adapter
from harness.adapters.at import Question
from harness.adapters.faithful import faithful_requests
from harness.facts import ACCEPTED, Finding, read_losses
from harness.judging.aspect_run import JudgedExchange, plan_answers, plan_second_turns
from harness.judging.aspects import ExchangeJudgement, compare_exchange
from harness.judging.excuses import excuse
from harness.judging.reading import Reading
from harness.judging.rows import Row
from harness.judging.run import run_plan
from harness.project.recordings import load_recording
from harness.project.suite import CASSETTES
from harness.providers import with_provider
from harness.stream.exchange import Exchange, Request
from tests.adapters.shims import ASKS, EXCHANGE, READS, REQUEST, URL, function_adapter

SERVED: Final = "serve: "
SENDS: Final = ASKS.replace("[user(at.prompt)]", "CONTENTS")
NO_PARTS: Final = {"role": "user", "parts": []}
ASSISTANT: Final = {"role": "assistant", "parts": [{"text": "Hi"}]}

CALL: Final = {"functionCall": {"name": "add", "args": {"a": 1}}}
CONVERSES: Final = (
    ASKS
    + """
def converse(at):
    parts = [
        part
        for message in ask(at.base_url, [user(at.prompt)], MODEL)
        for part in message["candidates"][0]["content"]["parts"]
    ]
    for part in parts:
        part.pop("thoughtSignature", None)
    response = {"functionResponse": {"name": "add", "response": {"output": "result 1"}}}
    history = [user(at.prompt), {"role": "model", "parts": parts}, {"role": "user", "parts": [response]}]
    list(ask(at.base_url, history, MODEL))
"""
)


def sends(contents: list[Any], folder: Path) -> Adapter:
    return function_adapter(f"{SENDS}\nCONTENTS = {contents!r}\n", folder, SERVED)


def judged(adapter: Adapter, exchange: Exchange = EXCHANGE) -> ExchangeJudgement:
    return compare_exchange(Reading(exchange), adapter)


def accepted(adapter: Adapter, exchange: Exchange = EXCHANGE) -> Finding:
    return judged(adapter, exchange).aspects["accepted"]


def rules(finding: Finding) -> list[str]:
    return [refusal["rule"] for refusal in finding.wire]


def recorded(contents: list[Any]) -> Exchange:
    body = json.dumps({"contents": contents}).encode()
    return replace(EXCHANGE, request=Request("POST", URL, {}, body))


def test_a_request_that_breaks_no_rule_is_kept(tmp_path: Path) -> None:
    finding = accepted(function_adapter(ASKS, tmp_path, SERVED))
    assert finding == Finding("accepted", "kept")


def test_each_broken_rule_is_wrong_and_has_its_source(tmp_path: Path) -> None:
    adapter = sends([ASSISTANT, NO_PARTS], tmp_path)
    finding = accepted(adapter)
    assert finding.verdict == "wrong"
    assert rules(finding) == ["role-unknown", "content-empty"]
    assert finding.place.content == 1 or finding.place.content is None
    assert all(refusal["source"].startswith("https://") for refusal in finding.wire)
    [cell] = run_plan(plan_answers([JudgedExchange("text", 1, EXCHANGE)]), [adapter])
    assert (cell.verdict, cell.aspects["accepted"]) == ("failed", "wrong")
    assert cell.evidence is not None
    assert [view.layer for view in cell.evidence.excerpts["accepted"]] == ["frames", "requests"]


def test_an_adapter_that_reads_the_answer_itself_has_no_request(tmp_path: Path) -> None:
    code = "from harness.facts import Text\ndef replay(exchange):\n    yield {}, [Text('Hello')]\n"
    assert "accepted" not in judged(function_adapter(code, tmp_path)).aspects


def test_a_request_that_was_not_seen_is_not_asked(tmp_path: Path) -> None:
    skips = "def replay(at):\n    at.skip('no such request')\n"
    assert accepted(function_adapter(skips, tmp_path, SERVED)).verdict == "not_asked"


def test_an_accepted_request_alone_does_not_pass_a_cell(tmp_path: Path) -> None:
    asks = ASKS.replace(
        "    for message in ask",
        "    list(ask(at.base_url, [user('')]))\n    at.skip('no')\n    for message in ask",
    )
    [cell] = run_plan(
        plan_answers([JudgedExchange("text", 1, EXCHANGE)]),
        [function_adapter(asks, tmp_path, SERVED)],
    )
    assert cell.aspects["accepted"] == "kept"
    assert (cell.verdict, cell.reason, cell.compared) == ("not-run", "no", False)


@pytest.mark.parametrize(("strict", "verdict"), [(False, "kept"), (True, "wrong")])
def test_a_rule_that_the_recorded_request_breaks_is_passed_on(
    strict: bool, verdict: str, tmp_path: Path
) -> None:
    adapter = replace(sends([ASSISTANT], tmp_path), strict=strict)
    finding = accepted(adapter, recorded([ASSISTANT]))
    assert (finding.verdict, rules(finding)) == (verdict, ["role-unknown"])
    assert finding.reason == ("refused" if strict else "passed-on")


def test_a_field_of_the_adapter_is_not_passed_on(tmp_path: Path) -> None:
    """The same rule refuses a field of the recorded request, and another one of the adapter."""
    given = [{"role": "user", "parts": [{"text": "Hi"}], "cache_control": {}}]
    own = [{"role": "user", "parts": [{"text": "Hi"}], "strict": True}]
    assert accepted(sends(given, tmp_path), recorded(given)).reason == "passed-on"
    assert accepted(sends(own, tmp_path), recorded(given)).verdict == "wrong"


def test_a_rule_may_be_declared(tmp_path: Path) -> None:
    adapter = sends([ASSISTANT, NO_PARTS], tmp_path)
    one = replace(adapter, losses=read_losses("accepted[role-unknown]"))
    assert rules(accepted(one)) == ["content-empty"]
    both = replace(adapter, losses=read_losses("accepted[role-unknown], accepted[content-empty]"))
    assert accepted(both).verdict == "not_carried"


@pytest.mark.parametrize(
    ("signature", "verdict"),
    [
        ({"thoughtSignature": "QUJDRA=="}, "wrong"),
        ({}, "kept"),  # the model itself gave none, so it is passed on
    ],
)
def test_the_second_request_is_judged(
    signature: dict[str, str], verdict: str, tmp_path: Path
) -> None:
    result = second_turn([{**CALL, **signature}], tmp_path)
    assert result.aspects["accepted"] == verdict
    [finding] = [finding for finding in result.findings if finding.subject == "accepted"]
    assert rules(finding) == ["call-unsigned"]


def test_a_call_without_an_id_goes_back_with_one() -> None:
    [exchange] = load_recording("openai-compat/turns-without-ids:1", CASSETTES).exchanges
    path = "/v1beta/openai/chat/completions"
    *_, body = faithful_requests(Question(exchange, turn=2), "openai-compat", path)
    *_, answer, first, _ = json.loads(body)["messages"]
    assert {call["id"] for call in answer["tool_calls"]} == {first["tool_call_id"]}


def test_a_variant_excuses_the_request_that_follows_it() -> None:
    variant = ["arguments after the end of their call"]
    lost, refused = Finding("calls", "lost", "call-not-sent"), Finding(ACCEPTED, "wrong", "refused")
    assert excuse(variant, [lost, refused], second_turn=True)[0] == "variant"
    assert excuse(variant, [lost, refused])[0] == "documented"
    assert excuse(variant, [refused], second_turn=True)[0] == "documented"


def second_turn(parts: list[Any], folder: Path) -> Row:
    """The second turn of an adapter that drops signatures, after a content with these parts."""
    message = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
    body = b"data: " + json.dumps(message).encode() + b"\r\n\r\n"
    url = URL.replace("gemini-x", "gemini-3-pro-preview")
    request = Request("POST", url, {}, REQUEST)
    exchange = with_provider(replace(EXCHANGE, request=request, reads=((READS[0][0], body),)))
    code = f"{CONVERSES}\nMODEL = 'gemini-3-pro-preview'\n"
    adapter = function_adapter(code, folder, SERVED)
    [cell] = run_plan(plan_second_turns([JudgedExchange("calls", 1, exchange)]), [adapter])
    return cell
