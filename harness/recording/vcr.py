"""vcrpy's cassette with our transport where its stubs for httpx2 and httpx would stand: a client
gets every read when it comes.

Whether a request is answered or recorded is vcrpy's decision: its record modes, its matchers, its
filters, its errors. A request that it does not find is looked for as it would have been kept, too,
so that what was redacted can't tell two requests apart. What arrives stands in an unfinished
recording until vcrpy has written the cassette.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from vcr.cassette import Cassette as VcrCassette
from vcr.errors import CannotOverwriteExistingCassetteException

from harness.cassettes import Exchange, Request
from harness.cassettes.redaction.scanner import SecretFound

from .cassette import append, filtered, origin_of, read_interactions, vcr_request
from .staging import Unfinished, left_behind
from .tape import Tape
from .transport import patches

LIBRARIES: Final = ("httpx2", "httpx")


class StreamingCassette(VcrCassette):  # type: ignore[misc]  # vcrpy has no types
    """What `vcr.VCR.use_cassette` opens after `register`."""

    def __init__(self, path: Any, **options: Any) -> None:
        skipped = tuple(options.pop("skip_patchers", ()))
        ours = [library for library in LIBRARIES if library not in skipped and find_spec(library)]
        super().__init__(path, skip_patchers=(*skipped, *ours), **options)
        self.tape: Final = _Tape(self)
        self.custom_patches = (
            *options.get("custom_patches", ()),
            *(patch for library in ours for patch in patches(library, self.tape)),
        )

    def _responses(self, request: Any) -> Iterator[tuple[int, Any]]:
        found = False
        for one in super()._responses(request):
            found = True
            yield one
        if not found and self.data:
            yield from super()._responses(self._redacted(request))

    def find_requests_with_most_matches(self, request: Any) -> Any:
        return super().find_requests_with_most_matches(self._redacted(request))

    def _redacted(self, request: Any) -> Any:
        """A request of vcrpy's as it stands in a cassette; a body that comes in pieces stays as it
        is.
        """
        guard = getattr(self._serializer, "guard", None)
        if guard is None:
            return request
        body = request.body if isinstance(request.body, bytes) else b""
        headers = {
            name: [value] if isinstance(value, str) else list(map(str, value))
            for name, value in request.headers.items()
        }
        kept = guard().redactor.request(Request(request.method, request.uri, headers, body))
        return vcr_request(kept if body else replace(kept, body=request.body))

    def _load(self) -> None:
        super()._load()
        guard = getattr(
            self._serializer, "guard", None
        )  # a suite may give single cassettes another serializer
        if self.write_protected or guard is None:
            return
        path = Path(self._path)
        if left := left_behind(path):
            warnings.warn(left, stacklevel=2)
        self.tape.listener = Unfinished(
            path, lambda request: (origin_of([request], {}), guard()), partial(filtered, self)
        )
        self.tape.listener.start()

    def _save(self, force: bool = False) -> None:
        """Everything that was taken, in start order, before vcrpy writes the file."""
        taken, self.tape.takes = self.tape.exchanges(), []
        unfinished = self.tape.listener
        try:
            append(taken, self)
            super()._save(force=force)
        except SecretFound:
            if unfinished:
                unfinished.discard()
            raise
        finally:
            if unfinished:
                unfinished.close()
        if taken and unfinished:
            unfinished.discard()


class _Tape(Tape):
    def __init__(self, cassette: Any) -> None:
        super().__init__()
        self.listener: Unfinished | None = None
        self._cassette = cassette

    def answer(self, request: Request) -> Exchange | None:
        asked = vcr_request(request)
        if self._cassette.can_play_response_for(asked):
            return read_interactions([(asked, self._cassette.play_response(asked))])[0]
        if self._cassette.write_protected and self._cassette.filter_request(asked):
            raise CannotOverwriteExistingCassetteException(
                cassette=self._cassette, failed_request=asked
            )
        return None
