"""The questions of a project: files of its specs with the key ``questions``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.cassettes.validation import Fault
from harness.judging.questions.question import Question, faults_of, read_question
from harness.specs.reader import is_questions, read_items
from harness.specs.spec_error import SpecError

from .folders import read_text, shown_path, yaml_files


def read_questions(
    text: str, path: str, check: Callable[[list[Any]], Sequence[Fault]] = faults_of
) -> list[Question]:
    """Return the questions of a file, in its order. ``path`` is for errors. Raises `SpecError` with
    the faults that ``check`` finds.
    """
    items = read_items(text, path, "questions", check)
    return [replace(read_question(item), line=line) for item, line in items]


def questions_of(roots: Sequence[Path]) -> dict[str, tuple[Question, Path]]:
    """Return the questions in folders of specs by their names, each with its file. Raises
    `SpecError`.
    """
    known: dict[str, tuple[Question, Path]] = {}
    files = (path for root in roots if root.exists() for path in yaml_files(root))
    for path in files:
        if not is_questions(path.read_bytes().decode("utf-8", "replace")):
            continue
        for question in read_questions(read_text(path), shown_path(path)):
            if question.name in known:
                other = shown_path(known[question.name][1])
                fact = f"{question.name} is the name of a question in {other} too; rename one"
                raise SpecError(shown_path(path), [(1, fact)])
            known[question.name] = question, path
    return known
