"""Draws lists of canonical events in legal order, and returns those that belong to the answer."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from harness.stream import events as ev

SIGNATURES = st.one_of(st.none(), st.sampled_from(["S1", "S2", "S3"]))
CANDIDATES = st.sampled_from([0, 0, 0, 1])
WORDS = st.sampled_from(["", "a", "bc", "\n"])
RAW = st.fixed_dictionaries({"k": st.integers(0, 9)})
COUNTS = st.one_of(st.none(), st.integers(0, 9))


def signed(kind: type[ev.Event], **fields: Any) -> st.SearchStrategy[ev.Event]:
    return st.builds(kind, signature=SIGNATURES, candidate=CANDIDATES, **fields)


PARTS: dict[str, st.SearchStrategy[ev.Event]] = {
    "start": st.builds(ev.Start, st.sampled_from([None, "m", "n"])),
    "metadata": st.builds(
        ev.Metadata, st.sampled_from(["model", "id", "envelope", "credits"]), RAW
    ),
    "text": signed(ev.Text, text=WORDS, refusal=st.booleans()),
    "reasoning": signed(
        ev.Reasoning, text=WORDS, id=st.sampled_from([None, "r1"]), redacted=st.booleans()
    ),
    "call_start": signed(
        ev.CallStart, call=st.just(1), name=WORDS, id=st.sampled_from([None, "c1", "c2"])
    ),
    "call_piece": st.builds(
        ev.CallPiece, st.just(1), st.sampled_from(["$.x", "$.y[0]"]), WORDS, st.booleans()
    ),
    "call_text": st.builds(ev.CallText, st.just(1), st.sampled_from(['{"k"', ": 1}", "["])),
    "call_end": st.builds(ev.CallEnd, st.just(1), RAW),
    "call_invalid": st.builds(ev.CallInvalid, st.just(1), WORDS),
    "block_start": st.builds(ev.BlockStart, WORDS, RAW),
    "block_end": st.builds(ev.BlockEnd, RAW),
    "mark": st.builds(ev.Mark, st.sampled_from(["keep_alive", "end"]), RAW),
    "nameless_call": signed(
        ev.NamelessCall,
        call=st.just(1),
        payload=st.sampled_from([{"todos": []}, {"z": 1}]),
        raw=WORDS,
    ),
    "tool_result": signed(ev.ToolResult, response=RAW),
    "media": signed(ev.Media, mime_type=st.none(), raw=RAW),
    "code": signed(ev.Code, code=WORDS, raw=RAW),
    "code_result": signed(ev.CodeResult, outcome=WORDS, output=WORDS, raw=RAW),
    "server_call": signed(ev.ServerCall, raw=RAW),
    "server_result": signed(ev.ServerResult, raw=RAW),
    "annotation": st.builds(
        ev.Annotation, st.sampled_from(["citations", "part"]), RAW, st.integers(-1, 1)
    ),
    "usage": st.builds(ev.Usage, RAW, COUNTS, COUNTS, COUNTS, COUNTS),
    "blocked": st.builds(ev.Blocked, WORDS),
    "finish": st.builds(
        ev.Finish, st.sampled_from(["stop", "length", "other"]), WORDS, candidate=CANDIDATES
    ),
    "error": st.builds(ev.Error, WORDS, st.sampled_from([None, 400, 503])),
    "notice": st.builds(ev.Notice, WORDS, WORDS, RAW),
    "incomplete": st.builds(ev.Incomplete, st.sampled_from(["cut", "reset", "aborted"]), WORDS),
    "unknown": st.builds(ev.Unknown, WORDS, RAW, candidate=CANDIDATES),
}


@st.composite
def legal_events(draw: st.DrawFn) -> list[ev.Event]:
    events: list[ev.Event] = []
    state, calls = "fresh", 0
    for _ in range(draw(st.integers(0, 30))):
        kinds = sorted(ev.ORDER[state])
        if not kinds:
            break
        if draw(st.integers(0, 7)):  # ends are rare, so that streams become long
            kinds = [kind for kind in kinds if kind not in ("error", "incomplete")]
        kind = draw(st.sampled_from(kinds))
        event = draw(PARTS[kind])
        calls += kind == "call_start"
        if "call" in event.__struct_fields__ and kind != "nameless_call":
            event = replace(event, call=calls)
        events.append(event)
        state = ev.ORDER[state][kind]
    return events


def carried(events: list[ev.Event]) -> list[ev.Event]:
    """The events of the answer, up to the first error. The later events of a call have the
    candidate of its start.
    """
    answer: list[ev.Event] = []
    candidate = 0
    for event in events:
        if isinstance(event, (ev.Error, ev.Incomplete)):
            break
        if isinstance(event, ev.CallStart):
            candidate = event.candidate
        of_call = isinstance(event, (ev.CallPiece, ev.CallText, ev.CallEnd, ev.CallInvalid))
        if (candidate if of_call else getattr(event, "candidate", 0)) <= 0:
            answer.append(event)
    return answer
