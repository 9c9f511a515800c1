"""Opens a cassette that records a client or answers it.

vcrpy's `VCR` and `Cassette` load, filter and save, with our persister. Nothing is patched: a client
gets one of our transports. A recording is saved only if everything succeeded, and in one step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, get_args
from urllib.parse import urlsplit

from vcr import VCR
from vcr.cassette import Cassette as VcrCassette
from vcr.cassette import CassetteContextDecorator
from vcr.persisters.filesystem import CassetteNotFoundError

from harness.cassettes import CassetteError, Exchange, Request, is_cassette
from harness.cassettes.redaction import secrets
from harness.cassettes.redaction.guard import Guard
from harness.cassettes.redaction.mask import Mask
from harness.cassettes.redaction.names import SECRET_HEADERS
from harness.cassettes.redaction.redactor import Redactor
from harness.pipeline.replay import ReplayError, check_known
from harness.pipeline.request_index import RequestIndex
from harness.specs.matching import Mismatch, sides
from harness.stream.events import End
from harness.stream.printable import printable

from .journal import Journal
from .persister import Persister, stamp_of, unchanged, use_format
from .policy import refuse_answers, refuse_plain, refuse_unread
from .stock_cassettes import is_stock
from .tape import Tape
from .vcr_values import append, filtered, from_vcr, origin_of

Mode = Literal["none", "once", "rewrite"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
"""none: only answer; once: record a cassette if it does not exist; rewrite: record it again."""


class UnknownRequest(ReplayError):
    """No exchange of the cassette answers a request; the message shows the most similar recorded
    request and the differences.
    """


class Recording(Tape):
    """A new recording of a cassette: every request goes to the network."""


class Playback(Tape):
    """A cassette that answers; it uses each exchange once."""

    def __init__(self, name: str, cassette: Any, redactor: Redactor, recorded_by: str = "") -> None:
        super().__init__()
        self.live = False
        self.name = name
        self.recorded_by = recorded_by
        self.recorded = from_vcr(zip(cassette.requests, cassette.responses, strict=True))
        self.unknown: list[str] = []
        """A message for each request that no exchange answered."""
        self.used: list[int] = []
        """The indices of the exchanges that answered, in order."""
        self._cassette = cassette
        self._index = RequestIndex(self.recorded, redact=redactor.request)

    def answer(self, request: Request) -> Exchange | None:
        """Return the recorded exchange; None for a request that vcrpy's filters drop, which then
        goes to the network. Raises `UnknownRequest`.
        """
        asked = filtered(self._cassette, request)
        if asked is None:
            return None
        index = self._index.find(asked.method, asked.url, asked.body)
        if index is None:
            self.unknown.append(self._explain(asked))
            raise UnknownRequest(self.unknown[-1])
        self.used.append(index)
        return self.recorded[index]

    def problems(self, *, ordered: bool = True) -> list[str]:
        """Return messages about unused exchanges and, if ``ordered``, about a different order."""
        problems = [
            f"{self.name}: exchange {index + 1} was never requested"
            for index in self._index.unused()
        ]
        if ordered and self.used != sorted(self.used):
            order = ", ".join(str(index + 1) for index in self.used)
            problems.append(f"{self.name}: the exchanges were requested in the order {order}")
        return problems

    def _explain(self, asked: Request) -> str:
        path = urlsplit(asked.url).path
        lines = [f"{asked.method} {path}: no unused exchange of {self.name} answers this"]
        nearest = self._index.nearest(asked.method, asked.url, asked.body)
        if nearest is None:
            lines.append("this cassette has no recorded request")
        else:
            index, mismatches = nearest
            lines.append(
                f"the nearest is exchange {index + 1}"
                + (":" if mismatches else ", which is equal, but already used")
            )
            for mismatch in mismatches:
                lines += _mismatch_lines(mismatch)
        lines.append(
            f"{self.recorded_by} has recorded the cassette in this run; give this test its"
            " own cassette"
            if self.recorded_by
            else "record the cassette again with --harness-record rewrite if this is intended"
        )
        return "\n".join(lines)


def _mismatch_lines(mismatch: Mismatch) -> list[str]:
    recorded, asked = sides(mismatch)
    lines = [f"  {mismatch.path}: {mismatch.kind}"]
    if recorded is not None:
        lines.append(f"    recorded: {printable(recorded)}")
    if asked is not None:
        lines.append(f"    asked:    {printable(asked)}")
    return lines


@contextmanager
def use_cassette(
    path: Path,
    *,
    name: str | None = None,
    mode: Mode = "none",
    allow_status: Collection[int] = (),
    allow_end: Collection[End] = (),
    allow_incomplete: bool = False,
    options: Mapping[str, Any] | None = None,
    keys: Collection[str] = (),
    whole: bool = False,
    recorded_by: str = "",
) -> Iterator[Recording | Playback]:
    """Yield a cassette that is open during the ``with`` block: a `Playback`, or a `Recording` that
    is saved at the end of the block.

    ``name``: the cassette's name in messages. ``allow_status``: statuses of errors that may be
    recorded. ``allow_end``: ends of incomplete answers that may be recorded (``cut``, ``reset``,
    ``aborted``). ``allow_incomplete``: requests to a model may get something else than the complete
    answer of a model. ``options``: options of vcrpy (``before_record_request``, ``ignore_hosts``
    …); ``before_record``, which gets whole exchanges (see `Redactor`); ``answer_bytes`` and
    ``answer_seconds``, the limits of an answer (see `Tape`). ``keys``: further secrets, which are
    neither in the environment nor in request headers. ``whole``: read answers to their end, even if
    the client stops early. ``recorded_by``: the test that recorded the cassette in this run; the
    message about an unknown request names it.

    If the block raises, nothing is saved. The reads before the error stay in a crash journal,
    unless they contain a secret. A note of the exception names that file. Raises `CassetteError`
    for a file that can't be read or written, or that another recording has changed meanwhile,
    `RecordingRefused` for a recording that is not kept.
    """
    check_known("record mode", mode, MODES)
    _check_file(path, name or str(path), mode)
    vcr_options = dict(options or {})
    redactor = Redactor(secrets.read_rules(path.parent), vcr_options.pop("before_record", None))
    tape = Recording(whole=whole)
    tape.answer_bytes = vcr_options.pop("answer_bytes", tape.answer_bytes)
    tape.answer_s = vcr_options.pop("answer_seconds", tape.answer_s)

    def guard() -> Guard:
        known = secrets.known_secrets(sorted({*_credentials(tape), *keys}))
        return Guard(known, redactor)

    tape.mask = lambda text: Mask(guard()).text(text)
    recorder = VCR(
        record_mode="none" if mode == "none" else "once",
        record_on_exception=False,
        **vcr_options,
    )
    use_format(recorder, guard, persister=_Rewriter if mode == "rewrite" else Persister)
    arguments = partial(recorder.get_merged_config, path=str(path))
    with ExitStack() as until_saved, _WithoutPatches(VcrCassette, arguments) as cassette:
        if cassette.rewound:
            yield Playback(name or str(path), cassette, redactor, recorded_by)
            return
        before = stamp_of(path)
        guard()  # this raises before any request if this machine's secrets can't be read
        journal = Journal(
            path,
            lambda request: (origin_of([request], tape.origin), guard()),
            partial(filtered, cassette),
        )
        until_saved.push(lambda _, error, __: journal.end(error))
        tape.listener = journal.put
        yield tape
        refuse_answers(
            [
                in_flight
                for in_flight in tape.answered()
                if in_flight.request is None or filtered(cassette, in_flight.request)
            ],
            tape.mask,
            allow_status=allow_status,
            allow_end=allow_end,
            allow_incomplete=allow_incomplete,
        )
        refuse_plain(tape.answered())
        refuse_unread(tape.answered(), redactor.kept_headers)
        until_saved.enter_context(unchanged(path, before))
        append(tape.exchanges(), cassette, tape.origin)


class _WithoutPatches(CassetteContextDecorator):  # type: ignore[misc]  # vcrpy has no types
    """The context of a cassette in vcrpy, in which no client is patched."""

    def _patch_generator(self, cassette: VcrCassette) -> Iterator[VcrCassette]:
        yield cassette


def _check_file(path: Path, name: str, mode: Mode) -> None:
    """Raise `CassetteError` if the file does not exist or is in neither our format nor vcrpy's."""
    if mode == "none" and not path.exists():
        raise CassetteError(
            f"no cassette {name}: {path} does not exist; record it with --harness-record once"
        )
    if mode == "rewrite" or not path.is_file():
        return
    data = path.read_bytes()
    if data.strip() and not is_cassette(data) and not is_stock(data):
        raise CassetteError(
            f"{path}: this file is not one of our cassettes; `harness import {path} -o OTHER.yaml`"
            " converts a recording of another tool"
        )


def _credentials(tape: Tape) -> set[str]:
    """Return the credentials in the headers of the requests so far."""
    return {
        value.rpartition(" ")[2]
        for exchange in tape.in_flight
        if exchange.request
        for name, values in exchange.request.headers.items()
        if name.lower() in SECRET_HEADERS
        for value in values
    }


class _Rewriter(Persister):
    """Ignores the old file, so that the new one contains only the new recording."""

    @staticmethod
    def load_cassette(cassette_path: str | Path, serializer: Any) -> Any:
        raise CassetteNotFoundError
