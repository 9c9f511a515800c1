"""Walks folders of recordings, each with a MANIFEST.jsonl: loads every file, replays every answer
of a model, and counts what is lost. Exchanges of wires that are not read are counted by name.

    python -m tests.corpus.walk DIR… [--jobs N] [--only PREFIX] [--wire NAME] [--laws] [--json OUT]

A file is red in these cases. It can't be loaded. The number of its calls differs from the manifest.
The server would refuse a request that the API answered. The replay of a call crashes, depends on how
the bytes are cut, breaks the legal order of events, or loses something that belongs in the next
request. Or the replay differs from one of two independent readers, `tests.readers` and
google-genai: it loses or invents something.

Each answer is replayed by all event models as an answer of its own provider. Its events are also
made with other cuts, and as an answer of each other provider whose answers have the same form; there
one event model replays it, another one for each exchange. Exit 0: all green; 1: something is red; 2:
no such folder or manifest.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from msgspec import to_builtins

import harness
import harness.dialects
from harness.adapters import RunOptions, Subject
from harness.cassettes.yaml import parse
from harness.facts import View
from harness.judging.laws import check
from harness.judging.laws.law import difference
from harness.judging.laws.loss import LOSS
from harness.judging.laws.order import ORDER
from harness.judging.laws.round_trip import ROUND_TRIP
from harness.judging.metamorphic.reads import seeded
from harness.pipeline.replay import choose_provider, frames_of
from harness.providers import PROVIDERS, detect_provider
from harness.providers.plain_events import gather_events
from harness.server.refusals import find_broken_rules, given_by
from tests.support.adapters import events_of, payloads_of

from .own_requests import accusations
from .second_opinion import SecondOpinion, unseen

DIALECTS = tuple(harness.dialects.DIALECTS)
WIRES = ("gemini-api", "vertex-ai", "code-assist")
"""Providers that can read each other's answers: each recording is read as an answer of each of
them, so the whole matrix is walked.
"""
MAX_EXCEPTIONS = 20
BYTEWISE = 16 * 1024
"""Bodies up to this size are also fed byte by byte; all bodies are fed whole and in seeded random
reads.
"""

UNREAD = re.compile(r"this looks like (.+), which is not supported yet")
COUNTED = {
    **{name: (name,) for name in ("interactions", "openai-compat", "anthropic")},
    "openai": ("openai-responses", "openai-chat"),
}
"""The providers whose exchanges the manifest may count by wire, and its names of their wires."""
OF_PLUGINS: Final = frozenset({"agy"})
"""The wires of the manifests that only a plugin reads; their files are not walked."""

Replay = Callable[..., list[dict[str, Any]]]


@dataclass
class FileResult:
    """The findings in one file; ``red`` contains sentences."""

    path: str
    format: str
    generate: int = 0
    streamed: int = 0
    replayed: int = 0
    red: list[str] = field(default_factory=list)
    losses: int = 0
    crashes: int = 0
    by_wire: Counter[str] = field(default_factory=Counter)
    not_replayed: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    second: Counter[str] = field(default_factory=Counter)
    frames: int = 0
    strict: int = 0
    requests: int = 0


@dataclass(frozen=True)
class Walk:
    """The settings for every file. ``replay`` is `harness.replay`, or a faulty one that the walk
    must find.
    """

    folder: Path
    replay: Replay = harness.replay
    laws: bool = False

    def file(self, row: dict[str, Any]) -> FileResult:
        """Load and check the file of one line of the manifest."""
        result = FileResult(row["path"], row["format"])
        try:
            with warnings.catch_warnings(action="ignore"):
                self._walk_file(row, result)
        except harness.CassetteError as error:
            if unread := UNREAD.search(str(error)):
                result.not_replayed[f"{unread[1]}: no reader"] += 1
            else:
                result.red.append(f"not loaded: {error}")
        except Exception:  # noqa: BLE001  # the walk looks for crashes of any part
            result.crashes += 1
            result.red.append("crash: " + " | ".join(traceback.format_exc().splitlines()[-3:]))
        return result

    def _walk_file(self, row: dict[str, Any], result: FileResult) -> None:
        cassette = harness.load(self.folder / row["path"])
        for number, exchange in enumerate(cassette.exchanges, 1):
            if not exchange.generates:
                result.not_replayed["does not generate"] += 1
                continue
            result.by_wire[exchange.provider or "unknown"] += 1
            if exchange.provider not in (*COUNTED, "gemini-cli"):
                result.generate += 1
                result.streamed += is_streamed(exchange)
            self._walk_exchange(exchange, number, result)
        streamed = "n_streamed" if "n_by_wire" not in row else "n_generate_streamed"
        wanted = [
            ("generate", result.generate, row["n_generate"]),
            ("streamed", result.streamed, row.get(streamed, 0)),
        ]
        for provider, names in COUNTED.items():
            counts = [row["n_by_wire"][name] for name in names if name in row.get("n_by_wire", {})]
            if counts:
                given = sum(count["exchanges"] for count in counts)
                wanted.append((provider, result.by_wire[provider], given))
        for name, there, count in wanted:
            if there != count:
                result.red.append(f"count: {there} {name} calls, the manifest says {count}")

    def _walk_exchange(self, exchange: harness.Exchange, number: int, result: FileResult) -> None:
        result.replayed += 1
        before = len(result.red)
        findings: list[str] = [*refused_though_answered(exchange), *_read_twice(exchange, result)]
        accused = accusations(exchange)
        result.requests += accused is not None
        findings += [f"asked for itself: {sentence}" for sentence in accused or ()]
        findings += self._read(exchange, DIALECTS)
        turn = DIALECTS[crc32(exchange.body) % len(DIALECTS)]
        findings += self._cut_anew(exchange, turn)
        for provider in WIRES if exchange.provider in WIRES else ():
            if provider != exchange.provider:
                findings += [
                    f"as {provider}: {finding}"
                    for finding in self._read(exchange, (turn,), provider)
                ]
        if self.laws:
            dialects = (payloads_of(self.replay, dialect) for dialect in DIALECTS)
            findings += check(exchange, events_of(self.replay), *dialects)
        result.red += [f"exchange {number}: {finding}" for finding in dict.fromkeys(findings)]
        events = self.replay(exchange, layer="events")
        result.unknown += Counter(event["where"] for event in events if event["kind"] == "unknown")
        if exchange.provider not in WIRES and exchange.provider is not None:
            result.second[f"not read: {PROVIDERS[exchange.provider].title}"] += 1
            result.losses += len(result.red) - before
            return
        opinion = second_opinion().read(exchange, is_streamed(exchange))
        if isinstance(opinion, str):
            result.second[opinion] += 1
        else:
            result.second["read"] += 1
            result.red += [
                f"exchange {number}: {finding}"
                for finding in unseen(opinion, View(gather_events(events)))
            ]
        result.losses += len(result.red) - before

    def _read(
        self, exchange: harness.Exchange, dialects: tuple[str, ...], provider: str | None = None
    ) -> list[str]:
        options = RunOptions(provider=provider)
        payloads = (payloads_of(self.replay, dialect) for dialect in dialects)
        adapters = (events_of(self.replay), *payloads)
        return [
            f"{subject.adapter.name}: {breach.sentence}"
            for subject in (Subject(adapter, options) for adapter in adapters)
            for law in (ORDER, LOSS, ROUND_TRIP)
            if subject.adapter.layer in law.layers and not law.not_run(exchange, subject)
            for breach in law.findings(exchange, subject)
        ]

    def _cut_anew(self, recorded: harness.Exchange, dialect: str) -> Iterator[str]:
        exchange = without_times(recorded)
        chance, size = seeded(exchange.body), len(exchange.body)
        cuts: dict[str, Any] = {"whole": "whole"}
        if size > 1:
            cuts["random"] = sorted(chance.sample(range(1, size), min(size - 1, 30)))
        if size <= BYTEWISE:
            cuts["bytes"] = "bytes"
        for layer, made in (
            ("events", partial(self.replay, exchange, layer="events")),
            (dialect, partial(self.replay, exchange, dialect=dialect)),
        ):
            expected = made()
            for name, places in cuts.items():
                if first := difference(expected, made(cuts=places), "item", "as recorded"):
                    yield f"{layer}, read {name}: {first}"


def _read_twice(exchange: harness.Exchange, result: FileResult) -> Iterator[str]:
    """Count the frames that a strict decoder accepts, and compare its events with those of the
    plain reader, which reads every frame whose JSON is already decoded.
    """
    provider = PROVIDERS[choose_provider(exchange, None)]
    frames, answer = frames_of(exchange), provider.answer(exchange, exchange.model, None)
    usual, plain = provider.normalizer(answer), provider.normalizer(answer)
    result.frames += len(frames)
    for number, frame in enumerate(frames, 1):
        events = usual.feed(frame)
        result.strict += type(frame.message) is bytes
        assert frame.json == frame.message  # decoded, so that the plain reader reads it
        if to_builtins(events) != to_builtins(plain.feed(frame)):
            yield f"frame {number}: the strict decoder and the plain reader differ"


def refused_though_answered(exchange: harness.Exchange) -> Iterator[str]:
    """A sentence for each rule of the API that a request breaks, though the API answered it."""
    request = exchange.request
    if request is None or exchange.status != 200:
        return
    identity = detect_provider(request.method, request.url, request.body, b"")
    for broken in find_broken_rules(request.body, identity, lambda: given_by([exchange])):
        if broken.rule.level == "api":
            yield f"the server would refuse what was answered: {broken}"


def without_times(exchange: harness.Exchange) -> harness.Exchange:
    """The exchange without the times of its reads, since other cuts have no times."""
    return replace(exchange, reads=tuple((None, data) for _, data in exchange.reads))


_second: list[SecondOpinion] = []


def second_opinion() -> SecondOpinion:
    """The SDK client of this process, made at the first call."""
    if not _second:
        _second.append(SecondOpinion())
    return _second[0]


def is_streamed(exchange: harness.Exchange) -> bool:
    """Decided by the URL; without one, by the body: only a stream is SSE or an array."""
    if exchange.request is not None:
        return "streamGenerateContent" in exchange.request.url
    return exchange.body.lstrip()[:1] not in (b"{", b"") and not exchange.body.lstrip().startswith(
        b'[{"error"'
    )


def walk_all(
    walk: Walk,
    rows: list[dict[str, Any]],
    jobs: int,
    progress: Callable[[int], None] = lambda done: None,
) -> list[FileResult]:
    """Walk every file of the manifest, in order. ``progress`` is called with the number of
    finished files.
    """
    results = []
    if jobs <= 1:
        for row in rows:
            results.append(walk.file(row))
            progress(len(results))
        return results
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for result in pool.imap(partial(Walk.file, walk), rows, 4):
            results.append(result)
            progress(len(results))
    return results


def read_manifest(folder: Path) -> list[dict[str, Any]]:
    """The lines of MANIFEST.jsonl, without those of the wires of plugins."""
    rows = [
        json.loads(line)
        for line in (folder / "MANIFEST.jsonl").read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    return [row for row in rows if row.get("wire") not in OF_PLUGINS]


def excuse(results: list[FileResult], exceptions: dict[str, str]) -> tuple[list[str], list[str]]:
    """The findings that stay red, and those that an exception excuses. An exception can excuse only
    faults of loading and counting. An exception that excuses nothing is red itself.
    """
    red, excused = [], []
    for result in results:
        reason = exceptions.get(result.path)
        for finding in result.red:
            if reason is not None and finding.startswith(("not loaded: ", "count: ")):
                excused.append(f"{result.path}: {reason}")
            else:
                red.append(f"{result.path}: {finding}")
    excused = list(dict.fromkeys(excused))
    red += [
        f"{r.path}: green, take it off the list of exceptions"
        for r in results
        if r.path in exceptions and not r.red
    ]
    if len(exceptions) > MAX_EXCEPTIONS:
        red.append(f"{len(exceptions)} exceptions; at most {MAX_EXCEPTIONS} are allowed")
    return red, excused


def summary(results: list[FileResult], red: list[str], excused: list[str]) -> str:
    """The summary of the walk as text, with the failures last."""
    lines = [
        f"files {len(results)}, generate calls {sum(r.generate for r in results)}, streamed {sum(r.streamed for r in results)}"
    ]
    frames, strict = sum(r.frames for r in results), sum(r.strict for r in results)
    lines += [
        f"frames {frames}, of which strict decoders took {strict} ({strict / max(frames, 1):.0%})"
    ]
    lines += [f"requests judged as if asked for themselves {sum(r.requests for r in results)}"]
    by_format: dict[str, list[FileResult]] = {}
    for result in results:
        by_format.setdefault(result.format, []).append(result)
    for name, group in sorted(by_format.items()):
        red_files = sum(bool(result.red) for result in group)
        lines.append(
            f"  {name}: {len(group)} files, {sum(r.replayed for r in group)} replayed, {red_files} red or excepted"
        )
    for title, attribute in (
        ("replayed", "by_wire"),
        ("not replayed", "not_replayed"),
        ("unknown kinds", "unknown"),
        ("google-genai", "second"),
    ):
        counts: Counter[str] = sum((getattr(result, attribute) for result in results), Counter())
        lines.append(f"{title}: {'none' if not counts else ''}".rstrip())
        lines += [f"  {count} × {name}" for name, count in counts.most_common()]
    lines += [f"exceptions: {len(excused)}", *(f"  {line}" for line in excused)]
    lines += [
        f"losses {sum(r.losses for r in results)}, crashes {sum(r.crashes for r in results)}, red {len(red)}"
    ]
    return "\n".join([*lines, *(f"  {line}" for line in red)])


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.corpus.walk", description=__doc__.splitlines()[0]
    )
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", metavar="PREFIX")
    parser.add_argument(
        "--wire", action="append", metavar="NAME", help="only files with exchanges of this wire"
    )
    parser.add_argument(
        "--laws", action="store_true", help="also hold every exchange against every law (slow)"
    )
    parser.add_argument("--json", type=Path, metavar="OUT")
    options = parser.parse_args(arguments)
    results: list[FileResult] = []
    for folder in options.folders:
        try:
            rows = [
                row
                for row in read_manifest(folder)
                if row["path"].startswith(options.only)
                and (not options.wire or row.get("n_by_wire", {}).keys() & {*options.wire})
            ]
        except OSError as error:
            print(f"{folder}: no MANIFEST.jsonl to read ({error.strerror})", file=sys.stderr)
            return 2
        walk, progress = Walk(folder, laws=options.laws), partial(_show_progress, len(rows))
        results += walk_all(walk, rows, options.jobs, progress)
    walked = {result.path for result in results}
    exceptions = {path: why for path, why in read_exceptions().items() if path in walked}
    red, excused = excuse(results, exceptions)
    print(summary(results, red, excused))
    if options.json:
        options.json.write_text(
            json.dumps([vars(result) for result in results], indent=1), encoding="utf-8"
        )
    return 1 if red else 0


def read_exceptions() -> dict[str, str]:
    """Path → reason, for the files that may be red."""
    data = parse((Path(__file__).parent / "exceptions.yaml").read_text(encoding="utf-8"))
    return dict(data or {})


def _show_progress(total: int, done: int) -> None:
    if sys.stderr.isatty():
        print(
            f"\r{done}/{total} files",
            end="\n" if done == total else "",
            file=sys.stderr,
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
