"""A recording that is interrupted: cut at every byte by the provider, killed at any moment, or on a
full disk.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from harness import load
from harness.adapters import ADAPTERS
from harness.cassettes import Cassette, Exchange, Origin, dumps
from harness.facts import View
from harness.judging.aspects import facts_of
from harness.judging.judge import NormalizedOnce
from harness.recording.relay import relay
from harness.recording.tape import Tape
from tests.recording.clients import EVENTS, PATH, part_of, wait_for
from tests.recording.test_parallel_journals import RECORDS as RECORDS_ONCE
from tests.security.hostile_answers import block, sends
from tests.security.test_hostile_providers import PATIENCE_S, through
from tests.security.test_hostile_providers import block as ask
from tests.support.raw_server import HEAD, raw_server, streaming

pytestmark = pytest.mark.slow

KILLS = 30
TEXTS = [f"{number}: Grüße, 世界, \\ud83d\\ude00 " for number in range(3)]
PARTS = [
    '{"text": "Let me see.", "thought": true}',
    *(f'{{"text": "{text}"}}' for text in TEXTS),
    '{"text": "Done.", "thoughtSignature": "c2lnbmF0dXJl"}',
]
MESSAGES = [
    *(f'{{"candidates": [{{"content": {{"parts": [{part}]}}}}]}}' for part in PARTS),
    '{"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3}}',
]
STREAM = [f"data: {message}\r\n\r\n".encode() for message in MESSAGES]
WIRE = HEAD + b"".join(map(block, STREAM)) + b"0\r\n\r\n"


def facts_by_adapter(exchange: Exchange) -> dict[str, View]:
    exchange, normalize = replace(exchange, provider="gemini-api"), NormalizedOnce()
    facts = {
        name: facts_of(adapter, adapter.output(exchange, normalize=normalize))
        for name, adapter in ADAPTERS.items()
    }
    return {name: account for name, account in facts.items() if isinstance(account, View)}


@pytest.mark.parametrize("path", ["direct", "relay"])
def test_a_cut_at_any_byte_gives_the_beginning_and_no_good_end(path: str) -> None:
    body, whole = b"".join(STREAM), Tape()
    with raw_server(sends(WIRE)) as upstream:
        assert through(path, ask, whole, upstream).error is None
    expected = facts_by_adapter(*whole.exchanges())
    assert [facts.ended_well for facts in expected.values()] == [True] * len(ADAPTERS)
    tape, recorded = Tape(), set()
    with ExitStack() as stack:
        cut_short = (sends(WIRE[:size]) for size in range(len(WIRE)))
        url = upstream = stack.enter_context(raw_server(*cut_short))
        if path == "relay":
            url = stack.enter_context(relay(tape, upstream))
        for size in range(len(WIRE)):
            assert ask(url, None if path == "relay" else tape, PATIENCE_S).error
            asked = tape.in_flight.pop()
            assert (asked.status is None) == (size < len(HEAD))
            if asked.status is None:
                continue
            exchange = asked.exchange()
            assert (exchange.end, body.startswith(exchange.body)) == ("cut", True)
            if exchange.body in recorded:
                continue
            recorded.add(exchange.body)
            for name, facts in facts_by_adapter(exchange).items():
                assert not facts.ended_well, (size, name)
                assert expected[name].text.startswith(facts.text), (size, name)
                assert expected[name].thoughts.startswith(facts.thoughts), (size, name)
    assert len(recorded) == len(body) + 1


RECORDS = """
import os, sys
from pathlib import Path
import httpx2
from harness.recording.cassette import use_cassette
from harness.recording.transport import transports

def record(url, path):
    with use_cassette(Path(path), mode="rewrite") as tape:
        with httpx2.Client(transport=transports("httpx2").sync(tape)) as http:
            with http.stream("POST", url, json={}) as response:
                for number, data in enumerate(response.iter_raw(), 1):
                    print(number, flush=True)
        print("all", flush=True)

print(flush=True)
for line in sys.stdin:
    process = os.fork()
    if not process:
        record(*line.split())
        os._exit(0)
    print(process, flush=True)
    os.waitpid(process, 0)
    print("gone", flush=True)
"""
"""Records in a new process for each line of its input, and prints the progress of the recording."""


def test_a_killed_recording_leaves_the_old_or_the_new_cassette(
    tmp_path: Path,
) -> None:
    """Killed thirty times: between reads, and while the cassette is written."""
    command, pipe = [sys.executable, "-c", RECORDS], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stdout.readline() == "\n"
        for moment in range(KILLS):
            path = tmp_path / f"{moment}.yaml"
            path.write_text(old := dumps(Cassette((), Origin("written"))), encoding="utf-8")
            came = min(moment + 1, len(EVENTS))
            gate = threading.Semaphore(came - 1)
            with raw_server(streaming(*EVENTS, gate=gate)) as url:
                program.stdin.write(f"{url}{PATH} {path}\n")
                program.stdin.flush()
                recording = int(program.stdout.readline())
                assert "gone\n" not in iter(program.stdout.readline, f"{came}\n")
                wait_for(b"t%d" % (came - 1), path)
                if moment >= len(EVENTS):
                    gate.release()
                    assert program.stdout.readline() == "all\n"
                threading.Event().wait(max(0, moment - len(EVENTS)) / 1000)
                with suppress(ProcessLookupError):  # the recording has already ended
                    os.kill(recording, signal.SIGKILL)
                assert "gone\n" in iter(program.stdout.readline, "")
                gate.release(9)
            if path.read_text(encoding="utf-8") != old:
                assert load(path).exchanges[0].body == b"".join(EVENTS)
                continue
            (exchange,) = load(part_of(path)).exchanges
            assert [data for _, data in exchange.reads] == EVENTS[:came]
            assert exchange.end == "cut" or moment >= len(EVENTS)
        program.stdin.close()


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
sys.dont_write_bytecode = True  # it would be cut as well
"""


@pytest.mark.parametrize("old", ["version: 1\n", ""], ids=["an old file", "no file"])
def test_a_full_disk_keeps_what_was_written(old: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    if old:
        path.write_text(old, encoding="utf-8")
    limited = RECORDS_ONCE.replace("import sys\n", FULL, 1)
    many = [b'data: {"n": %d}\r\n\r\n' % number for number in range(500)]
    with raw_server(streaming(*many)) as url:
        finished = subprocess.run(
            [sys.executable, "-c", limited, url + PATH, str(path)],
            input="\n",
            capture_output=True,
            text=True,
            check=False,
        )
    assert finished.stdout.endswith("all\n"), "the client got the whole answer"
    assert finished.returncode == 1
    assert f"{path}: can't be written: File too large" in finished.stderr
    assert ("the old file is unchanged" in finished.stderr) == bool(old)
    assert f"the reads so far are kept in {part_of(path)}" in finished.stderr
    assert not old or path.read_text(encoding="utf-8") == old
    assert part_of(path).stat().st_size <= 4096
    (exchange,) = load(part_of(path)).exchanges
    assert len(exchange.reads) > 20
    assert [data for _, data in exchange.reads] == many[: len(exchange.reads)]
    assert {file.name for file in tmp_path.glob("*a.yaml*")} == ({"a.yaml"} if old else set())
