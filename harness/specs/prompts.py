"""What each kind of case may hold: a stream case a recording, a request case prompts, a
conversation case turns on a recording.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from harness.cassettes.validation import Fault, bare, listed, place, show, unknown

from .matching import check_expectation
from .models import OPERATORS

RECORDED: Final = "recorded"
"""The expectation of a conversation whose requests are the recorded ones."""

_FORMS: Final = ({"request"}, {"request", "warnings"}, {"error"})


def kind_faults(case: Mapping[str, Any], dialects: Collection[str]) -> Iterator[Fault]:
    """The faults of a case that come from keys which do not go together."""
    prompt, turns, expect = case.get("prompt"), case.get("turns"), case.get("expect")
    if isinstance(prompt, dict):
        for key in ("cassette", "exchange", "turns", "tool_code", "context", "not_carried"):
            if key in case:
                yield (
                    (key,),
                    (
                        "a case with a prompt of its own sends a request and replays nothing; take"
                        f" {key} or prompt away"
                    ),
                )
        yield from _dialect_faults(("prompt",), prompt, expect, dialects)
    elif not case.get("cassette"):
        yield (), "cassette is missing; a case replays a recording, or has a prompt"
    if isinstance(turns, list) and turns:
        yield from _turn_faults(turns, expect, dialects)
        if "context" in case:
            yield (
                ("context",),
                (
                    "a conversation takes what its client chose from the recorded requests; take"
                    " context away"
                ),
            )
    elif "remembers" in case:
        yield (
            ("remembers",),
            "nothing is remembered outside a conversation; a case with remembers has turns",
        )
    options = case.get("options")
    if isinstance(options, dict):
        asked = prompt if isinstance(prompt, dict) else _first_prompt(turns)
        for name in options:
            if name not in asked:
                yield (
                    ("options", name),
                    (
                        f"options names {show(name)}, which has no prompt here; prompts are for"
                        f" {listed(asked) or 'nobody'}"
                    ),
                )


def expectation_faults(case: Mapping[str, Any], cell: str, expected: Any) -> Iterator[Fault]:
    """The faults of one expectation of a request or a conversation; paths begin below the cell."""
    if isinstance(case.get("prompt"), dict):
        yield from _request_faults(cell, expected, ())
    elif expected == RECORDED or _is_operator(expected):
        yield from check_expectation(expected)
    elif isinstance(expected, list):
        turns = case.get("turns")
        if isinstance(turns, list) and len(turns) != len(expected):
            yield (
                (),
                (
                    f"expect.{bare(cell)} has {len(expected)} requests for {len(turns)} turns;"
                    " there is one for each turn"
                ),
            )
        for index, item in enumerate(expected):
            yield from _request_faults(cell, item, (index,))
    else:
        yield (
            (),
            (
                f"expect.{bare(cell)} must be {RECORDED}, a list with a request for each turn, or"
                f" empty, not {show(expected)}"
            ),
        )


def _request_faults(cell: str, expected: Any, path: tuple[int, ...]) -> Iterator[Fault]:
    where = place(("expect", cell, *path))
    if not _is_operator(expected) and not (
        isinstance(expected, dict) and expected.keys() in _FORMS
    ):
        told = (
            f"a mapping with {listed(expected)}" if isinstance(expected, dict) else show(expected)
        )
        yield (
            path,
            (
                f"{where} must be {{request: …}}, {{request: …, warnings: […]}} or {{error: …}},"
                f" not {told}"
            ),
        )
    else:
        for inner, message in check_expectation(expected):
            yield (*path, *inner), f"{where}: {message}"


def _is_operator(expected: Any) -> bool:
    return isinstance(expected, dict) and len(expected) == 1 and next(iter(expected)) in OPERATORS


def _dialect_faults(
    path: tuple[str | int, ...], prompt: Mapping[str, Any], expect: Any, dialects: Collection[str]
) -> Iterator[Fault]:
    for name in prompt:
        if name not in dialects:
            yield (*path, name), unknown("dialect", name, sorted(dialects))
        elif isinstance(expect, dict) and name not in expect:
            yield (
                (*path, name),
                (
                    f"there is a prompt for {name}, and expect has nothing of it; write `{name}:`"
                    " there"
                ),
            )
    for name in expect if isinstance(expect, dict) else ():
        if name not in prompt:
            yield (
                ("expect", name),
                (
                    f"expect names {show(name)}, which has no prompt here; prompts are for"
                    f" {listed(prompt) or 'nobody'}"
                ),
            )


def _turn_faults(turns: list[Any], expect: Any, dialects: Collection[str]) -> Iterator[Fault]:
    yield from _dialect_faults(("turns", 0, "prompt"), _first_prompt(turns), expect, dialects)
    for index, turn in enumerate(turns):
        if isinstance(turn, dict):
            given = [key for key in ("prompt", "say", "results") if key in turn]
            wanted = ["prompt"] if index == 0 else ["say", "results"]
            if len(given) != 1 or given[0] not in wanted:
                order = (
                    "the first turn has a prompt"
                    if index == 0
                    else "a later turn has either say or results"
                )
                yield (
                    ("turns", index),
                    f"{order}, and nothing else; this one has {listed(given) or 'nothing'}",
                )
            results = turn.get("results")
            for number, outcome in enumerate(results if isinstance(results, list) else []):
                if isinstance(outcome, dict) and len(outcome) != 1:
                    yield (
                        ("turns", index, "results", number),
                        "an outcome is either a result or an error",
                    )


def _first_prompt(turns: Any) -> Mapping[str, Any]:
    first = turns[0] if isinstance(turns, list) and turns else None
    prompt = first.get("prompt") if isinstance(first, dict) else None
    return prompt if isinstance(prompt, dict) else {}
