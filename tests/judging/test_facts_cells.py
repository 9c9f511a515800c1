"""Cells of adapters that state their facts: the spec needs no expectation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.adapters import FACTS, Adapter, AdapterError, KnownFailure
from harness.adapters.declarations import declared_losses, known_failures
from harness.cassettes import Cassette
from harness.cassettes.load import load
from harness.facts import (
    Aspect,
    Call,
    Error,
    Fact,
    Raised,
    Text,
    Transcript,
    Usage,
    read_losses,
)
from harness.judging.evidence import with_evidence
from harness.judging.judge import Cell, judge
from harness.judging.rows import Row
from harness.project.project import Project
from harness.report.tally import by_feature
from harness.specs.models import Case
from tests.judging.laws.test_facts_adapters import dropped, without_signatures
from tests.support.facts_adapters import facts_adapter, with_facts, with_native

ROOT = Path(__file__).parents[2]


def cassette(name: str) -> Cassette:
    return load(ROOT / "cassettes" / f"{name}.yaml")


def result_of(
    adapter: Adapter,
    name: str = "gemini-api/signatures-calls",
    aspects: tuple[Aspect, ...] | None = ("signatures",),
    more: tuple[tuple[str, tuple[Aspect, ...] | None], ...] = (),
    **case: Any,
) -> Row:
    features = (("x.y", aspects), *more)
    given = {
        "case": "c",
        "requirement": "It is so.",
        "features": tuple(feature for feature, _ in features),
        "source": "https://example.org/",
        "cassette": name,
        "expect": {},
        **case,
    }
    cell = Cell(Case.model_construct(**given), "s.yaml", adapter.name, FACTS, aspects=features)
    return judge(cell, cassette, adapter).result


def test_a_faithful_adapter_passes() -> None:
    result = result_of(facts_adapter())
    assert (result.verdict, result.layer, result.adapter) == ("passed", "facts", "planted")
    assert result.aspects["signatures"] == "kept"


def test_a_loss_of_the_features_aspect_fails() -> None:
    result = result_of(facts_adapter(with_native(without_signatures)))
    assert (result.verdict, result.first_layer) == ("failed", "facts")
    assert [(finding.subject, finding.verdict) for finding in result.findings] == [
        ("signatures", "lost")
    ]


def test_a_failed_aspect_counts_against_its_features() -> None:
    more: tuple[tuple[str, tuple[Aspect, ...] | None], ...] = (("calls.some", ("calls",)),)
    result = result_of(facts_adapter(with_native(without_signatures)), more=more)
    assert (result.verdict, result.lost_features) == ("failed", ("x.y",))
    assert by_feature([result]) == {"x.y": ["failed"], "calls.some": ["passed"]}
    every = result_of(facts_adapter(with_native(without_signatures)), more=(("a.b", None),))
    assert every.lost_features == ("x.y", "a.b")
    assert result_of(facts_adapter(), more=more).lost_features is None


def test_another_loss_is_reported_beside_the_verdict() -> None:
    result = result_of(facts_adapter(with_native(without_signatures)), aspects=("calls",))
    assert result.verdict == "passed"
    assert result.reason.startswith("other losses: signatures lost: ")


def test_a_feature_without_aspects_is_judged_by_all() -> None:
    assert result_of(facts_adapter(dropped(Usage)), aspects=None).verdict == "failed"


def test_a_feature_that_facts_do_not_cover_is_not_run() -> None:
    result = result_of(facts_adapter(), aspects=())
    assert (result.verdict, result.reason) == (
        "not-run",
        "facts do not cover the features of this case",
    )


def test_a_needless_error_fails_every_case() -> None:
    def change(transcript: Transcript) -> Transcript:
        return replace(transcript, raised=Raised("ValueError", "boom"))

    result = result_of(facts_adapter(change), aspects=("calls",))
    assert result.lost_features is None
    assert [finding.subject for finding in result.findings] == ["needless_error"]


def test_a_declared_loss_is_not_carried() -> None:
    adapter = replace(
        facts_adapter(with_native(without_signatures)), losses=read_losses("signatures, media")
    )
    result = result_of(adapter)
    assert (result.verdict, result.reason) == ("not-carried", "signatures, as declared")
    assert result.declared == {"signatures": True}


def test_a_known_failure_is_expected_to_fail() -> None:
    failing = facts_adapter(with_native(without_signatures))
    known = replace(
        failing, known_failing=(KnownFailure("signatures", "a bug", "https://e.org/1"),)
    )
    result = result_of(known)
    assert (result.verdict, result.reason, result.link) == (
        "known-failing",
        "a bug",
        "https://e.org/1",
    )
    other = replace(failing, known_failing=(KnownFailure("text", "a bug"),))
    assert result_of(other).verdict == "failed"


def test_losses_on_another_wire_than_the_documented_are_never_red() -> None:
    result = result_of(facts_adapter(dropped(Text)), "gemini-api/snake-case", aspects=("text",))
    assert result.verdict == "not-run"
    assert result.reason.startswith("the answer is not the documented wire (snake_case")


def test_an_adapter_that_cannot_be_run_is_an_error() -> None:
    def run(*_: object) -> Any:
        raise AdapterError("planted gave no events")

    result = result_of(replace(facts_adapter(), run=run))
    assert (result.verdict, result.reason) == ("error", "planted gave no events")


def test_every_stream_case_has_a_cell_for_a_facts_adapter() -> None:
    project = Project([ROOT / "specs"], ROOT / "cassettes", ["neutral: facts = json:loads"])
    path = ROOT / "specs" / "gemini-api" / "text.yaml"
    streams = [case.case for case in project.cases(path) if case.kind == "stream"]
    columns = [cell for cell in project.cells(path) if cell.column == "neutral"]
    assert streams == [cell.case.case for cell in columns]
    assert {cell.layer for cell in columns} == {"facts"}


@pytest.mark.parametrize(
    ("read", "line", "message"),
    [
        (declared_losses, "litellm", "'litellm' declares no losses; expected ADAPTER: ASPECT"),
        (
            declared_losses,
            "litellm: colour",
            "'colour' is not a declared loss; expected one of *, text",
        ),
        (declared_losses, "litellm: text[blue]", "with a condition in brackets: stop, length"),
        (known_failures, "litellm: finish", "names no known failure; expected ADAPTER: PATTERN"),
    ],
)
def test_a_declaration_that_cannot_be_read_says_what_is_expected(
    read: Callable[[list[str]], object], line: str, message: str
) -> None:
    with pytest.raises(AdapterError) as raised:
        read([line])
    assert message in str(raised.value)


def test_declarations_are_read_for_each_adapter() -> None:
    losses = declared_losses(["litellm: media, finish[call]; ours: *"])
    assert {name: [str(loss) for loss in own] for name, own in losses.items()} == {
        "litellm": ["media", "finish[call]"],
        "ours": ["*"],
    }
    (known,) = known_failures(["litellm: finish = it says stop (https://e.org/2)"])["litellm"]
    assert known == KnownFailure("finish", "it says stop", "https://e.org/2")


def test_a_declaration_for_an_unknown_adapter_is_an_error() -> None:
    with pytest.raises(
        AdapterError, match=r"other is not a configured adapter \(configured: neutral"
    ):
        Project([], ROOT, ["neutral: facts = json:loads"], losses=["other: text"])


def test_an_error_that_is_swallowed_fails_a_case_about_errors() -> None:
    result = result_of(facts_adapter(dropped(Error)), "gemini-api/stream-errors", ("error",))
    assert [(finding.subject, finding.verdict) for finding in result.findings] == [
        ("error", "lost")
    ]


def test_the_evidence_of_a_passed_cell_has_the_facts_with_their_ids() -> None:
    case = Case(
        case="c",
        requirement="r",
        features=("x.y",),
        source="https://s.example",
        cassette="gemini-api/tool-calls",
        expect={"events": []},
    )
    cell = Cell(case, "a.yaml", "planted", FACTS, aspects=(("x.y", None),))

    def named(fact: Fact) -> Iterator[Fact]:
        yield replace(fact, id="a7f3k9d2") if isinstance(fact, Call) else fact

    evidence = with_evidence(judge(cell, cassette, facts_adapter(with_facts(named)))).evidence
    assert evidence is not None
    (view,) = evidence.layers
    assert '"id": "a7f3k9d2"' in view.lines[0]
