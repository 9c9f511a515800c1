"""Adapters that ask a served address: their answers, their requests, and the second turn."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.adapters import AdapterError, AdapterMissing
from harness.facts import Finish, Text
from harness.providers.gemini.facts import read_messages
from harness.providers.second_turn import result_with_image
from harness.stream.exchange import Exchange, Request
from tests.adapters.shims import (
    ASKS,
    EXCHANGE,
    facts_of,
    function_adapter,
    program_adapter,
    second_request,
    transcript,
)
from tests.support.second_turn import judge_second_turn

SERVED = "serve: "
CALLS = (
    b'data: {"candidates":[{"content":{"parts":[{"text":"Hm."},{"functionCall":{"id":"i","name":"add","args":{"a":1}}},'
    b'{"functionCall":{"name":"add","args":{"a":2}}}],"role":"model"},"finishReason":"STOP"}]}\r\n\r\n'
)


def answered(data: bytes, **fields: object) -> Exchange:
    return replace(EXCHANGE, reads=((None, data),), **fields)  # type: ignore[arg-type]  # any field of an exchange


@pytest.mark.slow
@pytest.mark.parametrize("guest", [False, True])
def test_a_function_asks_the_served_address(guest: bool, tmp_path: Path) -> None:
    adapter = function_adapter(ASKS, tmp_path, SERVED, guest=guest)
    result = transcript(adapter)
    adapter.close()
    assert list(result.facts()) == [Text("Hel"), Text("lo"), Finish("STOP")]
    assert (result.asked_again, result.entries_of_first_request, result.skipped) == (0, None, "")
    assert (result.path, result.notes) == ("/v1beta/models/gemini-x:streamGenerateContent", ())


SHOWS = """
    tools = [(tool.name, tool.description, tool.parameters) for tool in at.tools]
    yield [at.model, at.stream, at.prompt, tools, at.exchange.status, at.base_url], []
"""


def test_at_describes_the_recorded_request(tmp_path: Path) -> None:
    native = transcript(function_adapter(ASKS + SHOWS, tmp_path, SERVED)).entries[-1].native
    schema = {"type": "object", "properties": {"a": {"type": ["integer", "null"]}}}
    assert native[:5] == ["gemini-x", True, "Hi?", [["add", "Adds.", schema]], 200]
    assert native[5].startswith("http://127.0.0.1:")


def test_without_a_request_the_tools_are_the_names_that_were_called(tmp_path: Path) -> None:
    bare = answered(CALLS * 2, request=None, provider=None, streamed=None, model=None)
    native = transcript(function_adapter(ASKS + SHOWS, tmp_path, SERVED), bare).entries[-1].native
    schema = {"type": "object", "additionalProperties": True}
    assert native[:5] == ["gemini-2.5-flash", True, "Hello.", [["add", "", schema]], 200]


PROGRAM = ASKS + """
import os, sys
def out(**line):
    os.write(int(os.environ["HARNESS_OUT"]), json.dumps(line).encode() + b"\\n")
out(hello=1)
for line in sys.stdin:
    given = json.loads(line)
    native = list(ask(given["base_url"], [user(given["prompt"])]))
    if given["turn"] == 2:
        contents = [user(given["prompt"]), native[0]["candidates"][0]["content"], user(given["say"])]
        list(ask(given["base_url"], contents))
    out(id=given["id"], native=[*native, given], facts=[{"text": given["prompt"]}])
"""  # fmt: skip


@pytest.mark.slow
def test_a_program_gets_the_same_as_a_line(tmp_path: Path) -> None:
    adapter = program_adapter(PROGRAM, tmp_path, "serve")
    result = transcript(adapter, answered(CALLS))
    adapter.close()
    given = result.entries[-1].native
    assert list(result.facts()) == [Text("Hi?")]
    assert given.pop("base_url").startswith("http://127.0.0.1:")
    schema = {"type": "object", "properties": {"a": {"type": ["integer", "null"]}}}
    media = given.pop("media_results")
    assert [result["text"] for result in media] == [
        "result 1, see the image",
        "result 2, see the image",
    ]
    assert [result["mime_type"] for result in media] == ["image/png"] * 2
    assert base64.b64decode(media[0]["data"]) == result_with_image(1)[1]
    assert given == {
        "id": 1,
        "turn": 1,
        "case": "",
        "context": {},
        "provider": "gemini-api",
        "model": "gemini-x",
        "stream": True,
        "prompt": "Hi?",
        "tools": [{"name": "add", "description": "Adds.", "parameters": schema}],
        "thoughts": False,
        "system": "",
        "messages": [{"user": ["Hi?"]}],
        "choice": None,
        "output": None,
        "settings": {},
        "thinking": {},
        "google": {},
        "turns": 1,
        "stored": False,
        "results": ["result 1", "result 2"],
        "say": "Go on.",
        "cancel": False,
        "script": None,
        "path": "/v1beta/models/gemini-x:streamGenerateContent",
        "server_tools": [],
    }


def test_an_adapter_that_never_asked_is_an_error(tmp_path: Path) -> None:
    silent = function_adapter("def replay(at):\n    return []", tmp_path, SERVED)
    with pytest.raises(
        AdapterError, match=r"no request for an answer to the served address; .* to at\.base_url$"
    ):
        silent.output(EXCHANGE)
    fails = function_adapter("def replay(at):\n    return at.nothing", tmp_path, SERVED)
    with pytest.raises(
        AdapterError, match=r"no request for an answer .*; it raised AttributeError at \S+\.py:2: "
    ) as caught:
        fails.output(EXCHANGE)
    assert isinstance(caught.value.__cause__, AttributeError)


def test_an_adapter_may_skip_an_exchange(tmp_path: Path) -> None:
    code = "def replay(at):\n    try:\n        at.skip('only unary')\n    except Exception:\n        pass"
    assert transcript(function_adapter(code, tmp_path, SERVED)).skipped == "only unary"
    with pytest.raises(AdapterMissing, match="adapter mine skips this exchange: only unary"):
        function_adapter(code, tmp_path, SERVED, level="shop").output(EXCHANGE)


def test_another_wire_is_not_asked_and_another_mode_is_an_error(tmp_path: Path) -> None:
    url = "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse"
    envelope = replace(
        EXCHANGE, request=Request("POST", url, {}, b'{"request": {}}'), provider="code-assist"
    )
    result = transcript(function_adapter(ASKS, tmp_path, SERVED), envelope)
    assert result.skipped == "another wire"
    reports = f"""from harness.facts import Error
{ASKS.replace("def replay", "def asked")}
def replay(at):
    try:
        yield from asked(at)
    except Exception as error:
        yield "started", [Text("Hi")]
        yield "failed", [Error(404, str(error))]
"""
    reported = transcript(function_adapter(reports, tmp_path, SERVED), envelope)
    assert reported.skipped == result.skipped
    assert [entry.facts for entry in reported.entries] == [(Text("Hi"),), ()]
    unary = ASKS.replace("streamGenerateContent?alt=sse", "generateContent")
    with pytest.raises(AdapterError, match=r"mode unary was requested .* calls at\.skip\(reason\)"):
        function_adapter(unary, tmp_path, SERVED).output(EXCHANGE)


def test_the_output_of_a_program_is_not_asked(tmp_path: Path) -> None:
    program = Exchange(None, 200, {"x-exit-code": ["0"]}, (), "complete", provider="gemini-cli")
    result = transcript(function_adapter(ASKS, tmp_path, SERVED), program)
    assert result.skipped.startswith("the exchange is the output of a program")


@pytest.mark.slow
@pytest.mark.parametrize("guest", [False, True])
def test_the_events_before_a_second_request_are_counted(guest: bool, tmp_path: Path) -> None:
    again = ASKS + "    yield from replay(at)\n"
    adapter = function_adapter(again, tmp_path, SERVED, guest=guest)
    result = transcript(adapter)
    adapter.close()
    assert (result.asked_again, result.entries_of_first_request, len(result.entries)) == (1, 2, 2)
    assert result.raised is not None
    assert result.raised.type == "ConnectionRefusedError"
    assert result.notes == ("this turn was asked before",)


def test_a_request_for_another_model_is_noted(tmp_path: Path) -> None:
    other = ASKS.replace('model="gemini-x"', 'model="mine"')
    result = transcript(function_adapter(other, tmp_path, SERVED))
    assert result.notes == ("model mine, recorded gemini-x",)


CONVERSES = ASKS + """
def converse(at):
    contents = [user(at.prompt)]
    answer = [message["candidates"][0]["content"] for message in ask(at.base_url, contents)]
    calls = [fact for content in answer for fact in facts({"candidates": [{"content": content}]}) if type(fact) is Call]
    results = [{"functionResponse": {"id": call.id, "name": call.name, "response": {"output": at.result(call)}}} for call in calls]
    list(ask(at.base_url, [*contents, *answer, {"role": "user", "parts": results or [{"text": at.say}]}]))
"""  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("guest", [False, True])
def test_the_second_request_is_caught(guest: bool, tmp_path: Path) -> None:
    adapter = function_adapter(CONVERSES, tmp_path, SERVED, guest=guest)
    body = second_request(adapter, answered(CALLS))
    request = second_request(adapter, EXCHANGE)
    adapter.close()
    assert isinstance(body, bytes)
    user, model, results = json.loads(body)["contents"]
    assert user == {"role": "user", "parts": [{"text": "Hi?"}]}
    assert [part.get("functionCall") for part in model["parts"]] == [
        None,
        {"id": "i", "name": "add", "args": {"a": 1}},
        {"name": "add", "args": {"a": 2}},
    ]
    assert [part["functionResponse"]["response"] for part in results["parts"]] == [
        {"output": "result 1"},
        {"output": "result 2"},
    ]
    assert isinstance(request, bytes)
    assert json.loads(request)["contents"][-1] == {"role": "user", "parts": [{"text": "Go on."}]}


@pytest.mark.slow
def test_a_program_has_a_second_turn_too(tmp_path: Path) -> None:
    adapter = program_adapter(PROGRAM, tmp_path, "serve")
    body = second_request(adapter, answered(CALLS))
    adapter.close()
    assert isinstance(body, bytes)
    assert [content["role"] for content in json.loads(body)["contents"]] == [
        *("user", "model", "user")
    ]


@pytest.mark.slow
def test_a_program_may_have_no_second_turn(tmp_path: Path) -> None:
    adapter = program_adapter(PROGRAM.replace("hello=1", "hello=1, turns=1"), tmp_path, "serve")
    assert second_request(adapter, EXCHANGE) == "it has no second turn"
    assert transcript(adapter).asked_again == 0
    adapter.close()


def test_without_a_second_request_the_reason_is_given(tmp_path: Path) -> None:
    assert function_adapter(ASKS, tmp_path, SERVED).second_request is None
    assert function_adapter(CONVERSES, tmp_path).second_request is None
    once = ASKS + "\ndef converse(at):\n    list(replay(at))\n    raise KeyError('calls')\n"
    with pytest.raises(
        AdapterError, match=r"sent no second request; it raised KeyError at \S+\.py:\d+: 'calls'$"
    ):
        second_request(function_adapter(once, tmp_path, SERVED), EXCHANGE)
    stops = ASKS + "\ndef converse(at):\n    list(replay(at))\n"
    with pytest.raises(AdapterError, match=r"sent no second request; .* calls at\.skip"):
        second_request(function_adapter(stops, tmp_path, SERVED), EXCHANGE)
    skips = ASKS + "\ndef converse(at):\n    at.skip('no history')\n"
    assert second_request(function_adapter(skips, tmp_path, SERVED), EXCHANGE) == "no history"
    never = ASKS + "\ndef converse(at):\n    pass\n"
    with pytest.raises(AdapterError, match="no request for an answer"):
        second_request(function_adapter(never, tmp_path, SERVED), EXCHANGE)


def test_payloads_may_come_from_a_served_address(tmp_path: Path) -> None:
    code = (
        ASKS
        + "def payloads(at):\n    return [fact.text for _, facts in replay(at) for fact in facts if type(fact) is Text]"
    )
    adapter = function_adapter(code, tmp_path, SERVED, name="payloads", level="shop")
    assert adapter.output(EXCHANGE).items == ["Hel", "lo"]


def test_an_answer_that_breaks_off_breaks_off_for_the_adapter(tmp_path: Path) -> None:
    cut = answered(EXCHANGE.reads[0][1], end="cut")
    adapter = function_adapter(ASKS, tmp_path, SERVED)
    result = transcript(adapter, cut)
    assert list(result.facts()) == [Text("Hel")]
    assert result.raised is not None
    assert result.raised.type == "IncompleteRead"
    assert facts_of(adapter) == [Text("Hel"), Text("lo"), Finish("STOP")]


TAKES_MEDIA = """
def media_part(call):
    media = at.result_media(call)
    data = base64.b64encode(media.data).decode()
    parts = [{"inlineData": {"mimeType": media.mime_type, "data": data}}]
    response = {"output": media.text}
    return {"functionResponse": {"id": call.id, "name": call.name, "response": response, "parts": parts}}
"""


@pytest.mark.parametrize(("keeps", "verdict"), [(True, "kept"), (False, "lost")])
def test_an_adapter_may_send_results_with_images(keeps: bool, verdict: str, tmp_path: Path) -> None:
    converse = CONVERSES.partition("    results = [")
    code = (
        converse[0]
        + TAKES_MEDIA.replace("\n", "\n    ")
        + (
            "\n    results = [media_part(call) for call in calls]\n"
            + ("" if keeps else "    del results[1]['functionResponse']['parts']\n")
            + "    list(ask(at.base_url, [*contents, *answer, {'role': 'user', 'parts': results}]))\n"
        )
    )
    adapter = function_adapter("import base64\n" + code, tmp_path, SERVED)
    body = second_request(adapter, answered(CALLS))
    assert isinstance(body, bytes)
    answer = read_messages([json.loads(CALLS.removeprefix(b"data: "))])
    findings = judge_second_turn(answer, json.loads(body), given=[True, True])
    assert findings["results"].verdict == verdict
