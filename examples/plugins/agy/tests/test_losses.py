"""The runs show the one loss that the package's event models declare for this wire alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.adapters import ADAPTERS
from harness.cli.judge import read_items
from harness.judging.aspects import judge_exchange


@pytest.mark.parametrize("name", ["agent-events", "mind"])
def test_undamaged_text_beside_damaged_pieces_is_a_declared_loss(name: str) -> None:
    adapter = ADAPTERS[name]
    (loss,) = (loss for loss in adapter.model_losses if str(loss) == "text[damaged]")
    adapter = replace(adapter, losses=(loss,), model_losses=())
    items, _ = read_items(["cassettes/agy"])
    assert any(judge_exchange(item.reading, adapter).losses.get(loss) for item in items)
