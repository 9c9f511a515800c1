"""A cassette of a vcrpy suite that records clients on httpx2 and httpx read by read.

vcrpy decides whether a request is answered or recorded: its record modes, matchers, filters and
errors apply. A request that vcrpy does not find is looked up again in its redacted form, so that a
redacted value makes no difference between two requests. Each read is also written to a crash
journal, which exists until vcrpy has written the cassette.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from vcr import VCR
from vcr.cassette import Cassette as VcrCassette
from vcr.cassette import CassetteContextDecorator
from vcr.errors import CannotOverwriteExistingCassetteException
from vcr.patch import CassettePatcherBuilder

from harness.cassettes import Exchange, Request
from harness.cassettes.redaction import secrets
from harness.cassettes.redaction.guard import Guard
from harness.cassettes.redaction.mask import Mask
from harness.cassettes.vcrpy import request_of
from harness.stream.events import End

from .journal import Journal, left_behind
from .persister import CassetteFormat, Stamp, stamp_of, unchanged, use_format
from .policy import refuse_answers, refuse_plain, refuse_unread
from .tape import InFlightExchange, Tape
from .transport import patches
from .vcr_values import append, filtered, from_vcr, origin_of, to_vcr_request

LIBRARIES: Final = ("httpx2", "httpx")


def register(
    recorder: VCR,
    guard: Callable[[], Guard] = secrets.guard,
    *,
    allow_status: Collection[int] = (),
    allow_end: Collection[End] = (),
    allow_incomplete: bool = False,
) -> None:
    """Make a `vcr.VCR` keep its cassettes in our format, and record httpx2 and httpx read by read:
    vcrpy alone would return a whole body at once.

    A bad answer of a model is not recorded, as in `use_cassette`; the other arguments are those of
    `use_cassette`. A single ``recorder.use_cassette`` accepts them too.
    """
    use_format(recorder, guard, notes=True)
    allowed = {
        "allow_status": allow_status,
        "allow_end": allow_end,
        "allow_incomplete": allow_incomplete,
    }

    def use_cassette(**options: Any) -> _Context:
        ours = {name: options.pop(name, default) for name, default in allowed.items()}
        merged = partial(recorder.get_merged_config, **options)
        return StreamingCassette.use_arg_getter(lambda: {**merged(), "allowed": ours})

    recorder._use_cassette = use_cassette


class _Context(CassetteContextDecorator):  # type: ignore[misc]  # vcrpy has no types
    """The context of a cassette in vcrpy. vcrpy's own class does not remove its patches if saving
    fails; this class removes them, then raises the error.
    """

    def _patch_generator(self, cassette: StreamingCassette) -> Iterator[StreamingCassette]:
        self._cassette = cassette
        with ExitStack() as stack:
            builder = CassettePatcherBuilder(cassette)
            for library in cassette.libraries:
                setattr(builder, f"_{library}", tuple)  # no patches of vcrpy
            for patcher in builder.build():
                stack.enter_context(patcher)
            yield cassette
        if cassette.failure is not None:
            raise cassette.failure

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        if raised[1] is not None and self._cassette.journal:
            self._cassette.journal.end(raised[1])


class StreamingCassette(VcrCassette):  # type: ignore[misc]  # vcrpy has no types
    """The cassette that `vcr.VCR.use_cassette` opens after `register`."""

    def __init__(self, path: Any, *, allowed: dict[str, Any], **options: Any) -> None:
        skipped = tuple(options.get("skip_patchers", ()))
        ours = [library for library in LIBRARIES if library not in skipped and find_spec(library)]
        super().__init__(path, **options)
        self.libraries: Final = ours
        """The libraries that are patched by us."""
        self.tape: Final = _VcrTape(self)
        self._allowed: Final = allowed
        self.failure: Exception | None = None
        self.journal: Journal | None = None
        self._stamp: Stamp = None
        self.custom_patches = (
            *options.get("custom_patches", ()),
            *(patch for library in ours for patch in patches(library, self.tape)),
        )

    @classmethod
    def use_arg_getter(cls, arg_getter: Callable[[], dict[str, Any]]) -> _Context:
        return _Context(cls, arg_getter)

    def _responses(self, request: Any) -> Iterator[tuple[int, Any]]:
        matched = False
        for response in super()._responses(request):
            matched = True
            yield response
        if not matched and self.data:
            yield from super()._responses(self._redacted(request))

    def find_requests_with_most_matches(self, request: Any) -> Any:
        return super().find_requests_with_most_matches(self._redacted(request))

    def _redacted(self, request: Any) -> Any:
        """Return vcrpy's request in the form of a cassette."""
        if not isinstance(self._serializer, CassetteFormat):
            return request
        kept = self._serializer.guard().redactor.request(request_of(request))
        return to_vcr_request(kept if kept.body else replace(kept, body=request.body))

    def _load(self) -> None:
        super()._load()
        # A suite may use another serializer for some cassettes; those have no journal.
        if self.write_protected or not isinstance(self._serializer, CassetteFormat):
            return
        path = Path(self._path)
        self._stamp = stamp_of(path)
        if message := left_behind(path):
            warnings.warn(message, stacklevel=2)
        guard = self._serializer.guard
        self.journal = Journal(
            path, lambda request: (origin_of([request], {}), guard()), partial(filtered, self)
        )
        self.tape.listener = self.journal.put

    def _save(self, force: bool = False) -> None:
        """Add the recorded exchanges, in start order, and let vcrpy write the file; an error is
        kept for `_Context`.
        """
        answered, recorded = self.tape.answered(), self.tape.exchanges()
        self.tape.in_flight = []
        by_stubs = self.data[self._loaded_count :]
        try:
            with ExitStack() as stack:
                if isinstance(self._serializer, CassetteFormat):
                    mask = Mask(self._serializer.guard()).text
                    judged = [pending for pending in answered if self._keeps(pending)]
                    stubbed = map(_in_flight_of, from_vcr(by_stubs))
                    refuse_answers([*stubbed, *judged], mask, **self._allowed)
                if recorded and self.journal:
                    stack.enter_context(unchanged(Path(self._path), self._stamp))
                    refuse_plain(answered)
                    refuse_unread(answered, self._serializer.guard().redactor.kept_headers)
                append(recorded, self)
                super()._save(force=force)
        except Exception as error:  # noqa: BLE001  # `_Context` raises it
            self.failure = error
        if self.journal:
            self.journal.end(self.failure)

    def _keeps(self, pending: InFlightExchange) -> bool:
        """Return whether vcrpy's filters keep an exchange."""
        return pending.request is None or filtered(self, pending.request) is not None


def _in_flight_of(exchange: Exchange) -> InFlightExchange:
    """Return an exchange that one of vcrpy's stubs has recorded."""
    pending = InFlightExchange(0, exchange.request, Tape())
    pending.status, pending.headers = exchange.status, exchange.headers
    pending.reason_phrase, pending.end = exchange.reason_phrase, exchange.end
    pending.reads = [(at_ms or 0.0, data) for at_ms, data in exchange.reads]
    return pending


class _VcrTape(Tape):
    def __init__(self, cassette: Any) -> None:
        super().__init__()
        self._cassette = cassette

    def answer(self, request: Request) -> Exchange | None:
        wanted = to_vcr_request(request)
        if self._cassette.can_play_response_for(wanted):
            return from_vcr([(wanted, self._cassette.play_response(wanted))])[0]
        if self._cassette.write_protected and self._cassette.filter_request(wanted):
            raise CannotOverwriteExistingCassetteException(
                cassette=self._cassette, failed_request=wanted
            )
        return None
