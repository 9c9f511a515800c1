"""Runs everything that the ledger keeps, in two processes."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from typing import NamedTuple

from harness.adapters import ADAPTERS, Adapter
from harness.adapters.named import make_adapter, read_argument
from harness.cli.demo import ADAPTERS as DEMO
from harness.cli.judge import read_items
from harness.facts import RUN
from harness.judging.aspect_run import (
    JudgedCuts,
    JudgedExchange,
    items_with_second_turn,
    plan_answers,
    plan_second_turns,
)
from harness.judging.laws.judge import cells as law_cells
from harness.judging.laws.judge import judge_law
from harness.judging.questions.question import own_questions
from harness.judging.questions.run import plan_questions
from harness.judging.rows import Row as Judged
from harness.judging.run import run_plan
from harness.project.recordings import load_recording
from harness.project.suite import CASSETTES
from harness.providers import PROVIDERS
from tests.faulty import by_facts
from tests.faulty.cells import differing_cells
from tests.faulty.pipeline import AnswerFault
from tests.faulty.table import FAULTS
from tests.faulty.test_faulty import detect

from .outputs import ROOT, Stored, key_of, read_outputs
from .rows import FAULTY, LAWS, Ledger, Row, Value, digest

PARTS = 12
EXAMPLES = 3
SECOND = "2."
"""Before the subjects of the second turn."""


class Run(NamedTuple):
    """The ledger of now, and the places of each adapter without a stored output."""

    ledger: Ledger
    stale: dict[str, set[str]]


@cache
def shipped() -> list[JudgedExchange]:
    """All shipped answers."""
    return read_items(None)[0]


@cache
def judged_adapters() -> list[Adapter]:
    """The dialects and the adapters of the demo."""
    lines = [f"{name.replace('_', '-')} = harness.cli.demo_adapters:{name}" for name in DEMO]
    return [
        *ADAPTERS.values(),
        *(make_adapter(read_argument(line, {}), ROOT) for line in lines),
    ]


@cache
def stored() -> list[Stored]:
    """The public adapters."""
    return [Stored(name, lines) for name, lines in read_outputs().items()]


def row_of(result: Judged) -> dict[str, Value]:
    """The subjects of a result: the cell, its block, notes about requests, and each aspect."""
    words = {finding.subject: finding for finding in result.findings}
    failed = words.get(RUN)
    row = {
        "cell": value_of(result.verdict, failed.reason, failed.sentence)
        if failed
        else Value(result.verdict),
        "block": value_of(result.block or "documented", "", ", ".join(result.variants)),
    }
    if result.requests:
        row["requests"] = value_of("noted", "", result.requests)
    for aspect, verdict in result.aspects.items():
        if finding := words.get(aspect):
            shown = f"{finding.sentence} {finding.place}"
            row[aspect] = value_of(verdict, finding.reason, finding.sentence, shown)
        else:
            row[aspect] = Value(verdict)
    return row


def value_of(verdict: str, reason: str, sentence: str, whole: str = "") -> Value:
    """A value with the digests of its words, if it has any."""
    if not (reason or sentence):
        return Value(verdict)
    return Value(verdict, digest(reason, 2), digest(whole or sentence, 4), sentence)


def verdicts(part: int) -> Run:
    """Judge a part of the answers for all adapters."""
    items = shipped()[part::PARTS]
    ledger: Ledger = {}
    stale: dict[str, set[str]] = {}
    for adapter in judged_adapters():
        ledger[adapter.name] = rows_of(items, adapter)
    for public in stored():
        known = [item for item in items if public.knows(item)]
        adapter = public.adapter
        goes_on = {item.place for item in items_with_second_turn(known, adapter)}
        known = [
            item for item in known if item.place not in goes_on or public.knows(item, "second")
        ]
        ledger[public.name] = rows_of(known, adapter, ["recorded"])
        stale[public.name] = {item.place for item in items} - {item.place for item in known}
    return Run(ledger, stale)


def rows_of(
    items: list[JudgedExchange], adapter: Adapter, cuts: Sequence[JudgedCuts] = ()
) -> dict[str, Row]:
    """The rows of one adapter, with both turns. Outputs that are stored are those of the recorded
    reads.
    """
    rows: dict[str, Row] = {
        item.place: row_of(result)
        for item, result in zip(items, run_plan(plan_answers(items, cuts), [adapter]), strict=True)
    }
    answered = items_with_second_turn(items, adapter)
    second = run_plan(plan_second_turns(answered), [adapter])
    for item, result in zip(answered, second, strict=True):
        again = {SECOND + name: value for name, value in row_of(result).items()}
        rows[item.place] = {**rows[item.place], **again}
    return rows


Verdicts = dict[tuple[str, str], dict[str, tuple[str, str]]]
"""A law, or the questions, and a dialect → the verdict and the reason for each place."""


def laws(part: int) -> Verdicts:
    """Judge a part of the answers by all laws: every second one, chosen by its content, because
    `make laws` judges all.
    """
    adapters = [*ADAPTERS.values()]
    given: Verdicts = defaultdict(dict)
    for item in shipped()[part::PARTS]:
        if int(key_of(item.exchange, item.reading.options)[0], 16) % 2:
            continue
        for cell in law_cells(item.cassette, [item.exchange], adapters):
            result = judge_law(cell).result
            found = [finding.sentence for finding in result.findings]
            place = given[f"law {cell.law.id}", cell.column]
            place[item.place] = result.verdict, " ".join([result.reason, *found])
    return dict(given)


def questions(dialect: str) -> Verdicts:
    """Ask a dialect all questions about requests. They have a row beside those of the laws."""
    adapter = ADAPTERS[dialect]
    load = partial(load_recording, cassettes=CASSETTES)
    items = plan_questions(own_questions(), [*PROVIDERS], load, adapter)
    return {
        ("questions", dialect): {
            f"{row.cassette}:{row.exchange}": (
                row.verdict,
                " ".join(
                    [row.reason, *(f"{found.sentence}{found.wire}" for found in row.findings)]
                ),
            )
            for row in run_plan(items, [adapter])
        }
    }


def rows_of_laws(parts: list[Verdicts]) -> dict[str, Row]:
    """One row for each law and dialect: the numbers of verdicts, and a digest of them all."""
    whole: Verdicts = defaultdict(dict)
    for part in parts:
        for pair, places in part.items():
            whole[pair] |= places
    rows: dict[str, Row] = {}
    for (law, dialect), places in whole.items():
        counts = Counter(verdict for verdict, _ in places.values())
        words = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        reasons = Counter(reason for _, reason in places.values())
        rows[f"{law} {dialect}"] = {
            law: Value(words, digest(sorted(reasons.items()), 6), digest(sorted(places.items()), 6))
        }
    return rows


def faulty(dialect: str) -> dict[str, Row]:
    """The red aspects of the faulty adapters of a dialect; those of requests, programs and clients
    have red cells of cases.
    """
    rows: dict[str, Row] = {}
    for name, fault in FAULTS.items():
        if fault.dialect != dialect:
            continue
        red: dict[str, list[str]] = defaultdict(list)
        if isinstance(fault, AnswerFault):
            for aspect, place in red_places(fault):
                red[aspect].append(place)
        else:
            red["cases"] = [f"{cell.spec} {cell.case.case}" for cell in detect(fault).red]
        rows[name] = {
            aspect: Value(str(len(places)), "", "; ".join(places[:EXAMPLES]))
            for aspect, places in red.items()
            if places
        }
    return rows


def red_places(fault: AnswerFault) -> Iterator[tuple[str, str]]:
    """The aspects that are red in a form of the fault and not in ours, each with its case."""
    turns: tuple[tuple[str, Callable[..., set[str]]], ...] = (
        ("", by_facts.red_aspects),
        (SECOND, by_facts.red_aspects_of_second_turn),
    )
    for at, cell in differing_cells(fault):
        new = {
            before + aspect
            for rebuild in by_facts.rebuilds(fault)
            for before, judge in turns
            for aspect in judge(rebuild, fault, cell)
            - by_facts.losses_of_ours(judge, rebuild, fault.dialect, at)
        }
        for aspect in sorted(new):
            yield aspect, f"{cell.spec} {cell.case.case}"


def run(processes: int | None = None) -> Run:
    """Run everything."""
    shipped(), stored()  # before the processes start, which then share them
    dialects = sorted({fault.dialect for fault in FAULTS.values()})
    context = get_context("fork")
    with ProcessPoolExecutor(processes or min(2, os.cpu_count() or 1), context) as pool:
        of_faults = [pool.submit(faulty, dialect) for dialect in dialects]
        of_laws = [pool.submit(laws, part) for part in range(PARTS)]
        of_laws += [pool.submit(questions, dialect) for dialect in ADAPTERS]
        of_verdicts = [pool.submit(verdicts, part) for part in range(PARTS)]
        ledger: Ledger = {}
        stale: dict[str, set[str]] = {}
        for part in of_verdicts:
            found = part.result()
            for name, rows in found.ledger.items():
                ledger[name] = {**ledger.get(name, {}), **rows}
            for name, places in found.stale.items():
                stale[name] = stale.get(name, set()) | places
        ledger[LAWS] = rows_of_laws([part.result() for part in of_laws])
        ledger[FAULTY] = {name: row for part in of_faults for name, row in part.result().items()}
    return Run(ledger, stale)
