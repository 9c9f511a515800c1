"""The content of the pages."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace

from harness.facts import Finding, Place
from harness.judging.rows import VERDICTS, Evidence, Row
from harness.report import Named
from harness.report.tally import describe_origins
from harness.stream.exchange import Origin
from tests.report.page_reader import Page, pages
from tests.support.aspect_samples import excerpt
from tests.support.report_samples import (
    DIALECTS,
    HEADER,
    MIXED,
    result,
)


def test_a_report_has_an_index_and_a_page_for_each_provider() -> None:
    assert list(pages(*MIXED)) == ["index.html", "gemini-api.html", "code-assist.html"]


def test_every_verdict_is_shown_in_words_and_with_its_symbol() -> None:
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


def test_only_providers_with_a_case_have_a_page_and_a_row() -> None:
    rendered = pages(result())
    assert list(rendered) == ["index.html", "gemini-api.html"]
    assert "Code Assist" not in Page(rendered["index.html"]).text


def test_every_result_is_one_cell() -> None:
    rendered = pages(*MIXED, MIXED[0])  # the same result twice gives two cells
    parsed = [Page(page) for page in rendered.values()]
    assert Counter(verdict for page in parsed for verdict in page.cells()) == Counter(
        result.verdict for result in [*MIXED, MIXED[0]]
    )
    assert [sum(len(case) - 2 for case in page.data["cases"]) for page in parsed if page.data] == [
        12,
        1,
    ]


def test_a_cell_shows_its_evidence() -> None:
    failed = result(
        "failed",
        first_layer="events",
        findings=(
            Finding("events[3].path", "wrong", "changed", '"$.a"', '""', remark="cut differently"),
        ),
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
    text = Page(pages(failed)["gemini-api.html"]).text
    for words in (
        "Two calls stay two calls.",
        "imported cut 2026-02-11 · cut",
        "· cut: closed before its declared end",
        "anthropic failed first in the events",
        'First difference: events[3].path changed cut differently 1 of 12 findings expected "$.a" got ""',
        "pytest 'specs/gemini-api/tool-calls.yaml::two-calls[anthropic]'",
    ):
        assert words in text
    data = Page(pages(failed)["gemini-api.html"]).data
    (cassette, exchange, wire, *_), ((name, origin),) = data["streams"][0], data["cassettes"]
    assert ["client", "google-genai 1.62.0"] in data["origins"][origin]
    assert (cassette, name, exchange, wire) == (
        0,
        "gemini-api/tool-calls",
        2,
        'data: {"candidates": []}',
    )
    assert data["cases"] == [[0, 2, {"total": 12, "first": "events"}]]


def test_a_lost_aspect_has_a_sentence_and_no_sides() -> None:
    lost = Finding("signatures", "lost", "values-missing", {"missing": 1, "of": 1, "first": "abc"})
    failed = result("failed", layer="facts", findings=(lost,), findings_total=1)
    text = Page(pages(failed)["gemini-api.html"]).text
    assert "First difference: signatures lost 1 of 1 values lost: abc pytest" in text


def test_cells_that_are_not_passed_are_listed_with_a_link() -> None:
    rendered = pages(*MIXED)
    index = rendered["index.html"]
    for case in ("lost", "broken", "again", "late", "null", "search", "new"):
        assert f"href=gemini-api.html#tool-calls.{case}.anthropic>" in index
    for case in (
        "lost",
        "again",
        "null",
    ):  # cells with more than a reason; the others get their anchor from the script
        assert f"id=tool-calls.{case}.anthropic>" in rendered["gemini-api.html"]
    assert "null pieces lose their path" in index
    assert 'href="https://example.org/issues/212"' in index


def test_links_have_targets_and_ids_are_unique() -> None:
    read_pages = {name: Page(page) for name, page in pages(*MIXED, *MIXED).items()}
    for name, page in read_pages.items():
        assert len(page.ids) == len(set(page.ids))
        for tag, attributes in page.tags:
            if tag == "a" and not attributes.get("href", "https://").startswith("https://"):
                target, _, fragment = attributes["href"].partition("#")
                cell = target == "gemini-api.html" and fragment.startswith("tool-calls.")
                assert not fragment or cell or fragment in read_pages[target or name].ids


def test_cells_with_only_a_reason_are_in_a_list() -> None:
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


def test_properties_that_cases_share_are_shown_once_above_them() -> None:
    several = [
        result(case=f"case-{n}", line=n + 1, adapter=adapter)
        for n in range(9)
        for adapter in DIALECTS
    ]
    rendered = pages(*several)["gemini-api.html"]
    assert re.findall("<pre>(.*)</pre>", rendered) == [
        f"pytest 'specs/gemini-api/tool-calls.yaml::case-{n}[ADAPTER]'" for n in range(9)
    ]
    assert rendered.count("<b>written</b> <time>2026-11-22</time>") == 1
    assert rendered.count("passed: unified-llm, anthropic\n") == 9
    assert re.findall(r"<li id=(\S+)><b>(.*?)</b> Two calls stay two calls\.", rendered) == [
        (f"tool-calls.case-{n}", f"case-{n}") for n in range(9)
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
def test_commands_of_another_form_are_shown_whole(
    other: dict[str, Any],
) -> None:
    rendered = pages(result(**other), result(adapter="unified-llm"))["gemini-api.html"]
    assert (
        f"<pre>pytest 'specs/gemini-api/tool-calls.yaml::two-calls[unified-llm]'\n{other['command']}</pre>"
        in rendered
    )
    assert "<li id=tool-calls.two-calls><b>two-calls</b> Two calls" in rendered


def test_an_anchor_that_differs_from_the_name_of_its_cell_is_written() -> None:
    twice = pages(result(), result())["gemini-api.html"]
    assert re.findall(r"<a id=(\S+)>anthropic <i>passed", twice) == [
        "tool-calls.two-calls.anthropic-2"
    ]


def test_origin_level_and_end_are_above_their_own_cases() -> None:
    recorded = Origin("recorded", "2026-11-20")
    others: list[dict[str, Any]] = [
        {},
        {"origin": recorded},
        {"level": "should"},
        {"end": "cut"},
        {"spec": "x.yaml"},
    ]
    page = Page(
        pages(*(result(case=f"case-{n}", line=n + 1, **other) for n, other in enumerate(others)))[
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


def test_a_case_of_two_features_is_under_the_first_feature() -> None:
    page = Page(pages(*MIXED)["code-assist.html"])
    assert page.source.count("<li id=") == 1
    assert (
        page.source.index("id=feature:tool-calls.parallel")
        < page.source.index("id=feature:usage.totals")
        < page.source.index("<li id=")
    )
    assert page.data["cases"] == [
        [0, [2, 0], ""]
    ]  # documentation 2 and the first feature of the page


def test_an_address_of_documentation_is_once_on_a_page() -> None:
    page = Page(pages(*MIXED)["gemini-api.html"])
    assert page.source.count('href="https://ai.google.dev/gemini-api/docs/function-calling"') == 1
    assert {case[1] for case in page.data["cases"]} == {2}
    assert (
        '<a id=d2 href="https://ai.google.dev/gemini-api/docs/function-calling">function-calling</a>'
        in page.source
    )
    assert "<a href=#d1>docs</a>" in page.source


def test_a_case_links_the_threads_that_it_guards_against() -> None:
    page = pages(*MIXED)["gemini-api.html"]
    assert (
        "Two calls stay two calls. <small>regression of"
        ' <a href="https://github.com/vercel/ai/issues/10660">vercel/ai#10660</a>,'
        ' <a href="https://github.com/a-b/c.d/issues/7">a-b/c.d#7</a></small>' in page
    )
    assert page.count("regression of") == 1


def test_declared_verdicts_are_listed_by_reason() -> None:
    index = pages(
        *(
            result("not-carried", f"search-{n}", line=n + 1, reason="grounding has no place")
            for n in range(3)
        )
    )["index.html"]
    assert index.count("grounding has no place") == 1
    assert "<a href=gemini-api.html#tool-calls.search-0.anthropic>search-0</a> and 2 more" in index


def test_a_stream_is_once_in_the_data_of_a_page() -> None:
    page = pages(
        result(),
        result(adapter="unified-llm"),
        result("failed", adapter="", wire="data: [1]"),
        result(case="b", line=9),
    )["gemini-api.html"]
    assert page.count('data: {\\"candidates') == 1


def test_a_feature_shows_its_worst_verdict() -> None:
    rendered = pages(*MIXED)
    text = Page(rendered["index.html"]).text
    assert (
        "Feature unified-llm anthropic events Tool calls Parallel calls passed failed 1 of 9 passed"
        in text
    )
    assert "2 of 3 features have no case here. An empty square means no case." in text
    assert "Sound" not in text


def test_a_feature_can_be_partly_carried() -> None:
    cells = [result(), result("not-carried", "b", line=9), result("not-carried", "c", line=11)]
    other = result("not-carried", "d", line=12, features=("usage.totals",))
    index = Page(pages(*cells, other)["index.html"]).text
    assert "Gemini API → anthropic: 0 of 2 features, 1 in part, 1 not carried" in index
    assert "Parallel calls in part 1 of 3" in index
    assert "Usage not carried" in index
    broken = Page(pages(*cells, result("failed", "e", line=13))["index.html"]).text
    assert "Gemini API → anthropic: 0 of 1 feature, 1 failed" in broken


def test_a_loss_that_does_not_concern_a_feature_leaves_it_carried() -> None:
    cell = result("not-carried", features=("usage.totals", "tool-calls.parallel"), lost_features=())
    counted = replace(cell, lost_features=("usage.totals",))
    text = Page(pages(result(), counted)["index.html"]).text
    assert "Gemini API → anthropic: 1 of 2 features, 1 not carried" in text
    assert "Parallel calls passed" in text
    assert "Usage not carried" in text
    assert "2 of 2 features" in Page(pages(result(), cell)["index.html"]).text
    data = Page(pages(result(), counted)["gemini-api.html"]).data
    assert data["kept"] == [[1, 0, 0]]


def test_declared_losses_are_listed_and_each_meaning_stands_once() -> None:
    losses = tuple(
        Named("grounding", "Search results and their supports.", 0, of=name)
        for name in ("anthropic", "art")
    )
    adapters = tuple(
        Named(name, name, order) for order, name in enumerate(("unified-llm", "anthropic", "art"))
    )
    header = replace(HEADER, losses=losses, adapters=adapters)
    results = [result(adapter=adapter.name) for adapter in adapters]
    text = Page(pages(*results, header=header)["index.html"]).text
    assert "unified-llm No loss is declared. anthropic grounding art grounding Meaning" in text
    assert text.count("Search results and their supports.") == 1


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
            "Origin of the recordings: 1 written by hand. `harness record` records streams from a live provider.",
        ),
        (
            [result(exchange=n + 1) for n in range(46)],
            "Origin of the recordings: 46 written by hand. `harness record` records streams from a live provider.",
        ),
        (
            [result(), result(exchange=2, origin=RECORDED), result(cassette="b", origin=RECORDED)],
            "Origin of the recordings: 2 recorded from a live provider, 1 written by hand.",
        ),
        (
            [result(), result(exchange=2, origin=Origin("loopback"))],
            "Origin of the recordings: 1 recorded from a real client and a local server, 1 written by hand."
            " `harness record` records streams from a live provider.",
        ),
        ([result(origin=RECORDED)], "Origin of the recordings: 1 recorded from a live provider."),
        (
            [result(origin=Origin("imported"))],
            "Origin of the recordings: 1 imported.",
        ),
        (
            [result(origin=None)],
            "Origin of the recordings: 1 of unknown origin. `harness record` records streams from a live provider.",
        ),
    ],
)
def test_origins_count_distinct_streams_that_were_compared(
    results: list[Row], sentence: str
) -> None:
    assert describe_origins(results) == sentence
    assert sentence.replace("`", "") in Page(pages(*results)["index.html"]).text


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
        (Origin("recorded", "2020-01-01"), "", "recorded 2020-01-01 two-calls", False),
        (Origin("recorded", "soon"), "2026-11-22", "recorded soon two-calls", False),
    ],
)
def test_a_page_has_an_age_only_if_a_day_was_given(
    origin: Origin, today: str, words: str, stale: bool
) -> None:
    page = Page(pages(result(origin=origin), header=replace(HEADER, day=today))["gemini-api.html"])
    assert words in page.text
    assert (">stale<" in page.source) == stale


def test_aspects_are_counted_by_stream_and_adapter() -> None:
    verdicts = {"text": "kept", "finish": "wrong", "media": "not_carried"}
    red = result("failed", aspects=verdicts)
    again = result("failed", "again", line=9, aspects=verdicts)
    unjudged = result("not-run", "left", line=12, aspects=verdicts, exchange=2)
    green = result(adapter="unified-llm", aspects={"text": "kept", "finish": "kept"})
    index = pages(red, again, unjudged, green)["index.html"]
    text = Page(index).text
    assert "Adapter cells text finish media unified-llm 1 stream 0 findings 1 1 –" in text
    assert "anthropic 1 stream 0 findings 1 1 of 1 1 not carried" in text
    assert '<a class="mark" href="gemini-api.html#tool-calls.two-calls.anthropic">' in index
    assert "Documented wire" not in Page(pages(result())["index.html"]).text


def test_a_finding_by_facts_has_the_same_evidence_as_in_harness_judge() -> None:
    lost = Finding("finish", "lost", "no-finish", wire="STOP")
    judged: dict[str, Any] = {
        "findings": (lost,),
        "findings_total": 1,
        "aspects": {"finish": "lost"},
    }
    excerpts = {"finish": excerpt()}
    cells = [
        result("failed", f"case-{n}", line=n, layer="facts", exchange=n, **judged)
        for n in (1, 2, 3, 4)
    ]
    cells = [replace(cell, evidence=Evidence(excerpts=excerpts)) for cell in cells]
    rendered = pages(*cells, replace(cells[0], case="again"))
    index = Page(rendered["index.html"])
    assert ("a", {"class": "mark", "href": "#anthropic.documented.finish"}) in index.tags
    for words in (
        "lost in 4 cells: the wire ends with STOP; the adapter gives no reason",
        "Cassette gemini-api/tool-calls, exchange 2.",
        "Wire frame 7 another 2 of 9 Native events frame 7 another Facts nothing",
        "harness judge anthropic --cassettes gemini-api/tool-calls:1 --questions none",
        "The same in gemini-api/tool-calls:4.",
    ):
        assert words in index.text
    command = (
        "<pre>harness judge anthropic --cassettes gemini-api/tool-calls:1 --questions none</pre>"
    )
    page = rendered["gemini-api.html"]
    assert command in page
    ((subject, views),) = Page(page).data["cases"][0][2]["excerpts"]
    assert (subject, [view[0] for view in views]) == ("finish", ["frames", "native", "facts"])


def test_a_loss_in_a_variant_is_not_red() -> None:
    lost = Finding("text", "lost", "text-from-start", place=Place(wire="a", adapter=""))
    variant = result(
        "not-run",
        layer="facts",
        block="variant",
        variants=("comments",),
        aspects={"text": "lost"},
        findings=(lost,),
        findings_total=1,
    )
    index = pages(result(), variant)["index.html"]
    assert '<a class="mark" href="#anthropic.variant.text"><i class="variant">1</i></a>' in index
    assert '<article class="variant"><p><i class="variant">lost</i>' in index


def test_a_declared_loss_is_explained_beside_its_number() -> None:
    assert "A cell that is not carried is no fault" in pages(result("not-carried"))["index.html"]
    assert "A cell that is not carried is no fault" not in pages(result())["index.html"]


def test_the_title_names_the_project_the_day_and_the_commit() -> None:
    header = replace(HEADER, project="webshop", commit="0123456789abcdef" * 3, ran="2026-11-28")
    rendered = pages(result(), header=header)
    assert "<title>webshop: stream conformance</title>" in rendered["index.html"]
    assert "<small>2026-11-28, 0123456789ab</small></h1>" in rendered["index.html"]
    assert "· webshop: stream conformance</title>" in rendered["gemini-api.html"]
    assert "<title>Stream conformance</title>" in pages(result())["index.html"]


def test_the_key_of_the_shapes_has_every_verdict_of_the_run() -> None:
    rendered = pages(result(), result("failed", adapter="unified-llm"))
    (key,) = re.findall(r'<p class="keys">(.*?)</p>', rendered["index.html"], re.DOTALL)
    assert re.findall(r"</svg> ([a-z ]+)</span>", key) == ["failed", "passed", "no case"]


OWN = replace(HEADER, adapters=(Named("mine", "mine", 0),))


def test_a_page_of_one_feature_counts_it_in_the_singular() -> None:
    page = pages(result(adapter="mine"), header=OWN)["gemini-api.html"]
    assert "1 of 1 feature passes for every adapter" in page


def test_a_page_of_a_layer_links_to_no_absent_section() -> None:
    rendered = pages(result(adapter="", layer="events"))
    assert 'id="losses"' not in rendered["index.html"]
    assert 'href="index.html#losses"' not in rendered["gemini-api.html"]


def test_the_losses_of_a_users_adapter_are_listed() -> None:
    rendered = pages(result("not-carried", adapter="mine", declared={"usage": True}), header=OWN)
    assert 'href="index.html#losses"' in rendered["gemini-api.html"]
    [losses] = re.findall(
        r'<section aria-labelledby="losses">.*?</section>', rendered["index.html"], re.DOTALL
    )
    assert "<b>usage</b>" in losses
    assert "Meaning of a loss" not in losses
