"""The memory of a conversation is bounded; its oldest entry goes first."""

from __future__ import annotations

from harness.stream.session import Session


def test_the_number_of_remembered_invented_ids_is_bounded() -> None:
    session = Session(limit=2)
    session.call_id("wire", "call")
    given = [session.next_id("call") for _ in range(30)]
    assert session.invented == set(given[-20:])


def test_the_oldest_call_and_signature_are_dropped() -> None:
    session = Session(limit=2)
    for name in ("a", "b", "a", "c"):
        session.remember(name, "f", None)
        session.remember_signature(name, "lost part")
    assert list(session.calls) == ["a", "c"]
    assert list(session.signed) == ["b", "c"]
