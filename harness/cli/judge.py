"""The command ``harness judge``: judges adapters by the facts that they keep of recorded answers.

It needs no project, no spec and no pytest. Without ``--cassettes`` it uses the suite of the
package.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from itertools import chain
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Self, get_args

from msgspec.structs import replace as with_fields

from harness.adapters import ADAPTERS, Adapter, AdapterError, KnownFailure, Output, RunOptions
from harness.adapters.declarations import declared_losses, known_failures
from harness.adapters.environment import LOGS
from harness.adapters.named import TIMEOUT_S, check_target, read_argument
from harness.cassettes import CassetteError, UnknownFormat
from harness.cassettes.redaction.secrets import mask
from harness.facts import ASPECTS, REQUESTS, read_losses
from harness.judging.aspect_run import (
    FirstTurns,
    JudgedCuts,
    JudgedExchange,
    items_with_second_turn,
    plan_answers,
    plan_second_turns,
)
from harness.judging.facts_cells import fixed_failures, matches, with_known
from harness.judging.judge_results import (
    AdapterResults,
    JudgePlan,
    JudgeResults,
    PlannedAdapter,
    Unjudged,
    decode_results,
    encode_results,
)
from harness.judging.rows import ResultsError, Row, RowKind, encode_item
from harness.judging.rules_version import RULES
from harness.judging.run import Item, run_plan, shown_only, unused
from harness.pipeline.replay import is_answer
from harness.project.configuration import adapters_of, known_failures_of, losses_of, specs_of
from harness.project.corpus import choose, corpus_folder, fetched, read_lock
from harness.project.folders import files_below
from harness.project.recordings import check_number, find_recording, load_recording
from harness.project.suite import (
    CASSETTES,
    Members,
    frozen_name,
    is_of_suite,
    members,
    read_frozen,
    suite_name,
)
from harness.providers import PROVIDERS
from harness.recording.atomic_file import save
from harness.report import JUNIT, Header, ReportError, Run, compare_runs, render_index, render_junit
from harness.report.aspect_counts import Findings
from harness.report.aspect_text import LEGEND, closing_text, results_text
from harness.report.ci import ANNOTATIONS, SUMMARY, annotation_lines, in_markdown
from harness.report.compare import changes_text
from harness.report.files import INDEX, refuse_file, write_files
from harness.report.judge_run import JSON, compared_runs, merge_results, run_of
from harness.stream.exchange import Exchange
from harness.stream.printable import listed, plural, printable

from .arguments import read_count, read_seconds
from .judge_init import KINDS, write_shim
from .named_adapter import Losses, open_adapter
from .output import INTERRUPTED, note, paint, with_progress

if TYPE_CHECKING:
    from harness.judging.questions.question import Question
    from harness.judging.questions.run import AskedItem
    from harness.judging.questions.service_faults import ServiceFault

RED: Final = 1
NOTHING: Final = 2
"""The exit status if nothing was compared."""
MOST_JOBS: Final = 64
MOST_NAMES: Final = 5
NO_ANSWER: Final = "no exchange has an answer of a model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help=(
            "module:function, 'serve: module:function', 'serve: COMMAND', 'run: COMMAND', 'gateway"
            " WIRE: URL', an event model, a name of harness_adapters, 'NAME = TARGET', or 'WIRE"
            " = TARGET' for an adapter that writes a public wire, such as 'openai-chat ="
            " shop:chunks'; or JSON files of earlier runs, to merge them into one report"
        ),
    )
    parser.add_argument(
        "--init",
        choices=KINDS,
        metavar="KIND",
        help=(
            f"write a shim to fill in, for a {', '.join(KINDS)}, to the file of -o, and print the"
            " line that judges it (default: judge)"
        ),
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="with --init: the new file, such as shim.py (default: none)",
    )
    parser.add_argument(
        "--cassettes",
        nargs="+",
        action="extend",
        metavar="PATH",
        help=(
            "recordings, folders, or names of cassettes such as gemini-api/text; PATH:N is only"
            " exchange N (default: the suite of the package)"
        ),
    )
    parser.add_argument(
        "--suite",
        metavar="VERSION",
        help=(
            "judge by the cassettes and questions of a frozen version of the suite, such as"
            " 2026.11, that the package still has unchanged (default: the suite of the package)"
        ),
    )
    parser.add_argument(
        "--corpus",
        nargs="*",
        metavar="NAME",
        help=(
            "recordings that `harness corpus fetch` has downloaded: OWNER/NAME, or OWNER/NAME/ and"
            " the beginning of a path (default: none; without a NAME all)"
        ),
    )
    parser.add_argument(
        "--cuts",
        nargs="+",
        choices=get_args(JudgedCuts),
        default=[],
        metavar="CUTS",
        help=(
            "judge each answer with its reads cut as recorded, whole, or in 100 pieces (recorded,"
            " whole, pieces; a cell shows the worst result; a function notices only if it reads"
            " exchange.reads, not exchange.body; default: recorded, but of the streams of which no"
            " read ends inside a message, one of each shape in pieces)"
        ),
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help=(
            "a request that the API refuses is red, even if it has only what the adapter was given"
            " (default: it is noted)"
        ),
    )
    parser.add_argument(
        "--questions",
        nargs="+",
        metavar="NAME",
        help=(
            "ask only these questions about requests and failing services, such as settings-zero or"
            " overloaded, and judge no recordings but those of --cassettes; none: ask no questions"
            " (default: all, to adapters that send requests)"
        ),
    )
    parser.add_argument(
        "--report", type=Path, metavar="DIR", help="write a page to this folder (default: none)"
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write the results to this file during the run (default: none)",
    )
    parser.add_argument(
        "--baseline",
        type=Path,
        metavar="FILE",
        help=(
            "JSON of an earlier run: print the cells that are now broken or fixed, with their"
            " aspects; the exit status is 1 only if a cell is broken (default: none)"
        ),
    )
    parser.add_argument(
        "--losses",
        action="append",
        default=[],
        metavar="LOSSES",
        help=(
            "declared losses, such as 'media, finish[call]' or 'litellm: media' (repeatable;"
            " default: harness_losses of pytest's configuration)"
        ),
    )
    parser.add_argument(
        "--known-failing",
        action="append",
        default=[],
        metavar="FAILURE",
        help=(
            "a failure that is known, such as 'litellm: finish = says stop,"
            " https://example.org/1, until 2027-03-31' (repeatable; default: harness_known_failing"
            " of pytest's configuration)"
        ),
    )
    parser.add_argument(
        "--jobs",
        type=read_count,
        default=1,
        metavar="N",
        help="judge N exchanges at a time, each in its own process (default: 1)",
    )
    parser.add_argument(
        "--timeout",
        type=read_seconds,
        default=TIMEOUT_S,
        metavar="S",
        help=f"seconds for one exchange (default: {TIMEOUT_S:g})",
    )
    parser.add_argument(
        "--pdb",
        action="store_true",
        help="run a function in the process of the harness, without a time limit, one exchange at a"
        " time; open the debugger at each exception that it raises",
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="show the logs of the adapters on stderr when they come (default: only with findings)",
    )
    parser.set_defaults(run=_judge)


def _judge(parsed: argparse.Namespace) -> int:
    if parsed.init:
        write_shim(parsed.init, parsed.output)
        return 0
    if not parsed.targets:
        raise ReportError(
            "judge: no adapter is named; name a target such as shim:replay, or write a shim with"
            " harness judge --init function -o shim.py"
        )
    if parsed.jobs > MOST_JOBS:
        raise ReportError(f"--jobs {parsed.jobs}: at most {MOST_JOBS} processes are started")
    if parsed.report:
        refuse_file(parsed.report)
    if parsed.json and (parsed.json.is_dir() or not parsed.json.absolute().parent.is_dir()):
        raise ReportError(f"--json {parsed.json}: name a file in a folder that exists")
    paths = [Path(text) for text in parsed.targets if text.endswith(".json")]
    documents = [path for path in paths if path.is_file()]
    if documents:
        return _merge(documents, parsed)
    baseline = _read_baseline(parsed.baseline) if parsed.baseline else None
    declared = declared_of(parsed.losses)
    chosen = _chosen_suite(parsed)
    asked = _questions(parsed.questions, chosen)
    items, left_out = _items_and_skipped(parsed, chosen)
    skipped = mask().value(left_out)
    results: list[AdapterResults] = []
    with ExitStack() as stack:
        stack.enter_context(LOGS.setting(shown=parsed.verbose))
        named = [_adapters(text, parsed, declared, len(items)) for text in parsed.targets]
        for adapters in named:
            for adapter in adapters:
                stack.callback(adapter.close)
        names = [adapters[0].name for adapters in named]
        known = _known_failures(parsed.known_failing, names, items, asked)
        if repeated := [name for name in names if names.count(name) > 1]:
            raise ReportError(
                f"{len(repeated)} adapters have the name {repeated[0]}; use one name for each:"
                " 'NAME = TARGET'"
            )
        plans = [
            _plan(argument, adapters, items, asked)
            for argument, adapters in zip(parsed.targets, named, strict=True)
        ]
        planned = JudgePlan(tuple(plan.planned for plan in plans))
        file = stack.enter_context(ResultsFile(parsed.json, planned, skipped))
        try:
            for plan, adapters in zip(plans, named, strict=True):
                adapters[0] = replace(adapters[0], known_failing=known.get(adapters[0].name, ()))
                results.append(_judge_one(plan, adapters, file, parsed, asked))
        except KeyboardInterrupt:
            kept = f"; {parsed.json} has them" if parsed.json else ""
            note(f"interrupted: {file.cells:,} of {plural(file.total, 'cell')} were judged{kept}")
            return INTERRUPTED
    return _conclude(JudgeResults(tuple(results), tuple(skipped)), baseline, parsed)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The cells of one adapter: the exchanges of the first turn, and those with a second turn."""

    planned: PlannedAdapter
    items: Sequence[JudgedExchange]
    answered: Sequence[JudgedExchange]


def _plan(
    argument: str, adapters: Sequence[Adapter], items: Sequence[JudgedExchange], asked: _Asked
) -> _Plan:
    first = adapters[0]
    target = argument if argument in ADAPTERS else read_argument(argument, adapters_of()).target
    answered = items_with_second_turn(items, first)
    cells, second_turn = (tuple(item.place for item in group) for group in (items, answered))
    questions = asked.names if first.ask else ()
    planned = PlannedAdapter(first.name, target, argument, cells, second_turn, questions)
    return _Plan(mask().value(planned), items, answered)


def _judge_one(
    plan: _Plan,
    adapters: Sequence[Adapter],
    file: ResultsFile,
    parsed: argparse.Namespace,
    asked: _Asked,
) -> AdapterResults:
    first, planned, items = adapters[0], plan.planned, plan.items
    first_turns: FirstTurns = {}
    day = datetime.now(UTC).date().isoformat()
    secrets = mask()
    named = (planned.name, planned.target, first.version(), planned.argument, day)
    unmasked = AdapterResults(*named, folder=_folder(), rules=RULES)
    if any(is_of_suite(item.cassette) for item in items):
        suite = frozen_name(parsed.suite) if parsed.suite else suite_name()
        unmasked = with_fields(unmasked, suite=suite)
    blank = secrets.value(unmasked)
    file.begin(blank)

    def judged(
        items: Sequence[Item[RowKind]], what: str = "", jobs: int = MOST_JOBS
    ) -> tuple[RowKind, ...]:
        rows = run_plan(items, adapters[:jobs])
        if not LOGS.shown:
            rows = with_progress(rows, first.name + what, "exchanges", len(items))
        kept = []
        for unmarked in rows:
            marked = with_known(unmarked, first) if first.known_failing else unmarked
            row = secrets.value(marked)
            file.add(row)
            kept.append(row)
        return tuple(kept)

    cells = judged(plan_answers(items, parsed.cuts, first_turns))
    file.begin_section("second_turn")
    second_turn = judged(plan_second_turns(plan.answered, first_turns), ", second turn")
    questions = _asked_items(first, asked, items, cells)
    file.begin_questions([secrets.value(item.blank.place) for item in questions])
    rows = judged(questions, ", requests", 1)
    uses = [row.declared for row in (*cells, *second_turn)]
    uses += [row.declared if asked.whole else shown_only(row.declared) for row in rows]
    unshown = tuple(sorted(loss for _, loss, _ in unused(("", use) for use in uses)))
    marked = (*cells, *second_turn, *rows) if first.known_failing else ()
    fixed = tuple(fixed_failures(with_fields(row, adapter=first.name) for row in marked))
    file.end(unshown, fixed)
    if unread := _unread_wires(items, _without_cause(cells)):
        wires = ", ".join(f"{wire} ({number})" for wire, number in unread.items())
        note(
            f"{first.name}: no answer of {wires} keeps its text; if the adapter does not read these"
            ' wires, name those that it reads: PROVIDERS = ("gemini-api", …) in its module;'
            ' for a program, "providers": ["gemini-api", …] in its hello line'
        )
    return with_fields(
        blank,
        cells=cells,
        second_turn=second_turn,
        questions=rows,
        unused_losses=unshown,
        fixed=fixed,
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """The chosen questions."""

    questions: Sequence[Question] = ()
    faults: Sequence[ServiceFault] = ()
    whole: bool = False
    """Whether all are chosen. A selection may have none that shows a declared loss."""

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        questions = (question.name for question in self.questions)
        return (*questions, *(fault.name for fault in self.faults))


def _known_failures(
    given: Sequence[str],
    names: Sequence[str],
    items: Sequence[JudgedExchange],
    asked: _Asked,
) -> Mapping[str, tuple[KnownFailure, ...]]:
    """Return the known failures by adapter. Raises `ReportError` for a given one that can't be
    read, of an adapter that is not judged, or whose pattern matches nothing.
    """
    if not given:
        return known_failures_of()
    try:
        known = known_failures(given)
    except AdapterError as error:
        raise ReportError(f"--known-failing: {error}") from None
    places = {*(item.cassette for item in items), *asked.names}
    for name, failures in known.items():
        if name not in names:
            raise ReportError(f"--known-failing: {name} is not judged; expected {listed(names, 5)}")
        for failure in failures:
            subjects = (*ASPECTS, *REQUESTS)
            if not any(matches(failure, place, word) for place in places for word in subjects):
                raise ReportError(f"--known-failing: {failure.pattern} matches nothing")
    return known


@dataclass(frozen=True, slots=True)
class _ChosenSuite:
    """The members of ``--suite`` that the package still has unchanged."""

    version: str
    kept: Members

    def has_question(self, name: str) -> bool:
        return name in self.kept.questions


def _chosen_suite(parsed: argparse.Namespace) -> _ChosenSuite | None:
    """Return the frozen suite of ``--suite``; print what it had besides, and what the suite of the
    package has that it had not. Raises `ReportError`.
    """
    if not parsed.suite:
        return None
    if parsed.cassettes or parsed.corpus is not None:
        raise ReportError("--suite names all cassettes: omit --cassettes and --corpus")
    try:
        frozen = read_frozen(parsed.suite)
    except ValueError as error:
        raise ReportError(f"--suite: {error}") from None
    now = members()
    lost, added = frozen.without(now), now.without(frozen)
    if lost:
        note(f"suite {parsed.suite}: not judged, because changed or gone: {_members_text(lost)}")
    if added:
        note(f"suite {suite_name()} would add to {parsed.suite}: {_members_text(added)}")
    return _ChosenSuite(parsed.suite, frozen.without(lost))


def _members_text(members: Members) -> str:
    """Return the numbers and the first names of cassettes and questions."""
    texts = []
    for noun, names in (("cassette", members.cassettes), ("question", members.questions)):
        if names:
            more = ", …" if len(names) > MOST_NAMES else ""
            first = ", ".join(sorted(names)[:MOST_NAMES])
            texts.append(f"{plural(len(names), noun)} ({first}{more})")
    return " and ".join(texts)


def _questions(names: Sequence[str] | None, chosen: _ChosenSuite | None) -> _Asked:
    """Return the questions with these names, about requests and about a service that fails; all, if
    none is given. ``chosen``: a frozen suite, whose questions are asked. Raises `ReportError`.
    """
    if names == ["none"]:
        return _Asked()
    from harness.judging.questions.question import own_questions
    from harness.judging.questions.service_faults import SERVICE_FAULTS

    questions = {question.name: question for question in own_questions()}
    if roots := [root for root in specs_of() if root.exists()]:
        from harness.project.questions import questions_of  # reads specs, which is slow to import

        questions |= {name: question for name, (question, _) in questions_of(roots).items()}
    faults = {fault.name: fault for fault in SERVICE_FAULTS}
    known = [name for name in (*questions, *faults) if not chosen or chosen.has_question(name)]
    for name in names or ():
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ReportError(f"--questions: no question has the name {name}{hint}")
    named = names or known
    return _Asked(
        [questions[name] for name in named if name in questions],
        [faults[name] for name in named if name in faults],
        names is None,
    )


def _asked_items(
    adapter: Adapter,
    asked: _Asked,
    items: Sequence[JudgedExchange],
    cells: Sequence[Row],
) -> list[AskedItem]:
    """Return the questions for the wires that the adapter requests: those of the cells that were
    run; without an exchange to judge, those that the adapter names.
    """
    if adapter.ask is None or not (asked.questions or asked.faults):
        return []
    from harness.judging.questions.run import plan_questions
    from harness.judging.questions.service_faults import answers_of, plan_faults

    wires: Iterable[str] = adapter.providers() or PROVIDERS
    if items:
        wires = (cell.provider for cell in cells if cell.verdict != "not-run")
    known = [name for name in dict.fromkeys(wires) if name in PROVIDERS]
    own = [question for question in asked.questions if question.group]
    of_project = [question for question in asked.questions if not question.group]
    load = partial(load_recording, cassettes=CASSETTES)
    return [
        *plan_questions(own, known, load, adapter),
        *plan_questions(of_project, known, load_recording, adapter),
        *plan_faults(asked.faults, chain(answers_of(known, load), items), adapter),
    ]


def _without_cause(cells: Sequence[Row]) -> list[Row]:
    """Return the cells without those that have another common cause than their wire."""
    causes = Findings(cells).causes
    caused = {cell.place for cause in causes if not cause.is_wire for cell in cause.cells}
    return [cell for cell in cells if cell.place not in caused]


def _unread_wires(items: Sequence[JudgedExchange], cells: Sequence[Row]) -> Mapping[str, int]:
    """Return the wires without any kept text, each with the number of its answers with text. There
    are none if no text of another wire is kept.
    """
    verdicts: dict[str, list[str]] = {}
    of_item = {(item.cassette, item.number): item.exchange for item in items}
    for cell in cells:
        verdict = "lost" if cell.verdict == "error" else cell.aspects.get("text")
        if verdict in ("kept", "lost", "wrong", "raised"):
            exchange = of_item[cell.cassette, cell.exchange]
            verdicts.setdefault(exchange.provider or "an unknown wire", []).append(verdict)
    unread = {wire: len(given) for wire, given in verdicts.items() if "kept" not in given}
    return unread if len(unread) < len(verdicts) else {}


def _folder() -> str:
    """Return the working folder relative to the root of its repository; "" without a repository,
    because a page that is published names no path of this machine.
    """
    here = Path.cwd()
    root = next((place for place in (here, *here.parents) if (place / ".git").exists()), here)
    return "" if root == here else here.relative_to(root).as_posix()


def _conclude(
    results: JudgeResults, baseline: JudgeResults | None, parsed: argparse.Namespace
) -> int:
    """Print the results, write the report, and choose the exit status."""
    pairs = [] if baseline is None else compared_runs(baseline, results)
    with_legend = True  # once
    for adapter in results.adapters:
        text = results_text(
            adapter, with_losses=baseline is None, with_legend=with_legend, paint=paint
        )
        with_legend &= LEGEND not in text
        print(text)
        if baseline is None and (closing := closing_text(adapter)):
            print(closing)
    is_broken = False
    for before, after in pairs:
        changes = compare_runs(before, after)
        is_broken |= any(change.kind in ("broken", "gone") for change in changes)
        (old,), (new,) = before.header.judged, after.header.judged
        print(printable(f"{new.name}: version {old.version} → {new.version}"))
        print(changes_text(changes, {new.name: new.argument}, ("broken", "fixed", "gone")))
    if parsed.report:
        base = Run(Header(), [cell for before, _ in pairs for cell in before.results])
        _write_report(results, parsed.report, base if pairs else None)
    return _status(results, is_red=results.red if baseline is None else is_broken)


def _status(results: JudgeResults, *, is_red: bool) -> int:
    """Return the exit status. A run that compared nothing is like a run without input."""
    if is_red:
        return RED
    if not results.compared:
        note(
            "nothing was compared: no adapter gave a fact that could be judged; the results have"
            " the reason for each cell"
        )
        return NOTHING
    return 0


def _merge(documents: Sequence[Path], parsed: argparse.Namespace) -> int:
    """Write one report from several JSON files."""
    if len(documents) < len(parsed.targets) or parsed.report is None:
        raise ReportError(
            "JSON files of earlier runs are merged into a report: name only such files, and use"
            " --report DIR"
        )
    results = merge_results([read_document(path) for path in documents])
    _write_report(results, parsed.report)
    if results.partial:
        print(results.partial)
    return _status(results, is_red=results.red)


def _write_report(results: JudgeResults, target: Path, baseline: Run | None = None) -> None:
    """Write the page and its files. The results have no secrets."""
    run = run_of(results)
    files = {
        INDEX: render_index(run, baseline),
        JUNIT: render_junit(run),
        JSON: encode_results(results).decode(),
        SUMMARY: in_markdown(map(results_text, results.adapters)),
        ANNOTATIONS: annotation_lines(cell for cell in run.results if cell.block != "variant"),
    }
    write_files(files, target)
    note(f"{plural(len(results.adapters), 'adapter')}: {target / INDEX}")


def _read_baseline(path: Path) -> JudgeResults:
    try:
        return read_document(path)
    except OSError as error:
        raise ReportError(f"--baseline: {path}: {error.strerror or error}") from None
    except ResultsError as error:
        raise ReportError(f"--baseline: {error}") from None


def read_document(path: Path) -> JudgeResults:
    """Return the results in a JSON file, or in that of a report folder, without secrets. Raises
    `ResultsError`.
    """
    path = path / JSON if path.is_dir() else path
    return mask().value(decode_results(path.read_bytes(), path.name))


def _adapters(text: str, parsed: argparse.Namespace, losses: Losses, number: int) -> list[Adapter]:
    """Return the adapter of an argument, made once for each job; ``number``: that of the exchanges.
    Raises `AdapterError`.
    """
    _check_argument(text)
    if parsed.pdb:
        adapters = [_debugged(open_adapter(text, losses, guest=False))]
    else:
        jobs = max(1, min(parsed.jobs, number))
        adapters = [open_adapter(text, losses, timeout=parsed.timeout) for _ in range(jobs)]
    return [replace(adapter, strict=parsed.strict) for adapter in adapters]


def _debugged(adapter: Adapter) -> Adapter:
    """Return the adapter, with the debugger at each exception that it raises."""
    import pdb  # slow to import

    def run(exchange: Exchange, options: RunOptions) -> Output:
        output = adapter.run(exchange, options)
        if output.exception is not None:
            pdb.post_mortem(output.exception.__traceback__)
        return output

    return replace(adapter, run=run)


def _check_argument(argument: str) -> None:
    """Raise `AdapterError` if no run of an argument can succeed, because every cell would have this
    error.
    """
    if argument in ADAPTERS:
        return
    named = read_argument(argument, adapters_of())
    try:
        check_target(named.target)
    except AdapterError as error:
        raise AdapterError(f"adapter {argument}: {error}") from None


def declared_of(given: Sequence[str]) -> Losses:
    """Return the declared losses by adapter. The key "" has the losses of all adapters."""
    if not given:
        return losses_of()
    try:
        of_all = tuple(loss for text in given if ":" not in text for loss in read_losses(text))
        return {**declared_losses(text for text in given if ":" in text), "": of_all}
    except (AdapterError, ValueError) as error:
        raise ReportError(f"--losses: {error}") from None


def _items_and_skipped(
    parsed: argparse.Namespace, chosen: _ChosenSuite | None
) -> tuple[list[JudgedExchange], list[Unjudged]]:
    """Return the exchanges to judge and the files that are skipped; print the reasons. Questions
    that the user names are judged without an exchange, unless recordings are named too. Raises
    `CassetteError` if there is no exchange, and `CassetteError` or `OSError` if a recording that
    the user named can't be read.
    """
    items: list[JudgedExchange] = []
    skipped: list[Unjudged] = []
    named = parsed.cassettes or parsed.corpus is not None
    if parsed.questions not in (None, ["none"]) and not named:
        return [], []
    if parsed.cassettes or parsed.corpus is None:
        names = list(chosen.kept.cassettes) if chosen else parsed.cassettes
        items, skipped = read_items(names)
    if parsed.corpus is not None:
        _add_files("--corpus", _corpus_files(parsed.corpus), None, items, skipped)
    for left_out in skipped:
        note(f"skipped: {left_out.path}: {left_out.reason}")
    if not items:
        is_read = any(left_out.reason == NO_ANSWER for left_out in skipped)
        fact = "has an answer of a model" if is_read else "could be read (see above)"
        raise CassetteError(
            f"there is nothing to judge: no recording {fact}; name other recordings with"
            " --cassettes, or omit it to use the suite of the package"
        )
    return items, skipped


def _corpus_files(names: Sequence[str]) -> Sequence[Path]:
    """Return the recordings of ``--corpus``. Raises `CassetteError` if nothing was fetched."""
    files = list(fetched(corpus_folder(), choose(read_lock(), names)))
    if not files:
        fetch = " ".join(["harness corpus fetch", *names])
        raise CassetteError(f"--corpus: no recording was fetched; fetch some first: {fetch}")
    return files


def read_items(paths: Sequence[str] | None) -> tuple[list[JudgedExchange], list[Unjudged]]:
    """Return the exchanges to judge, and the files in folders that are skipped: each one that can't
    be read or has no answer, and the number of those that are no recordings. Raises `CassetteError`
    or `OSError` if a path does not exist, or if it is a file that can't be read.
    """
    items: list[JudgedExchange] = []
    skipped: list[Unjudged] = []
    for text in paths or [str(CASSETTES)]:
        path, number = find_recording(text)
        if not path.is_dir():
            _keep(_items_of(path, number), path, items, skipped)
            continue
        files = [file for file in files_below(path) if not _is_hidden(file.relative_to(path))]
        if not files:
            skipped.append(Unjudged(text, "a folder without a file"))
        _add_files(text, files, number, items, skipped)
    return items, skipped


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _add_files(
    text: str,
    files: Sequence[Path],
    number: int | None,
    items: list[JudgedExchange],
    skipped: list[Unjudged],
) -> None:
    """Add the exchanges of each file, or the reason why it is skipped. The files that are no
    recordings are only counted.
    """
    unknown = 0
    for file in files:
        try:
            _keep(_items_of(file, number), file, items, skipped)
        except UnknownFormat:
            unknown += 1
        except (CassetteError, OSError) as error:
            skipped.append(Unjudged(_shown(file), _reason(error, file)))
    if unknown:
        reason = f"{unknown:,} of {plural(len(files), 'file')}: no recording of a known format"
        skipped.append(Unjudged(text, reason))


def _keep(
    found: Sequence[JudgedExchange],
    file: Path,
    items: list[JudgedExchange],
    skipped: list[Unjudged],
) -> None:
    if not found:
        skipped.append(Unjudged(_shown(file), NO_ANSWER))
    items += found


def _items_of(file: Path, number: int | None) -> list[JudgedExchange]:
    """Return the exchanges of one recording that have an answer. Raises `CassetteError` or
    `OSError`.
    """
    exchanges = load_recording(str(file)).exchanges
    if number is not None:
        check_number(file, number, len(exchanges))
    name = _shown(file)
    return [
        JudgedExchange(name, place, exchange, exchanges[place:])
        for place, exchange in enumerate(exchanges, 1)
        if number in (None, place) and is_answer(exchange, exchange.provider)
    ]


def _shown(file: Path) -> str:
    """Return the name of a cassette of the suite or of the corpus, or the relative path of another
    file.
    """
    if file.is_relative_to(CASSETTES):
        return file.relative_to(CASSETTES).with_suffix("").as_posix()
    if file.is_relative_to(corpus_folder()):
        return file.relative_to(corpus_folder()).as_posix()
    return Path(relpath(file) if file.is_absolute() else file).as_posix()


def _reason(error: Exception, file: Path) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error).removeprefix(f"{file}: ")


class ResultsFile:
    """The JSON file of a run. It begins with the plan, and is a complete document after every cell.
    So a killed run leaves the results so far, and the cells that it did not judge are known.
    """

    def __init__(self, path: Path | None, plan: JudgePlan, skipped: Sequence[Unjudged]) -> None:
        self.cells = 0
        self.total = sum(len(each.cells) + len(each.second_turn) for each in plan.adapters)
        """The number of cells that are planned so far."""
        self._plan = plan
        self._path = path
        self._file: BinaryIO | None = None
        left_out = b",".join(map(encode_item, skipped))
        self._end = b'],"skipped":[' + left_out + b"]}\n"
        self._closing = b""
        self._at = 0
        self._comma = b""

    def __enter__(self) -> Self:
        head = b'{"plan":' + encode_item(self._plan) + b',\n"adapters":['
        if self._path:
            save(self._path, [head + self._end], flush=False)
            self._file = self._path.open("r+b", buffering=0)
            self._at = len(head)
        return self

    def __exit__(self, *raised: object) -> None:
        if self._file:
            self._file.close()

    def begin(self, adapter: AdapterResults) -> None:
        """Begin the cells of an adapter."""
        head = encode_item(adapter).removesuffix(b"}")
        comma, self._comma, self._closing = self._comma, b"", b"]}"
        self._write(comma + head + b',"cells":[')

    def add(self, cell: Row) -> None:
        """Write one cell."""
        self.cells += 1
        comma, self._comma = self._comma, b",\n"
        self._write(comma + encode_item(cell))

    def begin_section(self, name: str) -> None:
        """End the cells of a section, and begin those of the next one."""
        self._comma = b""
        self._write(b'],"' + name.encode() + b'":[')

    def begin_questions(self, places: Sequence[str]) -> None:
        """End the cells of a section, and begin the rows of questions, which are now planned."""
        self.total += len(places)
        self._comma = b""
        self._write(b'],"asked":' + json.dumps(places).encode() + b',"questions":[')

    def end(self, unused_losses: Sequence[str], fixed: Sequence[str]) -> None:
        """End the cells of an adapter."""
        self._closing, self._comma = b"", b",\n"
        last = {"unused_losses": unused_losses, "fixed": fixed}
        self._write(b"]," + json.dumps(last).encode()[1:])

    def _write(self, content: bytes) -> None:
        """Replace the end of the document by new content and a new end."""
        if self._file:
            self._file.seek(self._at)
            self._file.write(content + self._closing + self._end)
            self._at += len(content)
            self._file.truncate()
