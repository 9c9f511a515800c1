"""The media of thoughts, such as drafts of an image, are to final media what a thought is to a
text.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from harness.facts import Entry, Finish, Thought, Transcript, judge_answer, read_losses
from tests.support.wire_answers import answer, facts_of_body, frame, verdicts, wire_of

DRAFT, FINAL = (
    base64.b64encode(b"%s of a lighthouse" % word).decode() for word in (b"draft", b"art")
)


def image(data: str, **part: Any) -> dict[str, Any]:
    return {"inlineData": {"mimeType": "image/png", "data": data}, **part}


MESSAGES = (
    frame({"text": "Hm", "thought": True}, image(DRAFT, thought=True)),
    frame(image(FINAL), finishReason="STOP"),
)
WIRE = answer(*MESSAGES)


def given(*images: str, thoughts: str = "Hm") -> Transcript:
    facts = [Thought(thoughts)] if thoughts else []
    return Transcript((Entry({"images": list(images)}, (*facts, Finish("stop"))),))


@pytest.mark.parametrize(
    ("transcript", "thoughts", "media"),
    [
        (given(DRAFT, FINAL), "kept", "kept"),
        (given(FINAL), "lost", "kept"),
        (given(DRAFT), "kept", "lost"),
        (given(DRAFT, FINAL, thoughts="Ho"), "wrong", "kept"),
    ],
)
def test_drafts_are_judged_with_the_thoughts(
    transcript: Transcript, thoughts: str, media: str
) -> None:
    found = verdicts(WIRE, transcript)
    assert (found["thoughts"], found["media"]) == (thoughts, media)


@pytest.mark.parametrize(
    ("transcript", "thoughts"),
    [
        (given(FINAL, thoughts=""), "not_asked"),
        (given(DRAFT, FINAL), "kept"),
        (given(FINAL), "lost"),
    ],
)
def test_a_client_that_cant_ask_for_thoughts_may_leave_drafts_out(
    transcript: Transcript, thoughts: str
) -> None:
    wire = answer(*MESSAGES, asks_thoughts=False)
    assert verdicts(wire, transcript)["thoughts"] == thoughts


def test_a_final_image_with_the_bytes_of_its_draft_is_another_one() -> None:
    wire = answer(frame(image(FINAL, thought=True), image(FINAL), finishReason="STOP"))
    assert verdicts(wire, given(FINAL, FINAL, thoughts=""))["thoughts"] == "kept"
    assert verdicts(wire, given(FINAL, thoughts=""))["thoughts"] == "lost"


@pytest.mark.parametrize(
    ("declared", "covers"), [("media", True), ("thoughts", True), ("code", False)]
)
def test_a_declared_loss_of_media_is_also_one_of_drafts(declared: str, covers: bool) -> None:
    (loss,) = read_losses(declared)
    findings = judge_answer(*WIRE, given(FINAL))
    assert loss.covers("thoughts", *WIRE, findings["thoughts"]) is covers
    of_text = judge_answer(*WIRE, given(DRAFT, FINAL, thoughts=""))["thoughts"]
    assert loss.covers("thoughts", *WIRE, of_text) is (declared == "thoughts")


def test_drafts_in_the_summary_of_a_thought_of_interactions() -> None:
    summary = {"type": "image", "mime_type": "image/png", "data": DRAFT}
    steps = [{"type": "thought", "summary": [summary]}]
    body = json.dumps({"object": "interaction", "status": "completed", "steps": steps}).encode()
    wire = wire_of(facts_of_body(body, "interactions"), "complete")
    assert wire.facts.opaque == {"thoughts": [DRAFT]}
    assert verdicts(wire, given(thoughts=""))["thoughts"] == "lost"
