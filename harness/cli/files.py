"""The commands that read one file and print or convert it: ``replay``, ``request``, ``show`` and
``import``.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from harness.cassettes import Cassette, CassetteError, Exchange, Origin
from harness.cassettes.importers import FORMATS
from harness.cassettes.redaction.secrets import guard
from harness.dialects import DEFAULT_DIALECT, DIALECTS
from harness.pipeline.replay import ReplayError, is_answer, replay_parts
from harness.pipeline.request import DEFAULT_PROVIDER, request
from harness.pipeline.show import list_exchanges, show_frames
from harness.project.recordings import STDIN, load_recording, number_in, read_stdin
from harness.providers import PROVIDERS, STATED
from harness.specs.models import LAYERS
from harness.stream.generation import TranslationError
from harness.stream.json_codec import decode_json
from harness.stream.printable import plural, printable, printable_lines

from .output import note

NOTHING: Final = 1
"""The exit status if a recording has no exchange to print, or shows another provider."""

REGISTER_PAGE: Final = "docs/from-pytest-recording.md"

_ENCODER: Final = msgspec.json.Encoder()
_ANY_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
"""Also writes half surrogates and integers of more than 64 bits, but takes six times as long."""
_RECORDING: Final = "a recording in any known format, the name of a cassette, or - for stdin"


def add_replay(parser: argparse.ArgumentParser) -> None:
    _add_recording(parser)
    parser.add_argument(
        "--dialect",
        choices=DIALECTS,
        default=DEFAULT_DIALECT,
        help="the event model of the payloads (default: %(default)s)",
    )
    parser.add_argument(
        "--layer",
        choices=("payloads", *LAYERS),
        default="payloads",
        help="the layer to print (default: payloads)",
    )
    parser.add_argument(
        "--cuts",
        choices=("recorded", "whole", "bytes"),
        default="recorded",
        help="how to cut the body into reads: as recorded, one read, or one read per byte"
        " (default: recorded)",
    )
    _add_adapter(parser, "print the events of this adapter, with the facts that it states")
    parser.set_defaults(run=_replay)


def add_request(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, help="the prompt in the event model, as JSON; - for stdin"
    )
    parser.add_argument(
        "--dialect",
        choices=DIALECTS,
        required=True,
        help="the event model of the prompt (required)",
    )
    parser.add_argument(
        "--provider",
        choices=PROVIDERS,
        default=DEFAULT_PROVIDER,
        help=f"the provider that the request is for (default: {DEFAULT_PROVIDER})",
    )
    parser.add_argument(
        "--options",
        type=Path,
        metavar="FILE",
        help="only for art: a file with the options of the prompt, as JSON (default: none)",
    )
    parser.set_defaults(run=_request)


def add_show(parser: argparse.ArgumentParser) -> None:
    _add_recording(parser)
    parser.add_argument("--list", action="store_true", help="list the exchanges instead")
    _add_adapter(parser, "also show the verdict of each aspect for this adapter")
    parser.set_defaults(run=_show)


def add_import(parser: argparse.ArgumentParser) -> None:
    formats = ", ".join(known.title for known in FORMATS)
    parser.add_argument("files", nargs="+", metavar="FILE", help=f"{_RECORDING}: {formats}")
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        "-o", "--output", type=Path, metavar="CASSETTE", help="the file to write (default: stdout)"
    )
    target.add_argument(
        "--in-place",
        action="store_true",
        help=(
            "replace each FILE, and each cassette of vcrpy in a folder, by a cassette; change no"
            " file if one can't be converted (default: no)"
        ),
    )
    parser.add_argument(
        "--to",
        choices=("cassette", "vcrpy"),
        default="cassette",
        help="the format to write; vcrpy: plain YAML for stock vcrpy, without reads and origin"
        " (default: %(default)s)",
    )
    parser.add_argument(
        "--provider",
        choices=PROVIDERS,
        help="the provider of the answers (default: the detected one); the cassette keeps it",
    )
    for name, meaning in (
        ("source", "the place that the recording is from"),
        ("commit", "the commit that the recording is from"),
        ("licence", "the licence of the recording"),
    ):
        parser.add_argument(
            f"--{name}", metavar="TEXT", help=f"{meaning} (default: the value in the recording)"
        )
    parser.set_defaults(run=_import)


def _add_adapter(parser: argparse.ArgumentParser, meaning: str) -> None:
    parser.add_argument(
        "--adapter",
        metavar="TARGET",
        help=f"{meaning}: a configured name, a dialect, or a target (default: none)",
    )


def _add_recording(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", help=f"{_RECORDING}; FILE:N is exchange N, or row N of an input of harness sweep"
    )
    parser.add_argument(
        "--provider",
        choices=PROVIDERS,
        help="the provider of the recording (default: detected from URL or body)",
    )
    parser.add_argument(
        "--exchange",
        type=int,
        metavar="N",
        help="only exchange N, counted from 1 (default: all exchanges that generate)",
    )


def _replay(parsed: argparse.Namespace) -> int:
    replayed = is_foreign = False
    cassette = _recording(parsed.file, parsed.provider)
    for number, exchange in _numbered(cassette, parsed):
        is_foreign = is_foreign or _is_foreign(number, exchange, parsed.provider)
        if parsed.exchange is None and not is_answer(exchange, parsed.provider):
            continue
        if parsed.adapter:
            from .named_adapter import output_items, subject_named  # start-up time

            items = list(output_items(subject_named(parsed.adapter, parsed), exchange))
            _print_json(*items)
            if not items:
                note(f"exchange {number}: the adapter gave no event")
            replayed = True
            continue
        for payloads in replay_parts(
            exchange, parsed.provider, parsed.dialect, parsed.layer, parsed.cuts
        ):
            _print_json(*payloads)
        replayed = True
    if not replayed:
        note(f"{parsed.file}: nothing to replay: {_why_nothing(cassette)}")
    return 0 if replayed and not is_foreign else NOTHING


def _is_foreign(number: int, exchange: Exchange, provider: str | None) -> bool:
    """Return whether an exchange shows another wire than that of ``--provider``; says so."""
    if provider is None or exchange.provider is None or not exchange.generates:
        return False
    shown, given = PROVIDERS[exchange.provider], PROVIDERS[provider]
    if shown.wire == given.wire:
        return False
    note(
        f"exchange {number}: URL or body shows {shown.name}, but --provider is {given.name}; omit"
        " --provider to read it as detected"
    )
    return True


def _request(parsed: argparse.Namespace) -> int:
    options = _read_json(parsed.options) if parsed.options else None
    if options is not None and type(options) is not dict:
        raise TranslationError(str(parsed.options), "the options are not a JSON object")
    prompt = _read_json(parsed.file)
    with warnings.catch_warnings(record=True, action="always") as caught:
        body = request(prompt, dialect=parsed.dialect, provider=parsed.provider, options=options)
    for warning in caught:
        note(str(warning.message))
    _print_json(body)
    return 0


def _read_json(path: Path) -> Any:
    try:
        return decode_json(read_stdin() if str(path) == STDIN else path.read_bytes())
    except ValueError as error:
        raise TranslationError(
            str(path), f"not JSON: {error}; a prompt is a JSON document"
        ) from None


def _show(parsed: argparse.Namespace) -> int:
    cassette = _recording(parsed.file, parsed.provider)
    if parsed.list:
        for line in list_exchanges(cassette, number_in(parsed.file) or 1):
            print(printable(line))
        return 0
    generating = [
        (number, exchange)
        for number, exchange in _numbered(cassette, parsed)
        if is_answer(exchange, parsed.provider)
    ]
    is_foreign = False
    for number, exchange in generating:
        is_foreign = is_foreign or _is_foreign(number, exchange, parsed.provider)
        provider = parsed.provider or exchange.provider or "unknown provider"
        print(f"exchange {number}: {provider}, status {exchange.status}, end {exchange.end}")
        for line in show_frames(exchange, parsed.provider):
            print(printable(line))
        if parsed.adapter:
            from .named_adapter import aspect_lines, subject_named  # start-up time

            for line in aspect_lines(subject_named(parsed.adapter, parsed), exchange):
                print(printable(line))
    if not generating:
        note(f"{parsed.file}: {_why_nothing(cassette)}")
    return 0 if generating and not is_foreign else NOTHING


def _why_nothing(cassette: Cassette) -> str:
    """Return the reason why no exchange is shown, and the way out."""
    if any(exchange.request is None for exchange in cassette.exchanges):
        return "its body shows no known wire; name the provider with --provider"
    return "no exchange has an answer of a model; `harness show --list` lists the exchanges"


def _recording(place: str, provider: str | None) -> Cassette:
    """Return the recording that an argument names, or the exchange at a place that `harness sweep`
    prints. Raises `CassetteError`, `SweepError` or `OSError`.
    """
    if not Path(place).exists():
        from harness.sweep.parts import stream_at  # start-up time

        if stream := stream_at(place):
            if stream.exchange is None:
                raise CassetteError(f"{place}: {stream.fault}")
            return Cassette((stream.exchange,), Origin("imported"))
    return load_recording(place, provider=provider)


def _import(parsed: argparse.Namespace) -> int:
    given = {
        name: getattr(parsed, name)
        for name in ("source", "commit", "licence")
        if getattr(parsed, name)
    }

    def complete(cassette: Cassette) -> Cassette:
        exchanges = cassette.exchanges
        if parsed.provider:
            stated = {STATED: [parsed.provider]}
            exchanges = tuple(
                replace(item, headers={**item.headers, **stated}) if item.generates else item
                for item in exchanges
            )
        origin = msgspec.structs.replace(cassette.origin, **given)
        return replace(cassette, exchanges=exchanges, origin=origin)

    options = ["provider"] * bool(parsed.provider) + ["in-place"] * parsed.in_place
    if parsed.to == "vcrpy" and (unfit := [*given, *options]):
        raise CassetteError(f"--{unfit[0]} is only for cassettes; omit it with --to vcrpy")
    if parsed.in_place:
        from .in_place import convert  # start-up time

        converted = convert([Path(file) for file in parsed.files], complete)
        for path, headers in converted.items():
            note(f"converted {path}{_headers_left_out(headers)}")
        if converted:
            note(f"vcrpy reads these only with register(vcr): {REGISTER_PAGE}")
        else:
            note("nothing to convert: there is no recording of another format")
        return 0 if converted else NOTHING
    if len(parsed.files) > 1:
        raise CassetteError(
            f"{len(parsed.files)} files are named; import one with -o, or all of them with"
            " --in-place"
        )
    (file,) = parsed.files
    _refuse_existing(parsed.output)
    redaction, recording = guard(), load_recording(file, provider=parsed.provider)
    if parsed.to == "vcrpy":
        _write([redaction.export(recording, file).encode()], parsed.output)
        return 0
    left_out = _headers_left_out(redaction.redactor.left_out(recording))
    _write(redaction.pieces(complete(recording), file), parsed.output, left_out)
    if sentence := recording.empty_answers:
        note(f"{file}: {sentence}")
    return 0


def _headers_left_out(names: Sequence[str]) -> str:
    return f"; {plural(len(names), 'header')} left out: {', '.join(names)}" if names else ""


def _refuse_existing(target: Path | None) -> None:
    """Raise `CassetteError` if the file exists, or if one of its folders is a file. This is checked
    first, because reading a recording may take a long time.
    """
    if target is None:
        return
    if target.exists() or target.is_symlink():
        raise CassetteError(f"{target} already exists; name another file, or delete it first")
    above = next((place for place in target.parents if place.exists()), None)
    if above is not None and not above.is_dir():
        raise CassetteError(f"{above} is a file, so {target} can't be written; name another file")


def _write(pieces: Iterable[bytes], target: Path | None, remark: str = "") -> None:
    if target is None:
        # A file gets the exact text. A terminal must not get control characters.
        for text in map(bytes.decode, pieces):
            sys.stdout.write(printable_lines(text) if sys.stdout.isatty() else text)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as file:
        file.writelines(pieces)
    note(f"wrote {target}{remark}")


def _numbered(cassette: Cassette, parsed: argparse.Namespace) -> list[tuple[int, Exchange]]:
    """Return the exchanges to print, each with its number from 1."""
    first = number_in(parsed.file) or 1
    numbered, wanted = list(enumerate(cassette.exchanges, first)), parsed.exchange
    chosen = [pair for pair in numbered if wanted in (None, pair[0])]
    if wanted is not None and not chosen:
        raise ReplayError(
            f"{parsed.file}: there is no exchange {wanted}; it has {len(numbered)}; `harness show"
            " --list` lists them"
        )
    return chosen


def _print_json(*values: Any) -> None:
    """Print each value on one line, with a single write."""
    try:
        text = _ENCODER.encode_lines(values).decode()
    except (UnicodeEncodeError, OverflowError):
        text = "".join(f"{_ANY_ENCODER.encode(value)}\n" for value in values)
    sys.stdout.write(printable_lines(text))
