"""The header of a run: the names and titles that this version of the package uses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

from harness.dialects import DIALECTS
from harness.judging.rows import Row
from harness.providers import PROVIDERS
from harness.stream.printable import shorten

from .document import Header, Judged, Named, Unread
from .layout import ReportError

if TYPE_CHECKING:
    from harness.specs.models import Feature  # slow to import, and `harness judge` needs no spec

PACKAGE: Final = "gemini-conformance"


def package_version() -> str:
    """Return name and version of the package, from its metadata; the name alone if not
    installed.
    """
    try:
        return f"{PACKAGE} {version(PACKAGE)}"
    except PackageNotFoundError:
        return PACKAGE


def make_header(
    results: Sequence[Row],
    features: Sequence[Feature],
    day: str,
    unread: Sequence[Unread],
    *,
    project: str = "",
    commit: str = "",
    ran: str = "",
    suite: str = "",
    judged: Sequence[Judged] = (),
) -> Header:
    """Return the header of a run. It lists all providers and dialects, selected or not, so that
    shards of a run agree; a user's adapter has its name as its title. ``judged`` are the user's
    adapters in the run, with their versions.
    """
    titles = {name: dialect.title for name, dialect in DIALECTS.items()}
    titles |= {
        name: name for name in sorted({result.adapter for result in results} - {"", *DIALECTS})
    }
    losses = sorted(
        (order, name, str(loss), loss.meaning)
        for name, dialect in DIALECTS.items()
        for order, loss in enumerate(dialect.losses)
    )
    return Header(
        tools=(package_version(),),
        day=day,
        providers=tuple(
            Named(name, provider.title, order)
            for order, (name, provider) in enumerate(PROVIDERS.items())
        ),
        adapters=tuple(
            Named(name, title, order) for order, (name, title) in enumerate(titles.items())
        ),
        features=tuple(
            Named(feature.id, feature.title, order, feature.meaning, feature.link)
            for order, feature in enumerate(features)
        ),
        losses=tuple(Named(loss, meaning, order, of=name) for order, name, loss, meaning in losses),
        unread=tuple(unread),
        judged=tuple(judged),
        project=project,
        commit=commit,
        ran=ran,
        suite=suite,
    )


def choose_day(given: str | None, epoch: str) -> str:
    """Return the day (YYYY-MM-DD) on which ages are calculated: ``given``, else the day of
    ``epoch`` (the value of SOURCE_DATE_EPOCH, in seconds), else "". Raises `ReportError`.
    """
    if given is not None:
        try:
            return date.fromisoformat(given).isoformat()
        except ValueError:
            raise ReportError(
                f"date {shorten(given, 40)!r}: not a date; write it as YYYY-MM-DD"
            ) from None
    if not epoch:
        return ""
    try:
        if not (epoch.isascii() and epoch.isdigit()):
            raise ValueError
        return datetime.fromtimestamp(int(epoch), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):  # the platform decides which, for a far year
        raise ReportError(
            f"SOURCE_DATE_EPOCH is {shorten(epoch, 40)!r}; expected seconds since 1970-01-01 in"
            " digits, up to the year 9999; correct or unset it"
        ) from None
