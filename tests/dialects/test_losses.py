"""The declared losses of the event models are all losses, and each of them is shown."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from harness.adapters import ADAPTERS, EVENTS
from harness.cassettes.yaml import parse
from harness.cli.judge import read_items
from harness.dialects import DIALECTS
from harness.facts import DeclaredLoss
from harness.judging.aspect_run import JudgedExchange
from harness.judging.aspects import judge_exchange

SPECS = Path(__file__).parents[2] / "specs"
OF_A_PLUGIN = {"text[damaged]"}
"""The losses that only a wire of examples/plugins has; the tests there show them."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def named_by_cases() -> dict[str, set[str]]:
    """Dialect → the losses that a case of the specs names."""
    named = defaultdict[str, set[str]](set)
    for spec in sorted(SPECS.glob("*/*.yaml")):
        text = spec.read_text(encoding="utf-8")
        if "not_carried" not in text:
            continue
        for case in parse(text)["cases"]:
            for name, losses in case.get("not_carried", {}).items():
                named[name] |= {*losses}
    return named


@pytest.fixture(scope="module")
def items() -> list[JudgedExchange]:
    return read_items(None)[0]


@pytest.mark.parametrize("name", [*DIALECTS, "events"])
def test_the_suite_shows_each_declared_loss_and_no_other(
    name: str, items: list[JudgedExchange], named_by_cases: dict[str, set[str]]
) -> None:
    adapter = EVENTS if name == "events" else ADAPTERS[name]
    declared = adapter.model_losses
    adapter = replace(adapter, losses=declared, model_losses=())  # so that their use is counted
    use: dict[DeclaredLoss, bool] = {}
    for item in items:
        judged = judge_exchange(item.reading, adapter)
        found = [judged.error, *map(judged.sentence, judged.red)]
        assert (item.cassette, item.number, found) == (item.cassette, item.number, [""])
        for loss, shown in judged.losses.items():
            use[loss] = shown or use.get(loss, False)
    assert [str(loss) for loss, shown in use.items() if not shown] == []
    unjudged = {str(loss) for loss in declared if loss not in use}
    assert unjudged - OF_A_PLUGIN <= named_by_cases[name] <= {*map(str, declared)}
