"""Reads text into cases or features, or raises one `SpecError` with all faults.

Two independent checks run over the same plain data: pydantic checks the shapes, `checks` checks
names and dates. A fault has a path into the data, and the path gives the line. If the rest of a
file cannot be checked (not YAML, not our format, a newer format), only one problem is reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date
from functools import partial
from itertools import islice
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from harness.cassettes.validation import Fault, pydantic_fault, show, unknown
from harness.cassettes.yaml import YamlError, parse_located
from harness.stream.json_path import Steps

from .checks import KnownNames, case_faults, repeated
from .lines import DEPTH, Lines
from .models import FORMAT, PATTERNS, Case, Feature, FeaturesFile, SpecFile
from .spec_error import SpecError

_File = TypeVar("_File", SpecFile, FeaturesFile)
_Line = Callable[[Steps], int]

MAX_CHARACTERS: Final = 32 * 1024 * 1024
MAX_PROBLEMS: Final = 100
"""The maximum number of listed problems: more are not useful, and the search for similar names
takes time.
"""

_HEAD: Final = re.compile(r"""(["']?)harness\1[ \t]*:[ \t]+(["']?)[0-9][0-9.]*\2[ \t]*(#.*)?""")
_FEATURES: Final = re.compile(r"(?:\A|[\r\n])features[ \t]*:")
_QUESTIONS: Final = re.compile(r"(?:\A|[\r\n])questions[ \t]*:")
_CASES: Final = re.compile(r"(?:\A|[\r\n])cases[ \t]*:")


def is_spec(text: str) -> bool:
    """Return whether ``text`` begins, after comments, with ``harness:`` and a number, and is not a
    features file and no file of questions. Other YAML files are ignored.
    """
    return _is_ours(text) and not is_features(text) and not is_questions(text)


def is_features(text: str) -> bool:
    """Return whether ``text`` is a features file: it begins like a spec and has ``features`` and no
    ``cases`` at its top.
    """
    return _is_ours(text) and not _CASES.search(text) and bool(_FEATURES.search(text))


def is_questions(text: str) -> bool:
    """Return whether ``text`` is a file of questions: it begins like a spec and has ``questions``
    and no ``cases`` at its top.
    """
    return _is_ours(text) and not _CASES.search(text) and bool(_QUESTIONS.search(text))


def read_spec(
    text: str,
    path: str,
    *,
    dialects: Collection[str],
    providers: Collection[str],
    features: Collection[str],
    losses: Mapping[str, Collection[str]],
    today: date | None = None,
    adapters: Mapping[str, str] | None = None,
) -> list[Case]:
    """Return the cases of a spec file, in its order.

    ``path`` is for errors. ``losses`` maps a dialect to the names of its declared losses,
    ``adapters`` the name of a user's adapter to the dialect that it is compared with. Without
    ``today`` no mark expires. Raises `SpecError`, and nothing else, with every problem of the file.
    """
    known = KnownNames(dialects, providers, features, losses, today, adapters or {})

    def check(data: Any, line: _Line) -> Iterator[Fault]:
        yield from repeated(data.get("cases"), "cases", "case", line)
        yield from case_faults(data, known)

    file, line = _read(text, path, SpecFile, check)
    for index, case in enumerate(file.cases):
        case.place(partial(_line_below, line, ("cases", index)))
    return list(file.cases)


def read_features(text: str, path: str) -> list[Feature]:
    """Return the features of a features file, in its order; raises `SpecError` with every problem
    of the file.
    """

    def check(data: Any, line: _Line) -> Iterator[Fault]:
        return repeated(data.get("features"), "features", "id", line)

    file, _ = _read(text, path, FeaturesFile, check)
    return list(file.features)


def read_items(
    text: str, path: str, key: str, check: Callable[[list[Any]], Iterable[Fault]]
) -> list[tuple[Any, int]]:
    """Return the items of the list under ``key`` of a file that has nothing else, as plain data
    with their lines. ``check`` gives the faults of the items, with paths in the list. Raises
    `SpecError` with every problem.
    """
    data, line = _parse(text, path)
    faults = _version_faults(data, path, line)
    known = ("harness", key)
    faults += [((name,), unknown("key", str(name), known)) for name in data if name not in known]
    items = data[key]
    if not isinstance(items, list) or not items:
        faults.append(((key,), f"{key} must be a list with at least one entry"))
        items = []
    faults += [((key, *steps), fact) for steps, fact in check(items)]
    if faults:
        raise SpecError(path, _problems(faults, line))
    return [(item, line((key, index))) for index, item in enumerate(items)]


def _line_below(line: _Line, holder: Steps, path: Steps) -> int:
    return line((*holder, *path))


def _is_ours(text: str) -> bool:
    for match in re.finditer(r"[^\r\n]+", text.removeprefix("\ufeff")):
        line = match[0].rstrip()
        if line and line != "---" and not line.lstrip().startswith("#"):
            return bool(_HEAD.fullmatch(line))
    return False


def _read(
    text: str, path: str, model: type[_File], check: Callable[[Any, _Line], Iterator[Fault]]
) -> tuple[_File, Lines]:
    """Return the file as a model, and the lines of its paths."""
    data, line = _parse(text, path)
    of_version = _version_faults(data, path, line)
    file, faults = _check_shapes(model, data)
    if of_version:
        faults = [fault for fault in faults if fault[0] != ("harness",)]
    faults += of_version
    faults.extend(islice(check(data, line), MAX_PROBLEMS + 1))
    if file is None or faults:
        raise SpecError(path, _problems(faults, line))
    return file, line


def _version_faults(data: dict[str, Any], path: str, line: Lines) -> list[Fault]:
    """Return the fault of the number of the format. Raises `SpecError` for a newer format."""
    version = data.get("harness")
    if isinstance(version, int | float) and version > FORMAT:
        fact = f"harness is {show(version)}, a newer format than {FORMAT}"
        raise SpecError(path, [(line(("harness",)), f"{fact}; update gemini-conformance")])
    if type(version) is int and version == FORMAT:  # pydantic accepts True and 1.0 as 1
        return []
    return [(("harness",), f"harness must be the number {FORMAT}, not {show(version)}")]


def _parse(text: str, path: str) -> tuple[dict[str, Any], Lines]:
    if len(text) > MAX_CHARACTERS:
        fact = f"the file has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read"
        raise SpecError(path, [(1, f"{fact}; divide it into several files")])
    if not _is_ours(text):
        fact = f"the file does not begin with harness: {FORMAT}"
        raise SpecError(path, [(1, f"{fact}; make that its first line")])
    try:
        data, lines = parse_located(text, DEPTH)
    except YamlError as error:
        raise SpecError(path, [(error.line, error.reason)]) from None
    return data, Lines(text, lines)


def _check_shapes(model: type[_File], data: Any) -> tuple[_File | None, list[Fault]]:
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        details = error.errors(include_url=False)[: MAX_PROBLEMS + 1]
        return None, [_fault(detail, model) for detail in details if not _repeats(detail)]


def _repeats(detail: ErrorDetails) -> bool:
    """Return whether pydantic calls a list too short only because all of its items are faulty."""
    return detail["type"] == "too_short" and bool(detail["input"])


def _fault(detail: ErrorDetails, model: type[BaseModel]) -> Fault:
    """Return one finding of pydantic; its line identifies the case or feature."""
    inside = 2 if len(detail["loc"]) > 2 and detail["loc"][0] in ("cases", "features") else 0
    path, message = pydantic_fault(detail, model, inside=inside, patterns=PATTERNS)
    if path[inside:] == ("reviewed",) and detail["input"] is not None:
        message += "; delete the line after you have reviewed the expectation"
    return path, message


def _problems(faults: list[Fault], line: _Line) -> list[tuple[int, str]]:
    """Return the first `MAX_PROBLEMS` faults by line, and a note if there are more."""
    problems = sorted(((line(path), text) for path, text in faults), key=lambda problem: problem[0])
    if len(problems) > MAX_PROBLEMS:
        note = f"there are more; the first {MAX_PROBLEMS} problems are listed"
        problems[MAX_PROBLEMS:] = [(problems[MAX_PROBLEMS][0], note)]
    return problems
