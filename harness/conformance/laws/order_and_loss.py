"""Laws about what a replay says: in legal order (2), all of it and nothing else (3), and every time
the same (5).
"""

from __future__ import annotations

from collections.abc import Iterable

from harness.cassettes import Exchange
from harness.dialects import DIALECTS, Dialect
from harness.facts import Facts, event_differences
from harness.providers.oracle import gather_events, read_raw
from harness.stream.events import INTERRUPTED, out_of_order
from harness.stream.session import Session

from .replayer import BOUNDLESS, Items, Replayer, first_difference, shown


def legal_order(exchange: Exchange, how: Replayer) -> list[str]:
    """Law 2: events walk `harness.stream.events.ORDER`, payloads the dialect's own grammar, to one
    of its final states.
    """
    events = how.events(exchange)
    found = []
    at = out_of_order([event["kind"] for event in events])
    if at is not None:
        before = events[at - 1]["kind"] if at else "the beginning"
        found.append(f"event {at}, {shown(events[at])}, may not follow {before}")
    return found + illegal_payloads(how.payloads(exchange), DIALECTS[how.dialect])


def illegal_payloads(payloads: Items, dialect: Dialect) -> list[str]:
    """Where the payloads leave the dialect's grammar: at most one finding."""
    state = "fresh"
    for index, payload in enumerate(payloads):
        try:
            label = dialect.label(payload)
        except (
            AttributeError,
            KeyError,
            TypeError,
        ) as error:  # an adapter's payloads may be of any shape
            return [
                f"payload {index}, {shown(payload)}, is not of the dialect's shape:"
                f" {type(error).__name__} {error}"
            ]
        following = dialect.order.get(state, {}).get(label)
        if following is None:
            return [f"payload {index}, {label}, may not come in the state {state}"]
        state = following
    return [] if state in dialect.final else [f"the payloads end in the state {state}"]


def nothing_lost(exchange: Exchange, how: Replayer) -> list[str]:
    """Law 3: the facts of the raw body are those of the events, and those of the payloads less the
    declared losses.
    """
    wire = gather_wire(exchange, how)
    interrupted = exchange.end in INTERRUPTED
    session = Session(limit=BOUNDLESS)
    payloads = how.payloads(exchange, session)
    return [
        *_named(
            "events",
            event_differences(wire, gather_events(how.events(exchange)), interrupted),
        ),
        *_named(
            how.dialect,
            carried_losses(wire, payloads, session, how.dialect, interrupted=interrupted),
        ),
    ]


def gather_wire(exchange: Exchange, how: Replayer) -> Facts:
    """The facts of the raw answer, read by the provider's oracle."""
    return how.provider_of(exchange).facts(exchange, how.tool_code)


def gather_payloads(dialect: str, payloads: Items, session: Session) -> Facts:
    """What payloads and session carry, for the dialect of that name. Raises what payloads of
    another shape make it raise.
    """
    return read_raw(DIALECTS[dialect].facts(payloads, session))


def carried_losses(
    wire: Facts, payloads: Items, session: Session, dialect: str, *, interrupted: bool
) -> list[str]:
    """What payloads and session lack or invent."""
    try:
        carried = gather_payloads(dialect, payloads, session)
    except (
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:  # an adapter's payloads may be of any shape
        return [f"the payloads are not of the dialect's shape: {type(error).__name__} {error}"]
    return DIALECTS[dialect].differences(wire, carried, interrupted)


def _named(layer: str, findings: Iterable[str]) -> list[str]:
    return [f"{layer}: {finding}" for finding in findings]


def same_twice(exchange: Exchange, how: Replayer) -> list[str]:
    """Law 5: nothing of one replay reaches the next."""
    differences = {
        "events": first_difference(how.events(exchange), how.events(exchange)),
        how.dialect: first_difference(how.payloads(exchange), how.payloads(exchange)),
    }
    return [
        f"{layer}, second time: {difference}"
        for layer, difference in differences.items()
        if difference is not None
    ]
