"""The end of a run: the planned cells that it did not reach, the summary in the terminal, and the
reason if nothing ran.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from harness.adapters.clients import CLIENTS
from harness.cassettes import CassetteError
from harness.cassettes.redaction.secrets import mask
from harness.judging.facts_cells import fixed_failures, unshown_losses
from harness.judging.judge import NOTHING_EXPECTED
from harness.judging.rows import VERDICTS, CaseRow, Row, ended, unjudged
from harness.judging.rules_version import RULES
from harness.project.folders import yaml_files
from harness.project.identity import commit_of, project_name
from harness.project.project import kind_of
from harness.project.prune import unused_of
from harness.project.suite import is_suite, suite_name
from harness.project.update import Filled
from harness.report import Run, Unread, summary
from harness.report.document import Judged
from harness.report.files import read_run, write_report
from harness.report.header import choose_day, make_header
from harness.specs.spec_error import SpecError
from harness.stream.printable import plural, printable

from .collection import item_of
from .failures import Gap
from .items import RowItem, command_of
from .mask import masked, masked_prints
from .paths import cassette_folder, named_paths, spec_roots
from .project import project_of

RERUN: Final = "passed only when it ran again"


def unshown(rows: Collection[Row]) -> list[str]:
    """Return a sentence for each declared loss and known failure that no row shows."""
    return [*unshown_losses(rows), *fixed_failures(rows)]


def unused(config: pytest.Config) -> list[str]:
    """Return a sentence for each cassette and exchange that is known to be unused."""
    unused = unused_of(project_of(config), config.rootpath)
    return [each.sentence for each in unused if not each.computed]


def is_whole(session: pytest.Session) -> bool:
    """Return whether a run includes all specs, or with the laws all cassettes."""
    config = session.config
    narrowing = (
        *("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "stepwise"),
        "--harness-provider",
    )
    if session.shouldstop or session.shouldfail:
        return False
    if any(config.getoption(option, None) for option in narrowing):
        return False
    laws = config.getoption("--harness-laws")
    folders = [cassette_folder(config)] if laws else spec_roots(config)
    named = named_paths(config)
    return all(any(folder.is_relative_to(path) for path in named) for folder in folders)


def write_summary(
    terminal: pytest.TerminalReporter,
    results: list[Row],
    unread: Sequence[Unread],
    unshown: Sequence[str],
    filled: Sequence[Filled],
) -> None:
    """Print the summary, the specs that could not be read, the losses and known failures that no
    cell shows, and the filled expectations. Write the report if an option requests it.
    """
    config = terminal.config
    terminal.section("Gemini conformance")
    terminal.write(masked(summary(results, unread, _written(filled))))
    for line in unread:
        terminal.write_line(masked(f"not read: {line.problem}"), red=True)
    for sentence in unshown:
        terminal.write_line(masked(sentence), red=True)
    for item in filled:
        sentence = f"{item.verb}: {item.named}, `reviewed: no`"
        if item.fault:
            sentence = f"not {item.verb}: {item.named}: {item.fault}"
        terminal.write_line(masked(printable(sentence)), red=bool(item.fault))
    written = sum(not item.fault for item in filled)
    for hint in _hints(results, config, written):
        terminal.write_line(hint, yellow=True)
    folder = config.getoption("--harness-report")
    if folder and not config.option.collectonly:
        target = Path(config.invocation_params.dir / folder)
        _write_report(results, target, config, unread)
        terminal.write_line(masked(f"Report: {target / 'index.html'}"))


def _written(filled: Iterable[Filled]) -> str:
    """Return a sentence about the expectations that the run wrote, "" if it wrote none."""
    numbers = Counter(item.is_update for item in filled if not item.fault)
    parts = [
        f"{plural(numbers[is_update], 'expectation')} {verb}"
        for is_update, verb in ((False, "filled in"), (True, "rewritten"))
        if numbers[is_update]
    ]
    return f"{', '.join(parts)}, not yet reviewed: harness review" if parts else ""


def _hints(results: Sequence[Row], config: pytest.Config, written: int) -> Iterator[str]:
    """Yield the commands for expectations that are not reviewed, are empty, or do not hold.
    ``written``: the number of expectations that this run wrote, which the summary names.
    """
    again = sum(result.reason.startswith(RERUN) for result in results)
    if again:
        yield f"{plural(again, 'cell')} passed only when a plugin ran it again; the report has why"
    unreviewed = sum(result.verdict == "unreviewed" for result in results) - written
    if unreviewed > 0:
        them = "it" if unreviewed == 1 else "them"
        yield f"{plural(unreviewed, 'cell')} not reviewed: `harness review` goes through {them}"
    empty = sum(result.reason == NOTHING_EXPECTED for result in results)
    if empty:
        are, them = ("expectation is", "it") if empty == 1 else ("expectations are", "them")
        yield f"{empty:,} {are} empty: --harness-accept fills {them}"
    differing = sum(
        bool(result.findings) and result.layer != "facts" and VERDICTS[result.verdict].red
        for result in results
    )
    if differing and config.getoption("--harness-accept"):
        yield (
            f"{plural(differing, 'red cell')} not changed: --harness-accept fills empty"
            " expectations only; --harness-update rewrites those that no longer hold"
        )


def _write_report(
    results: list[Row], target: Path, config: pytest.Config, unread: Sequence[Unread]
) -> None:
    """Write all files of the report into a folder. ``unread`` are the errors of specs."""
    day = choose_day(config.getoption("--harness-date"), os.environ.get("SOURCE_DATE_EPOCH", ""))
    ran = day or datetime.now(UTC).date().isoformat()
    project = project_of(config)
    of_suite = is_suite(project.cassettes) or project.reads_suite(
        {result.cassette for result in results}
    )
    header = make_header(
        results,
        project.features,
        day,
        unread,
        project=project_name(config.rootpath),
        commit=commit_of(config.rootpath),
        ran=ran,
        suite=suite_name() if of_suite else "",
        judged=_judged(results, config, ran),
    )
    baseline = config.getoption("--harness-baseline")
    base = read_run(config.invocation_params.dir / baseline) if baseline else None
    write_report(Run(mask().value(header), results), base, target)


def _judged(results: Sequence[Row], config: pytest.Config, day: str) -> list[Judged]:
    """Return the user's adapters that have results, each with its version. A program is started to
    read it.
    """
    project, used = project_of(config), {result.adapter for result in results}
    with masked_prints(config):
        return [
            mask().value(_judged_adapter(name, named.target, adapter.version(), day))
            for name, named in project.adapters.items()
            if name in used and name not in CLIENTS and (adapter := project.adapter(name))
        ]


def _judged_adapter(name: str, target: str, version: str, day: str) -> Judged:
    return Judged(name, target=target, version=version, day=day, rules=RULES)


def with_filled(row: Row, filled: Filled) -> Row:
    """Return the row of a cell after its value was written, or could not be written."""
    if filled.fault:
        return ended(row, "error", masked(f"nothing could be {filled.verb}: {filled.fault}"))
    return replace(row, reason=f"written to {filled.file}; `harness review` shows it")


def with_rerun(row: Row, first: Row) -> Row:
    """Return the row of a cell that a plugin ran again. A passed one says so. ``first``: the row of
    its first run.
    """
    reason = first.reason or next((each.sentence for each in first.findings), first.verdict)
    passed = f"{RERUN}; the first run was red: {reason}"
    return replace(row, reason=passed) if row.verdict == "passed" else row


def unreached(config: pytest.Config, gaps: Mapping[str, Gap]) -> dict[str, Row]:
    """Return the rows of the cells with these ids, which have no other result, by their
    ids. An id that is not of a cell has none. A worker of pytest-xdist collects the items, and the
    controller knows only their ids: so the cell of an id is looked up in its file, with and without
    workers.
    """
    by_file: dict[str, list[str]] = {}
    for nodeid in gaps:
        by_file.setdefault(nodeid.partition("::")[0], []).append(nodeid)
    results: dict[str, Row] = {}
    for file, ids in by_file.items():
        path = Path(os.path.normpath(config.rootpath / file))
        try:
            kind = item_of(path, config)
            cells = kind.named_cells(path, config) if kind else []
        except (SpecError, CassetteError, OSError):
            kind, cells = RowItem, []  # it changed during the run
        if kind is None:
            continue
        found = {masked(f"{file}::{name}"): (name, cell) for name, cell in cells}
        for nodeid in ids:
            blank: Row = CaseRow("error", spec=file, case=nodeid.partition("::")[2])
            if nodeid in found:  # else its file does not have it any more
                name, cell = found[nodeid]
                command = command_of(path, name, config, *kind.options_of(cell))
                blank = replace(kind.blank(cell, config), command=command)
            reason, skipped = gaps[nodeid]
            result = ended(blank, "not-run", reason) if skipped else unjudged(blank, reason)
            results[nodeid] = mask().value(result)
    return results


def explain_nothing(terminal: pytest.TerminalReporter) -> None:
    """Print the reason if nothing ran for configured specs or for a selected adapter."""
    config = terminal.config
    for line in (*_unnamed_roots(config), *_unexpected(config)):
        terminal.write_line(masked(line), yellow=True)


def _unnamed_roots(config: pytest.Config) -> Iterator[str]:
    """Yield a sentence for each folder of ``harness_specs`` that pytest did not collect."""
    here, named = config.invocation_params.dir, named_paths(config)
    for root in spec_roots(config) if config.getini("harness_specs") else ():
        if not any(root.is_relative_to(path) or path.is_relative_to(root) for path in named):
            way = os.path.relpath(root, here) if root.anchor == here.anchor else root
            yield (
                f"harness_specs names {way}, which pytest did not collect: name it after"
                " `pytest`, or in `testpaths`"
            )


def _unexpected(config: pytest.Config) -> Iterator[str]:
    """Yield a sentence for each selected adapter for which no case has an expectation."""
    chosen = config.getoption("--harness-dialect") or ()
    if not chosen:
        return
    project = project_of(config)
    try:
        cases = [
            case
            for root in project.specs
            for path in yaml_files(root)
            if kind_of(path) == "spec"
            for case in project.cases(path)
        ]
    except SpecError:
        return  # the run that reads the file reports it
    for named in (project.adapters[name] for name in chosen if name in project.adapters):
        if not (named.by_facts or any(named.dialect in case.expect for case in cases)):
            fill = (
                f"write `{named.dialect}:` without a value below the `expect` of a case and run"
                " once with --harness-accept"
            )
            yield (
                f"{named.name}: no case has an expectation for {named.dialect}; {fill}, or test"
                " it by the laws with --harness-laws"
            )
