"""The names of a run, and its results at their places."""

from __future__ import annotations

from .document import Run
from .layout import LAYERS, UNKNOWN_PROVIDER, PlacedResult, check, place
from .pages import ReportNames
from .tally import column


def placed(run: Run) -> tuple[ReportNames, list[PlacedResult]]:
    """Return the names and the results. Raises `ReportError` for a name that is not listed."""
    header, results = run.header, run.results
    layers = {
        name: title
        for name, title in LAYERS.items()
        if any(column(result) == name for result in results)
    }
    columns = {adapter.name: adapter.title for adapter in header.adapters} | layers
    providers = {provider.name: provider.title for provider in header.providers}
    if any(not result.provider for result in results):
        providers |= UNKNOWN_PROVIDER
    check(results, {feature.name for feature in header.features}, providers, columns)
    losses = [
        (
            adapter.name,
            adapter.title,
            {loss.name: loss.title for loss in header.losses if loss.of == adapter.name},
        )
        for adapter in header.adapters
    ]
    return ReportNames(providers, columns, header.features, losses), place(
        results, providers, columns
    )
