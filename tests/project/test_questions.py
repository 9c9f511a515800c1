"""The questions of a project: files of its specs."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.judging.questions.question import own_questions
from harness.project.project import kind_of, unheaded
from harness.project.questions import questions_of, read_questions
from harness.specs.spec_error import SpecError
from harness.stream.prompt import Media, Text

HEAD = "harness: 1\nquestions:\n"
BOATS = f"""{HEAD}- question: boats
  asks: A picture of a boat.
  not: [chat]
  ask:
    system: [SYS]
    messages: [{{user: [Look., {{image: {{data: png-7, type: image/png}}}}]}}]
    settings: {{temperature: 0.0, stop: [X]}}
"""


def fault(item: str) -> str:
    """The error of one question, without its place."""
    with pytest.raises(SpecError) as error:
        read_questions(f"{HEAD}- {item}", "q.yaml")
    [(_, message)] = error.value.problems
    return message


def test_a_file_has_questions_with_all_values() -> None:
    [question] = read_questions(BOATS, "q.yaml")

    assert (question.name, question.not_for) == ("boats", ("chat",))
    assert question.prompt.settings == {"temperature": 0.0, "stop": ["X"]}
    [message] = question.prompt.messages
    assert [type(part) for part in message.parts] == [Text, Media]
    assert [part.place for part in message.parts] == ["messages[0].user[0]", "messages[0].user[1]"]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("{question: Boat, asks: x}", "question must be lower-case words joined by '-', not 'Boat'"),
        ("{question: a}", "asks is missing; required keys are question, asks"),
        ("{question: a, asks: x, aks: {}}", "unknown key 'aks' (did you mean asks?)"),
        ("{question: a, asks: x, ask: {sytem: [x]}}", "ask: unknown key 'sytem' (did you mean system?)"),
        ("{question: a, asks: x, ask: {system: x}}", "ask.system must be a list, not a string"),
        ("{question: a, asks: x, ask: {settings: {seed: x}}}", "ask.settings.seed must be a whole number, not a string"),
        ("{question: a, asks: x, ask: {tools: [{strict: true}]}}", "ask.tools[0] must have a name, or be {provider: KIND}"),
        ("{question: a, asks: x, ask: {messages: [{user: [x], model: [y]}]}}", "ask.messages[0] must have one of user, model, results and system"),
        ("{question: a, asks: x, ask: {messages: [{user: [{image: {data: gif-1}}]}]}}", "ask.messages[0].user[0].image.data is unknown: 'gif-1' is not a medium"),
        ("{question: a, asks: x, ask: {messages: [{user: [{image: {url: 'http://x'}}]}]}}", "ask.messages[0].user[0].image must have data, or a url with"),
        ("{question: a, asks: x, ask: {messages: [{user: [{image: {data: png-1}, thought: x}]}]}}", "ask.messages[0].user[0] must be a text, a call, a thought or a medium"),
        ("{question: a, asks: x, turns: 2}", "a question with turns: 2, and no other, has recordings"),
        ("{question: a, asks: x, only: [gemini]}", "only[0] must be 'gemini-api', "),
        ("{question: a, asks: x, group: schemas}", "group is only for the questions of the package"),
        ("{question: settings-zero, asks: x}", "settings-zero is the name of a question of the package"),
        ("7", "the question must be a mapping, not a whole number"),
    ],
)  # fmt: skip
def test_a_fault_says_what_is_expected(item: str, message: str) -> None:
    assert fault(item).startswith(message)


def test_each_question_has_its_first_fault_with_its_line() -> None:
    text = f"{HEAD}- question: a\n  asks: 1\n- question: b\n  asks: x\n  ask:\n    tools: 3\n"

    with pytest.raises(SpecError) as error:
        read_questions(text, "q.yaml")
    assert [line for line, _ in error.value.problems] == [4, 8]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("harness: 1\nquestions: []\n", "q.yaml:2: questions must be a list with at least one entry"),
        (f"{BOATS}more: 1\n", "q.yaml:10: unknown key 'more'; known keys are harness, questions"),
        (BOATS.replace("harness: 1", "harness: 2"), "q.yaml:1: harness is the number 2, a newer format than 1"),
        (BOATS + BOATS.removeprefix(HEAD), "q.yaml:10: boats is the name of a question of this file"),
    ],
)  # fmt: skip
def test_a_fault_of_the_file_has_its_line(text: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        read_questions(text, "q.yaml")
    assert str(error.value).startswith(message)


def test_two_files_have_no_question_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(BOATS, encoding="utf-8")
    (tmp_path / "features.yaml").write_text("harness: 1\nfeatures: []\n", encoding="utf-8")
    assert [*questions_of([tmp_path, tmp_path / "nosuch"])] == ["boats"]
    assert kind_of(tmp_path / "a.yaml") == "questions"
    (tmp_path / "b.yaml").write_text(BOATS, encoding="utf-8")

    with pytest.raises(SpecError, match=r"boats is the name of a question in .*a\.yaml too"):
        questions_of([tmp_path])


def test_a_file_without_the_first_line_is_named() -> None:
    assert "has `questions:` but does not begin with" in unheaded(b"questions:\n- question: a\n")


def test_questions_of_the_package_are_valid_and_have_a_group() -> None:
    assert all(question.group for question in own_questions())
