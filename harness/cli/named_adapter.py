"""The adapter that an argument of a command names, and its output on one recording."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.adapters import Adapter, AdapterError, RunOptions, Subject
from harness.adapters.named import TIMEOUT_S, adapter_of_target
from harness.facts import DeclaredLoss, json_of_fact
from harness.judging.aspects import judge_output
from harness.judging.reading import Reading
from harness.project.configuration import adapters_of, losses_of
from harness.stream.exchange import Exchange

Losses = Mapping[str, tuple[DeclaredLoss, ...]]
"""The name of an adapter → its declared losses."""


def open_adapter(
    text: str, losses: Losses | None = None, *, timeout: float = TIMEOUT_S, guest: bool = True
) -> Adapter:
    """Return the adapter of an argument, with its declared losses: those in ``losses``, or else the
    configured losses. A function runs in a separate process, if it is a ``guest``. Raises
    `AdapterError`.
    """
    adapter = adapter_of_target(text, Path.cwd(), adapters_of(), timeout=timeout, guest=guest)
    declared = losses_for(adapter.name, losses_of() if losses is None else losses)
    return replace(adapter, losses=(*adapter.losses, *declared))


def losses_for(name: str, losses: Losses) -> tuple[DeclaredLoss, ...]:
    """Return the declared losses of an adapter, and those of all adapters, which have the key
    "".
    """
    return (*losses.get(name, ()), *losses.get("", ()))


def subject_named(target: str, parsed: argparse.Namespace) -> Subject:
    """Return the adapter of the option ``--adapter``. Raises `AdapterError`."""
    options = RunOptions(provider=getattr(parsed, "provider", None))
    return Subject(open_adapter(target), options)


def output_items(subject: Subject, exchange: Exchange) -> Iterator[Any]:
    """Yield the native events of a run, with their facts if the adapter states them. Raises
    `AdapterError`.
    """
    output = subject.output(exchange)
    transcript = output.transcript
    if transcript is None:
        yield from output.items
        return
    if transcript.skipped:
        name = subject.adapter.name
        raise AdapterError(f"adapter {name} skips this exchange: {transcript.skipped}")
    for entry in transcript.entries:
        yield {"native": entry.native, "facts": [json_of_fact(fact) for fact in entry.facts]}
    if raised := transcript.raised:
        yield {"raised": {"type": raised.type, "message": raised.message, "code": raised.code}}


def aspect_lines(subject: Subject, exchange: Exchange) -> Iterator[str]:
    """Yield one line for each aspect: its verdict and the reason. Raises `AdapterError`."""
    adapter, reading = subject.adapter, Reading(exchange, subject.options)
    judgement = judge_output(reading, adapter, subject.output(exchange))
    if judgement.error:
        raise AdapterError(judgement.error)
    if judgement.variants:
        yield f"not the documented wire: {', '.join(judgement.variants)}"
    transcript = judgement.transcript
    if transcript and transcript.request_notes:
        yield f"{adapter.name}: requests: {'; '.join(transcript.request_notes)}"
    for aspect in judgement.aspects:
        yield f"{adapter.name}: {judgement.sentence(aspect)}"
