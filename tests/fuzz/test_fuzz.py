"""The fuzzer finds planted faults and reports its coverage, and a few hundred inputs of every
target raise no unexpected exception.
"""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from harness.cassettes import Cassette, CassetteError
from harness.stream.framing import Frame, SseFramer
from harness.stream.tool_code import Splitter
from harness.sweep import stream as sweep_stream
from tests.fuzz import limits, rows, targets
from tests.fuzz.changes import CHANGES, LONGEST, changed
from tests.fuzz.guided import Fuzzer
from tests.fuzz.limits import TooSlow, in_time, peak
from tests.fuzz.marks import TAKEN, WORDS, marked, watch
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
BRANCHES = b"""
def read(data):
    "Kept as it is."
    if data.startswith(b"ab"):
        for byte in data[2:]:
            match byte:
                case 0x63:
                    raise KeyError(data if data else "")
    return [one for one in data if one] and (lambda: data)()
"""


def made(source: bytes) -> tuple[Callable[[bytes], None], range]:
    """The function ``read`` of the source, and its edges."""
    first, names = len(WORDS), dict[str, Callable[[bytes], None]]()
    exec(marked(source, "toy.py"), names)
    return names["read"], range(first, len(WORDS))


def taken(run: Callable[[bytes], None], data: bytes, edges: range) -> int:
    TAKEN[:] = bytes(len(TAKEN))
    with suppress(KeyError):
        run(data)
    return sum(TAKEN[number] for number in edges)


def run_fuzzer(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.fuzz", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def night(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[subprocess.CompletedProcess[str], Path]:
    folder = tmp_path_factory.mktemp("kept")
    return run_fuzzer("--executions", "300", "--whole", "--corpus", str(folder)), folder


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_no_input_of_a_target_raises_anything_but_its_typed_errors(
    name: str, night: tuple[subprocess.CompletedProcess[str], Path]
) -> None:
    done, folder = night
    counts = rf"{name}: \d+ executions, (\d+) edges, \d+ inputs kept, 0 found"
    first = re.search(counts + " at the start$", done.stdout, re.MULTILINE)
    last = re.search(
        counts + r", (\d+) edges at the start, (\d+) at the end; \d+ executions a second",
        done.stdout,
    )
    assert first, done
    assert last, done
    assert 0 < int(first[1]) == int(last[2]) <= int(last[3]) == int(last[1])
    assert done.returncode == 0
    assert list((folder / name).iterdir())


class _Loser(Splitter):
    def close(self) -> str:
        return super().close()[1:]


class _Careless(SseFramer):
    def feed(self, data: bytes, at_ms: float | None = None) -> list[Frame]:
        return [*super().feed(data, at_ms), Frame(0)]


def refused(cassette: Cassette) -> str:
    raise CassetteError("this cassette can't be written")


EMPTY = b"version: 1\nmetadata: {harness: 1, origin: written}\ninteractions: []\n"
FAULTS: dict[str, tuple[str, object, bytes, str]] = {
    "framing": ("frame_by_content", _Careless, b"data: 1\n\n", "cuts matter"),
    "normalization": ("out_of_order", lambda kinds: 0, b"data: {}\n\n", "out of order"),
    "tool-code": ("Splitter", _Loser, b"a <tool_co", "text was lost"),
    "cassette": ("dumps", refused, EMPTY, "can't be written"),
}
"""Target → the replaced function, its faulty replacement, an input that shows the fault, and the
message.
"""


@pytest.mark.parametrize("name", FAULTS)
def test_a_target_checks_the_values_that_its_reader_returns(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    part, fault, data, message = FAULTS[name]
    TARGETS[name].run(data)
    monkeypatch.setattr(targets, part, fault)
    with pytest.raises((AssertionError, CassetteError), match=message):
        TARGETS[name].run(data)


def test_each_fuzzed_row_of_a_sweep_is_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert rows.main(["--rows", "300"]) == 0
    verdicts = re.fullmatch(r"300 rows: (.+)\n", capsys.readouterr().out)
    assert verdicts
    counts = {word: int(count) for count, word in re.findall(r"(\d+) ([a-z-]+)", verdicts[1])}
    assert sum(counts.values()) == 300
    assert min(counts["passed"], counts["error"]) > 30


def test_a_crash_for_one_row_is_red(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sweep_stream, "with_provider", lambda exchange: exchange.nothing)
    assert rows.main(["--rows", "50"]) == 1
    assert "the row can't be read: AttributeError" in capsys.readouterr().out


@pytest.mark.slow
def test_the_kept_corpus_has_the_coverage_of_the_whole_run(
    night: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    before, folder = night[0].stdout, night[1]
    after = run_fuzzer("tool-code", "--executions", "0", "--corpus", str(folder)).stdout
    counts = r"tool-code: .* (\d+) edges at the start, (\d+) at the end"
    started, ended = map(int, re.findall(counts, before)[0])
    assert started < ended
    assert f", {ended} edges at the start, {ended} at the end" in after


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c_reaches_programs")
def test_ctrl_c_keeps_the_corpus_and_prints_the_coverage(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz", "tool-code", "--corpus", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        assert "at the start" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        rest = running.stdout.read()
    assert "at the end" in rest
    assert "stopped" in rest
    assert list((tmp_path / "tool-code").iterdir())


def test_every_way_out_of_a_branch_is_an_edge() -> None:
    read, edges = made(BRANCHES)
    assert read.__doc__ == "Kept as it is."
    assert {
        data: taken(read, data, edges) for data in (b"", b"\0", b"x", b"ab", b"abx", b"abc")
    } == {
        b"": 2,  # entered, no ab
        b"\0": 2,
        b"x": 5,  # and one of the list, and, lambda
        b"ab": 6,  # entered, ab, no byte left, one of the list, and, lambda
        b"abx": 8,  # and a byte, and no case
        b"abc": 5,  # entered, ab, a byte, the case, data
    }
    assert WORDS[edges[0]] == [b"ab"]


def test_a_bug_behind_branches_is_found_cut_down_and_counted_once() -> None:
    read, edges = made(BRANCHES)
    fuzzer = Fuzzer(read, TAKEN, WORDS, seed=3)
    fuzzer.begin([], [b"no more than this"])
    assert fuzzer.result.started == 5
    while fuzzer.result.executions < 60_000 and not fuzzer.result.findings:
        fuzzer.once()
    assert fuzzer.result.findings == [(b"abc", "KeyError at read:8: b'abc'")]
    assert fuzzer.result.edges == len(edges) - 1  # data is never empty there
    assert fuzzer.result.kept == [b"s", b"abb", b"abc"]


def test_a_bug_is_found_while_an_input_is_cut_down() -> None:
    read, _ = made(
        b"def read(data):\n  if data == b'cd':\n    raise KeyError(data)\n  return 1 if b'cd' in data else 0\n"
    )
    fuzzer = Fuzzer(read, TAKEN)
    fuzzer.begin([], [b"abcdefgh"])
    assert fuzzer.result.findings == [(b"cd", "KeyError at read:3: b'cd'")]


def test_a_run_with_the_same_seed_has_the_same_result() -> None:
    def run() -> Fuzzer:
        fuzzer = Fuzzer(read, TAKEN, WORDS, seed=5)
        fuzzer.begin([], [b"abx"])
        for _ in range(2000):
            fuzzer.once()
        return fuzzer

    read, _ = made(BRANCHES)
    assert run().result == run().result


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_every_change_works_on_any_input_including_an_empty_one(
    change: Callable[..., None],
) -> None:
    chance, text = random.Random(1), b"a: 1\n  b: word\nc\n"
    results = set()
    for _ in range(30):
        data = bytearray(text)
        change(chance, data, [text], [b"other"])
        results.add(bytes(data))
        change(chance, bytearray(), [b""], [])
    assert len(results - {text}) > 1


def test_the_length_of_an_input_is_bounded() -> None:
    assert {len(changed(random.Random(seed), [b"x" * LONGEST], [])) for seed in range(50)} <= set(
        range(LONGEST + 1)
    )


def test_an_input_that_takes_too_long_is_stopped_and_is_a_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(data: bytes) -> None:
        while data:
            pass

    monkeypatch.setattr(limits, "SECONDS", 0.02)
    limited = in_time(run)
    with pytest.raises(TooSlow, match="processor time"):
        limited(b"x")
    fuzzer = Fuzzer(limited, TAKEN)
    fuzzer.begin([], [b"", b"x", b"xy"])
    assert fuzzer.result.findings == [(b"x", "TooSlow: more than 0.02 s of processor time")]


def test_a_package_that_is_imported_already_cannot_be_watched() -> None:
    with pytest.raises(RuntimeError, match="call watch before"):
        watch("harness")


GROWING = {
    "framing": (b'data: {"a": [1, 2]}\n\n', 60),
    "normalization": (
        b'data: {"candidates": [{"content": {"parts": [{"text": "piece"}]}}]}\n\n',
        60,
    ),
    "tool-code": (b"a <tool_code>print(default_api.f(a='x', b=[1]))</tool_code> b", 120),
    "cassette": (b"    x-a: [b]\n", 200),
    "importing": (b'{"candidates": [{"content": {"parts": [{"text": "piece"}]}}]}\n', 60),
    "spec": (b"    - {type: TEXT_DELTA, delta: x}\n", 200),
}
"""Target → a piece of its input, and the maximum bytes of memory for each byte of many such pieces.
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_memory_grows_with_the_input_and_no_faster(name: str) -> None:
    piece, most = GROWING[name]
    head = {"cassette": CASSETTE, "spec": SPEC}.get(name, b"")
    small, large = (head + piece * (size // len(piece)) for size in (10_000, 100_000))
    less, more = (peak(TARGETS[name].run, data) for data in (small, large))
    assert more <= most * len(large)
    assert more <= 25 * max(less, len(small))  # the square would be 100


CASSETTE = b"version: 1\nmetadata: {harness: 1, origin: written}\ninteractions:\n- response:\n    status: {code: 200}\n    headers:\n"
SPEC = (
    b"harness: 1\ncases:\n- case: c\n  requirement: It holds.\n  features: [text.streaming]\n  source: https://ai.google.dev/api\n"
    b"  cassette: c\n  expect:\n    unified-llm:\n"
)
