"""Pages are safe, reproducible and accessible with any text in them."""

from __future__ import annotations

import random
import re
from base64 import b64encode
from hashlib import sha256
from itertools import pairwise
from typing import Any

import pytest

from harness.facts import Finding
from harness.judging.rows import (
    VERDICTS,
    Verdict,
    decode,
    encode,
)
from harness.report import Header, Named, ReportError, Run, render
from tests.report.page_reader import Page, pages
from tests.support.report_samples import (
    HOSTILE_HEADER,
    MIXED,
    hostile,
    result,
)


def test_pages_do_not_depend_on_the_order_of_results() -> None:
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


def test_tables_and_headings_are_accessible_to_a_screen_reader() -> None:
    for page in map(Page, pages(*MIXED, result(features=())).values()):
        headings = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
        assert headings[0] == 1
        assert headings.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(headings))
        assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")


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


def test_a_long_text_is_shortened_with_a_mark() -> None:
    page = pages(
        result(
            "failed", findings=(Finding("a", "wrong", "changed", "y" * 1_500),), wire="z" * 10_240
        )
    )["gemini-api.html"]
    assert page.count("(1,500 characters)") == 1  # in the page, but not in its data
    assert page.count("z" * 10_240) == 1  # the judge has already shortened it


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            {"features": ("tool-calls.paralel",)},
            "unknown feature 'tool-calls.paralel'; known ones are media.sound, tool-calls.parallel, usage.totals",
        ),
        ({"adapter": "mind"}, "unknown dialect 'mind'; known ones are anthropic, unified-llm"),
        (
            {"provider": "gemini"},
            "unknown provider 'gemini'; known ones are code-assist, gemini-api",
        ),
    ],
)
def test_a_name_that_is_not_listed_is_an_error_with_its_place(
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


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_text_has_a_contrast_of_4_5_in_light_and_dark() -> None:
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
