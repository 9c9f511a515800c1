"""Checks the values of a spec that a shape cannot judge: known names, paths, dates, operators,
repeated names, and keys that belong to different kinds of case.

Every check takes raw data and looks only at values of the right shape: pydantic reports wrong
shapes, and one fault must not hide another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, ItemsView, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from harness.cassettes.validation import Fault, bare, listed, place, show, unknown
from harness.stream.json_path import Steps

from .matching import check_expectation
from .matching.operators import OPERATORS, operator_of
from .matching.validate import VACUOUS, accepts_everything
from .models import LAYERS

FACTS: Final = "facts"
"""The event model of adapters that report facts. They are judged without an expectation."""
VACUOUS_REQUEST: Final = (
    "the expectation accepts every answer; expect a part of the request, such as {request:"
    " {$contains: {model: …}}}, or leave the value empty until there is an expectation"
)
RECORDED: Final = "recorded"
"""The expectation of a conversation that must send the recorded requests."""

_SEGMENT: Final = re.compile(r"[a-z0-9._-]+")
_WITH_EXCHANGE: Final = re.compile(r"[^:]:\d+\Z")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_REQUEST_FORMS: Final = ({"request"}, {"request", "warnings"}, {"error"})
_STREAM_KEYS: Final = (
    *("cassette", "exchange", "question", "turns", "tool_code", "context", "not_carried"),
)


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names that a spec may use."""

    dialects: Collection[str]
    providers: Collection[str]
    features: Collection[str]
    losses: Mapping[str, Collection[str]]
    """A dialect → the names of its declared losses."""
    today: date | None
    """Without it no mark expires."""
    adapters: Mapping[str, str] = field(default_factory=dict)
    """An adapter's name → the dialect that it is compared with."""

    @property
    def cells(self) -> list[str]:
        """The keys that ``expect`` may have."""
        return [*LAYERS, *sorted({*self.dialects, *self.adapters.values()})]


_Case = Mapping[str, Any]
_Check = Callable[[Any, _Case, KnownNames], Iterator[Fault]]


def case_faults(data: Any, known: KnownNames) -> Iterator[Fault]:
    """Yield the faults of every case of a file, case by case."""
    for index, case in enumerate(_list(data.get("cases"))):
        if isinstance(case, dict):
            if faults := list(_foreign_prompts(case, known.dialects)):  # the others follow from it
                yield from ((("cases", index, *path), message) for path, message in faults)
                continue
            for key, check in _CHECKS.items():
                for path, message in check(case.get(key), case, known):
                    yield ("cases", index, key, *path), message
            for path, message in _kind_faults(case):
                yield ("cases", index, *path), message


def repeated(items: Any, group: str, key: str, line: Callable[[Steps], int]) -> Iterator[Fault]:
    """Yield the entries of ``group`` whose ``key`` has the value of an earlier entry."""
    first_lines: dict[str, int] = {}
    for index, item in enumerate(_list(items)):
        name = item.get(key) if isinstance(item, dict) else None
        if isinstance(name, str):
            path = (group, index, key)
            if name in first_lines:
                fact = f"{key} {show(name)} is already on line {first_lines[name]}"
                yield path, f"{fact}; give this one another name"
            else:
                first_lines[name] = line(path)


def cassette_fault(name: str) -> str | None:
    """Return the fault of a cassette's name, or None. A name must stay below the cassettes
    folder.
    """
    segments = name.split("/")
    if "\\" in name:
        return "has a backslash; folders are divided by /"
    if name.startswith("/"):
        return "is absolute; it is a path below the cassettes folder"
    if "." in segments or ".." in segments:
        return "has a folder . or ..; it is a path below the cassettes folder"
    if "" in segments:
        return "has an empty folder or file name"
    if _WITH_EXCHANGE.search(name):
        return "ends in the number of an exchange; write the number under the key exchange"
    if not all(_SEGMENT.fullmatch(segment) for segment in segments):
        return "has characters other than a-z 0-9 . _ - and /"
    if name.endswith((".yaml", ".yml")):
        return "ends in .yaml, which is left out here"
    return None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _items(value: Any) -> ItemsView[str, Any]:
    return (value if isinstance(value, dict) else {}).items()


def _features(value: Any, _: _Case, known: KnownNames) -> Iterator[Fault]:
    seen: set[str] = set()
    for index, name in enumerate(_list(value)):
        if isinstance(name, str):
            if name not in known.features:
                yield (index,), unknown("feature", name, sorted(known.features))
            elif name in seen:
                yield (index,), f"feature {name} is listed twice; list it once"
            seen.add(name)


def _regression_of(value: Any, _: _Case, __: KnownNames) -> Iterator[Fault]:
    seen: set[str] = set()
    for index, thread in enumerate(_list(value)):
        if isinstance(thread, str):
            if thread in seen:
                yield (index,), f"thread {show(thread)} is listed twice; list it once"
            seen.add(thread)


def _cassette(value: Any, _: _Case, __: KnownNames) -> Iterator[Fault]:
    if isinstance(value, str) and value and (fault := cassette_fault(value)):
        yield (), f"cassette {show(value)} {fault}"


def _provider(value: Any, _: _Case, known: KnownNames) -> Iterator[Fault]:
    if isinstance(value, str) and value not in known.providers:
        yield (), unknown("provider", value, sorted(known.providers))


def _expect(value: Any, case: _Case, known: KnownNames) -> Iterator[Fault]:
    if value is None and "expect" not in case and (fault := _missing(case, known)):
        yield (), fault
    for cell, expected in _items(value):
        if cell not in known.cells:
            yield (cell,), unknown("layer or dialect", cell, known.cells, "known ones")
        if expected is None:  # empty: nothing is expected yet
            continue
        if cell == FACTS:
            yield (
                (cell,),
                f"expect.{FACTS} has a value; facts are read from the recording: leave it empty",
            )
            continue
        if isinstance(case.get("prompt"), dict):
            faults = _request_case_faults(cell, expected)
        elif case.get("turns"):
            faults = _conversation_faults(cell, expected, case["turns"])
        else:
            faults = _stream_faults(cell, expected)
        for path, message in faults:
            yield (cell, *path), message


def _missing(case: _Case, known: KnownNames) -> str:
    """Return the fault of a case without expectations, or ""."""
    if isinstance(case.get("prompt"), dict) or case.get("turns"):
        return "expect is missing"
    if FACTS not in known.adapters.values():
        return (
            "expect is missing; only a project with an adapter that reports facts may leave it out"
        )
    return ""


def _stream_faults(cell: str, expected: Any) -> Iterator[Fault]:
    """Yield the expectation of a stream is a list or an operator; inside it, an unknown ``$`` key
    is data.
    """
    operator = next(iter(expected)) if isinstance(expected, dict) and len(expected) == 1 else ""
    if operator.startswith("$") and operator not in OPERATORS:
        yield (operator,), unknown("operator", operator, OPERATORS)
    elif isinstance(expected, list) or operator in OPERATORS:
        for path, message in check_expectation(expected):
            yield path, f"{place(('expect', cell, *path[:-1]))}: {message}"
        if accepts_everything(expected):
            yield (operator,), f"{place(('expect', cell))}: {VACUOUS}"
    else:
        yield (), f"expect.{bare(cell)} must be a list, an operator, or empty, not {show(expected)}"


def _conversation_faults(cell: str, expected: Any, turns: Any) -> Iterator[Fault]:
    if expected == RECORDED or operator_of(expected):
        yield from check_expectation(expected)
        if accepts_everything(expected):
            yield (), f"{place(('expect', cell))}: {VACUOUS_REQUEST}"
    elif isinstance(expected, list):
        if isinstance(turns, list) and len(turns) != len(expected):
            count = f"expect.{bare(cell)} has {len(expected)} requests for {len(turns)} turns"
            yield (), f"{count}; write one for each turn"
        for index, item in enumerate(expected):
            yield from _request_faults(cell, item, (index,))
        if expected and all(map(_accepts_every_request, expected)):
            yield (), f"{place(('expect', cell))}: {VACUOUS_REQUEST}"
    else:
        yield (
            (),
            f"expect.{bare(cell)} must be {RECORDED}, a list with a request for each turn, or"
            f" empty, not {show(expected)}",
        )


def _request_faults(cell: str, expected: Any, path: tuple[int, ...] = ()) -> Iterator[Fault]:
    where = place(("expect", cell, *path))
    is_mapping = isinstance(expected, dict)
    if operator_of(expected) or (is_mapping and expected.keys() in _REQUEST_FORMS):
        for inner, message in check_expectation(expected):
            yield (*path, *inner), f"{where}: {message}"
        return
    given = f"a mapping with {listed(expected)}" if is_mapping else show(expected)
    yield (
        path,
        f"{where} must be {{request: …}}, {{request: …, warnings: […]}} or {{error: …}},"
        f" not {given}",
    )


def _request_case_faults(cell: str, expected: Any) -> Iterator[Fault]:
    yield from _request_faults(cell, expected)
    if _accepts_every_request(expected):
        yield (), f"{place(('expect', cell))}: {VACUOUS_REQUEST}"


def _accepts_every_request(expected: Any) -> bool:
    """Return whether the expectation of one request accepts every request."""
    if operator_of(expected):
        return accepts_everything(expected)
    has_request = isinstance(expected, dict) and expected.keys() == {"request"}
    return has_request and accepts_everything(expected["request"])


def _not_carried(value: Any, case: _Case, known: KnownNames) -> Iterator[Fault]:
    for cell, names in _items(value):
        yield from _unexpected("not_carried", cell, case)
        declared = known.losses.get(cell, ())
        for index, name in enumerate(_list(names)):
            if isinstance(name, str) and name not in declared:
                path = (cell, index)
                yield path, unknown("loss", name, declared, f"declared losses of {bare(cell)}")


def _kill(value: Any, case: _Case, known: KnownNames) -> Iterator[Fault]:
    for cell, _ in _items(value):
        if cell in LAYERS:
            yield (cell,), f"kill names the layer {cell}; only payloads of a dialect are mutated"
        else:
            yield from _unexpected("kill", cell, case)


def _known_failing(value: Any, case: _Case, known: KnownNames) -> Iterator[Fault]:
    for cell, mark in _items(value):
        yield from _unexpected("known_failing", known.adapters.get(cell, cell), case)
        expires = mark.get("expires") if isinstance(mark, dict) else None
        if (
            known.today
            and isinstance(expires, str)
            and _DATE.fullmatch(expires)
            and expires < known.today.isoformat()
        ):
            fact = f"known_failing.{bare(cell)} expired on {expires}"
            yield (cell, "expires"), f"{fact}; make the cell pass, or set a later date"


def _unexpected(key: str, cell: str, case: _Case) -> Iterator[Fault]:
    """Yield a cell without an expectation, which can neither fail nor lose a fact."""
    expect = case.get("expect")
    if isinstance(expect, dict) and cell not in expect:
        fact = f"{key} names {show(cell)}, which expect does not have"
        yield (cell,), f"{fact}; it has {listed(expect) or 'no entries'}"


_CHECKS: Final[dict[str, _Check]] = {
    "features": _features,
    "regression_of": _regression_of,
    "cassette": _cassette,
    "provider": _provider,
    "expect": _expect,
    "not_carried": _not_carried,
    "kill": _kill,
    "known_failing": _known_failing,
}
"""Key of a case → the check that its shape cannot make."""


def _kind_faults(case: _Case) -> Iterator[Fault]:
    """Yield the faults of keys that do not go together: a stream case has a recording, a request
    case prompts, a conversation case turns on a recording.
    """
    prompt, turns, expect = case.get("prompt"), case.get("turns"), case.get("expect")
    if isinstance(prompt, dict):
        fact = "a case with its own prompt builds a request and replays nothing"
        for key in _STREAM_KEYS:
            if key in case:
                yield (key,), f"{fact}; remove {key} or prompt"
        yield from _prompt_faults(("prompt",), prompt, expect)
    elif not case.get("cassette"):
        yield (), "cassette is missing; a case replays a recording, or has a prompt"
    if isinstance(turns, list) and turns:
        first = turns[0].get("prompt") if isinstance(turns[0], dict) else None
        opening = first if isinstance(first, dict) else {}
        yield from _prompt_faults(("turns", 0, "prompt"), opening, expect)
        for index, turn in enumerate(turns):
            yield from _turn_faults(index, turn)
        if "context" in case:
            fact = (
                "a conversation reads the values that its client chose from the recorded requests"
            )
            yield ("context",), f"{fact}; remove context"
    else:
        opening = {}
        if "remembers" in case:
            fact = "only a conversation remembers calls"
            yield ("remembers",), f"{fact}; add turns, or remove remembers"
    prompts = prompt if isinstance(prompt, dict) else opening
    for name, _ in _items(case.get("options")):
        if name not in prompts:
            yield ("options", name), _no_prompt("options", name, prompts)


def _foreign_prompts(case: _Case, dialects: Collection[str]) -> Iterator[Fault]:
    """Yield the fault of each prompt that is of no dialect."""
    prompts: list[tuple[Steps, Any]] = [(("prompt",), case.get("prompt"))]
    for turn in _list(case.get("turns"))[:1]:
        prompts.append((("turns", 0, "prompt"), turn.get("prompt") if _items(turn) else None))
    for path, prompt in prompts:
        names = [name for name, _ in _items(prompt) if name not in dialects]
        for name in [""] if isinstance(prompt, str) else names:
            fact = unknown("dialect", name, sorted(dialects)) if name else "a prompt is a mapping"
            yield (
                (*path, *filter(None, [name])),
                f"{fact}; for an adapter of your own, record the prompt with `harness record"
                " gemini-api/NAME --prompt …`, and write `cassette: gemini-api/NAME` in its place",
            )


def _prompt_faults(path: Steps, prompts: Mapping[str, Any], expect: Any) -> Iterator[Fault]:
    """Yield the faults of dialects with a prompt and without an expectation, or the other way
    round.
    """
    for name in prompts:
        if isinstance(expect, dict) and name not in expect:
            fact = f"there is a prompt for {name}, and expect has no entry for it"
            yield (*path, name), f"{fact}; write `{name}:` there"
    for name, _ in _items(expect):
        if name not in prompts:
            yield ("expect", name), _no_prompt("expect", name, prompts)


def _no_prompt(key: str, name: str, prompts: Mapping[str, Any]) -> str:
    fact = f"{key} names {show(name)}, which has no prompt here"
    return f"{fact}; the case has prompts for {listed(prompts) or 'no dialect'}"


def _turn_faults(index: int, turn: Any) -> Iterator[Fault]:
    if not isinstance(turn, dict):
        return
    given = [key for key in ("prompt", "say", "results") if key in turn]
    if len(given) != 1 or (given == ["prompt"]) != (index == 0):
        rule = "a later turn has either say or results" if index else "the first turn has a prompt"
        this = f"this one has {listed(given) or 'nothing'}"
        yield ("turns", index), f"{rule}, and nothing else; {this}"
    if index == 0 and "model" in turn:
        yield ("turns", index, "model"), "the first turn names its model in the prompt"
    for number, outcome in enumerate(_list(turn.get("results"))):
        if isinstance(outcome, dict) and len(outcome) != 1:
            path = ("turns", index, "results", number)
            yield path, "an outcome of a call must be either a result or an error"
