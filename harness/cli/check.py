"""The command ``harness check``: validates specs, features files, questions and cassettes without a
run, prints the schema of specs, or proves that they detect known faults.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

from harness.cassettes import CassetteError, is_cassette
from harness.cassettes.load import load
from harness.cassettes.redaction.secrets import guard
from harness.cassettes.validation import Fault, unknown
from harness.dialects import DIALECTS
from harness.judging.judge import resolve_fixture
from harness.judging.questions.question import faults_of
from harness.pipeline.replay import ReplayError
from harness.project.configuration import add_folders, folders_of, project_of
from harness.project.folders import read_text, yaml_files
from harness.project.project import Project, kind_of, unheaded
from harness.project.prune import (
    OUTSIDE,
    Unused,
    is_outside,
    lines_of,
    prune,
    uncollected,
    unused_of,
)
from harness.project.questions import read_questions
from harness.providers import PROVIDERS
from harness.proving.mutation import kill_names
from harness.specs.models import LAYERS, Case, json_schema
from harness.specs.reader import read_features
from harness.specs.spec_error import SpecError
from harness.stream.printable import plural, printable

from .output import paint, with_progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        type=Path,
        nargs="*",
        metavar="PATH",
        help="files or folders (default: the folders of the specs and of the cassettes)",
    )
    add_folders(parser)
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--schema",
        action="store_true",
        help="print the JSON Schema of spec files instead, for editors; it has the features of the"
        " features files",
    )
    instead.add_argument(
        "--prove",
        action="store_true",
        help="change the payloads and requests instead, and check that a case fails for each"
        " change; an operator that fits no case is only counted",
    )
    instead.add_argument(
        "--prune",
        action="store_true",
        help="list the unused cassettes that --yes moves to .harness/unused",
    )
    parser.add_argument(
        "--yes",
        action="store_true",
        help="with --prune: move them, if nothing has a problem (default: only list them)",
    )
    parser.add_argument(
        "--dialect",
        action="append",
        choices=DIALECTS,
        help="with --prove: only this event model (repeatable; default: all that the specs name)",
    )
    parser.add_argument(
        "--adapter",
        action="append",
        default=[],
        metavar="TARGET",
        help="with --prove: also this adapter: a configured name or a target (repeatable; default:"
        " none)",
    )
    parser.add_argument(
        "--survivors",
        action="store_true",
        help="with --prove: also list each case that passes with a fault, and each operator that"
        " never applied",
    )
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    if parsed.schema:
        print(json.dumps(_schema(project_of(parsed)), indent=2))
        return 0
    if parsed.prove:
        from .prove import prove_specs  # start-up time

        return prove_specs(parsed)
    return _check(parsed)


def _schema(project: Project) -> dict[str, Any]:
    """Return the JSON Schema of a spec, with the names of the project."""
    schema = json_schema()
    case = schema["$defs"]["Case"]["properties"]
    case["features"]["items"]["enum"] = [feature.id for feature in project.features]
    case["provider"]["enum"] = list(PROVIDERS)
    dialects = (adapter.dialect for adapter in project.adapters.values())
    columns = (*LAYERS, *DIALECTS, *dialects)
    case["expect"]["properties"] = dict.fromkeys(
        columns, case["expect"].pop("additionalProperties")
    )
    case["expect"]["additionalProperties"] = False
    return schema


def _check(parsed: argparse.Namespace) -> int:
    project, (roots, cassettes) = project_of(parsed), folders_of(parsed)
    defaults = {Path("specs"), Path("cassettes")}  # only a folder that the user named must exist
    paths = parsed.paths or [
        path for path in (*roots, cassettes) if path.exists() or path not in defaults
    ]
    counts: Counter[str] = Counter()
    problems: list[str] = []
    for path in paths:
        if not path.exists():
            problems.append(f"{path}: no such file or folder")
            continue
        for file in with_progress(yaml_files(path), f"check {path}", "files"):
            try:
                kind = _check_file(project, file)
                if kind == "other file" and file in parsed.paths:
                    raise SpecError(str(file), [(1, _NO_KIND)])
                counts[kind] += 1
            except (SpecError, CassetteError) as error:
                problems += str(error).replace(str(project.cassettes), str(cassettes)).splitlines()
    if not counts and not problems:
        problems.append(
            f"nothing to check: neither {', '.join(str(root.absolute()) for root in roots)} nor"
            f" {cassettes.absolute()} has a YAML file; name files or folders, or import a"
            f" recording: harness import FILE -o {cassettes / 'gemini-api' / 'hello.yaml'}"
        )
    unused = [] if parsed.paths else unused_of(project, Path.cwd())
    for line in lines_of(unused):
        print(paint(printable(line), "yellow"))
    if parsed.prune:
        problems += _pruned(project, unused, parsed, problems)
    problems = _without_repetitions(problems)
    for problem in problems:
        print(paint(printable(problem), "red"))
    for file in [] if parsed.paths or parsed.specs else uncollected(project, Path.cwd()):
        line = f"not collected: {file} is a spec outside of the folders of specs"
        print(paint(printable(line), "yellow"))
    counted = ", ".join(
        plural(count, kind)
        for kind, count in sorted(counts.items(), key=lambda item: _KINDS.index(item[0]))
    )
    print(f"{counted or '0 files'} valid, {plural(len(problems), 'problem')}")
    return 1 if problems else 0


def _pruned(
    project: Project, unused: Sequence[Unused], parsed: argparse.Namespace, problems: Sequence[str]
) -> list[str]:
    """Move the unused cassettes; returns the reasons why nothing was moved."""
    if parsed.paths:
        return ["--prune looks at the whole project: omit the paths"]
    if problems:
        return ["nothing was moved, because there are problems: mend them first"]
    if is_outside(project, Path.cwd()):
        return [f"nothing was moved: {OUTSIDE}"]
    for line in prune(project, unused, Path.cwd(), move=parsed.yes):
        print(printable(line))
    return []


def _without_repetitions(problems: Sequence[str]) -> list[str]:
    """Drop problems that only repeat another problem with a different place before it. Each spec
    that names a damaged cassette reports the damage again.
    """
    known = set(problems)
    return [
        problem
        for problem in dict.fromkeys(problems)
        if not any(problem[at.end() :] in known for at in re.finditer(": ", problem))
    ]


_NO_KIND: Final = "no spec, features file or cassette; a spec begins with `harness: 1`"
_KINDS: Final = (
    "spec",
    "features file",
    "question file",
    "cassette",
    "recording",
    "other file",
)


def _check_file(project: Project, file: Path) -> str:
    """Return the kind of a valid file. Raises `SpecError` or `CassetteError` for an invalid one."""
    kind = kind_of(file)
    if kind == "spec":
        for case in project.cases(file, today=date.today()):
            _check_case(project, file, case)
        return "spec"
    if kind == "features":
        read_features(read_text(file), str(file))
        return "features file"
    if kind == "questions":
        _check_questions(project, file)
        return "question file"
    data = file.read_bytes()
    if is_cassette(data) or file.resolve().is_relative_to(project.cassettes):
        if sentence := load(file).empty_answers:
            print(paint(printable(f"{file}: {sentence}"), "yellow"))
        guard().refuse(data.decode("utf-8", "replace"), str(file))
        return "cassette" if is_cassette(data) else "recording"
    if fault := unheaded(data):
        raise SpecError(str(file), [(1, fault)])
    return "other file"


def _check_questions(project: Project, file: Path) -> None:
    """Raise `SpecError` for a question that is not valid, or that names a cassette that does not
    exist.
    """

    def faults(items: list[Any]) -> list[Fault]:
        found = faults_of(items)
        wrong = {path[0] for path, _ in found}
        for index, item in enumerate(items):
            for name in () if index in wrong else item.get("recordings", ()):
                try:
                    project.cassette(name)
                except CassetteError as error:
                    found.append(((index, "recordings"), str(error)))
        return found

    read_questions(read_text(file), str(file), faults)


def _check_case(project: Project, file: Path, case: Case) -> None:
    """Raise `SpecError` if a case names a cassette, an exchange or a mutation that does not
    exist.
    """
    for dialect, operator in case.kill.items():
        if operator not in (names := kill_names(dialect)):
            fault = unknown("mutation", operator, names, f"mutations of {dialect}")
            raise SpecError(str(file), [(case.line_of("kill"), fault)])
    named = "cassette"
    try:
        if case.cassette:
            project.cassette(case.cassette)
            named = "exchange" if "exchange" in case.model_fields_set else "cassette"
        resolve_fixture(case, project.cassette)
    except (CassetteError, ReplayError) as error:
        raise SpecError(str(file), [(case.line_of(named), str(error))]) from None
