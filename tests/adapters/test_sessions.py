"""Adapters that hold a session at a served address: functions, guests and programs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from harness.adapters import Adapter, AdapterError, Output
from harness.cassettes.load import load
from harness.facts import Finish, Text
from harness.providers import with_provider
from harness.stream.exchange import Exchange
from harness.stream.websocket import Message, write_message
from tests.adapters.shims import function_adapter, program_adapter, transcript

TWO_TURNS = with_provider(
    load(Path(__file__).parents[2] / "cassettes" / "live" / "text.yaml").exchanges[1]
)
FACTS = [Text("Hello."), Finish("turnComplete"), Text("Good"), Text("bye."), Finish("turnComplete")]
PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
READS = f"""
import json, os, ssl
from websockets.sync.client import connect
from websockets.exceptions import ConnectionClosed

PATH = {PATH!r}

def socket_at(base_url):
    context = ssl.create_default_context()  # reads SSL_CERT_FILE
    return connect(base_url.replace("https", "wss") + PATH, ssl=context)

def ask(socket, text):
    turns = [{{"role": "user", "parts": [{{"text": text}}]}}]
    socket.send(json.dumps({{"clientContent": {{"turns": turns, "turnComplete": True}}}}))
    while True:
        content = json.loads(socket.recv()).get("serverContent", {{}})
        for part in content.get("modelTurn", {{}}).get("parts", []):
            yield {{"text": part["text"]}}
        if content.get("turnComplete"):
            yield {{"finish": "turnComplete"}}
            return
"""
FUNCTION = (
    READS
    + """
from harness.facts import fact_of_json

PROVIDERS = ("live",)

def replay(at):
    assert at.model == "models/gemini-3.8-live"
    assert os.environ["SSL_CERT_FILE"] == os.environ["NODE_EXTRA_CA_CERTS"] == at.script.certificate
    with socket_at(at.base_url) as socket:
        socket.send(json.dumps({"setup": at.script.setup}))
        for step in at.script:
            for fact in ask(socket, step.text):
                yield fact, [fact_of_json(fact)]
"""
)
PROGRAM = (
    READS
    + """
import sys, urllib.request

def write(**line):
    os.write(int(os.environ["HARNESS_OUT"]), json.dumps(line).encode() + b"\\n")

def get(url):
    return json.load(urllib.request.urlopen(url, context=ssl.create_default_context()))

write(hello=1, name="p", version="1", providers=["live"])
for line in sys.stdin:
    given = json.loads(line)
    facts = []
    with socket_at(given["base_url"]) as socket:
        socket.send(json.dumps({"setup": given["script"]["setup"]}))
        while step := get(given["base_url"] + "/user"):
            facts += ask(socket, step["text"])
    write(id=given["id"], native=facts, facts=[[fact] for fact in facts])
"""
)


def played(adapter: Adapter, session: Exchange = TWO_TURNS) -> Output:
    try:
        return adapter.output(session)
    finally:
        adapter.close()


@pytest.mark.parametrize("kind", ["function", "guest", "program"])
def test_a_session_has_a_certificate_and_a_user(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "mine.pem")  # that of the server comes in its place
    if kind == "program":
        adapter = program_adapter(PROGRAM, tmp_path, "serve")
    else:
        adapter = function_adapter(FUNCTION, tmp_path, "serve: ", guest=kind == "guest")
    output = played(adapter)
    assert output.transcript is not None
    assert [*output.transcript.facts()] == FACTS
    assert output.played is not None
    assert (output.played.played, output.played.late, output.played.unexpected) == (True, "", "")
    assert [message.kind for message in output.played.sent] == ["text"] * 3 + ["close"]
    assert os.environ["SSL_CERT_FILE"] == "mine.pem"


def test_a_session_is_asked_only_of_an_adapter_that_names_its_wire(tmp_path: Path) -> None:
    adapter = function_adapter("def replay(at): raise KeyError", tmp_path, "serve: ")
    assert transcript(adapter, TWO_TURNS).skipped.startswith("another wire; it reads gemini-api")
    program = program_adapter(PROGRAM.replace('providers=["live"]', ""), tmp_path, "serve")
    assert transcript(program, TWO_TURNS).skipped.startswith("another wire; it reads gemini-api")


def test_an_adapter_that_opens_no_session_is_an_error(tmp_path: Path) -> None:
    code = 'PROVIDERS = ("live",)\ndef replay(at):\n    raise ValueError("no model")'
    adapter = function_adapter(code, tmp_path, "serve: ")
    message = r"opened no session at the served address; expected one at at\.base_url; it raised"
    with pytest.raises(AdapterError, match=message):
        played(adapter)


def test_an_adapter_that_does_not_end_is_late(tmp_path: Path) -> None:
    code = FUNCTION + "    import time\n    time.sleep(60)\n"
    adapter = function_adapter(code, tmp_path, "serve: ", guest=True, timeout=0.5)
    output = played(adapter)
    assert output.played is not None
    assert output.played.late == "the end of its run"


def test_a_session_whose_messages_cannot_be_read_is_not_asked(tmp_path: Path) -> None:
    setup = write_message(Message("client", b'{"setup": {"model": "m"}}'))
    damaged = replace(TWO_TURNS, reads=((None, setup + b"<64 ?\n"),))
    adapter = function_adapter(FUNCTION, tmp_path, "serve: ")
    assert "is not base64" in transcript(adapter, damaged).skipped


@pytest.mark.slow
@pytest.mark.parametrize("messages", [100_000])
def test_a_session_with_many_messages_is_judged_in_time(messages: int, tmp_path: Path) -> None:
    empty = write_message(Message("server", b"{}")) * messages
    first, second, *rest = TWO_TURNS.reads
    long = replace(TWO_TURNS, reads=(first, second, (None, empty), *rest))
    output = played(function_adapter(FUNCTION, tmp_path, "serve: "), long)
    assert output.transcript is not None
    assert [*output.transcript.facts()] == FACTS
