"""Judges adapters on many exchanges, one after the other or in several threads."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Final, Literal

from msgspec.structs import replace

from harness.adapters import Adapter, AdapterError, RunOptions
from harness.facts import DeclaredLoss, Error, Facts, Transcript, WireAnswer, finish_class
from harness.pipeline.replay import cut_reads
from harness.providers import declared_tools
from harness.providers.oracle import judge_second_turn
from harness.stream.exchange import Exchange
from harness.stream.json_codec import decode_json

from .aspect_results import AspectCell, cell_of, second_turn_cell, with_cuts
from .aspects import judge_exchange, variants_of_wire, wire_answer


@dataclass(frozen=True, slots=True)
class Item:
    """One exchange to judge: the name of its cassette, and its number in that cassette."""

    cassette: str
    number: int
    exchange: Exchange

    @property
    def options(self) -> RunOptions:
        """The options for the run of the adapter."""
        return RunOptions(cassette=self.cassette, provider=self.exchange.provider)


Cuts = Literal["recorded", "whole", "pieces"]
"""The ways to cut the body of an answer: as recorded, not at all, or into `PIECES` equal pieces."""
PIECES: Final = 100
FIRST_TURN_FAILED: Final = "the first turn is an error"

LossUse = dict[DeclaredLoss, bool]
"""The declared losses that concern at least one cell, and whether a cell shows the loss."""


def judge_items(
    items: Sequence[Item],
    adapters: Sequence[Adapter],
    use: LossUse,
    cuts: Sequence[Cuts] = ("recorded",),
) -> Iterator[AspectCell]:
    """Judge every exchange, in order, with each of the ``cuts``. A cell has the worst result. Two
    cuts at the same places are judged only once. ``adapters`` is the same adapter several times.
    Each of them has its own thread. The declared losses are added to ``use``.
    """

    def judge(item: Item, adapter: Adapter) -> AspectCell:
        recuts = {cut: _recut(item.exchange, cut) for cut in reversed(cuts)}
        first_of = {_places(exchange): cut for cut, exchange in recuts.items()}
        cell = _judge(item, adapter, use, recuts[cuts[0]])
        for cut in cuts[1:]:
            if first_of[_places(recuts[cut])] == cut:
                cell = _worse(cell, _judge(item, adapter, use, recuts[cut]), cut)
        return cell

    return _spread(items, adapters, judge)


def unused_losses(use: LossUse) -> tuple[str, ...]:
    """The declared losses that concern some cells, but that no cell shows."""
    return tuple(sorted(str(loss) for loss, shown in use.items() if not shown))


def _judge(item: Item, adapter: Adapter, use: LossUse, exchange: Exchange) -> AspectCell:
    adapter = adapter.with_options(item.options)
    judgement = judge_exchange(exchange, adapter, cassette=item.cassette, number=item.number)
    for loss, shown in judgement.losses.items():
        use[loss] = shown or use.get(loss, False)
    return cell_of(judgement, exchange)


def _recut(exchange: Exchange, cut: Cuts) -> Exchange:
    if cut == "recorded":
        return exchange
    size = len(exchange.body)
    places = range(0, size, -(-size // PIECES) or 1) if cut == "pieces" else ()
    return dataclasses.replace(exchange, reads=tuple(cut_reads(exchange.reads, [*places])))


def _places(exchange: Exchange) -> tuple[int, ...]:
    """The sizes of the reads, which determine the places of the cuts."""
    return tuple(len(data) for _, data in exchange.reads if data)


def _worse(cell: AspectCell, other: AspectCell, cut: Cuts) -> AspectCell:
    """The cell, and the aspects that are red only with another cut."""
    if cell.error or other.error:
        return cell if cell.error else replace(cell, error=f"{with_cuts(cut)}{other.error}")
    new = [aspect for aspect in other.red if aspect not in cell.red]
    return replace(
        cell,
        aspects=cell.aspects | {aspect: other.aspects[aspect] for aspect in new},
        notes=cell.notes | {aspect: with_cuts(cut) + other.notes.get(aspect, "") for aspect in new},
        evidence=cell.evidence
        | {aspect: other.evidence[aspect] for aspect in new if aspect in other.evidence},
    )


def judge_second_turns(items: Sequence[Item], adapters: Sequence[Adapter]) -> Iterator[AspectCell]:
    """Judge the request that follows each whole answer, if the adapter has a second turn."""
    if adapters[0].second_request is not None:
        answered = [item for item in items if _goes_on(item, adapters[0])]
        yield from _spread(answered, adapters, _judge_second_turn)


def _goes_on(item: Item, adapter: Adapter) -> bool:
    """Whether the conversation continues after this answer."""
    answer = _answer(item, adapter)
    facts = answer.facts
    whole = not (answer.faulty or answer.blocked or facts.errors or facts.open_call)
    has_content = bool(facts.calls or facts.text)
    stopped = finish_class(answer.reason) == "stop"
    return whole and has_content and not answer.program and stopped


def _judge_second_turn(item: Item, adapter: Adapter) -> AspectCell:
    adapter = adapter.with_options(item.options)
    assert adapter.second_request is not None  # see judge_second_turns
    variants = tuple(variants_of_wire(item.exchange))
    blank = AspectCell(
        item.cassette,
        item.number,
        "variant" if variants else "documented",
        variants=variants,
        unary=item.exchange.streamed is False,
    )
    facts = _answer(item, adapter).facts
    unasked = _not_for_a_second_turn(item, adapter, facts)
    if unasked:
        return _not_asked(blank, "calls", unasked)
    try:
        body = adapter.second_request(item.exchange, item.options)
    except AdapterError as error:
        if _is_error(_first_turn(item, adapter)):
            return _not_asked(blank, "results", FIRST_TURN_FAILED)
        return replace(blank, error=str(error))
    if isinstance(body, str):
        return _not_asked(blank, "results", body)
    try:
        request = decode_json(body)
    except ValueError as error:
        return replace(blank, error=f"the second request is not JSON: {error}")
    if not isinstance(request, dict):
        return replace(blank, error="the second request is not a JSON object")
    findings = judge_second_turn(facts, request, given=_given(facts, item.exchange))
    return second_turn_cell(blank, findings, item.exchange, request)


def _not_asked(blank: AspectCell, aspect: str, note: str) -> AspectCell:
    return replace(blank, aspects={aspect: "not_asked"}, notes={aspect: note})


def _not_for_a_second_turn(item: Item, adapter: Adapter, facts: Facts) -> str:
    """The reason why the calls of an answer can't be sent back, or ""."""
    if facts.pieces:  # Vertex AI only
        transcript = _first_turn(item, adapter)
        if transcript is None:
            return FIRST_TURN_FAILED
        if wire_answer(item.exchange, adapter, transcript).unavailable:
            return "the wire of the adapter's request does not have it"
    if not all(name for name, _ in facts.calls):
        return "the wire has a call without a name, which can't be run"
    return ""


def _given(facts: Facts, exchange: Exchange) -> list[bool]:
    """Whether the result of each call must be the given result. If a tool is not declared, the
    adapter may itself answer its call.
    """
    if exchange.request is None:
        return [True for _ in facts.calls]
    declared = {tool.name for tool in declared_tools(exchange.request.body)}
    return [name in declared for name, _ in facts.calls]


def _first_turn(item: Item, adapter: Adapter) -> Transcript | None:
    """The transcript of the answer; None if the adapter gave no transcript that can be judged."""
    try:
        output = adapter.output(item.exchange)
    except AdapterError:
        return None
    return output.transcript or Transcript()


def _is_error(transcript: Transcript | None) -> bool:
    """Whether a turn ended in an error, so that the conversation does not continue."""
    return (
        transcript is None
        or transcript.raised is not None
        or any(isinstance(fact, Error) for fact in transcript.facts())
    )


def _answer(item: Item, adapter: Adapter) -> WireAnswer:
    return wire_answer(item.exchange, adapter.with_options(item.options), Transcript())


def _spread(
    items: Sequence[Item],
    adapters: Sequence[Adapter],
    judge: Callable[[Item, Adapter], AspectCell],
) -> Iterator[AspectCell]:
    if len(adapters) == 1:
        yield from (judge(item, adapters[0]) for item in items)
        return
    free: SimpleQueue[Adapter] = SimpleQueue()
    for adapter in adapters:
        free.put(adapter)

    def run(item: Item) -> AspectCell:
        adapter = free.get()
        try:
            return judge(item, adapter)
        finally:
            free.put(adapter)

    with ThreadPoolExecutor(len(adapters)) as pool:
        try:
            yield from pool.map(run, items)
        finally:
            pool.shutdown(cancel_futures=True)
