"""``harness check --prove`` fails if specs do not notice known faults, and passes the shipped specs."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.cli.main import main
from harness.dialects import DIALECTS
from harness.facts import Entry, Finish, Text, Transcript, Usage
from harness.pipeline.replay import replay
from harness.project.folders import yaml_files
from harness.project.project import Project, kind_of
from harness.proving.mutation import (
    ALL,
    ENOUGH,
    OPERATORS,
    MutationOperator,
    OperatorResult,
    Proof,
    prove,
)
from harness.proving.mutation.facts import FACTS_OPERATORS, FactsOperator

ROOT = Path(__file__).parents[2]
URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
ANSWER = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "hm","thought": true,"thoughtSignature": "QQ=="}]}}],"modelVersion": "m","newField": 1}\n\n'
    b'data: {"candidates": [{"content": {"parts": [{"text": "Hel "}]}}]}\n\n'
    b'data: {"candidates": [{"content": {"parts": [{"text": "lo"},{"functionCall": {"id": "i","name": "f","args": {"a": 1,"b": 2}}}]},'
    b'"finishReason": "STOP"}],"usageMetadata": {"promptTokenCount": 7,"candidatesTokenCount": 2}}\n\n'
)
FAILED = b'{"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}'
EXCHANGES = (
    Exchange(Request("POST", URL), 200, {}, ((None, ANSWER),), "complete", "", "gemini-api", True),
    Exchange(Request("POST", URL), 400, {}, ((None, FAILED),), "complete", "", "gemini-api", True),
)


@pytest.mark.parametrize(
    ("dialect", "operator"),
    [
        (dialect, operator)
        for operator in OPERATORS
        for dialect in DIALECTS
        if operator.change_for(DIALECTS[dialect])
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_an_operator_reports_whether_it_changed_the_payloads(
    dialect: str, operator: MutationOperator
) -> None:
    change = operator.change_for(DIALECTS[dialect])
    assert change is not None
    changed = []
    for exchange in EXCHANGES:
        payloads = replay(exchange, dialect=dialect)
        mutant = copy.deepcopy(payloads)
        changed.append(change(mutant))
        assert (mutant != payloads) is changed[-1]
    assert any(changed)


def test_names_of_operators_are_unique() -> None:
    names = [operator.name for operator in ALL]
    assert len(set(names)) == len(names)


@pytest.fixture(scope="module")
def shipped() -> Proof:
    project = Project([ROOT / "specs"], ROOT / "cassettes")
    cells = [
        cell
        for file in yaml_files(ROOT / "specs")
        if kind_of(file) == "spec"
        for cell in project.cells(file)
    ]
    return prove(cells, project.cassette)


@pytest.mark.slow
def test_the_shipped_specs_notice_every_operator(shipped: Proof) -> None:
    assert shipped.faults == []
    assert shipped.gaps == []
    assert shipped.controls > 1000


@pytest.mark.slow
def test_every_shipped_case_kills_each_of_its_mutants(shipped: Proof) -> None:
    assert not shipped.survivors, "\n".join(["tighten these cases:", *shipped.survivors])


@pytest.mark.slow
def test_the_laws_notice_mutants_of_the_shipped_specs(shipped: Proof) -> None:
    assert set(shipped.laws) == {"law-2", "law-3", "law-9"}


@pytest.mark.slow
def test_every_operator_makes_enough_mutants_of_every_dialect(shipped: Proof) -> None:
    assert {(result.column, result.operator.name) for result in shipped.results} == {
        (name, operator.name)
        for operator in ALL
        for name, dialect in DIALECTS.items()
        if operator.change_for(dialect)
    }
    assert min(len(result.applied) for result in shipped.results) >= ENOUGH


SPEC = """\
harness: 1
cases:
- case: {name}
  requirement: It says hello.
  features: [text.streaming]
  source: https://ai.google.dev/api/generate-content
  cassette: hello
  expect:
    mind: {expect}
"""


def project(folder: Path, *expectations: str) -> Path:
    """A project whose cases all have the same answer, with these expectations."""
    (folder / "cassettes").mkdir()
    (folder / "specs").mkdir()
    (folder / "cassettes" / "hello.yaml").write_text(
        dumps(Cassette(EXCHANGES[:1], Origin("written"))), encoding="utf-8"
    )
    for number, expect in enumerate(expectations):
        (folder / "specs" / f"{number}.yaml").write_text(
            SPEC.format(name=f"c-{number}", expect=expect), encoding="utf-8"
        )
    return folder


BLIND = "{$contains: [{$contains: {type: {$any: true}}}]}"
EXACT = json.dumps(replay(EXCHANGES[0], dialect="mind"))
SEEING = "[{$any: true}, {$any: true}, {$contains: {type: tool_code, name: f, args: {a: 1, b: 2}}}]"


def run(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    status = main(
        [
            "check",
            "--prove",
            "--specs",
            str(folder / "specs"),
            "--cassettes",
            str(folder / "cassettes"),
            *more,
        ]
    )
    return status, capsys.readouterr().out


def test_a_surviving_mutant_fails_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = run(project(tmp_path, BLIND, BLIND, BLIND), capsys, "--survivors")
    assert status == 1
    assert "! mind: call-lost: survives" in out
    assert "- 0.yaml: c-0[mind]: call-lost" in out


def test_a_survivor_that_a_law_notices_is_marked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out = run(project(tmp_path, BLIND), capsys, "--survivors")
    assert "- 0.yaml: c-0[mind]: call-renamed (noticed by law-3)\n" in out
    noticed = out.partition("noticed by laws")[2].partition("\n\n")[0]
    assert re.search(r"^call-renamed +1/1$", noticed, re.MULTILINE)
    assert re.search(r"^parts-merged +0/1$", noticed, re.MULTILINE)


def test_a_lost_reason_is_lost_in_the_native_events_too() -> None:
    entries = (Entry({"t": "a"}, (Text("a"),)), Entry({"stop": "STOP"}, (Finish("STOP"), Usage())))
    lost = next(operator for operator in FACTS_OPERATORS if operator.name == "finish-lost")
    assert lost.change(Transcript(entries)).entries == (entries[0], Entry(None, (Usage(),)))
    assert lost.change(Transcript(entries[:1])) == Transcript(entries[:1])


FAITHFUL = """
from harness import replay
from harness.facts.stated import plain_fact
from harness.providers.plain_events import gather_events

def adapter(exchange):
    events = replay(exchange, layer="events")
    for event in events[:-1]:
        yield event, []
    yield events[-1], [*filter(None, map(plain_fact, gather_events(events)))]
"""


def test_the_facts_of_an_adapter_are_mutated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path, BLIND, BLIND, BLIND)
    (tmp_path / "faithful.py").write_text(FAITHFUL, encoding="utf-8")
    (tmp_path / "pytest.toml").write_text(
        '[pytest]\nharness_adapters = ["shop: facts = faithful:adapter"]\n', encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    status, out = run(tmp_path, capsys, "--adapter", "shop", "--survivors")
    by_case, by_laws = out.split("noticed by laws ")[:2]
    for name in ("text-lost", "text-doubled", "thought-as-answer", "error-invented"):
        assert re.search(rf"^{name} +3/3$", by_case, re.MULTILINE), name
    for name in ("call-lost", "usage-wrong", "finish-wrong", "native-lost"):
        assert re.search(rf"^{name} +0/3$", by_case, re.MULTILINE), name
        assert re.search(rf"^{name} +3/3$", by_laws, re.MULTILINE), name
        assert f"- 0.yaml: c-0[shop]: {name} (noticed by law-3)" in out
    assert "mind" not in out
    assert status == 1  # the features of the case name only text
    assert "! shop: call-lost: survives" in out


@pytest.mark.parametrize("operator", FACTS_OPERATORS, ids=lambda operator: operator.name)
def test_an_adapter_may_give_no_event_at_all(operator: FactsOperator) -> None:
    changed = operator.change(Transcript())
    assert bool(changed.entries) == (operator.name == "error-invented")


def test_kills_are_counted_and_unapplied_operators_summarized(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = run(project(tmp_path, SEEING, BLIND, BLIND), capsys)
    assert status == 1
    assert "mind: call-lost" not in out
    assert "mind: call-renamed" not in out
    assert "! mind: parts-swapped: survives" in out
    assert re.search(r"^call-lost +1/3$", out, re.MULTILINE)
    assert "error-lost" not in out
    (summed_up,) = re.findall(
        r"(.*) operators never applied: no case contains what they change", out
    )
    status, out = run(tmp_path, capsys, "--survivors")
    assert status == 1
    named = re.findall(r"^- mind: (.*): never applied$", out, re.MULTILINE)
    assert "error-lost" in named
    assert summed_up == f"{len(named)}"


def test_a_project_with_one_case_is_proven_if_no_operator_survives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = run(project(tmp_path, EXACT), capsys)
    assert status == 0
    assert re.search(r"^call-lost +1/1$", out, re.MULTILINE)
    assert re.search(r"^\d+ operators never applied: no case contains", out, re.MULTILINE)
    assert "every operator that applied is killed" in out
    assert "!" not in out


def test_a_project_with_one_case_fails_if_an_operator_survives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = run(project(tmp_path, BLIND), capsys)
    assert status == 1
    assert "! mind: call-lost: survives" in out


def test_our_own_specs_need_several_cases_for_each_operator() -> None:
    operator = ALL[0]
    few, enough = (OperatorResult("mind", operator, ["a"] * n, ["a"] * n) for n in (2, 3))
    assert Proof([few]).gaps == [
        f"mind: {operator.name}: applied to 2 of the 3 cases that it needs"
    ]
    assert Proof([enough]).gaps == []


def test_a_case_that_fails_without_a_mutation_proves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = run(project(tmp_path, "[]"), capsys)
    assert status == 1
    assert "! 0.yaml: c-0[mind]: fails without a mutation" in out
    known = sum(operator.change_for(DIALECTS["mind"]) is not None for operator in ALL)
    assert f"{known} operators never applied: " in out
    assert "\nnothing is proven: no case passes without a mutation; write a case" in out


def test_a_run_that_proves_nothing_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = run(project(tmp_path, SEEING), capsys, "--dialect", "art")
    assert status == 1
    assert "nothing is proven: no case passes without a mutation; write a case" in out


def test_without_a_spec_there_is_nothing_to_prove(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project(tmp_path), capsys)[0] == 1


NO_NEED = (
    "aiohttp",
    "anthropic",
    "google",
    "httpx",
    "httpx2",
    "hypothesis",
    "jsonschema",
    "mypy",
    "orjson",
    "playwright",
    "xdist",
)


@pytest.mark.slow
def test_prove_needs_no_development_package(
    tmp_path: Path,
) -> None:
    script = f"import sys; sys.modules.update(dict.fromkeys({NO_NEED!r})); from harness.cli.main import main; sys.exit(main(['check', '--prove']))"
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=project(tmp_path, SEEING),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "! mind: text-trimmed: survives" in ran.stdout


def test_an_exception_kills_no_mutant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(payloads: Any) -> bool:
        raise KeyError("not a kill")

    monkeypatch.setattr(
        "harness.proving.mutation.OPERATORS",
        (MutationOperator("text-lost", "it raises", lambda _: breaks),),
    )
    specs = Project([project(tmp_path, SEEING) / "specs"], tmp_path / "cassettes")
    with pytest.raises(KeyError, match="not a kill"):
        prove(
            [cell for file in yaml_files(tmp_path / "specs") for cell in specs.cells(file)],
            specs.cassette,
            ["mind"],
        )


NAMED = {
    "a signature": {"signature-lost", "sent-signature-lost"},
    "a call": {"call-lost", "sent-call-lost"},
    "an argument": {"argument-lost", "sent-argument-lost"},
    "stopped early": {"stopped-early"},
    "parts merged or swapped": {
        "parts-merged",
        "parts-swapped",
        "sent-parts-swapped",
        "sent-contents-merged",
    },
    "another id, index, reason to stop, count": {
        "id-wrong",
        "sent-id-wrong",
        "index-wrong",
        "stop-reason-wrong",
        "usage-wrong",
    },
    "text trimmed": {"text-trimmed"},
    "thought shown as answer": {"thought-as-answer"},
}


@pytest.mark.parametrize("fault", NAMED)
def test_the_faults_that_every_suite_must_notice_are_in_the_table(fault: str) -> None:
    assert NAMED[fault] <= {operator.name for operator in ALL}


LOSSES: Mapping[str, str] = {
    "signature-lost": "signatures",
    "call-lost": "calls",
    "call-renamed": "calls",
    "argument-lost": "calls",
    "id-wrong": "ids",
    "usage-wrong": "usage",
    "thought-as-answer": "thoughts",
}
"""An operator, and the declared loss of the dialects that cannot have its fault."""
OWN_PLACES: set[str] = {"index-wrong", "beside-lost"}
"""The operators on what only some event models have, such as numbered blocks."""


def test_every_dialect_has_every_operator_that_applies_to_it() -> None:
    lost = {name: {str(loss) for loss in dialect.losses} for name, dialect in DIALECTS.items()}
    for operator in OPERATORS:
        having = {name for name, dialect in DIALECTS.items() if operator.change_for(dialect)}
        if operator.name in OWN_PLACES:
            assert having, operator.name
        else:
            loss = LOSSES.get(operator.name, "")
            assert having == {name for name in lost if loss not in lost[name]}, operator.name
