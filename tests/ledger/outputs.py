"""The outputs of public adapters on the shipped answers, as they were recorded once.

`make ledger-outputs` records them: it installs the adapters of examples/adapters, each in its own
environment, and runs this module there. `make ledger` judges the stored outputs, so it needs no
adapter. An output belongs to the content of its exchange: if that changes, the output is stale.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from harness.adapters import Adapter, AdapterError, Output, RunOptions, user_adapter
from harness.adapters.adapter import FACTS
from harness.cli.judge import read_items
from harness.cli.named_adapter import open_adapter
from harness.facts import Entry, Raised, Transcript, fact_of_json, json_of_fact
from harness.judging.aspect_run import JudgedExchange, items_with_second_turn
from harness.stream.exchange import Exchange

ROOT = Path(__file__).parents[2]
OUTPUTS = Path(__file__).with_name("outputs.jsonl.xz")
RECORDED = ROOT / "build" / "ledger"
PUBLIC = (
    *("google-genai", "langchain-google-genai", "litellm", "pydantic-ai"),
    *("ai-sdk", "openai", "openai-agents", "litellm-anthropic"),
)
TIMEOUT_S = 120.0
PLAIN = ("skipped", "asked_again", "attempts", "entries_of_first_request", "path")
LANGUAGE = ("doubles", "asks_thoughts")
"""The fields of a transcript that are JSON; those of the language or the adapter."""

Lines = dict[str, dict[str, Any]]
"""The key of an exchange → the outputs of both turns."""


def key_of(exchange: Exchange, options: RunOptions) -> str:
    """A digest of all that an adapter gets of an exchange, with the number of answers for an
    adapter that asks again.
    """
    sent = exchange.request
    request = [sent.method, sent.url, sent.body.hex()] if sent else None
    reads = [data.hex() for _, data in exchange.reads]
    parts = [request, exchange.status, exchange.headers, reads, exchange.end, exchange.provider]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
    return f"{digest}+{attempts}" if (attempts := len(options.attempts())) else digest


def json_of(transcript: Transcript) -> dict[str, Any]:
    """A transcript as JSON, without its defaults and without what only a reader needs."""
    blank = Transcript()
    entries = [
        [entry.native, [json_of_fact(fact) for fact in entry.facts]] for entry in transcript.entries
    ]
    plain = {name: getattr(transcript, name) for name in (*PLAIN, *LANGUAGE)}
    return {
        "entries": entries,
        **{name: value for name, value in plain.items() if value != getattr(blank, name)},
        **({"notes": transcript.notes} if transcript.notes else {}),
        **(
            {"raised": asdict(replace(transcript.raised, traceback=""))}
            if transcript.raised
            else {}
        ),
    }


def transcript_of_json(stored: dict[str, Any]) -> Transcript:
    """The transcript that `json_of` wrote."""
    raised = stored.get("raised")
    return Transcript(
        tuple(
            Entry(native, tuple(fact_of_json(fact) for fact in facts))
            for native, facts in stored["entries"]
        ),
        Raised(**raised) if raised else None,
        notes=tuple(stored.get("notes", ())),
        **{name: stored[name] for name in (*PLAIN, *LANGUAGE) if name in stored},
    )


def attempted(call: Callable[[], Any]) -> Any:
    """The result of a call, or its error as JSON."""
    try:
        return call()
    except AdapterError as error:
        return {"error": str(error), "group": error.group}


def record(adapter: Adapter, items: Sequence[JudgedExchange]) -> Lines:
    """Run an adapter on all exchanges, in both turns."""

    def first(item: JudgedExchange) -> dict[str, Any]:
        output = adapter.output(item.exchange, item.reading.options)
        assert output.transcript is not None
        return json_of(output.transcript)

    def second(item: JudgedExchange) -> Any:
        assert adapter.second_request is not None
        body = adapter.second_request(item.exchange, item.reading.options)
        return {"reason": body} if isinstance(body, str) else {"body": body.decode()}

    lines: Lines = {}
    for item in items:
        key = key_of(item.exchange, item.reading.options)
        lines[key] = {"first": attempted(partial(first, item))}
    for item in items_with_second_turn(items, adapter):
        key = key_of(item.exchange, item.reading.options)
        lines[key]["second"] = attempted(partial(second, item))
    return lines


def read_outputs(path: Path = OUTPUTS) -> dict[str, Lines]:
    """The outputs of all adapters by their names."""
    outputs: dict[str, Lines] = {}
    for line in lzma.decompress(path.read_bytes()).splitlines():
        name, key, value = json.loads(line)
        outputs.setdefault(name, {})[key] = value
    return outputs


def write_outputs(outputs: dict[str, Lines], path: Path = OUTPUTS) -> None:
    """Write the outputs of all adapters, packed together, because they have the same signatures."""
    rows = [
        json.dumps([name, key, value]) + "\n"
        for name, lines in sorted(outputs.items())
        for key, value in sorted(lines.items())
    ]
    path.write_bytes(lzma.compress("".join(rows).encode(), preset=9 | lzma.PRESET_EXTREME))


@dataclass(frozen=True, slots=True)
class Stored:
    """An adapter whose outputs are stored. It has a second turn if one is stored."""

    name: str
    lines: Lines = field(repr=False)

    @property
    def adapter(self) -> Adapter:
        """The adapter that gives the stored outputs."""
        adapter = user_adapter(self.name, FACTS, self._run)
        converses = any("second" in line for line in self.lines.values())
        return replace(adapter, second_request=self._second) if converses else adapter

    def knows(self, item: JudgedExchange, turn: str = "first") -> bool:
        """Whether an output of the exchange is stored."""
        return turn in self.lines.get(key_of(item.exchange, item.reading.options), {})

    def _run(self, exchange: Exchange, options: RunOptions) -> Output:
        return Output.of_transcript(transcript_of_json(self._line(exchange, options, "first")))

    def _second(self, exchange: Exchange, options: RunOptions) -> bytes | str:
        line = self._line(exchange, options, "second")
        reason: str | None = line.get("reason")
        return line["body"].encode() if reason is None else reason

    def _line(self, exchange: Exchange, options: RunOptions, turn: str) -> dict[str, Any]:
        line: dict[str, Any] = self.lines[key_of(exchange, options)][turn]
        if "error" in line:
            raise AdapterError(line["error"], line["group"])
        return line


def main(names: Sequence[str]) -> int:
    """Record the outputs of the named adapters, or of all of them, in their environments."""
    sys.path.insert(0, str(ROOT / "examples" / "adapters"))
    peers = import_module("peers")  # the folder of the examples is no package
    run = import_module("run")
    names = names or PUBLIC
    chosen = {name: peers.PEERS[name] for name in names}
    run.install({peer.lock for peer in chosen.values()})
    for name, peer in chosen.items():
        if peer.lock.endswith(".json"):
            run.use_node_modules(peers.HERE / peer.lock)
        python = run.environment(peer.lock) / "bin" / "python"
        own = {"PYTHONPATH": str(ROOT), **run.TRUSTED, **run.OFFLINE}
        subprocess.run(
            [str(python), "-m", "tests.ledger.outputs", "--here", f"{name} = {peer.target}"],
            cwd=peers.HERE / peer.folder,
            env={**os.environ, **own},
            check=True,
        )
    outputs = read_outputs() if OUTPUTS.exists() else {}
    recorded = {name: json.loads((RECORDED / f"{name}.json").read_bytes()) for name in names}
    write_outputs({**outputs, **recorded})
    print(f"{OUTPUTS.name}: {OUTPUTS.stat().st_size:,} bytes")
    return 0


def record_here(argument: str) -> int:
    """Record the outputs of one adapter in this environment. ``argument``: as in harness judge."""
    adapter = open_adapter(argument, {}, timeout=TIMEOUT_S)
    items, _ = read_items(None)
    try:
        lines = record(adapter, items)
    finally:
        adapter.close()
    RECORDED.mkdir(parents=True, exist_ok=True)
    text = json.dumps(lines).replace(f"{ROOT}/", "")  # messages have stack frames of this machine
    (RECORDED / f"{adapter.name}.json").write_text(text, encoding="utf-8")
    print(f"{adapter.name}: {len(lines):,} exchanges", flush=True)
    return 0


if __name__ == "__main__":
    here = sys.argv[1:2] == ["--here"]
    sys.exit(record_here(sys.argv[2]) if here else main(sys.argv[1:]))
