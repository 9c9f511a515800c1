"""Markup and links that could become part of a page, a summary or JUnit XML."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from harness.cassettes import Cassette, Origin, dumps
from harness.report import Run, render
from harness.specs.spec_error import SpecError
from tests.security.samples import COMMANDING, SPEC, exchange, spec
from tests.support.report_samples import HEADER, HOSTILE, HOSTILE_HEADER, hostile, result

MARKUP = "</script><img src=x onerror=alert(1)>`'\"&amp;{{7*7}}{% x %}"


class Tags(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.opened: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append((tag, dict(attrs)))


@pytest.mark.slow
def test_markup_in_any_field_is_text_in_the_report(
    project: Path, pytester: pytest.Pytester
) -> None:
    encoded = json.dumps(MARKUP)
    prompt = {
        "model": MARKUP,
        "messages": [{"role": "user", "content": [{"kind": "text", "text": MARKUP}]}],
    }
    head = f"  requirement: {encoded}\n  features: [text.evil]\n  source: 'https://x/\"onclick=alert(1)><img/src=x>'\n"
    Path("specs/hello.yaml").write_text(
        f"harness: 1\ncases:\n- case: stream\n{head}  cassette: gemini-api/bad\n  context: {{{encoded}: {encoded}}}\n"
        f"  known_failing: {{mind: {{reason: {encoded}, link: 'https://x/\"onclick=alert(1)><img/src=x>'}}}}\n"
        f"  expect: {{mind: [{encoded}], unified-llm: [{{{encoded}: {encoded}}}], own: [{encoded}]}}\n"
        f"- case: prompt\n{head}  prompt: {{unified-llm: {json.dumps(prompt)}}}\n"
        f"  expect: {{unified-llm: {{request: {{{encoded}: {encoded}}}}}}}\n",
        encoding="utf-8",
    )
    Path("specs/features.yaml").write_text(
        f"harness: 1\nfeatures:\n- {{id: text.evil, title: {encoded}, meaning: {encoded}, link: 'https://x/\"onclick=alert(1)><img/src=x>'}}\n",
        encoding="utf-8",
    )
    body = f"data: {json.dumps({'candidates': [{'content': {'parts': [{'text': MARKUP}]}, 'finishReason': MARKUP}]})}\n\n".encode()
    origin = Origin(
        "imported",
        client=MARKUP,
        model=MARKUP,
        source=MARKUP,
        commit=MARKUP,
        licence=MARKUP,
        note=MARKUP,
    )
    Path("cassettes/gemini-api/bad.yaml").write_text(
        dumps(Cassette((exchange(body, x=MARKUP),), origin)), encoding="utf-8"
    )
    Path("markup_adapter.py").write_text(
        f"def run(exchange):\n    raise ValueError({MARKUP!r})\n", encoding="utf-8"
    )
    pytester.makeini("[pytest]\nharness_adapters =\n    own = markup_adapter:run\n")
    ran = pytester.runpytest_inprocess("specs", "-p", "no:cacheprovider", "--harness-report", "out")
    assert sum(ran.parseoutcomes().values()) >= 4
    seen = 0
    for page in Path("out").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        tags = Tags(text).opened
        seen += "alert(1)" in text
        assert not [tag for tag, _ in tags if tag in ("img", "iframe", "object", "svg:script")]
        assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]
        assert all(
            re.match(r"https?://|#|[\w.-]+(#|$)", attributes.get("href") or "#")
            for _, attributes in tags
        )
        assert sum(tag == "script" for tag, _ in tags) <= 2
    assert seen == 2  # the index and the page of the provider


@pytest.mark.parametrize(
    "link",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        " https://x",
        "//x",
        "file:///etc/passwd",
        "HTTPS:x",
    ],
)
@pytest.mark.parametrize("field", ["source", "link"])
def test_a_link_of_a_spec_is_http_or_an_error(field: str, link: str) -> None:
    marked = SPEC.replace(
        "  expect", "  known_failing: {mind: {reason: r, link: 'https://x.example'}}\n  expect"
    )
    old = (
        "https://ai.google.dev/api/generate-content" if field == "source" else "'https://x.example'"
    )
    assert spec(marked)
    with pytest.raises(SpecError, match="must be a link that begins with http"):
        spec(marked.replace(old, json.dumps(link)))


def test_nothing_injects_a_case_into_junit() -> None:
    cell = hostile("failed")
    written = render(Run(HOSTILE_HEADER, [cell]))["junit.xml"]
    parsed = ET.fromstring(written)
    assert len(parsed.findall(".//testcase")) == len(parsed.findall(".//failure")) == 1
    allowed = {
        "testsuites",
        "testsuite",
        "testcase",
        "failure",
        "error",
        "skipped",
        "properties",
        "property",
    }
    assert {element.tag for element in parsed.iter()} <= allowed
    assert COMMANDING.findall(written.replace("\r", "")) == []


def test_nothing_becomes_markup_in_the_summary() -> None:
    lined = f"a\n# b\n\n| c |\n```\n<!-- {HOSTILE} [x](javascript:y) @everyone https://evil.example ![i](x)"
    cell = result(
        "failed", "two", requirement=lined, reason=lined, cassette=lined, provider="gemini-api"
    )
    written = render(Run(HEADER, [result(), cell]))["summary.md"]
    calm = render(Run(HEADER, [result(), result("failed", "two")]))["summary.md"]
    assert len(written.splitlines()) == len(calm.splitlines())
    assert not re.search(r"(?<!\\)<(?!br>)|(?<!\\)\]\(|(?<!\\)`|(?<!\\)!\[|(?<!\\)@", written)
