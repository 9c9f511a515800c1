"""Patterns of ``$re`` that cannot hang: specs are read from strangers, and Python's engine
backtracks.

A pattern is parsed with the stdlib's own parser, and the steps that the engine can take at most are
computed from the tree, as a polynomial in the length of the text: every open repeat adds a degree,
every alternative and every small repeat multiplies. That bound must stay under `MAX_STEPS` for 100
characters when the spec is read, and for the real text before it is tried. A repeat that ends where
the text says so (``[^/]*/``) leaves no choice and adds none.

Refused: look-around, back-references, conditions, atomic and possessive groups, flags in the
middle; a large repeat (more than `LARGE_REPEAT` rounds) around another repeat or an alternative; a
repeat of something that may be empty.
"""

from __future__ import annotations

import re
import warnings
from math import factorial

# The parse tree that `re` itself compiles: private, but old and steady, and the only reading of a
# pattern that cannot disagree with the
# engine. A kind of node that is not known here is refused.
# private, so the type stubs leave it out
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any, Final

MAX_PATTERN: Final = 500
"""Characters of a pattern."""
MAX_SUBJECT: Final = 100_000
"""Characters of a text that a pattern is tried on."""
MAX_STEPS: Final = 40_000_000
"""The most steps that one match may need; measured, at most about 0.3 s on a slow machine."""
LARGE_REPEAT: Final = 10
USUAL_SUBJECT: Final = 100

_SINGLE: Final = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN)
_REPEATS: Final = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)


class PatternError(ValueError):
    """A pattern that is not valid, or that could take too long; the message says which and why."""


class Steps:
    """A bound on steps, by degree: ``{2: 3.0}`` is 3 × n² / 2!.

    Divided powers, because the repeats of a sequence share the text: two of them split n characters
    in n² / 2 ways, not n².
    """

    def __init__(self, terms: dict[int, float]) -> None:
        self.terms = terms

    def __add__(self, other: Steps) -> Steps:
        return Steps(
            {
                degree: self.terms.get(degree, 0) + other.terms.get(degree, 0)
                for degree in {*self.terms, *other.terms}
            }
        )

    def __mul__(self, other: Steps) -> Steps:
        product: dict[int, float] = {}
        for degree, factor in self.terms.items():
            for more, by in other.terms.items():
                product[degree + more] = product.get(degree + more, 0) + factor * by
        return Steps(product)

    def at(self, length: int) -> float:
        return sum(
            factor * float(length + degree) ** degree / factorial(degree)
            for degree, factor in self.terms.items()
        )


_ONE: Final = Steps({0: 1})
_TRY: Final = Steps({0: 4})  # entering a branch or a round of a group costs more than a character
_LENGTH: Final = Steps({1: 1})


class _Work:
    """What a piece of a pattern makes of the steps of all that follows: ``ways`` × those +
    ``own``.
    """

    def __init__(self, ways: Steps, own: Steps) -> None:
        self.ways, self.own = ways, own

    def before(self, following: _Work) -> _Work:
        return _Work(self.ways * following.ways, self.ways * following.own + self.own)

    def beside(self, other: _Work) -> _Work:
        return _Work(self.ways + other.ways, self.own + other.own)


_NOTHING: Final = _Work(_ONE, Steps({}))


class Pattern:
    """A pattern that was found harmless. Raises `PatternError` if it is not."""

    def __init__(self, source: str) -> None:
        if len(source) > MAX_PATTERN:
            raise PatternError(
                f"a pattern has at most {MAX_PATTERN} characters, this one {len(source):,}"
            )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "error", FutureWarning
                )  # "possible nested set": the pattern will mean something else one day
                tree = _parser.parse(source)
                self._regex = re.compile(source)
        except (re.error, RecursionError, OverflowError, ValueError, FutureWarning) as error:
            raise PatternError(
                f"not a valid regular expression: {error or 'nested too deeply'}"
            ) from None
        work = _sequence(tree, tree.state)
        self._steps = work.ways + work.own
        if self._steps.at(USUAL_SUBJECT) > MAX_STEPS:
            raise PatternError(
                f"could take too long even on {USUAL_SUBJECT} characters; use fewer open repeats,"
                " or $contains"
            )

    def steps(self, subject: str) -> float:
        """The most steps that trying this text can take."""
        return self._steps.at(len(subject))

    def refuses(self, subject: str) -> str:
        """Why this text is not to be tried, or ``""``."""
        if len(subject) > MAX_SUBJECT:
            return (
                f"a text of {len(subject):,} characters is too long for $re (at most"
                f" {MAX_SUBJECT:,})"
            )
        if self.steps(subject) > MAX_STEPS:
            return (
                f"a text of {len(subject):,} characters could take this pattern too long; use fewer"
                " open repeats, or $contains"
            )
        return ""

    def fits(self, subject: str) -> bool:
        """Whether the whole text matches; ask `refuses` first."""
        return self._regex.fullmatch(subject) is not None


def _sequence(nodes: Any, state: Any) -> _Work:
    """The work of a sequence of nodes, from its last to its first."""
    work, following = _NOTHING, None
    for node in reversed(list(nodes)):
        work = _single(node, following, state).before(work)
        following = node
    return work


def _single(node: Any, following: Any, state: Any) -> _Work:
    kind, argument = node
    if kind in _SINGLE or kind is _constants.AT:
        return _Work(_ONE, _ONE)
    if kind is _constants.SUBPATTERN:
        _, added, removed, body = argument
        if added or removed:
            raise PatternError(
                "flags in the middle of a pattern are not supported; set them at its start"
            )
        return _sequence(body, state)
    if kind is _constants.BRANCH:
        work = _Work(Steps({}), _TRY)
        for branch in argument[1]:
            work = work.beside(_Work(_ONE, _TRY).before(_sequence(branch, state)))
        return work
    if kind in _REPEATS:
        return _repeat(argument, following, state)
    raise PatternError(f"{str(kind).lower().replace('_', ' ')} is not supported in $re")


def _repeat(argument: Any, following: Any, state: Any) -> _Work:
    least, most, body = argument
    if most > 1 and body.getwidth()[0] == 0:
        raise PatternError("a repeat of something that may be empty is not supported in $re")
    inside = _sequence(body, state)
    if most > LARGE_REPEAT:
        if _has_choice(body):
            raise PatternError(
                f"a repeat or an alternative inside a repeat of more than {LARGE_REPEAT} rounds is"
                " not supported in $re"
            )
        simple = len(body) == 1 and body[0][0] in _SINGLE
        scan = _LENGTH if simple else _LENGTH * (inside.own + _TRY)
        open_ended = least != most and not (simple and _leaves_no_choice(body, following, state))
        return _Work(_LENGTH if open_ended else _ONE, scan + _ONE)
    work = _NOTHING
    for left in range(int(most)):
        work = _Work(_ONE, _TRY).before(inside).before(work)
        if left < int(most) - int(least):
            work = work.beside(_NOTHING)
    return work


def _has_choice(body: Any) -> bool:
    """Whether a repeat or an alternative stands inside, also in groups."""
    return any(
        kind in _REPEATS
        or kind is _constants.BRANCH
        or (kind is _constants.SUBPATTERN and _has_choice(argument[-1]))
        for kind, argument in body
    )


def _leaves_no_choice(body: Any, following: Any, state: Any) -> bool:
    """``[^/]*/``: a character, repeated, that cannot be the literal behind it. Where it ends is for
    the text to say.
    """
    if following is None or following[0] is not _constants.LITERAL or state.flags & re.IGNORECASE:
        return False
    single = _compiler.compile(_parser.SubPattern(state, list(body)), state.flags)
    return single.match(chr(following[1])) is None
