"""Adapters are asked for what they read, and each fault of a request is one clear finding."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.adapters import Adapter
from harness.adapters.named import adapter_of_target
from harness.facts import read_losses
from harness.judging.questions.question import own_questions
from harness.judging.questions.run import plan_questions
from harness.judging.rows import QuestionRow
from harness.judging.run import run_plan, unused
from harness.project.recordings import load_recording
from harness.project.suite import CASSETTES

load = partial(load_recording, cassettes=CASSETTES)

SHIM = """
import json, time, urllib.error, urllib.request
from harness.facts import Call

def send(at, body):
    method = "streamGenerateContent?alt=sse" if at.stream else "generateContent"
    url = f"{at.base_url}/v1beta/models/{at.model}:{method}"
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    read(request)
    return []

def read(request):
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        error.close()

def contents(at):
    return [{"role": "user", "parts": [{"text": at.prompt}]}]

def plain(at):
    return send(at, {"contents": contents(at)})

def settings(at):
    names = {"temperature": "temperature", "seed": "seed"}
    generation = {names[name]: at.settings[name] for name in names if name in at.settings}
    return send(at, {"contents": contents(at), "generationConfig": generation})

def zeros_dropped(at):
    generation = {"temperature": at.settings.get("temperature"), "seed": at.settings.get("seed")}
    generation = {name: value for name, value in generation.items() if value}
    return send(at, {"contents": contents(at), "generationConfig": generation})

def settings_added(at):
    at.settings.get("temperature")
    return send(at, {"contents": contents(at), "generationConfig": {"maxOutputTokens": 4096}})

def system(at):
    return send(at, {"contents": contents(at), "systemInstruction": {"parts": [{"text": at.system}]}})

def system_of_the_user(at):
    return send(at, {"contents": [{"role": "user", "parts": [{"text": at.system}]}, *contents(at)]})

def silent(at):
    at.prompt
    return []

def twice(at):
    plain(at)
    return plain(at)

def crashes(at):
    return at.prompt.nothing

def refuses(at):
    at.prompt
    raise ValueError("this client has no place for it")

def refuses_media(at):
    at.messages
    raise ValueError("URL protocol gs is not allowed")

def guarded(at):
    at.prompt
    raise ValueError("private host 127.0.0.1 is not allowed")

def no_json(at):
    at.prompt
    return send(at, b"contents=Hi")

def no_object(at):
    at.prompt
    return send(at, b"[1]")

def no_body(at):
    at.prompt
    return send(at, b"")

def lists_models(at):
    at.prompt
    read(f"{at.base_url}/v1beta/models")
    return []

def hangs(at):
    at.prompt
    time.sleep(60)

def unary(at):
    at.prompt
    return send(type("At", (), {"stream": False, "base_url": at.base_url, "model": at.model}), {"contents": contents(at)})

def skips(at):
    at.skip("this API has no place for it")

def second(at, first, *, keep=True, drop=(), change=lambda body: body, times=1):
    method = "streamGenerateContent?alt=sse" if at.stream else "generateContent"
    url = f"{at.base_url}/v1beta/models/{at.model}:{method}"
    def post(body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"content-type": "application/json"})
        return read(request)
    answer = [json.loads(line[5:]) for line in post(first).splitlines() if line.startswith("data:")]
    parts = [part for each in answer for candidate in each.get("candidates", ())
             for part in candidate.get("content", {}).get("parts", ())]
    if at.stored:
        parts = json.loads(json.dumps([{k: v for k, v in part.items() if k not in drop} for part in parts]))
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    results = [{"functionResponse": {**({"id": call["id"]} if "id" in call else {}), "name": call["name"],
        "response": {"result": at.result(Call(call.get("id"), call["name"], call.get("args", {})))}}} for call in calls]
    history = [{"role": "model", "parts": parts}, {"role": "user", "parts": results or [{"text": at.say}]}]
    body = {**(first if keep else {"contents": first["contents"]}), "contents": [*first["contents"], *history]}
    for _ in range(times):
        post(change(body))
    return []

def first_body(at):
    settings = at.settings
    generation = {"temperature": settings.get("temperature"), "maxOutputTokens": settings.get("max_tokens")}
    declared = [{"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters} for tool in at.tools]
    tools = [*([{"functionDeclarations": declared}] if declared else []), *at.server_tools]
    return {
        "contents": contents(at),
        **({"systemInstruction": {"parts": [{"text": at.system}]}} if at.system else {}),
        **({"tools": tools} if tools else {}),
        **({"toolConfig": {"includeServerSideToolInvocations": True}} if declared and at.server_tools else {}),
        "generationConfig": {name: value for name, value in generation.items() if value is not None},
    }

def converses(at):
    return second(at, first_body(at))

def forgets(at):
    return second(at, first_body(at), keep=False)

def stores_less(at):
    return second(at, first_body(at), drop=("thoughtSignature",))

def changed(**how):
    return lambda at: second(at, first_body(at), **how)

def hangs_later(at):
    return second(at, first_body(at), change=lambda body: time.sleep(60))

sends_twice = changed(times=2)
sends_no_json = changed(change=lambda body: b"contents=Hi")
sends_no_object = changed(change=lambda body: [1])
sends_no_body = changed(change=lambda body: b"")
crashes_later = changed(change=lambda body: body.nothing)

def sends_much(at):
    system = {"parts": [{"text": "x" * 10_000_000}]}
    return second(at, first_body(at), change=lambda body: {**body, "systemInstruction": system})

def refuses_later(at):
    ends_early(at)
    raise ValueError("no place for it")

def ends_early(at):
    at.stored, at.settings.get("temperature")
    return plain(at)

def large(at):
    return send(at, {"contents": [*contents(at), {"role": "user", "parts": [{"text": "x" * 10_000_000}]}]})
"""  # fmt: skip


LATER = {
    "ends_early": "messages lost: no second request is sent",
    "sends_twice": "invented wrong: the same request is sent 2 times",
    "sends_no_json": "messages wrong: the body of the second request is not JSON (Expecting value: line 1 column 1 (char 0)): contents=Hi",
    "sends_no_object": "messages wrong: the body of the second request is no JSON object: [1]",
    "sends_no_body": "messages wrong: the body of the second request is empty",
    "sends_much": "system lost: text SYS-bc1 is not sent, in the second request",
    "crashes_later": "messages raised: no second request is sent; the adapter crashes with AttributeError at asked_shim.py:",
    "refuses_later": "messages lost: no second request is sent; the adapter raises ValueError at asked_shim.py:",
}  # fmt: skip
"""A client with a fault in its second request → the beginning of its only finding."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked")
    (folder / "asked_shim.py").write_text(SHIM, encoding="utf-8")
    for name in ("converses", "forgets", "stores_less", "ends_early", *LATER, "hangs_later"):
        text = f"from asked_shim import plain as replay, {name} as converse\n"
        (folder / f"{name}_shim.py").write_text(text, encoding="utf-8")
    return folder


def rows(
    folder: Path,
    function: str,
    *names: str,
    provider: str = "gemini-api",
    losses: str = "",
    guest: bool = False,
    timeout: float = 30,
    most: int | None = None,
) -> list[QuestionRow]:
    target = function if ":" in function else f"asked_shim:{function}"
    target = f"serve: {target}"
    adapter: Adapter = adapter_of_target(target, folder, {}, timeout=timeout, guest=guest)
    adapter = replace(adapter, losses=read_losses(losses))
    questions = [question for question in own_questions() if not names or question.name in names]
    items = plan_questions(questions, [provider], load, adapter)[:most]
    found = [*run_plan(items, [adapter])]
    adapter.close()
    assert unused(("", row.declared) for row in found) == [], "a declared loss that nothing shows"
    return found


def sentences(cells: list[QuestionRow]) -> list[str]:
    return list(dict.fromkeys(each.sentence for cell in cells for each in cell.red_findings))


def test_an_adapter_is_asked_only_for_what_it_reads(folder: Path) -> None:
    cells = rows(folder, "plain")
    asked = {cell.question for cell in cells if cell.verdict != "not-run"}

    assert {cell.verdict for cell in cells} == {"passed", "not-run"}
    assert "settings-none" in asked
    assert not asked & {"settings-zero", "history-calls", "tools-plain", "output-json"}
    facts = ("does not read it", "the adapter sends one request only")
    assert all(cell.reason.endswith(facts) for cell in cells if cell.verdict == "not-run")


def test_a_system_text_that_becomes_a_message_of_the_user_is_red(folder: Path) -> None:
    assert sentences(rows(folder, "system", "system-parts")) == []
    assert "system wrong: text SYS-al1 is sent, but not as a text of the system" in sentences(
        rows(folder, "system_of_the_user", "system-parts")
    )


def test_values_that_are_read_and_sent_are_kept_as_a_stream_and_unary(folder: Path) -> None:
    cells = rows(folder, "settings", "settings-zero")

    assert [(cell.verdict, cell.unary) for cell in cells] == [("passed", False), ("passed", True)]
    assert cells[0].aspects["settings"] == "kept"
    assert cells[0].aspects["accepted"] == "kept"


@pytest.mark.slow  # starts a process
def test_a_function_in_a_process_of_its_own_gets_the_words_of_the_question(folder: Path) -> None:
    cells = rows(folder, "settings", "settings-zero", guest=True)

    assert [cell.verdict for cell in cells] == ["passed", "passed"]
    assert cells[0].aspects["settings"] == "kept"


@pytest.mark.parametrize(
    ("function", "question", "expected"),
    [
        ("zeros_dropped", "settings-zero", "settings lost: temperature 0.0 is not sent"),
        ("settings_added", "settings-none", "invented wrong: max_tokens 4096 was not asked for"),
        ("silent", "settings-none", "messages lost: no request for an answer is sent"),
        ("lists_models", "settings-none", "messages lost: no request for an answer is sent, only GET /v1beta/models"),
        ("twice", "settings-none", "invented wrong: the same request is sent 2 times"),
        ("no_json", "settings-none", "messages wrong: the body of the request is not JSON (Expecting value: line 1 column 1 (char 0)): contents=Hi"),
        ("no_object", "settings-none", "messages wrong: the body of the request is no JSON object: [1]"),
        ("no_body", "settings-none", "messages wrong: the body of the request is empty"),
        ("unary", "settings-none", "messages wrong: the answer is asked for as unary"),
        ("crashes", "settings-none", "messages raised: no request for an answer is sent; the adapter crashes"),
        ("refuses", "settings-none", "messages lost: no request for an answer is sent; the adapter raises"),
    ],
)  # fmt: skip
def test_each_fault_is_one_finding(
    folder: Path, function: str, question: str, expected: str
) -> None:
    found = sentences(rows(folder, function, question))

    assert any(sentence.startswith(expected) for sentence in found), found


@pytest.mark.parametrize("function", ["guarded", "skips"])
def test_a_guard_or_a_skip_is_not_asked(folder: Path, function: str) -> None:
    cells = rows(folder, function, "settings-none")

    assert {cell.verdict for cell in cells} == {"not-run"}


def test_a_client_without_buckets_may_refuse_them(folder: Path) -> None:
    cells = rows(folder, "refuses_media", "media-in-a-bucket", provider="vertex-ai")
    assert [cell.verdict for cell in cells] == ["passed", "passed"]
    assert sentences(rows(folder, "refuses_media", "media-image"))


def test_a_loss_is_declared_with_the_word_of_its_finding(folder: Path) -> None:
    losses = "settings[temperature], settings[seed]"

    assert sentences(rows(folder, "zeros_dropped", "settings-zero", losses=losses)) == []


def test_a_declared_loss_that_nothing_shows_is_unused(folder: Path) -> None:
    with pytest.raises(AssertionError, match="nothing shows"):
        rows(folder, "settings", "settings-zero", losses="settings[top_k]")


def test_a_request_of_10_mb_is_judged(folder: Path) -> None:
    found = sentences(rows(folder, "large", "settings-none"))

    assert len(found) <= 1
    assert all(len(sentence) < 1000 for sentence in found)


@pytest.mark.parametrize("question", ["settings-in-second-turn", "stored-history"])
def test_a_second_request_with_everything_is_kept(folder: Path, question: str) -> None:
    cells = rows(folder, "converses_shim:replay", question)

    assert {cell.verdict for cell in cells} == {"passed"}, sentences(cells)
    assert len({cell.place for cell in cells}) == len(cells)
    assert {"calls", "results", "accepted"} <= {name for cell in cells for name in cell.aspects}


def test_a_second_request_without_the_settings_is_red(folder: Path) -> None:
    cells = rows(folder, "forgets_shim:replay", "settings-in-second-turn")

    for cell in cells:
        assert {finding.subject for finding in cell.red_findings} >= {"system", "tools", "settings"}
    assert all("in the second request" in sentence for sentence in sentences(cells)[:3])


def test_a_signature_that_is_not_saved_is_lost(folder: Path) -> None:
    cells = rows(folder, "stores_less_shim:replay", "stored-history")

    red = {finding.subject for cell in cells for finding in cell.red_findings}
    assert red == {"signatures", "other_signatures", "accepted"}


@pytest.mark.parametrize("function", LATER)
def test_a_fault_of_a_second_request_is_one_finding(folder: Path, function: str) -> None:
    found = sentences(rows(folder, f"{function}_shim:replay", "settings-in-second-turn"))

    assert [sentence.startswith(LATER[function]) for sentence in found] == [True], found
    assert len(found[0]) < 400


@pytest.mark.slow  # starts processes
@pytest.mark.parametrize(
    ("function", "question", "sent"),
    [
        ("asked_shim:hangs", "settings-none", "0 requests"),
        ("hangs_later_shim:replay", "settings-in-second-turn", "1 request"),
    ],
)
def test_a_client_that_hangs_is_stopped(
    folder: Path, function: str, question: str, sent: str
) -> None:
    [sentence] = sentences(rows(folder, function, question, guest=True, timeout=0.2, most=1))

    assert sentence.endswith(
        f" {function} did not return within 0.2 s; --timeout S gives it more, --pdb shows where it"
        f" is; it sent {sent} before that"
    )


def test_an_adapter_without_a_second_turn_is_not_asked_for_one(folder: Path) -> None:
    (cell,) = rows(folder, "settings", "settings-in-second-turn")

    assert cell.verdict == "not-run"
    assert "the adapter sends one request only" in cell.reason
