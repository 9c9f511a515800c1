"""The report: whatever the results say, the pages say it in plain words, to the letter, and nothing
in it gets out of its place.
"""

from __future__ import annotations

import dataclasses
import json
import random
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec.structs import replace

from harness.cassettes import Origin as CassetteOrigin
from harness.conformance.evidence import with_evidence
from harness.conformance.judge import judge
from harness.conformance.laws.judge import cells as law_cells
from harness.conformance.laws.judge import judge_law
from harness.conformance.project import Project, kind_of, yaml_files
from harness.conformance.results import (
    MOST_READS,
    VERDICTS,
    CaseResult,
    Evidence,
    Finding,
    LayerView,
    Origin,
    Read,
    ResultsError,
    Stream,
    Verdict,
    decode,
    encode,
    sort_key,
)
from harness.report import Header, Named, ReportError, Run, render, summary
from harness.report.details import MAX_WITH_LAYERS
from harness.report.fingerprint import fingerprint, legend
from harness.report.header import make_header
from harness.report.tally import describe_origins, headline
from tests.support.report_samples import (
    DIALECTS,
    FIVE,
    HEADER,
    HOSTILE_HEADER,
    MIXED,
    PROVIDERS,
    hostile,
    result,
    run_of,
)


def pages(*results: CaseResult, header: Header = HEADER) -> dict[str, str]:
    return {
        name: text for name, text in render(Run(header, results)).items() if name.endswith(".html")
    }


CELLS = {"td", "th", "tr", "tbody"}
ENDED_BY = {
    "li": {"li"},
    "dt": {"dd"},
    "dd": {"dt"},
    "td": CELLS,
    "th": CELLS,
    "tr": {"tr", "tbody"},
    "tbody": {"tbody"},
}
ENDED_BY["p"] = {"p", "ul", "ol", "li", "pre", "div", "section", "h4", "h5"}
ENDED_IN = {
    "li": {"ul", "ol"},
    "dt": {"dl"},
    "dd": {"dl"},
    "td": {"table", "tr"},
    "th": {"table", "tr", "thead"},
    "tr": {"table", "tbody"},
    "tbody": {"table"},
}
ENDED_IN["p"] = {"ul", "section", "div", "header"}


class Page(HTMLParser):
    """A page as a parser sees it: tags that open and close each other, attributes, ids, the text,
    and the JSON for its script.
    """

    VOID = frozenset({"meta", "input", "br"})

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.open: list[str] = []
        self.data: dict[str, Any] = {}
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []
        self.ids = [attributes["id"] for _, attributes in self.tags if "id" in attributes]
        self.text = re.sub(r"\s+", " ", "".join(self.words))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.words.append(" ")
        while self.open and tag in ENDED_BY.get(
            self.open[-1], ()
        ):  # an item, a cell, a row ends where the next begins
            self.open.pop()
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while tag in ENDED_IN.get(self.open[-1], ()):
            self.open.pop()
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append("" if {"style", "script"} & set(self.open) else data)
        if (
            self.tags[-1:] == [("script", {"type": "application/json", "id": "data"})]
            and self.open[-1] == "script"
        ):
            self.data = json.loads(data)

    def cells(self) -> list[str]:
        """The verdict of every cell: those with nothing else to say stand in lists of names, the
        others each with its anchor.
        """
        marks = [mark for (tag, link), mark in pairwise(self.tags) if tag == "a" and "id" in link]
        listed = re.findall(
            r"<p>(?:passed:|<i class=([a-z-]+)>[a-z ]+</i>) ([\w., -]+)", self.source
        )
        in_lists = [verdict or "passed" for verdict, names in listed for _ in names.split(",")]
        return [mark.get("class", "passed") for tag, mark in marks if tag == "i"] + in_lists


# Results


def test_results_come_back_from_their_json_as_they_were() -> None:
    whole = [
        result(
            "failed", findings=(Finding("payloads[0]", "missing", '"a"', None),), findings_total=3
        ),
        result(origin=None),
    ]
    assert decode(encode(whole)) == sorted(whole, key=sort_key)


def test_json_of_results_does_not_depend_on_the_order_in_which_workers_finished() -> None:
    several = [
        result(case=f"case-{n % 3}", adapter=adapter, reason=str(n))
        for n in range(6)
        for adapter in DIALECTS
    ]
    shuffled = random.Random(1).sample(several, len(several))
    assert encode(shuffled) == encode(several)


def test_a_lone_surrogate_becomes_text_on_the_way_out() -> None:
    assert decode(encode([result(reason="half \ud83d")]))[0].reason == "half \\ud83d"


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (b"", "the document is not whole"),
        (b"\xff", "the document is not JSON from byte 0 on"),
        (b"[{}]", "[0].spec is missing; required keys are "),
        (
            encode([result()]).replace(b'"passed"', b'"green"'),
            "[0].verdict must be 'failed', 'error', ",
        ),
        (
            encode([result()]).replace(b'"line":3', b'"line":0'),
            "[0].line must be 1 or more",
        ),
        (
            encode([result()]).replace(b'"line"', b'"lime"'),
            "[0]: unknown key 'lime' (did you mean line?); ",
        ),
    ],
)
def test_results_that_cannot_be_read_are_a_typed_error(data: bytes, fact: str) -> None:
    with pytest.raises(ResultsError, match=r"^results: .*; expected the JSON array") as fault:
        decode(data)
    assert fact in str(fault.value)


def test_results_with_more_reads_of_a_stream_than_any_run_writes_are_refused() -> None:
    most, more = (
        result(evidence=Evidence(Stream(200, n, "a" * 32, (Read(1.0, 1),) * n, n)))
        for n in (MOST_READS, MOST_READS + 1)
    )
    assert decode(encode([most])) == [most]
    with pytest.raises(ResultsError, match="reads"):
        decode(encode([more]))


def test_a_cassettes_origin_is_taken_over_whole() -> None:
    origin = CassetteOrigin(
        "imported",
        date="2026-02-11",
        client="google-genai 1.62.0",
        source="https://example.org/x",
        licence="MIT",
    )
    assert msgspec.convert(origin, Origin, from_attributes=True) == Origin(
        "imported",
        date="2026-02-11",
        client="google-genai 1.62.0",
        source="https://example.org/x",
        licence="MIT",
    )


def test_every_verdict_has_words_of_its_own_and_an_order() -> None:
    assert set(VERDICTS) == set(get_args(Verdict))
    for aspect in ("word", "symbol", "sentence", "order"):
        assert len({getattr(words, aspect) for words in VERDICTS.values()}) == len(VERDICTS)
    assert {name for name, words in VERDICTS.items() if words.red} == {"failed", "error", "fixed"}
    assert {name for name, words in VERDICTS.items() if not words.compared} == {
        "error",
        "not-run",
        "unreviewed",
    }


# What the pages say


def test_there_is_an_index_and_a_page_a_provider() -> None:
    assert list(pages(*MIXED)) == ["index.html", "gemini-api.html", "code-assist.html"]


def test_every_verdict_is_said_in_words_and_with_its_symbol() -> None:
    rendered = pages(*MIXED)
    for name, words in VERDICTS.items():
        for page in rendered.values():
            assert (
                f'i{"" if name == "passed" else f".{name}"}::before{{content:"{words.symbol} "'
                in page
            )
        assert (
            "<p>passed: " if name == "passed" else f"<i class={name}>{words.word}</i>"
        ) in rendered["gemini-api.html"]
        assert words.sentence in Page(rendered["index.html"]).text


def test_a_page_without_a_cell_has_only_what_every_page_has() -> None:
    without, one = (
        pages(result())["code-assist.html"],
        pages(result(provider="code-assist"))["code-assist.html"],
    )
    assert "No case replayed this provider in this run." in without
    assert len(without) < 13_000 < 30_000 < len(one)


def test_every_result_is_one_cell() -> None:
    rendered = pages(*MIXED, MIXED[0])  # the same result twice is two cells
    found = [Page(page) for page in rendered.values()]
    assert Counter(verdict for page in found for verdict in page.cells()) == Counter(
        one.verdict for one in [*MIXED, MIXED[0]]
    )
    assert [sum(len(case) - 2 for case in page.data["cases"]) for page in found if page.data] == [
        12,
        1,
    ]


def test_a_cell_shows_its_evidence() -> None:
    found = result(
        "failed",
        first_layer="events",
        findings=(Finding("events[3].path", "differs", '"$.a"', '""', "cut differently"),),
        findings_total=12,
        exchange=2,
        end="cut",
        origin=Origin(
            "imported",
            "2026-02-11T10:00:00Z",
            "google-genai 1.62.0",
            "gemini-2.5-flash",
            "https://example.org/x",
            "0a1b2c",
        ),
    )
    text = Page(pages(found)["gemini-api.html"]).text
    for words in (
        "Two calls stay two calls.",
        "imported cut 2026-02-11 · cut",
        "· cut: closed before its declared end",
        "anthropic failed first in the events",
        'First difference: events[3].path differs cut differently 1 of 12 findings expected "$.a" got ""',
        "pytest 'specs/gemini-api/tool-calls.yaml::two-calls[anthropic]'",
    ):
        assert words in text
    data = Page(pages(found)["gemini-api.html"]).data
    (cassette, exchange, wire, *_), ((name, origin),) = data["streams"][0], data["cassettes"]
    assert ["client", "google-genai 1.62.0"] in data["origins"][origin]
    assert (cassette, name, exchange, wire) == (
        0,
        "gemini-api/tool-calls",
        2,
        'data: {"candidates": []}',
    )
    assert data["cases"] == [[0, 2, {"total": 12, "first": "events"}]]


def test_what_is_not_passed_is_listed_with_a_link_to_its_cell() -> None:
    rendered = pages(*MIXED)
    index = rendered["index.html"]
    for case in ("lost", "broken", "again", "late", "null", "search", "new"):
        assert f"href=gemini-api.html#tool-calls.{case}.anthropic>" in index
    for case in (
        "lost",
        "again",
        "null",
    ):  # with more to say than why; the others have their anchor from the script
        assert f"id=tool-calls.{case}.anthropic>" in rendered["gemini-api.html"]
    assert "null pieces lose their path" in index
    assert 'href="https://example.org/issues/212"' in index


def test_every_link_but_to_a_cell_leads_somewhere_and_every_id_is_there_once() -> None:
    read_pages = {name: Page(page) for name, page in pages(*MIXED, *MIXED).items()}
    for name, page in read_pages.items():
        assert len(page.ids) == len(set(page.ids))
        for tag, attributes in page.tags:
            if tag == "a" and not attributes.get("href", "https://").startswith("https://"):
                target, _, fragment = attributes["href"].partition("#")
                cell = target == "gemini-api.html" and fragment.startswith("tool-calls.")
                assert not fragment or cell or fragment in read_pages[target or name].ids


def test_cells_with_nothing_to_say_but_why_stand_in_a_list_with_it() -> None:
    losses = {"art": "usage", "mind": "text", "agent-events": "text"}
    cells = [
        result("not-carried", adapter=name, reason=f"{loss}, as declared")
        for name, loss in losses.items()
    ]
    cells += [
        result(adapter="unified-llm"),
        result(),
        result(adapter="b", reason="passed in another way"),
    ]
    adapters = [
        Named(name, name, order)
        for order, name in enumerate([*losses, "unified-llm", "b", "anthropic"])
    ]
    page = pages(*cells, header=replace(HEADER, adapters=tuple(adapters)))["gemini-api.html"]
    assert re.findall("<p>(?:passed:|<i class).*", page) == [
        "<p>passed: unified-llm, anthropic",
        "<p><i class=not-carried>not carried</i> mind, agent-events: text, as declared",
        "<p><i class=not-carried>not carried</i> art: usage, as declared",
    ]
    assert (
        "<a id=tool-calls.two-calls.b>b <i>passed</i></a> <span class=gist>passed in another way</span>"
        in page
    )


def test_what_many_cases_share_stands_once_above_them() -> None:
    several = [
        result(case=f"case-{n}", line=n + 1, adapter=adapter)
        for n in range(9)
        for adapter in DIALECTS
    ]
    rendered = pages(*several)["gemini-api.html"]
    assert rendered.count("pytest 'specs/FILE.yaml::CASE[ADAPTER]'") == 1
    assert rendered.count("<h5>gemini-api/tool-calls</h5>") == 1
    assert rendered.count("<b>written</b> <time>2026-11-22</time>") == 1
    assert rendered.count("passed: unified-llm, anthropic\n") == 9
    assert [re.findall(r"<li><b>(.*?)</b> Two calls stay two calls\.", rendered)] == [
        [f"case-{n}" for n in range(9)]
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"command": "run it otherwise"},
        {"command": "pytest 'specs/gemini-api/tool-calls.yaml::another[anthropic]'"},
        {"command": "pytest 'specs/gemini-api/tool-calls.yaml::two-calls[of another]'"},
        {"command": "pytest 'specs/gemini-api/tool-calls.yaml::two-calls[anthropic]' -x"},
    ],
)
def test_cells_of_a_case_whose_commands_have_not_that_form_have_them_whole(
    other: dict[str, Any],
) -> None:
    rendered = pages(result(**other), result(adapter="unified-llm"))["gemini-api.html"]
    assert (
        f"<pre>pytest 'specs/gemini-api/tool-calls.yaml::two-calls[unified-llm]'\n{other['command']}</pre>"
        in rendered
    )
    assert "<li id=tool-calls.two-calls>Two calls" in rendered


def test_the_command_of_a_page_is_that_of_most_of_its_files_and_others_have_theirs() -> None:
    commands = ["specs/a", "specs/b", "mine/c", "specs/d", "specs/e-\u202e"]
    files = [
        result(spec=f"{place}.yaml", command=f"pytest '{place}.yaml::two-calls[anthropic]'")
        for place in commands
    ]
    rendered = pages(*files)["gemini-api.html"]
    assert "<code id=\"form\">pytest 'specs/FILE.yaml::CASE[ADAPTER]'</code>" in rendered
    assert re.findall("<h5>(.*)</h5>", rendered) == ["a", "b", "d"]
    assert re.findall("<pre>(.*::CASE.*)</pre>", rendered) == [
        f"pytest '{place}.yaml::CASE[ADAPTER]'" for place in ("mine/c", "specs/e-\\u202e")
    ]


def test_an_anchor_that_does_not_follow_from_the_command_is_written() -> None:
    twice = pages(result(), result())["gemini-api.html"]
    assert re.findall(r"<a id=(\S+)>anthropic <i>passed", twice) == [
        "tool-calls.two-calls.anthropic-2"
    ]
    elsewhere = pages(
        result(command="pytest 'a/b/gemini-api/tool-calls.yaml::two-calls[anthropic]'")
    )["gemini-api.html"]
    assert "<li id=tool-calls.two-calls><b>two-calls</b>" in elsewhere


def test_another_origin_a_lower_level_or_a_broken_stream_stands_above_its_own_cases() -> None:
    recorded = Origin("recorded", "2026-11-20")
    others: list[dict[str, Any]] = [
        {},
        {"origin": recorded},
        {"level": "should"},
        {"end": "cut"},
        {"spec": "x.yaml"},
    ]
    page = Page(
        pages(*(result(case=f"case-{n}", line=n + 1, **one) for n, one in enumerate(others)))[
            "gemini-api.html"
        ]
    )
    lines = [
        "recorded 2026-11-20",
        "written 2026-11-22 · should",
        "written cut 2026-11-22 · cut: closed before its declared end",
    ]
    for words in (*lines, "written 2026-11-22 · x.yaml:5"):
        assert page.text.count(words) == 1


def test_a_case_of_two_features_stands_under_the_first_and_is_found_from_the_other() -> None:
    page = Page(pages(*MIXED)["code-assist.html"])
    assert page.source.count("<li><b>") == 1
    assert (
        page.source.index("id=feature:tool-calls.parallel")
        < page.source.index("id=feature:usage.totals")
        < page.source.index("<li><b>")
    )
    assert page.data["cases"] == [
        [0, [2, 0], ""]
    ]  # documentation 2, and the first feature of the page


def test_an_address_of_documentation_stands_once_on_a_page_and_every_use_of_it_leads_there() -> (
    None
):
    page = Page(pages(*MIXED)["gemini-api.html"])
    assert page.source.count('href="https://ai.google.dev/gemini-api/docs/function-calling"') == 1
    assert {case[1] for case in page.data["cases"]} == {2}
    assert (
        '<a id=d2 href="https://ai.google.dev/gemini-api/docs/function-calling">function-calling</a>'
        in page.source
    )
    assert "<a href=#d1>docs</a>" in page.source


def test_what_is_declared_in_advance_is_listed_by_its_reason_with_a_link_to_the_first_of_its_cells() -> (
    None
):
    index = pages(
        *(
            result("not-carried", f"search-{n}", line=n + 1, reason="grounding has no place")
            for n in range(3)
        )
    )["index.html"]
    assert index.count("grounding has no place") == 1
    assert "<a href=gemini-api.html#tool-calls.search-0.anthropic>search-0</a> and 2 more" in index


def test_a_stream_stands_once_in_the_data_of_a_page() -> None:
    page = pages(
        result(),
        result(adapter="unified-llm"),
        result("failed", adapter="", wire="data: [1]"),
        result(case="b", line=9),
    )["gemini-api.html"]
    assert page.count('data: {\\"candidates') == 1


def test_a_feature_shows_its_worst_verdict_and_how_many_have_it_and_features_without_a_case_are_named() -> (
    None
):
    rendered = pages(*MIXED)
    text = Page(rendered["index.html"]).text
    assert (
        "Feature unified-llm anthropic events Tool calls Parallel calls passed failed 1 of 9 passed"
        in text
    )
    assert "2 of 3 features have no case here yet" in text
    assert "No case yet: Usage, Sound." in Page(rendered["gemini-api.html"]).text


def test_a_feature_of_which_some_cells_passed_and_others_are_not_carried_is_carried_in_part() -> (
    None
):
    cells = [result(), result("not-carried", "b", line=9), result("not-carried", "c", line=11)]
    other = result("not-carried", "d", line=12, features=("usage.totals",))
    index = Page(pages(*cells, other)["index.html"]).text
    assert "Gemini API → anthropic: 0 of 2 features, 1 in part, 1 not carried" in index
    assert "Parallel calls in part 2 of 3" in index
    assert "Usage not carried" in index
    broken = Page(pages(*cells, result("failed", "e", line=13))["index.html"]).text
    assert "Gemini API → anthropic: 0 of 1 feature, 1 failed" in broken


def test_declared_losses_are_listed_a_dialect_without_one_too() -> None:
    text = Page(pages(result(), result(adapter="unified-llm"))["index.html"]).text
    assert (
        "unified-llm None is declared. anthropic grounding Search results and their supports."
        in text
    )


def test_an_adapter_without_a_cell_has_no_column_and_no_losses() -> None:
    text = Page(pages(result(adapter="unified-llm"))["index.html"]).text
    assert "Provider unified-llm Gemini API" in text
    assert "anthropic" not in text


def test_a_result_whose_cassette_could_not_be_read_has_a_page() -> None:
    rendered = pages(
        result("error", provider="", origin=None, end="unknown", features=(), reason="no such file")
    )
    text = Page(rendered["unknown-provider.html"]).text
    assert "Provider not known" in text
    assert "origin not known date not known" in text
    assert "no such file" in text


# The headline and the last lines of a run


@pytest.mark.parametrize(
    ("results", "sentences"),
    [
        ([], ["Nothing ran: no case was selected."]),
        ([result()], ["The one cell passed."]),
        ([result(), result(adapter="unified-llm")], ["All 2 cells passed."]),
        (
            [result(), result(adapter="unified-llm"), result("not-carried", "x")],
            [
                "2 of 3 cells passed; 1 not carried.",
                "Nothing is red.",
                "The lowest share of features passes at Gemini API → anthropic: 0 of 1 feature, 1 in part.",
            ],
        ),
        (
            [
                result(),
                result("known-failing", "x", provider="code-assist", features=("a",)),
                result(provider="code-assist", features=("b",)),
            ],
            [
                "2 of 3 cells passed; 1 known failing.",
                "Nothing is red.",
                "Most work remains at Code Assist → anthropic: 1 of 2 features, 1 known failing.",
            ],
        ),
        (
            [
                result("failed"),
                result("error", "x", "unified-llm"),
                result("error", "y", "unified-llm"),
                result(adapter="unified-llm"),
            ],
            [
                "1 of 4 cells passed; 1 failed, 2 errors.",
                "Look first at Gemini API → unified-llm: 0 of 1 feature, 1 error.",
            ],
        ),
    ],
)
def test_headline(results: list[CaseResult], sentences: list[str]) -> None:
    assert headline(results, PROVIDERS, DIALECTS) == sentences


@pytest.mark.parametrize(
    ("results", "unread", "sentences"),
    [
        ([result()], ["a.yaml:1: no"], ["1 spec could not be read.", "The one cell passed."]),
        (
            [result()],
            ["a.yaml:1: no", "a.yaml:7: no", "b.yaml:2: no"],
            ["2 specs could not be read.", "The one cell passed."],
        ),
        ([], ["a.yaml:1: no"], ["1 spec could not be read.", "Nothing ran."]),
    ],
)
def test_headline_and_summary_begin_with_the_specs_that_were_not_read(
    results: list[CaseResult], unread: list[str], sentences: list[str]
) -> None:
    assert headline(results, PROVIDERS, DIALECTS, unread) == sentences
    written = render(Run(replace(HEADER, unread=tuple(unread)), results))
    assert " ".join(sentences) in Page(written["index.html"]).text
    lines = written["summary.md"].splitlines()
    assert lines[2] == " ".join(sentences)
    last = max(number for number, line in enumerate(lines) if line.startswith("- not read: "))
    assert lines[last + 1 : last + 2] == ([""] if results else [])


RECORDED = Origin("recorded", date="2026-11-20")


@pytest.mark.parametrize(
    ("results", "sentence"),
    [
        ([], "No comparison ran."),
        ([result("not-run"), result("error", exchange=2)], "No comparison ran."),
        (
            [result(layer="requests", cassette="", origin=None)],
            "Only requests were compared, no stream.",
        ),
        (
            [result("not-run", layer="requests", cassette="", origin=None)],
            "No comparison ran.",
        ),
        (
            [result(), result(adapter="unified-llm")],
            "The one stream is written by hand. `harness record` records streams from a live provider.",
        ),
        (
            [result(exchange=n + 1) for n in range(46)],
            "All 46 streams are written by hand. `harness record` records streams from a live provider.",
        ),
        (
            [result(), result(exchange=2, origin=RECORDED), result(cassette="b", origin=RECORDED)],
            "2 of 3 streams are recorded from a live provider, 1 is written by hand.",
        ),
        (
            [result(), result(exchange=2, origin=Origin("loopback"))],
            "1 of 2 streams is recorded from a real client and a local server, 1 is written by hand."
            " `harness record` records streams from a live provider.",
        ),
        ([result(origin=RECORDED)], "The one stream is recorded from a live provider."),
        (
            [result(origin=Origin("imported"))],
            "The one stream is imported from third-party recordings.",
        ),
        (
            [result(origin=None)],
            "The one stream is of unknown origin. `harness record` records streams from a live provider.",
        ),
    ],
)
def test_what_a_run_describe_origins_counts_distinct_streams_that_were_compared(
    results: list[CaseResult], sentence: str
) -> None:
    assert describe_origins(results) == sentence
    assert sentence.replace("`", "") in Page(pages(*results)["index.html"]).text


def test_summary_is_a_line_a_provider_and_dialect_and_what_it_describe_origins() -> None:
    lines = summary(MIXED)
    assert lines.isascii()
    assert lines.splitlines() == [
        "code-assist / anthropic   1 passed",
        "gemini-api / anthropic    1 passed, 1 failed, 1 error, 1 fixed, 1 warning, 1 known failing, 1 not carried, 1 not run, "
        "1 unreviewed",
        "gemini-api / events       1 passed",
        "gemini-api / unified-llm  1 passed",
        "12 cells: 4 passed, 1 failed, 1 error, 1 fixed, 1 warning, 1 known failing, 1 not carried, 1 not run, 1 unreviewed",
        "All 2 streams are written by hand. `harness record` records streams from a live provider.",
    ]


# Same results, same bytes; nothing from outside


def test_pages_are_the_same_in_any_order_of_results_and_after_a_trip_through_json() -> None:
    several = [*MIXED, result("failed", reason="half \ud83d", wire="\ud83d")]
    shuffled = random.Random(2).sample(several, len(several))
    assert pages(*shuffled) == pages(*several) == pages(*decode(encode(several)))


def test_a_page_loads_nothing_and_runs_only_its_own_script() -> None:
    for page in pages(*MIXED).values():
        (allowed,) = re.findall(
            r"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-([^']+)'", page
        )
        scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        assert [b64encode(sha256(script.encode()).digest()).decode() for script in scripts] == [
            allowed
        ]
        assert "url(" not in page
        assert "@import" not in page
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|fetch|XMLHttp|localStorage",
            scripts[0],
        )
        for tag, attributes in Page(page).tags:
            assert tag not in {"link", "img", "iframe", "object", "base"}
            assert not {
                name
                for name in attributes
                if name.startswith("on") or name in {"src", "srcset", "action", "formaction"}
            }
            assert "href" not in attributes or tag == "a"


def test_tables_and_headings_are_ones_for_a_screen_reader() -> None:
    for page in map(Page, pages(*MIXED, result(features=())).values()):
        headings = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
        assert headings[0] == 1
        assert headings.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(headings))
        assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")


# Hostile text


@pytest.mark.parametrize("verdict", VERDICTS)
def test_text_that_tries_to_break_out_stays_text(verdict: Verdict) -> None:
    for page in pages(hostile(verdict), header=HOSTILE_HEADER).values():
        page.encode()  # no lone surrogate is left
        assert not [
            data
            for data in re.findall(r'id="data">(.*?)</script>', page)
            if re.search("[<>&]", data)
        ]
        assert not re.search(
            r"[^\n -~\xa0-\U0010ffff]|[\u200b-\u200f\u202a-\u202e\u2060-\u206f\U000e0000-\U000e007f]",
            page,
        )
        assert "{{7*7}}" in page
        for tag, attributes in Page(page).tags:
            assert tag not in {"img", "u"}
            assert not {"onclick", "onerror"} & set(attributes)
            assert re.match(
                r"[a-z-]+\.html|(results\.json|junit\.xml|summary\.md)$|#|https://[!-~]+$",
                attributes.get("href", "#"),
            )


def test_a_long_text_is_cut_and_says_so() -> None:
    page = pages(
        result("failed", findings=(Finding("a", expected="y" * 10_240),), wire="z" * 10_240)
    )["gemini-api.html"]
    assert page.count("(10,240 characters)") == 1  # in the page, not again in its data
    assert page.count("z" * 10_240) == 1  # the judge has cut it already


# Wrong callers


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            {"features": ("tool-calls.paralel",)},
            "unknown feature 'tool-calls.paralel'; known are media.sound, tool-calls.parallel, usage.totals",
        ),
        ({"adapter": "mind"}, "unknown dialect 'mind'; known are anthropic, unified-llm"),
        ({"provider": "gemini"}, "unknown provider 'gemini'; known are code-assist, gemini-api"),
    ],
)
def test_a_name_that_is_not_listed_is_an_error_that_says_where(
    wrong: dict[str, Any], words: str
) -> None:
    with pytest.raises(ReportError) as fault:
        pages(result(**wrong))
    assert (
        str(fault.value)
        == f"gemini-api/tool-calls.yaml:3: case 'two-calls': {words}; correct the name or add it to the list"
    )


@pytest.mark.parametrize("name", ["../up", "index", "A B", "unknown-provider"])
def test_a_provider_that_cannot_name_a_page_is_an_error(name: str) -> None:
    with pytest.raises(ReportError, match="not a name for a page"):
        render(Run(Header(providers=(Named(name, "x", 0),))))


# Size and looks


@pytest.fixture(scope="module")
def shipped() -> tuple[Header, list[CaseResult]]:
    """The results of the shipped specs, as a run has them."""
    root = Path(__file__).parents[2]
    project = Project([root / "specs"], root / "cassettes")
    results = []
    for file in yaml_files(root / "specs"):
        if kind_of(file) == "spec":
            for cell in project.cells(file):
                command = f"pytest '{file.relative_to(root).as_posix()}::{cell.name}'"
                results.append(
                    replace(with_evidence(judge(cell, project.cassette)), command=command)
                )
    assert len(results) > 1000
    return make_header(results, project.features(), "", ()), results


BUDGET = 1_000
"""Bytes of all pages per cell, with script and style sheet: 1 MB for 1,000 cells."""


def html_size(files: Mapping[str, str]) -> int:
    return sum(len(text.encode()) for name, text in files.items() if name.endswith(".html"))


@pytest.mark.slow
def test_the_pages_of_the_shipped_cells_keep_to_the_budget(
    shipped: tuple[Header, list[CaseResult]],
) -> None:
    header, results = shipped
    assert html_size(render(Run(header, results))) <= BUDGET * len(results)


def test_the_pages_of_a_thousand_green_cells_keep_to_the_budget() -> None:
    cells = run_of(200, "data: " + "x" * 1600, "passed", ("anthropic", "b", "c", "d", "e"))
    assert len(cells) == 1000
    assert html_size(render(Run(FIVE, cells))) <= BUDGET * len(cells)


@pytest.mark.slow
def test_a_report_of_every_law_on_every_shipped_exchange_keeps_to_the_budget() -> None:
    root = Path(__file__).parents[2]
    project = Project([root / "specs"], root / "cassettes")
    results = []
    for file in yaml_files(root / "cassettes"):
        name = file.relative_to(root / "cassettes").with_suffix("").as_posix()
        cassette = project.cassette(name)
        for cell in law_cells(name, cassette.exchanges, project.law_adapters(), cassette.origin):
            held = judge_law(
                dataclasses.replace(
                    cell, law=dataclasses.replace(cell.law, findings=lambda exchange, adapter: [])
                )
            ).result
            results.append(
                replace(held, command=f"pytest --harness-laws 'cassettes/{name}.yaml::{cell.name}'")
            )
    assert len(results) > 10_000
    files = render(Run(make_header(results, project.features(), "", ()), results))
    assert html_size(files) <= BUDGET * len(results)


def test_a_failing_cell_takes_as_much_room_among_many_as_alone() -> None:
    def failing(number: int) -> int:
        return html_size(render(Run(HEADER, run_of(number, "", "failed", ("anthropic",)))))

    each = failing(2) - failing(1)
    assert (failing(300) - failing(1)) / 299 == pytest.approx(each, rel=0.1)


def test_a_page_shows_the_layers_of_its_first_failing_cells() -> None:
    layers = (LayerView("payloads", ("x" * 200,) * 11, 0, 11, 0, True),)
    cells = [
        replace(one, findings_total=20, evidence=Evidence(layers=layers))
        for one in run_of(MAX_WITH_LAYERS + 1, "", "failed", ("anthropic",), 20)
    ]
    *first, last = (cell for _, _, cell in Page(pages(*cells)["gemini-api.html"]).data["cases"])
    for cell in first:
        assert (len(cell["findings"]), len(cell["layers"]), "without" in cell) == (19, 1, False)
    assert (len(last["findings"]), "layers" in last, last["without"]) == (19, False, 1)


# Ages


@pytest.mark.parametrize(
    ("origin", "today", "words", "stale"),
    [
        (
            Origin("recorded", "2026-01-01T10:00:00Z"),
            "2026-11-22",
            "recorded 2026-01-01 (325 days old) stale",
            True,
        ),
        (Origin("recorded", "2026-11-20"), "2026-11-22", "recorded 2026-11-20 (2 days old)", False),
        (
            Origin("written", "2020-01-01"),
            "2026-11-22",
            "written 2020-01-01 (2,517 days old)",
            False,
        ),
        (Origin("recorded", "2020-01-01"), "", "recorded 2020-01-01 gemini-api/tool-calls", False),
        (Origin("recorded", "soon"), "2026-11-22", "recorded soon gemini-api/tool-calls", False),
    ],
)
def test_an_age_stands_in_a_page_only_for_a_day_that_was_given(
    origin: Origin, today: str, words: str, stale: bool
) -> None:
    page = Page(pages(result(origin=origin), header=replace(HEADER, day=today))["gemini-api.html"])
    assert words in page.text
    assert (">stale<" in page.source) == stale


# Fingerprints


def test_a_fingerprint_has_one_shape_a_feature_at_the_same_place() -> None:
    one = fingerprint(["a", "b", "c"], {"a": "passed", "c": "failed"})
    other = fingerprint(["a", "b", "c"], {"a": "not-carried", "b": "passed"})
    assert one.paths == [
        ("failed", "M16 0l6 6m-6 0l6-6"),
        ("passed", "M0 3h6"),
        ("none", "M10 3h2"),
    ]
    assert other.paths == [("not-carried", "M0 3h6"), ("passed", "M8 3h6"), ("none", "M18 3h2")]
    assert (
        len({legend(verdict) for verdict in (*VERDICTS, None)}) == len(VERDICTS) + 1 - 1
    )  # a dash is thick or thin


def test_places_in_a_row_that_say_the_same_are_one_dashed_line_that_ends_with_its_row() -> None:
    several = [str(number) for number in range(23)]
    passed = fingerprint(several, dict.fromkeys(several[2:], "passed"))
    assert (passed.width, passed.height) == (158, 14)
    assert passed.paths == [("passed", "M16 3h142M0 11h22"), ("none", "M2 3h10")]


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_text_has_a_contrast_of_4_5_to_its_ground_in_light_and_dark() -> None:
    light, dark = re.findall(r":root\{(--bg:#.*?)\}", pages()["index.html"])[:2]
    for palette in (
        dict(re.findall(r"--([\w-]+):(#\w+)", light)),
        dict(re.findall(r"--([\w-]+):(#\w+)", dark)),
    ):
        grounds = [
            (text, ground) for text in ("fg", "soft", "link") for ground in ("bg", "card", "fill")
        ]
        verdicts = [
            (name, f"{name}-bg")
            for name in ("passed", "failed", "error", "fixed", "warning", "known", "aside")
        ]
        for text, ground in (*grounds, *verdicts, ("aside", "card")):
            dim, bright = sorted((luminance(palette[text]), luminance(palette[ground])))
            assert (bright + 0.05) / (dim + 0.05) >= 4.5, (text, ground)
