"""The contract between a sweep and its engines: a function from a batch of streams to a batch of
verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

from msgspec.structs import replace as with_fields

from harness.adapters import EVENTS, Adapter, RunOptions
from harness.adapters.named import TIMEOUT_S, adapter_of_target
from harness.cassettes.redaction.mask import Mask
from harness.cassettes.redaction.secrets import mask
from harness.facts import read_losses
from harness.judging.aspects import ExchangeJudgement, compare_exchange, with_variants
from harness.judging.decide import decide
from harness.judging.laws import LAWS
from harness.judging.laws.judge import LawCell, judge_law
from harness.judging.reading import Reading
from harness.judging.run import run_plan
from harness.pipeline.replay import is_answer
from harness.stream.exchange import Exchange
from harness.stream.printable import printable, shorten

from .row import StreamRow
from .stream import CapturedStream

MAX_SENTENCE: Final = 400
"""The maximum number of characters of a sentence in a row."""
_FREE: Final = ("id", "source", "adapter", "version", "model", "against", "group", "sentence")
"""The columns that may contain any text."""
_MODEL: Final = re.compile(rb'"model_?[vV]ersion"\s*:\s*"([^"\\]{1,200})"')


@dataclass(frozen=True, slots=True)
class Target:
    """An adapter as text, from which any process can make the adapter."""

    text: str
    """The argument of a command that names the adapter without a configuration."""
    name: str
    version: str
    losses: str = ""
    """Its declared losses."""

    @property
    def title(self) -> str:
        """The name and version of the adapter."""
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings that influence the verdicts of a sweep; the input is separate."""

    adapter: Target
    against: Target | None = None
    folder: str = "."
    """The folder with the modules and programs of adapters."""
    timeout: float = TIMEOUT_S
    laws: tuple[int, ...] = ()
    """The numbers of the laws that are also checked."""


def judge_batch(batch: Sequence[CapturedStream], settings: Settings) -> list[StreamRow]:
    """Return the verdicts of a batch, in order. A stream that can't be judged gets the verdict
    ``error``.

    Raises `AdapterError` only if the adapter does not exist.
    """
    adapter = open_adapter(settings.adapter, settings)
    against = open_adapter(settings.against, settings) if settings.against else None
    items = [StreamItem(stream, settings, against) for stream in batch]
    rows = _without_secrets([*run_plan(items, [adapter])])
    return list(map(_shortened, rows))


def _without_secrets(rows: list[StreamRow]) -> list[StreamRow]:
    """Return the rows, with the secrets in their free texts masked. Most batches have no secret,
    and are read once. In other batches, each row is masked separately, so that it does not depend
    on its batch.
    """
    guard = mask()
    if guard.is_clean(text for row in rows for text in _free_texts(row)):
        return rows
    return [_masked(row, guard) for row in rows]


def _shortened(row: StreamRow) -> StreamRow:
    """Return the row with a printable sentence and group of limited size. It has no secrets any
    more, because a part of a secret may not be recognized.
    """
    if not row.sentence and not row.group:
        return row
    texts = (shorten(printable(text), MAX_SENTENCE) for text in (row.sentence, row.group))
    return with_fields(row, **dict(zip(("sentence", "group"), texts, strict=True)))


def _free_texts(row: StreamRow) -> list[str]:
    return [getattr(row, name) or "" for name in _FREE]


def _masked(row: StreamRow, guard: Mask) -> StreamRow:
    texts = zip(_FREE, guard.texts(_free_texts(row)), strict=True)
    return with_fields(row, **{name: text for name, text in texts if text})


@lru_cache(maxsize=8)
def open_adapter(target: Target, settings: Settings) -> Adapter:
    """Return the adapter of a target. It is made once in each process. Raises `AdapterError`."""
    adapter = adapter_of_target(
        target.text,
        Path(settings.folder),
        {},
        timeout=settings.timeout,
        guest=True,
    )
    return replace(adapter, losses=(*adapter.losses, *read_losses(target.losses)))


@dataclass(frozen=True, slots=True)
class StreamItem:
    """A stream to judge, also with the adapter of a baseline."""

    stream: CapturedStream
    settings: Settings
    against: Adapter | None

    def judge(self, adapter: Adapter) -> StreamRow:
        """Return its row."""
        stream, settings, against = self.stream, self.settings, self.against
        exchange = stream.exchange
        blank = StreamRow(
            id=printable(stream.id),
            source=printable(stream.source),
            adapter=settings.adapter.name,
            version=settings.adapter.version,
            against=settings.against.title if settings.against else "",
            verdict="error",
        )
        if exchange is None:
            word = "not-run" if stream.skipped else "error"
            return with_fields(blank, verdict=word, sentence=stream.fault, group=stream.group)
        try:
            blank = with_fields(blank, **_description(exchange))
            if not is_answer(exchange, exchange.provider):
                return with_fields(
                    blank, verdict="not-run", sentence="the exchange has no answer of a model"
                )
            options = RunOptions(cassette=stream.id, provider=exchange.provider)
            reading = Reading(exchange, options)
            judged = compare_exchange(reading, adapter, cassette=stream.id)
            if judged.red:
                judged = with_variants(judged, reading)
            verdict = _verdict(blank, reading, adapter, judged)
            if against is not None and not judged.error:
                before = compare_exchange(reading, against, cassette=stream.id)
                verdict = _compared(verdict, judged, before)
            return _with_laws(verdict, stream, adapter, settings.laws) if settings.laws else verdict
        except Exception as error:  # noqa: BLE001  # one stream must not end a sweep of millions
            kind = f"the row crashed: {type(error).__name__}"
            return with_fields(blank, sentence=f"{kind}: {error}", group=kind)


def _description(exchange: Exchange) -> Mapping[str, object]:
    body = exchange.body
    content = blake2b(b"%d %s\n" % (exchange.status, exchange.end.encode()), digest_size=16)
    content.update(body)
    model = exchange.model
    if model is None and (match := _MODEL.search(body)):
        model = printable(match[1].decode("utf-8", "replace"))
    return {
        "provider": exchange.provider or "",
        "model": model,
        "status": exchange.status,
        "end": exchange.end,
        "digest": content.hexdigest(),
    }


def _verdict(
    blank: StreamRow, reading: Reading, adapter: Adapter, judged: ExchangeJudgement
) -> StreamRow:
    aspects = {str(aspect): finding.verdict for aspect, finding in judged.aspects.items()}
    decision = decide(judged.findings)
    row = with_fields(blank, aspects=aspects, verdict=decision.verdict, sentence=decision.reason)
    red = [finding for finding in judged.findings if finding.red]
    if not red:
        return row
    row = with_fields(row, group=" ".join(red[0].group))
    if judged.error:
        return row
    row = with_fields(row, sentence=red[0].sentence)
    variants = judged.variants if judged.block == "variant" else ()
    return with_fields(row, layer=_first_layer(reading, adapter, judged), variants=variants)


def _first_layer(reading: Reading, adapter: Adapter, judged: ExchangeJudgement) -> str:
    """Return the lowest layer in which the first red aspect is red."""
    if adapter.by_facts:
        return "facts"
    events = compare_exchange(reading, EVENTS, cassette=judged.cassette)
    return "events" if judged.red[0] in events.red else "payloads"


def _compared(
    verdict: StreamRow, judged: ExchangeJudgement, before: ExchangeJudgement
) -> StreamRow:
    """Return the verdict with the aspects that differ from those of a baseline. An aspect with the
    baseline's verdict *not asked* is counted as not kept.
    """
    now, then = judged.aspects, before.aspects
    kept = {aspect for aspect, finding in then.items() if finding.verdict == "kept"}
    new = {aspect for aspect in judged.red if aspect not in then and not before.error}
    worse = [aspect for aspect in judged.red if aspect in kept | new]
    better = [
        aspect
        for aspect, finding in now.items()
        if finding.verdict == "kept" and aspect not in kept
    ]
    better += [aspect for aspect in before.red if aspect not in now]
    first = judged.aspects[worse[0]] if worse else None
    sentence = first.sentence if first else verdict.sentence
    group = " ".join(first.group) if first else verdict.group
    return with_fields(
        verdict, worse=tuple(worse), better=tuple(better), sentence=sentence, group=group
    )


def _with_laws(
    verdict: StreamRow, stream: CapturedStream, adapter: Adapter, laws: Sequence[int]
) -> StreamRow:
    """Return the verdict with the verdicts of the checked laws. A broken law fails the row."""
    results = dict(_law_results(stream, adapter, laws))
    broken = [
        (number, sentence)
        for number, (word, sentence) in results.items()
        if word in ("failed", "error")
    ]
    verdict = with_fields(verdict, laws={number: word for number, (word, _) in results.items()})
    if not broken or verdict.verdict in ("failed", "error"):
        return verdict
    number, sentence = broken[0]
    return with_fields(verdict, verdict="failed", sentence=sentence, group=f"law {number}")


def _law_results(
    stream: CapturedStream, adapter: Adapter, laws: Sequence[int]
) -> Iterator[tuple[str, tuple[str, str]]]:
    assert stream.exchange is not None  # see _judge
    options = RunOptions(cassette=stream.id, provider=stream.exchange.provider)
    for law in LAWS:
        if law.id in laws and adapter.layer in law.layers:
            judged = judge_law(LawCell(law, stream.id, 1, stream.exchange, adapter, None, options))
            breach = judged.breaches[0].sentence if judged.breaches else judged.result.reason
            yield str(law.id), (judged.result.verdict, f"law {law.id}: {breach}")
