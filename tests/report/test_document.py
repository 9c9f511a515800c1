"""Results as a document: whole or refused, the same bytes in any order, merged in any order; and
what two runs differ in.
"""

from __future__ import annotations

import json
import random
import xml.etree.ElementTree as ET
from itertools import permutations
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec.structs import replace

from harness.cassettes import Exchange
from harness.conformance.evidence import describe
from harness.conformance.results import (
    Breach,
    CaseResult,
    Evidence,
    Finding,
    LayerView,
    Origin,
    Read,
    ResultsError,
    Sent,
    Stream,
    Verdict,
    fewer_reads,
)
from harness.report import (
    Change,
    Header,
    Named,
    Run,
    compare_runs,
    merge,
    pack,
    render,
    schema,
    unpack,
)

STREAM = Stream(
    200, 25, "a" * 32, (Read(3.0, 25),), 1, Sent("POST", "https://x.example/v1", "{}", 2)
)
HEADER = Header(
    tools=("gemini-conformance 1",),
    providers=(Named("gemini-api", "Gemini API", 0), Named("code-assist", "Code Assist", 1)),
    adapters=(Named("anthropic", "anthropic", 0), Named("unified-llm", "unified-llm", 1)),
    features=(Named("text.streaming", "Text", 0, "It streams.", "https://x.example"),),
)


def result(
    verdict: Verdict = "passed", case: str = "one", adapter: str = "anthropic", **changes: Any
) -> CaseResult:
    whole: dict[str, Any] = {
        "spec": "gemini-api/text.yaml",
        "line": 3,
        "case": case,
        "requirement": "Text is text.",
        "features": ("text.streaming",),
        "level": "must",
        "source": "https://x.example",
        "provider": "gemini-api",
        "adapter": adapter,
        "layer": "payloads" if adapter else "events",
        "verdict": verdict,
        "cassette": "gemini-api/text",
        "origin": Origin("written", "2026-11-22"),
        "end": "complete",
        "command": f"pytest 'specs/gemini-api/text.yaml::{case}[{adapter or 'events'}]'",
        "wire": "data: {}\n\n",
        "evidence": Evidence(STREAM, "b" * 32),
    }
    return CaseResult(**(whole | changes))


SEVERAL = [
    result(),
    result(adapter="unified-llm"),
    result(
        "failed",
        "two",
        findings=(Finding("[0]", "changed", "1", "2"),),
        findings_total=1,
        evidence=Evidence(STREAM, "c" * 32, True),
    ),
    result(
        "failed",
        "three",
        evidence=Evidence(
            None, "d", layers=(LayerView("events", ("text",), 0, 1, 0, True),), breaches=()
        ),
    ),
    result("error", "four", provider="", origin=None, end="unknown", evidence=None, wire=""),
]


def by_key(results: list[CaseResult]) -> list[CaseResult]:
    return sorted(results, key=lambda one: (one.case, one.adapter))


def test_a_run_comes_back_from_its_document_as_it_was() -> None:
    back = unpack(pack(Run(HEADER, SEVERAL)))
    assert back.header == HEADER
    assert by_key(list(back.results)) == by_key(SEVERAL)


def test_the_document_is_the_same_bytes_in_any_order_of_results() -> None:
    for seed in range(4):
        assert pack(Run(HEADER, random.Random(seed).sample(SEVERAL, len(SEVERAL)))) == pack(
            Run(HEADER, SEVERAL)
        )


def test_a_case_and_a_stream_stand_in_it_once() -> None:
    document = json.loads(
        pack(Run(HEADER, [result(adapter=adapter) for adapter in ("anthropic", "unified-llm", "")]))
    )
    assert [len(document[name]) for name in ("cases", "streams", "results")] == [1, 1, 3]
    assert document["footer"] == {"cases": 1, "streams": 1, "results": 3, "verdicts": {"passed": 3}}


def test_a_lone_surrogate_is_written_as_text() -> None:
    assert (
        unpack(pack(Run(HEADER, [result(reason="half \ud83d", wire="\ud83d")]))).results[0].reason
        == "half \\ud83d"
    )


WHOLE = pack(Run(HEADER, SEVERAL))


def test_documents_satisfy_the_published_schema_which_is_the_one_that_the_code_has() -> None:
    published = json.loads((Path(__file__).parents[2] / "docs" / "results.schema.json").read_text())
    assert published == schema()
    validator = jsonschema.Draft202012Validator(published)
    validator.check_schema(published)
    for document in (WHOLE, pack(Run(Header()))):
        validator.validate(json.loads(document))
    broken = json.loads(WHOLE)
    del broken["footer"]
    assert [error.message for error in validator.iter_errors(broken)] == [
        "'footer' is a required property"
    ]
    broken = json.loads(WHOLE)
    broken["results"][0]["verdict"] = "green"
    assert not validator.is_valid(broken)


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (
            WHOLE[: WHOLE.index(b',\n"footer"')] + b"}",
            "r.json: footer is missing; required keys are header",
        ),
        (WHOLE[:-40], "the document is not whole: its JSON ends early"),
        (b"", "the document is not whole: its JSON ends early"),
        (b"[]", "the document must be a mapping, not a list"),
        (
            WHOLE.replace(b'"results":5', b'"results":6'),
            "the footer does not match the results",
        ),
        (
            WHOLE.replace(b'"case":0', b'"case":9'),
            "a result has the index of a case or stream that does not exist",
        ),
        (WHOLE.replace(b'"failed"', b'"green"'), ".verdict must be 'failed', 'error', 'fixed', "),
        (
            WHOLE.replace(b'"header":{', b'"header":{"format":2,'),
            "header.format must be 1, not 2",
        ),
    ],
)
def test_a_document_that_is_not_whole_is_refused(data: bytes, fact: str) -> None:
    with pytest.raises(ResultsError) as fault:
        unpack(data, "r.json")
    assert str(fault.value).startswith("r.json: ")
    assert fact in str(fault.value)
    assert "run the specs again" in str(fault.value)


# Merging

SHARDS = [
    Run(HEADER, SEVERAL[:2]),
    Run(replace(HEADER, unread=("a.yaml:1: no",), day="2026-11-22"), SEVERAL[1:4]),
    Run(
        replace(HEADER, adapters=(Named("mine", "My adapter", 7),), tools=("other 2",)),
        [SEVERAL[4], result(case="five", adapter="mine")],
    ),
]


def test_shards_merge_in_any_order_and_grouping_into_the_same_bytes() -> None:
    whole = pack(merge(SHARDS))
    for one, two, three in permutations(SHARDS):
        assert (
            pack(merge([merge([one, two]), three]))
            == pack(merge([one, merge([two, three])]))
            == pack(merge([one, two, three]))
            == whole
        )
    assert pack(merge([merge(SHARDS), merge(SHARDS)])) == whole


def test_a_merged_run_has_every_result_once_and_every_name() -> None:
    merged = merge(SHARDS)
    assert len(merged.results) == 6
    assert [one.name for one in merged.header.adapters] == ["anthropic", "unified-llm", "mine"]
    assert (merged.header.tools, merged.header.day) == (
        ("gemini-conformance 1", "other 2"),
        "2026-11-22",
    )
    assert merged.header.unread == ("a.yaml:1: no",)


def test_the_same_result_twice_in_one_run_stays_two() -> None:
    assert len(merge([Run(HEADER, [result(), result()]), Run(HEADER, [result()])]).results) == 2


def test_two_runs_that_judge_a_cell_differently_are_no_shards_of_one() -> None:
    with pytest.raises(
        ResultsError,
        match=r"case 'one' for anthropic has different results in two runs \(failed and passed\)",
    ):
        merge([Run(HEADER, [result()]), Run(HEADER, [result("failed")])])


def tried(*breaches: Breach, laws: bool = True, **changes: Any) -> Run:
    return Run(
        HEADER,
        [
            result(
                "failed",
                evidence=Evidence(STREAM, "b" * 32, breaches=breaches if laws else None),
                **changes,
            )
        ],
    )


def test_a_run_that_tried_the_laws_on_a_cell_and_one_that_did_not_are_shards_of_one() -> None:
    breach = Breach(3, "Nothing lost", ("a text is missing",))
    known = tried(breach)
    for order in permutations([known, tried(laws=False), tried(laws=False)]):
        assert merge(order).results == known.results
    assert merge([tried(), tried(laws=False)]).results == tried().results


def test_of_other_breaches_of_a_cell_the_same_are_kept_in_any_order_and_grouping() -> None:
    runs = [
        tried(),
        tried(Breach(3, "Nothing lost", ("a",))),
        tried(Breach(3, "Nothing lost", ("b",))),
        tried(laws=False),
    ]
    whole = merge(runs).results
    assert whole[0].evidence is not None
    assert whole[0].evidence.breaches == (Breach(3, "Nothing lost", ("b",)),)
    for one, two, three, four in permutations(runs):
        for grouped in (
            [merge([one, two]), merge([three, four])],
            [one, merge([two, merge([three, four])])],
            [one, two, two, three, four],
        ):
            assert merge(grouped).results == whole


def test_the_streams_of_earlier_turns_come_back_too() -> None:
    talk = result(
        evidence=Evidence(
            STREAM,
            "b" * 32,
            before=(replace(STREAM, digest="c" * 32), replace(STREAM, digest="d" * 32)),
        )
    )
    assert unpack(pack(Run(HEADER, [talk]))).results == [talk]


# Room


def failing(number: int, *, lines: int = 11, wide: int = 1000) -> list[CaseResult]:
    layers = tuple(
        LayerView(name, ("z" * 260,) * lines, 0, 200, 5, True)
        for name in ("frames", "events", "payloads")
    )
    findings = tuple(
        Finding(f"[{n}].delta.partial_json", "changed", "x" * wide, "y" * wide) for n in range(4)
    )
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse"
    sent = Sent("POST", url, "b" * 800, 9000)
    return [
        result(
            "failed",
            f"arguments-in-pieces-{n}",
            f"adapter-{m}",
            requirement="Arguments that come in several pieces are one call whose pieces keep their order.",
            source="https://ai.google.dev/gemini-api/docs/function-calling#streaming",
            exchange=n + 1,
            wire="w" * 1600,
            findings=findings,
            findings_total=9,
            evidence=Evidence(replace(STREAM, sent=sent), f"{n}", layers=layers),
        )
        for n in range(number)
        for m in range(5)
    ]


def varied(number: int, reads: int) -> list[CaseResult]:
    """As `failing`, each stream with times, sizes, cuts, a digest, a request and a beginning of its
    own.
    """
    chance = random.Random(7)
    results = failing(number)
    for start in range(0, len(results), 5):
        times = sorted(round(600 + chance.random() * 3000, 1) for _ in range(reads))
        rows = tuple(
            Read(
                at, chance.randrange(200, 2000), 1, chance.choice(("", "", "message", "character"))
            )
            for at in times
        )
        url = f"https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse&session={start}"
        sent = Sent(
            "POST",
            url,
            json.dumps({"contents": [{"parts": [{"text": f'Question {start}: "what" ' * 40}]}]})[
                :800
            ],
            9000,
        )
        digest = f"{chance.getrandbits(128):032x}"
        stream = Stream(
            200,
            sum(read.size for read in rows),
            digest,
            rows,
            reads,
            sent,
            sum(bool(read.inside) for read in rows),
        )
        for place in range(start, start + 5):
            before = results[place].evidence
            assert before is not None
            evidence = Evidence(
                stream, layers=before.layers, digest=f"{chance.getrandbits(128):032x}"
            )
            results[place] = replace(
                results[place], evidence=evidence, wire=f'data: {{"text": "word {start}"}}\n\n' * 50
            )
    return results


def test_failing_cells_keep_all_their_evidence_however_many_there_are() -> None:
    for number in (1, 400):
        packed = pack(Run(HEADER, failing(number)))
        assert by_key(list(unpack(packed).results)) == by_key(failing(number))


def test_shards_that_part_the_cells_of_a_stream_merge_into_the_whole() -> None:
    chance = random.Random(0)
    whole = varied(60, 80)
    shards = [chance.sample((0, 1, 2, 3), chance.choice((1, 1, 2, 3))) for _ in whole]
    parts = [
        [one for one, where in zip(whole, shards, strict=True) if number in where]
        for number in range(4)
    ]
    files = [unpack(pack(Run(HEADER, part))) for part in parts]
    joined = unpack(pack(merge(chance.sample(files, 2))))
    packed = pack(Run(HEADER, whole))
    assert pack(merge(chance.sample([joined, *files], 5))) == packed == pack(unpack(packed))


READS = (
    Read(600.0, 10),
    Read(610.0, 20),
    Read(620.0, 30, 1, "message"),
    Read(630.0, 40),
    Read(640.0, 50, 3, "character"),
    Read(650.0, 60, 2),
    Read(660.0, 70),
)


@pytest.mark.parametrize(
    ("most", "rows"),
    [
        (7, READS),
        (6, (*READS[:1], Read(620.0, 50, 2, "message"), *READS[3:])),
        (
            5,
            (
                *READS[:1],
                Read(620.0, 50, 2, "message"),
                Read(640.0, 90, 4, "character"),
                *READS[5:],
            ),
        ),
        (4, (*READS[:1], Read(640.0, 140, 6, "character"), *READS[5:])),
        (3, (*READS[:1], Read(650.0, 200, 8), *READS[6:])),
        (1, (Read(660.0, 280, 10),)),
    ],
)
def test_reads_go_together_where_least_is_lost_and_none_is_lost(
    most: int, rows: tuple[Read, ...]
) -> None:
    assert fewer_reads(READS, most) == rows


def test_fewer_of_fewer_reads_are_fewer_of_all() -> None:
    for seed in range(30):
        chance = random.Random(seed)
        reads = [
            Read(
                chance.choice((None, 1.5)),
                chance.randrange(99),
                chance.randrange(1, 4),
                chance.choice(("", "message", "character")),
            )
            for _ in range(chance.randrange(60))
        ]
        for most in (40, 20, 5, 4, 3, 1):
            fewer = fewer_reads(reads, most)
            assert len(fewer) == min(most, len(reads))
            for less in range(1, most):
                assert fewer_reads(fewer, less) == fewer_reads(reads, less)


@pytest.mark.parametrize("number", [0, 1, 2, 80, 81, 802, 5000])
def test_first_byte_and_end_stay_by_themselves_however_many_reads_there_are(number: int) -> None:
    exchange = Exchange(
        None, 200, {}, tuple((float(at), b"ab") for at in range(number)), "complete"
    )
    stream = describe(exchange, "gemini-api")
    assert len(stream.reads) == min(number, 80)
    assert (
        (sum(read.number for read in stream.reads), sum(read.size for read in stream.reads))
        == (number, stream.size)
        == (number, 2 * number)
    )
    ends = [(read.at_ms, read.number) for read in stream.reads[:1] + stream.reads[-1:]]
    assert ends == ([(0.0, 1), (number - 1.0, 1)] if number else [])


def test_a_command_that_differs_in_nothing_but_the_adapter_stands_once() -> None:
    run = Run(
        HEADER,
        [
            result(),
            result(adapter="unified-llm"),
            result(adapter="", layer="events", command="another"),
        ],
    )
    document = json.loads(pack(run))
    assert [case.get("command") for case in document["cases"]] == [
        None,
        "pytest 'specs/gemini-api/text.yaml::one[ADAPTER]'",
    ]
    assert [row.get("command") for row in document["results"]] == ["another", None, None]
    assert by_key(list(unpack(pack(run)).results)) == by_key(list(run.results))


# Comparing


def changed(base: list[CaseResult], head: list[CaseResult]) -> list[tuple[str, str, str]]:
    return [
        (change.kind, change.cell.case, change.words)
        for change in compare_runs(Run(HEADER, base), Run(HEADER, head))
    ]


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("passed", "failed", "broken"),
        ("passed", "known-failing", "broken"),
        ("passed", "not-carried", "broken"),
        ("passed", "not-run", "broken"),
        ("not-carried", "warning", "broken"),
        ("known-failing", "failed", "broken"),
        ("failed", "passed", "fixed"),
        ("known-failing", "fixed", "fixed"),
        ("not-carried", "passed", "fixed"),
        ("unreviewed", "passed", "fixed"),
        ("failed", "error", "changed"),
        ("not-run", "unreviewed", "changed"),
    ],
)
def test_a_verdict_that_is_better_is_fixed_and_one_that_is_worse_broken(
    before: Verdict, after: Verdict, kind: str
) -> None:
    (change,) = compare_runs(Run(HEADER, [result(before)]), Run(HEADER, [result(after)]))
    assert (change.kind, change.red) == (kind, kind == "broken")
    assert " → " in change.words


def test_nothing_changed_where_all_is_as_it_was_even_if_the_case_moved() -> None:
    assert (
        changed(
            SEVERAL, [replace(one, line=one.line + 9, provider="code-assist") for one in SEVERAL]
        )
        == []
    )


@pytest.mark.parametrize(
    "other",
    [
        {"evidence": Evidence(STREAM, "c" * 32)},
        {"evidence": Evidence(replace(STREAM, digest="f" * 32), "b" * 32)},
        {"findings": (Finding("[1]"),), "findings_total": 1},
        {"end": "cut"},
    ],
)
def test_the_same_verdict_on_other_evidence_is_told(other: dict[str, Any]) -> None:
    assert changed([result("warning")], [result("warning", **other)]) == [
        ("changed", "one", "warning")
    ]
    again = Evidence(replace(STREAM, reads=(Read(9.0, 25),)), "b" * 32)
    assert (
        changed([result()], [result(evidence=again)]) == []
    )  # a recording made again has other times


def test_cells_that_are_new_and_gone_and_what_is_red_of_them() -> None:
    changes = compare_runs(
        Run(HEADER, [result(), result(case="old")]),
        Run(HEADER, [result(), result("failed", "new"), result(case="fine")]),
    )
    assert [(change.kind, change.cell.case, change.red) for change in changes] == [
        ("new", "fine", False),
        ("new", "new", True),
        ("gone", "old", False),
    ]


def test_the_index_says_what_changed_since_the_baseline() -> None:
    base = Run(HEADER, [result(), result("failed", "two"), result(case="old")])
    page = render(
        Run(HEADER, [result("failed"), result("passed", "two"), result(case="new")]), base
    )["index.html"]
    assert (
        page.index("Since the baseline")
        < page.index("1 broken")
        < page.index("1 fixed")
        < page.index("1 new")
        < page.index("1 gone")
    )
    assert page.count("passed → failed") == 1
    assert 'href="gemini-api.html#text.one.anthropic"' in page
    assert "Since the baseline" not in render(base)["index.html"]


# For other programs


def test_junit_has_a_case_a_cell_and_says_which_are_red() -> None:
    compared: list[Verdict] = ["passed", "failed", "error", "fixed", "warning"]
    others: list[Verdict] = ["known-failing", "not-carried", "not-run", "unreviewed"]
    cells = [result(verdict, verdict, reason="be<cause\x00\ufffe ]]>") for verdict in compared]
    cells += [result(verdict, verdict) for verdict in others]
    root = ET.fromstring(render(Run(HEADER, cells))["junit.xml"])
    (suite,) = root
    assert root.attrib == {"tests": "9", "failures": "2", "errors": "1", "skipped": "4"}
    assert suite.attrib == {"name": "Gemini API", **root.attrib}
    assert {case.attrib["name"]: [child.tag for child in case] for case in suite} == {
        "passed[anthropic]": [],
        "failed[anthropic]": ["failure"],
        "error[anthropic]": ["error"],
        "fixed[anthropic]": ["failure"],
        "warning[anthropic]": ["system-out"],
        "known-failing[anthropic]": ["skipped"],
        "not-carried[anthropic]": ["skipped"],
        "not-run[anthropic]": ["skipped"],
        "unreviewed[anthropic]": ["skipped"],
    }
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.attrib["message"] == "failed: be<cause\\u0000\\ufffe ]]>"
    assert "pytest 'specs/gemini-api/text.yaml::failed[anthropic]'" in (failure.text or "")


def test_the_summary_in_markdown_is_a_table_and_what_is_not_passed_and_no_text_becomes_markup() -> (
    None
):
    hostile = "<img src=x> | `a` [x](javascript:y) @me\n# no"
    text = render(
        Run(
            HEADER,
            [
                result(),
                result("failed", "two", requirement=hostile),
                result("not-carried", "three"),
            ],
        )
    )["summary.md"]
    assert "| Gemini API | 0 of 1 features<br>✕ 1 failed<br>– 1 not carried |" in text
    assert (
        "- ✕ **failed** Gemini API → anthropic: \\<img src=x\\> \\| \\`a\\` \\[x\\]\\(javascript:y\\) \\@me \\# no"
        in text
    )
    assert "three" not in text


def test_badges_say_in_words_what_their_colour_says() -> None:
    files = render(
        Run(
            HEADER,
            [
                result(),
                result("failed", adapter="unified-llm"),
                result("known-failing", "two", provider="code-assist"),
            ],
        )
    )
    badges = {
        name: ET.fromstring(text).attrib["aria-label"]
        for name, text in files.items()
        if name.startswith("badges/")
    }
    assert badges == {
        "badges/all.svg": "Gemini compatibility: ✕ 1 failed",
        "badges/gemini-api.svg": "Gemini API: ✕ 1 failed",
        "badges/code-assist.svg": "Code Assist: ◐ 0 of 1 features",
        "badges/gemini-api.anthropic.svg": "Gemini API → anthropic: ✓ 1 of 1 features",
        "badges/gemini-api.unified-llm.svg": "Gemini API → unified-llm: ✕ 1 failed",
        "badges/code-assist.anthropic.svg": "Code Assist → anthropic: ◐ 0 of 1 features",
    }


@pytest.mark.parametrize(
    "text",
    ["\ufffe", "\uffff", "\ufdd0", "\x00\x0b\x1b", "\ud83d", "<&\"'>", "\u202e", "\U0001fffe"],
)
def test_badges_and_junit_are_xml_whatever_a_name_holds(text: str) -> None:
    header = replace(
        HEADER,
        providers=(Named("gemini-api", f"P{text}", 0),),
        adapters=(Named(f"a{text}", f"A{text}", 0),),
    )
    files = render(Run(header, [result("failed", adapter=f"a{text}", reason=text)]))
    labels = [
        ET.fromstring(svg).attrib["aria-label"]
        for name, svg in files.items()
        if name.startswith("badges/")
    ]
    assert len(labels) == 3
    assert all(label.startswith(("P", "Gemini")) for label in labels)
    assert ET.fromstring(files["junit.xml"]).attrib["failures"] == "1"


def test_no_badge_takes_the_place_of_another() -> None:
    names = ["a b", "a-b", "a?b", "A-b", "a-b-2", "x" * 130, "x" * 131]
    header = replace(
        HEADER,
        adapters=tuple(Named(name, name, 0) for name in names),
        providers=(*HEADER.providers, Named("all", "All", 2)),
    )
    results = [result(adapter=name) for name in names]
    badges, again = (
        {
            name[7:]: ET.fromstring(svg).attrib["aria-label"]
            for name, svg in render(run).items()
            if name.startswith("badges/")
        }
        for run in (
            Run(header, results),
            Run(replace(header, adapters=header.adapters[::-1]), results[::-1]),
        )
    )
    assert badges == again
    assert len({name.lower() for name in badges}) == 1 + 3 + len(names)
    assert {
        name: label.partition(" → ")[2].partition(":")[0]
        for name, label in badges.items()
        if "gemini-api.a" in name.lower()
    } == {
        "gemini-api.A-b.svg": "A-b",
        "gemini-api.a-b-2.svg": "a-b-2",
        "gemini-api.a-b-3.svg": "a-b",
        "gemini-api.a-b-4.svg": "a b",
        "gemini-api.a-b-5.svg": "a?b",
    }
    assert badges["all.svg"].startswith("Gemini compatibility")
    assert badges["all-2.svg"].startswith("All")


def test_a_badge_of_nothing_compared_is_not_green() -> None:
    badge = render(Run(HEADER, [result("not-run")]))["badges/all.svg"]
    assert "○ nothing compared" in badge
    assert "#0b5d4b" not in badge


def test_change_of_a_cell_that_is_nowhere_can_not_be_made() -> None:
    with pytest.raises(AssertionError):
        _ = Change("new", None, None).cell
