"""The watch of the wires: shapes of types, one sample of each thing, and the gaps."""

from __future__ import annotations

import enum
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field

from .probe import Gap, gaps
from .python_types import shape_of
from .report import compare, read_lock
from .shapes import Object, Sample, Scalar, Words, samples
from .sources import LIVE_BESIDE, SOURCES, Root, Source, session
from .typescript import Declarations


class Reason(enum.Enum):
    STOP = "STOP"
    DREAM = "DREAM"


class Unknown(BaseModel):
    raw: Any


class Piece(BaseModel):
    text: str | None = None
    dream_depth: Annotated[Optional[int], Field(alias="dreamDepth")] = None  # noqa: UP045  # as google-genai writes it


class Holder(BaseModel):
    kind: Literal["holder"]
    reasons: list[Reason] | None = None
    piece: Piece | Unknown | None = None
    extra: dict[str, float] | None = None
    again: Holder | None = None


def test_each_thing_of_python_types_has_one_sample() -> None:
    assert list(samples(shape_of(Holder), {"Piece": {"text": "a"}})) == [
        Sample("Holder", {"kind": "holder"}, None),
        Sample(
            "Reason=STOP",
            {"kind": "holder", "reasons": ["STOP"]},
            {"kind": "holder", "reasons": []},
            "STOP",
        ),
        Sample(
            "Reason=DREAM",
            {"kind": "holder", "reasons": ["DREAM"]},
            {"kind": "holder", "reasons": []},
            "DREAM",
        ),
        Sample("Piece", {"kind": "holder", "piece": {"text": "a"}}, {"kind": "holder"}),
        Sample(
            "Piece.text",
            {"kind": "holder", "piece": {"text": "x1"}},
            {"kind": "holder", "piece": {}},
        ),
        Sample(
            "Piece.dreamDepth",
            {"kind": "holder", "piece": {"text": "a", "dreamDepth": 3}},
            {"kind": "holder", "piece": {"text": "a"}},
        ),
        Sample(
            "Holder.extra",
            {"kind": "holder", "extra": {"key": 0.5}},
            {"kind": "holder", "extra": {}},
        ),
    ]


DECLARED = Declarations(
    """
export declare enum Reason_2 {
    /** It stopped; all is well. */
    STOP = "STOP",
    DREAM = "DREAM"
}
// https://example.com
declare type Piece$ = Piece;
declare type Piece = {
    text?: string | undefined;
    dreamDepth?: number | undefined;
};
export declare interface Base {
    kind: "holder";
}
export declare interface Holder extends Base {
    reasons?: Reason_2[];
    piece?: Piece$;
    extra?: Record<string, number>;
    mood?: "calm" | "wild" | (string & {}) | undefined;
    again?: Holder;
    get text(): string | undefined;
}
"""
)


def test_each_thing_of_typescript_types_has_one_sample() -> None:
    found = list(samples(DECLARED.shape("Holder"), {"Piece": {"text": "a"}}))
    assert [sample.label for sample in found] == [
        "Holder",
        *("Reason=STOP", "Reason=DREAM", "Piece", "Piece.text", "Piece.dreamDepth"),
        *("Holder.extra", "Holder.mood=calm", "Holder.mood=wild"),
    ]
    assert found[2].value == {"kind": "holder", "reasons": ["DREAM"]}
    assert found[6].value == {"kind": "holder", "extra": {"key": 3}}


class Candidate(BaseModel):
    finishReason: Reason | None = None
    dreamToken: str | None = None
    index: int | None = None


def planted(version: str | None = "sdk 1.0 (Python)") -> Source:
    def roots() -> Any:
        return iter([Root(shape_of(Candidate), lambda value: [{"candidates": [value]}])])

    return Source("sdk", "gemini-api", lambda: version, roots, {})


MODULE = Declarations(
    """
import * as Shared from "./shared.js";
export type Alias = Shared.Alias;
export interface Piece extends Other.Piece {
    kind: 'piece';
    part?: Piece.Part | null;
    usage?: Shared.Usage | null;
}
export declare namespace Piece {
    interface Part {
        text?: string | null;
    }
}
""",
    is_module=True,
)


def test_the_types_of_a_module_and_of_its_namespaces_have_samples() -> None:
    labels = [sample.label for sample in samples(MODULE.shape("Piece"))]
    assert labels == ["Piece", "Part.text", "Piece.usage"]
    assert MODULE.shape("Alias") == Scalar("x1")


def test_what_the_live_reader_does_not_know_is_listed() -> None:
    ended = Words("Reason", ("UNSAFE_PROMPT_FOR_IMAGE_GENERATION", "DREAM"))
    fields = {"turnComplete": Words("Done", ("x",)), "turnCompleteReason": ended}
    content = Object("LiveServerContent", lambda: {**fields, "dream": Scalar("x1")})
    message = Object("LiveServerMessage", lambda: {"serverContent": content})
    found, _ = gaps(
        Source("sdk", "live", lambda: "1", lambda: iter([Root(message, session)]), LIVE_BESIDE)
    )
    unknown = {(gap.outcome, gap.label) for gap in found}
    assert ("other", "Reason=DREAM") in unknown
    assert ("unknown", "LiveServerContent.dream") in unknown
    assert not {label for _, label in unknown if "UNSAFE" in label}


def test_what_the_reader_does_not_know_is_listed() -> None:
    report = compare([planted()], {})
    assert report.new == [
        Gap("sdk", "nowhere", "Candidate.index"),
        Gap("sdk", "other", "Reason=DREAM"),
        Gap("sdk", "unknown", "Candidate.dreamToken"),
    ]
    assert report.lines() == [
        "4 samples from sdk 1.0 (Python)",
        "sdk: Candidate.index: nowhere",
        "sdk: Reason=DREAM: other",
        "sdk: Candidate.dreamToken: unknown",
        "3 new, 0 stale, 0 accepted",
    ]


def test_an_accepted_gap_is_not_new_and_one_that_is_gone_is_stale() -> None:
    lock = {
        "gemini-api": {
            "other": {"r": ["Reason=DREAM", "Reason=STOP"]},
            "unknown": {"r": ["Candidate.dreamToken", "Candidate.ofAnotherSdk"]},
            "nowhere": {"r": ["Candidate.index"]},
        }
    }
    report = compare([planted()], lock)
    assert (report.new, report.accepted) == ([], 3)
    assert report.stale == [("gemini-api", "other", "Reason=STOP")]
    assert (
        "gemini-api: Reason=STOP: no longer other; remove it from accepted.yaml" in report.lines()
    )


def test_a_star_in_an_accepted_gap_is_any_text() -> None:
    lock = {
        "gemini-api": {
            "other": {"r": ["Reason=*"]},
            "unknown": {"r": ["*.dreamToken", "*.text"]},
            "nowhere": {"r": ["*.index", "Reason=*"]},
        }
    }
    report = compare([planted()], lock)
    assert (report.new, report.accepted) == ([], 3)
    assert report.stale == [("gemini-api", "nowhere", "Reason=*")]


def test_a_reader_that_differs_from_the_oracle_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.readers.gemini import _Reader

    monkeypatch.setattr(_Reader, "_read_candidate", lambda self, candidate: None)
    assert Gap("sdk", "reader and oracle differ", "Reason=STOP") in compare([planted()], {}).new


def test_an_sdk_that_is_not_installed_is_named() -> None:
    assert compare([planted(None)], {}).lines() == [
        "0 samples from no SDK",
        "not installed: sdk",
        "0 new, 0 stale, 0 accepted",
    ]


@pytest.mark.slow
def test_everything_in_the_installed_types_is_known_or_accepted() -> None:
    report = compare(SOURCES[:5], read_lock())
    assert report.versions
    assert (report.new, report.stale) == ([], [])
    assert report.fed > 3000
