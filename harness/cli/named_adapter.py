"""The option ``--adapter`` of commands that run an adapter on one recording, and its output."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.conformance.adapters import Adapter, AdapterError, RunOptions
from harness.conformance.adapters.named import adapter_of_target
from harness.conformance.aspects import judge_output
from harness.conformance.configuration import adapters_of, losses_of
from harness.facts import json_of_fact
from harness.stream.exchange import Exchange


def adapter_named(target: str, parsed: argparse.Namespace) -> Adapter:
    """The adapter of a target, a configured name or a dialect. Raises `AdapterError`."""
    folder = Path()
    adapter = adapter_of_target(target, folder, adapters_of(folder))
    losses = losses_of(folder).get(adapter.name, ())
    options = RunOptions(provider=getattr(parsed, "provider", None))
    return replace(adapter, losses=(*adapter.losses, *losses)).with_options(options)


def output_items(adapter: Adapter, exchange: Exchange) -> Iterator[Any]:
    """The native events of a run, with their facts where the adapter states them. Raises
    `AdapterError`.
    """
    output = adapter.output(exchange)
    transcript = output.transcript
    if transcript is None:
        yield from output.items
        return
    if transcript.skipped:
        raise AdapterError(f"adapter {adapter.name} skips this exchange: {transcript.skipped}")
    for entry in transcript.entries:
        yield {"native": entry.native, "facts": [json_of_fact(fact) for fact in entry.facts]}
    if raised := transcript.raised:
        yield {"raised": {"type": raised.type, "message": raised.message, "code": raised.code}}


def aspect_lines(adapter: Adapter, exchange: Exchange) -> Iterator[str]:
    """One line for each aspect: its verdict and the reason. Raises `AdapterError`."""
    judgement = judge_output(exchange, adapter, adapter.output(exchange))
    if judgement.error:
        raise AdapterError(judgement.error)
    if judgement.variants:
        yield f"not the documented wire: {', '.join(judgement.variants)}"
    transcript = judgement.transcript
    if transcript and transcript.request_notes:
        yield f"{adapter.name}: requests: {'; '.join(transcript.request_notes)}"
    for aspect in judgement.aspects:
        yield f"{adapter.name}: {judgement.sentence(aspect)}"
