"""Using a cassette, as vcrpy does: a file that is there answers, one that is not is recorded.

vcrpy's `VCR` and `Cassette` load, filter and save, with our serializer and persister; what vcrpy
would patch stays as it is, for our transports are given to the client. A recording reaches the file
when everything went well, and in one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, get_args
from urllib.parse import urlsplit

from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request, is_cassette
from harness.cassettes.redaction import secrets
from harness.cassettes.redaction.guard import Guard
from harness.cassettes.redaction.redactor import Redactor
from harness.cassettes.redaction.scanner import SECRET_HEADERS, Scanner, SecretFound
from harness.cassettes.vcrpy import from_vcr, to_vcr
from harness.pipeline.replay import ReplayError
from harness.pipeline.request_index import RequestIndex
from harness.providers import detect_provider
from harness.specs.matching import Mismatch, sides
from harness.stream.events import End
from harness.stream.printable import printable

from .persister import Persister, keep_format
from .policy import refuse_broken, refuse_errors
from .staging import Unfinished
from .tape import Tape

Mode = Literal["none", "once", "rewrite"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
"""none: only answer; once: record a cassette that does not exist; rewrite: record it anew."""

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


class UnknownRequest(ReplayError):
    """A request that no exchange of the cassette answers; the message shows the nearest one and
    what differs.
    """


class Recording(Tape):
    """A cassette that is recorded: every request goes to the network."""

    def __init__(self, unfinished: Unfinished, *, whole: bool = False) -> None:
        super().__init__(unfinished, whole=whole)
        self.unfinished = unfinished

    def answer(self, request: Request) -> Exchange | None:
        return None


class Playback(Tape):
    """A cassette that answers, each exchange once; what was asked in vain and what was never asked
    is remembered.
    """

    def __init__(self, name: str, cassette: Any, redactor: Redactor) -> None:
        super().__init__()
        self.live = False
        self.name = name
        self.recorded = read_interactions(zip(cassette.requests, cassette.responses, strict=True))
        self.unknown: list[str] = []
        self.used: list[int] = []
        self._cassette = cassette
        self._index = RequestIndex(self.recorded, redact=redactor.request)

    def answer(self, request: Request) -> Exchange | None:
        """The recorded answer; None for a request that vcrpy's filters leave to the network. Raises
        `UnknownRequest`.
        """
        asked = self._cassette.filter_request(vcr_request(request))
        if asked is None:
            return None
        body = asked.body or b""
        found = self._index.find(asked.method, asked.uri, body)
        if found is None:
            self.unknown.append(self._explain(asked.method, asked.uri, body))
            raise UnknownRequest(self.unknown[-1])
        self.used.append(found)
        return self.recorded[found]

    def problems(self, *, ordered: bool = True) -> list[str]:
        """What a test that is over has left unused, or used in another order than it was
        recorded.
        """
        found = [
            f"{self.name}: exchange {index + 1} was never asked for"
            for index in self._index.unused()
        ]
        if ordered and self.used != sorted(self.used):
            order = ", ".join(str(index + 1) for index in self.used)
            found.append(f"{self.name}: the exchanges were asked for in the order {order}")
        return found

    def _explain(self, method: str, url: str, body: bytes) -> str:
        lines = [
            f"{method} {urlsplit(url).path}: {self.name} has no answer to this request that is not"
            " used yet"
        ]
        nearest = self._index.nearest(method, url, body)
        if nearest is None:
            lines.append("no request is recorded in it")
        else:
            index, mismatches = nearest
            lines.append(
                f"the nearest is exchange {index + 1}"
                + (":" if mismatches else ", which is equal, and used")
            )
            for mismatch in mismatches:
                lines += _shown(mismatch)
        return "\n".join(
            [*lines, "record it anew with --harness-record rewrite if the request is meant so"]
        )


@contextmanager
def use_cassette(
    path: Path,
    *,
    name: str | None = None,
    mode: Mode = "none",
    allow_status: Collection[int] = (),
    allow_end: Collection[End] = (),
    options: Mapping[str, Any] | None = None,
    keys: Collection[str] = (),
    whole: bool = False,
    told: Mapping[str, str] | None = None,
) -> Iterator[Recording | Playback]:
    """A cassette for the time of the ``with`` block: a `Playback`, or a `Recording` that is saved
    at the end of the block.

    ``allow_status`` are statuses of errors that may be recorded, ``allow_end`` ends of answers that
    broke off (``cut``, ``reset``, ``aborted``); ``options`` are vcrpy's (``before_record_request``,
    ``ignore_hosts`` …), and ``before_record``, which sees whole exchanges (see `Redactor`);
    ``keys`` are secrets that neither the environment nor a request's headers tell; with ``whole``
    answers are read to their end, even if the client leaves; ``told`` is what of the `Origin` no
    request can tell, such as that of a program's output. An exception out of the block saves
    nothing: what had arrived stays in NAME.yaml.part, unless a secret was found in it. Raises
    `CassetteError` for a file that can't be read or written, `RecordingRefused` for a recording
    that is not kept.
    """
    name = _checked(path, name or str(path), mode)
    redactor, recorder = _recorder(path, mode, dict(options or {}))
    known = dict(told or {})
    tape: Recording | None = None
    keep_format(
        recorder,
        lambda: _guard(redactor, [take.request for take in tape.takes] if tape else (), keys),
    )
    try:
        with recorder.use_cassette(
            str(path), persister=_Anew if mode == "rewrite" else Persister
        ) as cassette:
            if cassette.rewound:
                yield Playback(name, cassette, redactor)
                return
            tape = _recording(path, cassette, partial(_begin, redactor, known, keys), whole=whole)
            with tape.unfinished:
                yield tape
                refuse_errors(tape.exchanges(), allow_status)
                refuse_broken(tape.kept(), allow_end)
                append(tape.exchanges(), cassette, known)
    except SecretFound:
        if tape:
            tape.unfinished.discard()
        raise
    if tape and tape.takes:
        tape.unfinished.discard()


def _checked(path: Path, name: str, mode: str) -> str:
    if mode not in MODES:
        raise ReplayError(f"unknown record mode {mode!r}; known are {', '.join(MODES)}")
    if mode == "none" and not path.exists():
        raise CassetteError(
            f"no cassette {name}: {path} does not exist; record it with --harness-record once"
        )
    if (
        mode != "rewrite"
        and path.is_file()
        and not is_cassette(data := path.read_bytes())
        and data.strip()
    ):
        raise CassetteError(
            f"{path}: this is no cassette of ours; `harness import {path} -o OTHER.yaml` makes one"
            " of somebody's recording"
        )
    return name


def _recorder(path: Path, mode: Mode, options: dict[str, Any]) -> tuple[Redactor, Any]:
    """The rules and the hook that hold for a file, and vcrpy, which patches nothing."""
    from vcr import VCR

    redactor = Redactor(secrets.read_rules(path.parent), options.pop("before_record", None))
    mode_of_vcrpy = "none" if mode == "none" else "once"
    return redactor, VCR(
        record_mode=mode_of_vcrpy,
        record_on_exception=False,
        skip_patchers=_all_patchers(),
        **options,
    )


def _recording(
    path: Path,
    cassette: Any,
    begin: Callable[[Request | None], tuple[Origin, Guard]],
    *,
    whole: bool,
) -> Recording:
    begin(None)  # who can't know what is secret asks for nothing
    return Recording(Unfinished(path, begin, partial(filtered, cassette)), whole=whole)


def _begin(
    redactor: Redactor, told: Mapping[str, Any], keys: Collection[str], request: Request | None
) -> tuple[Origin, Guard]:
    """What an unfinished recording is told at its first request."""
    return origin_of([request], told), _guard(redactor, [request], keys)


def filtered(cassette: Any, request: Request) -> Request | None:
    """What vcrpy's filters let stand of a request; None for one that they leave out."""
    kept = cassette.filter_request(vcr_request(request))
    if kept is None:
        return None
    headers = {
        name: value if isinstance(value, list) else [value] for name, value in kept.headers.items()
    }
    return Request(kept.method, kept.uri, headers, kept.body or b"")


def _guard(redactor: Redactor, requests: Iterable[Request | None], known: Collection[str]) -> Guard:
    """What is secret here: the machine's secrets, those that are ``known``, and the keys that the
    requests themselves carry.
    """
    headers = [item for request in requests if request for item in request.headers.items()]
    keys = {
        value.rpartition(" ")[2]
        for name, values in headers
        if name.lower() in SECRET_HEADERS
        for value in values
    }
    return Guard(redactor, Scanner(secrets.known_secrets(sorted({*keys, *known})), redactor))


def origin_of(requests: list[Request | None], told: Mapping[str, Any]) -> Origin:
    """Where a recording made today is from, as its requests tell, and what is ``told`` beside
    them.
    """
    asked = [request for request in requests if request is not None]
    hosts = {urlsplit(request.url).hostname for request in asked}
    models = [
        detect_provider(request.method, request.url, request.body, b"").model for request in asked
    ]
    origin = Origin(
        "loopback" if hosts and hosts <= LOOPBACK else "recorded",
        date=date.today().isoformat(),
        client=next(
            (
                value
                for request in asked
                for name, (value, *_) in request.headers.items()
                if name.lower() == "user-agent"
            ),
            None,
        ),
        model=", ".join(dict.fromkeys(filter(None, models))) or None,
    )
    return replace(origin, **told)


class _Anew(Persister):
    """Looks for no old file: what is recorded is all that the new one holds."""

    @staticmethod
    def load_cassette(cassette_path: str | Path, serializer: Any) -> Any:
        from vcr.persisters.filesystem import CassetteNotFoundError

        raise CassetteNotFoundError


def append(
    exchanges: tuple[Exchange, ...], cassette: Any, told: Mapping[str, Any] | None = None
) -> None:
    """Into vcrpy's cassette, through its filters; it saves them when its context ends."""
    from vcr.request import Request as VcrRequest

    if not exchanges:
        return
    data = to_vcr(
        Cassette(exchanges, origin_of([exchange.request for exchange in exchanges], told or {}))
    )
    for item in data["interactions"]:
        cassette.append(VcrRequest(**item["request"]), item["response"])
    cassette.get_metadata("harness", data["metadata"]["harness"])


def read_interactions(pairs: Iterable[tuple[Any, Any]]) -> tuple[Exchange, ...]:
    """vcrpy's requests and responses as exchanges."""
    interactions = [
        {
            "request": {
                "method": request.method,
                "uri": request.uri,
                "headers": dict(request.headers),
                "body": request.body,
            },
            "response": response,
        }
        for request, response in pairs
    ]
    return from_vcr({"interactions": interactions}).exchanges


def vcr_request(request: Request) -> Any:
    """A request as vcrpy has it."""
    from vcr.request import Request as VcrRequest

    return VcrRequest(request.method, request.url, request.body, request.headers)


def _all_patchers() -> tuple[str, ...]:
    from vcr.patch import PATCHER_NAMES

    return tuple(PATCHER_NAMES)


def _shown(mismatch: Mismatch) -> list[str]:
    recorded, asked = sides(mismatch)
    lines = [f"  {mismatch.path}: {mismatch.kind}"]
    if recorded is not None:
        lines.append(f"    recorded: {printable(recorded)}")
    if asked is not None:
        lines.append(f"    asked:    {printable(asked)}")
    return lines
