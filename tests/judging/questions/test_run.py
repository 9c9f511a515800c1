"""Adapters are asked for what they read, and each fault of a request is one clear finding."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.adapters import Adapter
from harness.adapters.named import adapter_of_target
from harness.facts import read_losses
from harness.judging.aspect_run import LossUse
from harness.judging.questions.question import own_questions
from harness.judging.questions.run import judge_questions, plan_questions
from harness.judging.results import Result

SHIM = """
import json, urllib.request

def send(at, body):
    method = "streamGenerateContent?alt=sse" if at.stream else "generateContent"
    url = f"{at.base_url}/v1beta/models/{at.model}:{method}"
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    urllib.request.urlopen(request).read()
    return []

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

def guarded(at):
    at.prompt
    raise ValueError("private host 127.0.0.1 is not allowed")

def no_json(at):
    at.prompt
    return send(at, b"contents=Hi")

def unary(at):
    at.prompt
    return send(type("At", (), {"stream": False, "base_url": at.base_url, "model": at.model}), {"contents": contents(at)})

def skips(at):
    at.skip("this API has no place for it")

def large(at):
    return send(at, {"contents": [*contents(at), {"role": "user", "parts": [{"text": "x" * 10_000_000}]}]})
"""  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked")
    (folder / "asked_shim.py").write_text(SHIM, encoding="utf-8")
    return folder


def rows(
    folder: Path, function: str, *names: str, losses: str = "", guest: bool = False
) -> list[Result]:
    adapter: Adapter = adapter_of_target(
        f"serve: asked_shim:{function}", folder, {}, timeout=30, guest=guest
    )
    adapter = replace(adapter, losses=read_losses(losses))
    questions = [question for question in own_questions() if not names or question.name in names]
    use: LossUse = {}
    found = [*judge_questions(plan_questions(questions, ["gemini-api"]), adapter, use)]
    adapter.close()
    unused = [str(loss) for loss, shown in use.items() if not shown]
    assert unused == [], "a declared loss that nothing shows"
    return found


def sentences(cells: list[Result]) -> list[str]:
    return list(dict.fromkeys(each.sentence for cell in cells for each in cell.red_findings))


def test_an_adapter_is_asked_only_for_what_it_reads(folder: Path) -> None:
    cells = rows(folder, "plain")
    asked = {cell.question for cell in cells if cell.verdict != "not-run"}

    assert {cell.verdict for cell in cells} == {"passed", "not-run"}
    assert "settings-none" in asked
    assert not asked & {"settings-zero", "history-calls", "tools-plain", "output-json"}
    assert all("does not read it" in cell.reason for cell in cells if cell.verdict == "not-run")


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
        ("silent", "settings-none", "messages lost: the adapter sends no request for an answer"),
        ("twice", "settings-none", "invented wrong: the same request is sent 2 times"),
        ("no_json", "settings-none", "messages wrong: the body of the request is not JSON"),
        ("unary", "settings-none", "messages wrong: the answer is asked for as unary"),
        ("crashes", "settings-none", "messages raised: no request is sent; the adapter crashes"),
        ("refuses", "settings-none", "messages lost: no request is sent; the adapter raises"),
    ],
)
def test_each_fault_is_one_finding(
    folder: Path, function: str, question: str, expected: str
) -> None:
    found = sentences(rows(folder, function, question))

    assert any(sentence.startswith(expected) for sentence in found), found


@pytest.mark.parametrize("function", ["guarded", "skips"])
def test_a_guard_or_a_skip_is_not_asked(folder: Path, function: str) -> None:
    cells = rows(folder, function, "settings-none")

    assert {cell.verdict for cell in cells} == {"not-run"}


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
