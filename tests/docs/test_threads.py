"""Public bug threads: each is guarded by a case or has a reason, and the page about them is
current.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.docs.threads import PAGE, QUESTIONS, Guards, Section, page, read_guards, read_list


def faults(sections: list[Section], guards: Guards) -> list[str]:
    """The faults of the list and of the cases, one sentence each."""
    reasons = {
        name: item.no_case for part in sections for item in part.situations for name in item.threads
    }
    counts = Counter(name for part in sections for item in part.situations for name in item.threads)
    return [
        *(f"{name} is listed {count} times" for name, count in counts.items() if count > 1),
        *(
            f"{name} has no case and no reason"
            for name in reasons
            if not (name in guards or reasons[name])
        ),
        *(
            f"{name} has a case and a reason"
            for name in reasons
            if name in guards and reasons[name]
        ),
        *(
            f"{name}, which {guards[name][0]} guards, is not listed"
            for name in guards.keys() - reasons
        ),
    ]


@pytest.fixture(scope="module")
def sections() -> list[Section]:
    return read_list()


@pytest.fixture(scope="module")
def guards() -> Guards:
    return read_guards()


@pytest.mark.slow
def test_each_thread_is_guarded_or_has_a_reason(sections: list[Section], guards: Guards) -> None:
    assert faults(sections, guards) == []


@pytest.mark.slow
def test_the_page_is_current(sections: list[Section], guards: Guards) -> None:
    assert PAGE.read_text(encoding="utf-8") == page(sections, guards), "run `make threads`"


def section(*threads: str, no_case: str | None = None) -> Section:
    item = {"situation": "It is so.", "threads": list(threads), "no_case": no_case}
    return Section.model_validate({"about": "Calls", "situations": [item]})


@pytest.mark.parametrize(
    ("parts", "guarded", "fault"),
    [
        ([section("a/b#1")], (), "a/b#1 has no case and no reason"),
        (
            [section("a/b#1", no_case="It is not read.")],
            ("a/b#1",),
            "a/b#1 has a case and a reason",
        ),
        ([section("a/b#1"), section("a/b#1")], ("a/b#1",), "a/b#1 is listed 2 times"),
        (
            [section("a/b#1")],
            ("a/b#1", "a/b#2"),
            "a/b#2, which ('x.yaml', 'one') guards, is not listed",
        ),
    ],
)
def test_each_fault_is_found(parts: list[Section], guarded: tuple[str, ...], fault: str) -> None:
    assert faults(parts, {name: [("x.yaml", "one")] for name in guarded}) == [fault]


def test_the_page_links_threads_and_cases() -> None:
    parts = [section("a/b#1"), section("c/d#2", no_case="It is not read."), section("e/f@3a4")]
    guards = {
        "a/b#1": [("specs/x/y.yaml", "one"), ("specs/z.yaml", "two")],
        "e/f@3a4": [(QUESTIONS, "three")],
    }
    text = page(parts, guards)
    counts = "3 threads: 2 are guarded by 3 cases and questions, 1 have a reason instead."
    assert counts in text
    rows = [line for line in text.splitlines() if line.startswith("| [")]
    cases = "[x/y](../specs/x/y.yaml) `one`, [z](../specs/z.yaml) `two`"
    assert rows == [
        f"| [a/b#1](https://github.com/a/b/issues/1) | It is so. | {cases} |",
        "| [c/d#2](https://github.com/c/d/issues/2) | It is so. | It is not read. |",
        f"| [e/f@3a4](https://github.com/e/f/commit/3a4) | It is so. | [question](../{QUESTIONS}) `three` |",
    ]
