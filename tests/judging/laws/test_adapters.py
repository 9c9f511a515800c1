"""The laws are asked of users' adapters. Our event models pass as users' adapters, each fault is
found, and a law that can't be asked gives the reason.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from harness.adapters import (
    ADAPTERS,
    Adapter,
    AdapterError,
    Output,
    RunOptions,
    Subject,
    user_adapter,
)
from harness.adapters.adapter import FUNCTION, PROGRAM, Effort
from harness.cassettes import Cassette, Exchange, Origin, Request, dumps, loads
from harness.judging.laws import LAWS
from harness.judging.laws.judge import LawCell, cells, judge_law, ready_made_case
from harness.judging.rows import Row
from harness.pipeline.replay import replay
from harness.providers import with_provider
from tests.support.law_outcomes import outcomes

Items = list[dict[str, Any]]
URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
ANSWER = (
    'data: {"candidates": [{"content": {"parts": [{"text": "hm","thought": true}]}}],"usageMetadata": {"promptTokenCount": 7}}\r\n\r\n'
    'data: {"candidates": [{"content": {"parts": [{"text": "Héllo","thoughtSignature": "QQ=="}]}}]}\r\n\r\n'
    'data: {"candidates": [{"content": {"parts": [{"functionCall": {"id": "i","name": "f","args": {"a": "b"}},"thoughtSignature": "Qg=="}'
    ']},"finishReason": "STOP"}],"usageMetadata": {"candidatesTokenCount": 2}}\r\n\r\n'
).encode()
EXCHANGE = Exchange(
    Request("POST", URL),
    200,
    {},
    ((1.0, ANSWER[:99]), (9.0, ANSWER[99:])),
    "complete",
    "",
    "gemini-api",
    True,
)


def ours(dialect: str) -> Callable[[Exchange], Items]:
    """One of our event models, of which only the payloads are visible."""
    return lambda exchange: replay(exchange, provider="gemini-api", dialect=dialect)


def users(
    name: str, model: str, adapt: Callable[[Exchange], Items], effort: Effort = FUNCTION
) -> Adapter:
    def run(exchange: Exchange, options: RunOptions) -> Output:
        return Output(adapt(exchange))

    return user_adapter(name, model, run, effort)


def judged(number: int, adapter: Adapter, exchange: Exchange = EXCHANGE) -> Row:
    return judge_law(cell(number, adapter, exchange)).result


def cell(number: int, adapter: Adapter, exchange: Exchange = EXCHANGE) -> LawCell:
    options = RunOptions(provider="gemini-api")
    return LawCell(
        LAWS[number - 1], "gemini-api/hello", 1, exchange, adapter, Origin("written"), options
    )


@pytest.mark.parametrize("effort", [PROGRAM, FUNCTION])
@pytest.mark.parametrize("dialect", ADAPTERS)
def test_our_event_models_keep_every_law_as_users_adapters(dialect: str, effort: Effort) -> None:
    adapter = users("mine", dialect, ours(dialect), effort)
    results = [judged(law.id, adapter) for law in LAWS]
    not_asked = {law.id: law.unasked(EXCHANGE, Subject(adapter)) for law in LAWS}
    assert [result.verdict for result in results] == [
        "not-run" if not_asked[law.id] else "passed" for law in LAWS
    ]
    assert {(result.adapter, result.layer) for result in results} == {("mine", "payloads")}
    assert [number for number in range(1, 10) if not_asked[number]] == [8]
    assert results[7].reason == "mine sends nothing back"


def test_each_law_runs_an_adapter_with_the_options_of_its_cell() -> None:
    given: list[RunOptions] = []

    def run(exchange: Exchange, options: RunOptions) -> Output:
        given.append(options)
        return Output(ours("mind")(exchange))

    for law_cell in cells("gemini-api/hello", [EXCHANGE], [user_adapter("mine", "mind", run)]):
        given.clear()
        judge_law(law_cell)
        assert law_cell.options.case == f"law-{law_cell.law.id}-{law_cell.law.name}"
        assert {*map(id, given)} <= {id(law_cell.options)}
        assert given or law_cell.law.not_run(EXCHANGE, law_cell.subject)


counted = count()


def bad(exchange: Exchange) -> bool:
    """Whether part of the answer was damaged."""
    return (
        exchange.body.replace(b"\r\n", b"\n") != ANSWER.replace(b"\r\n", b"\n")
        and b'"i"' not in exchange.body
    )


def loses(kind: str) -> Callable[[Items, Exchange], Items]:
    return lambda items, _: [item for item in items if item["type"] != kind]


def no_signature(items: Items, _: Exchange) -> Items:
    return json.loads(json.dumps(items).replace('"Qg=="', '""'))  # type: ignore[no-any-return]  # the same items


def fails(items: Items, exchange: Exchange) -> Items:
    if bad(exchange):
        raise KeyError("candidates")
    return items


FAULTS: dict[str, tuple[int, str, Callable[[Items, Exchange], Items]]] = {
    "a read that ends inside a character": (
        1,
        "cut at byte 182",
        lambda items, exchange: (
            items[:-1] if any(data.endswith(b"\xc3") for _, data in exchange.reads[:-1]) else items
        ),
    ),
    "a block that is never opened": (2, "is not allowed in the state", loses("TEXT_START")),
    "a signature that is lost": (3, "signatures lost", no_signature),
    "a cut that is not told": (4, "nothing reports the cut", loses("ERROR")),
    "text that a cut changes": (
        4,
        "should be a beginning of",
        lambda items, exchange: [
            item | {"delta": "!"} if "delta" in item and exchange.end == "cut" else item
            for item in items
        ],
    ),
    "something that is counted over replays": (
        5,
        "second time",
        lambda items, _: [*items, {"type": "x", "n": next(counted)}],
    ),
    "lines that must end in CRLF": (
        6,
        "spelled as lf, ",
        lambda items, exchange: items if b"\r\n" in exchange.body or not exchange.body else [],
    ),
    "garbage that raises": (7, "raised KeyError", fails),
    "garbage that is passed over": (
        7,
        "gives no payload",
        lambda items, exchange: [] if bad(exchange) else items,
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_adapter_breaks_the_law_of_its_fault(name: str) -> None:
    number, words, fault = FAULTS[name]
    adapt = ours("unified-llm")
    adapter = users("mine", "unified-llm", lambda exchange: fault(adapt(exchange), exchange))
    result = judged(number, adapter)
    assert result.verdict == "failed"
    finding = result.findings[0]
    assert words in (finding.note or str(finding.adapter))
    assert finding.wire
    small = ready_made_case(cell(number, adapter))
    assert "    unified-llm:\n" in small
    assert len(small) < 2500


def test_the_case_of_a_damage_shows_the_damaged_answer() -> None:
    asked: list[bytes] = []

    def fussy(exchange: Exchange) -> Items:
        asked.append(exchange.body)
        return [] if bad(exchange) else [{"size": len(exchange.body)}]

    small = ready_made_case(cell(7, users("mine", "unified-llm", fussy)))
    (shown,) = loads(small.partition("# cassettes/gemini-api/shrunk.yaml\n")[2]).exchanges
    assert bad(shown)
    assert shown.body == asked[-1]


def test_an_adapter_that_fails_on_the_recording_is_an_error() -> None:
    def adapt(exchange: Exchange) -> Items:
        raise AdapterError("it hangs")

    adapter = users("mine", "anthropic", adapt)
    results = [judged(number, adapter) for number in (1, 2, 3, 4, 5, 6)]
    assert {(result.verdict, result.reason) for result in results} == {("error", "it hangs")}
    assert judged(7, adapter).verdict == "failed"


def test_an_unknown_event_model_is_asked_four_laws() -> None:
    shop = users(
        "shop", "shop", lambda exchange: [{"bytes": len(exchange.body.replace(b"\r", b""))}]
    )
    results = {number: judged(number, shop) for number in range(1, 9)}
    assert [number for number, item in results.items() if item.verdict == "not-run"] == [2, 3, 4, 8]
    assert results[3].reason == (
        "the meaning of the payloads of shop is unknown; it is not one of our event models"
    )


def test_payloads_of_another_shape_are_a_finding() -> None:
    odd = users("odd", "unified-llm", lambda exchange: [{"type": "TEXT_DELTA"}, {"type": "ERROR"}])
    for number in (2, 3, 4):
        assert judged(number, odd).verdict == "failed"


@pytest.mark.slow
def test_a_program_is_started_few_times_for_a_law() -> None:
    started = 0

    def adapt(exchange: Exchange) -> Items:
        nonlocal started
        started += 1
        return replay(exchange, dialect="mind")

    large = replace(EXCHANGE, reads=((None, ANSWER * 20),))
    for number in range(1, 8):
        started = 0
        assert judged(number, users("mine", "mind", adapt, PROGRAM), large).verdict == "passed"
        assert 1 <= started <= 3 * PROGRAM.tries + 3


SHIMS = """
import json
import time
from harness import replay


def good(exchange):
    return replay(exchange, provider="gemini-api", dialect="anthropic")


def deaf(exchange):
    return [one for one in good(exchange) if one["type"] != "error"]


def slow(exchange):
    time.sleep(0.1)
    return good(exchange)


def lines(exchange):
    for line in exchange.body.splitlines():
        if line.startswith(b"data: "):
            yield {"say": json.loads(line[6:])["candidates"][0]["content"]["parts"][0]["text"]}
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with one cassette and adapters of its own."""
    monkeypatch.delenv("CI", raising=False)
    folder = pytester.mkdir("cassettes")
    (folder / "hello.yaml").write_text(
        dumps(Cassette((EXCHANGE,), Origin("written"))), encoding="utf-8", newline="\n"
    )
    pytester.makepyfile(law_shop=SHIMS)
    program = (
        "import json, os, sys\n"
        "def out(**line): os.write(int(os.environ['HARNESS_OUT']), json.dumps(line).encode() + b'\\n')\n"
        "out(hello=1)\n"
        "for line in sys.stdin: out(id=json.loads(line)['id'], native=[{'type': 'result'}])\n"
    )
    pytester.makepyfile(program=program)
    pytester.makeini(
        "[pytest]\nharness_adapters =\n    good: anthropic = law_shop:good\n    deaf: anthropic = law_shop:deaf\n"
        "    lines = law_shop:lines\n    slow: anthropic = law_shop:slow\n"
        f"    silent: mind = run: {sys.executable} program.py\n"
    )
    return pytester


def run(project: pytest.Pytester, adapter: str, *more: str) -> pytest.RunResult:
    return project.runpytest_inprocess(
        "cassettes",
        "--harness-laws",
        "--harness-dialect",
        adapter,
        "-p",
        "no:cacheprovider",
        "-rs",
        *more,
    )


@pytest.mark.slow
def test_every_law_is_an_item_for_a_configured_adapter(
    project: pytest.Pytester,
) -> None:
    result = run(project, "good", "-v", "--harness-report", "report")
    result.assert_outcomes(**outcomes(EXCHANGE, users("good", "anthropic", ours("anthropic"))))
    result.stdout.fnmatch_lines(
        [
            "*hello.yaml::law-1-cuts-dont-matter-1[[]good[]] PASSED*",
            "*good sends nothing back",
        ]
    )
    assert "good" in (project.path / "report" / "gemini-api.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_an_exchange_without_a_request_is_read_as_its_body_shows(
    project: pytest.Pytester,
) -> None:
    bare = with_provider(replace(EXCHANGE, request=None, provider=None))
    (project.path / "cassettes" / "hello.yaml").write_text(
        dumps(Cassette((bare,), Origin("written"))), encoding="utf-8", newline="\n"
    )
    run(project, "good").assert_outcomes(
        **outcomes(bare, users("good", "anthropic", ours("anthropic")))
    )


@pytest.mark.slow
def test_an_adapter_without_errors_gets_a_case(project: pytest.Pytester) -> None:
    result = run(project, "deaf")
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] >= 1
    result.stdout.fnmatch_lines(
        [
            "*nothing reports the cut*",
            "A case that shows it:",
            "# specs/shrunk.yaml",
            "    anthropic:",
        ]
    )


SAYS = """
import json


def replay(exchange):
    text = "".join(data.decode("utf-8", "replace") for _, data in exchange.reads)
    for line in text.splitlines():
        if line.startswith("data: "):
            for part in json.loads(line[6:]).get("candidates", [{}])[0].get("content", {}).get("parts", []):
                if "text" in part:
                    yield {"say": part["text"]}
"""


@pytest.mark.slow
def test_a_broken_law_has_its_evidence_in_the_report(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(law_says=SAYS)
    project.makeini("[pytest]\nharness_adapters =\n    says = law_says:replay\n")
    result = run(project, "says", "-k", "law-1 and not law-10", "--harness-report", "report")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["?1?.say: law 1 (cut at byte *", '  expected: "Héllo"', '  got:      "H��llo"']
    )
    document = json.loads((project.path / "report" / "results.json").read_text(encoding="utf-8"))
    (row,) = document["results"]
    assert [
        (finding["place"]["path"], finding["wire"], finding["adapter"])
        for finding in row["findings"]
    ] == [("[1].say", '"Héllo"', '"H��llo"')]
    evidence = row.get("evidence", row)
    assert [view["layer"] for view in evidence["layers"]] == ["frames", "events", "payloads"]
    assert "# cassettes/gemini-api/shrunk.yaml" in evidence["small_case"]
    assert [read[:2] for read in document["streams"][0]["how"]["reads"]] == [
        [1.0, 99],
        [9.0, len(ANSWER) - 99],
    ]


def test_an_exception_of_an_adapter_is_a_result(project: pytest.Pytester) -> None:
    result = run(project, "lines", "-k", "law-7 or law-2")
    result.assert_outcomes(failed=1, skipped=1)
    result.stdout.fnmatch_lines(["*the adapter raised KeyError at *.py:*: *"])


@pytest.mark.slow
def test_a_slow_adapter_is_an_error_and_not_waited_for(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.pytest_plugin.laws.PATIENCE_S", 0.5)
    result = run(project, "slow", "-k", "(law-1 or law-5 or law-7) and not law-10")
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(["*adapter slow took more than 0.5 s for this law*"])


@pytest.mark.slow
def test_a_program_is_tested_by_the_laws(project: pytest.Pytester) -> None:
    result = run(project, "silent", "-k", "law-3 or law-5")
    result.assert_outcomes(failed=1, passed=1)


SHOP = """
import codecs
import json
import re


def torn(reads):
    return "".join(data.decode("utf-8", "replace") for _, data in reads)


def whole(reads):
    return b"".join(data for _, data in reads).decode("utf-8", "replace")


def replay(exchange):
    for line in re.split(LINES, DECODE(exchange.reads)):
        if line.startswith("data: "):
            for part in json.loads(line[6:]).get("candidates", [{}])[0].get("content", {}).get("parts", []):
                if "text" in part:
                    yield {"say": part["text"]}
"""
MODEL = """
from harness import replay as ours


def replay(exchange):
    return [one for one in ours(exchange, provider="gemini-api", dialect="anthropic") if one["type"] != LOST]
"""
SHOWN: dict[int, tuple[str, str, str, str]] = {
    1: (
        "law_shop:replay",
        SHOP,
        "LINES, DECODE = r'\\r\\n|\\r|\\n', torn",
        "LINES, DECODE = r'\\r\\n|\\r|\\n', whole",
    ),
    2: ("law_shop:replay", MODEL, "LOST = 'message_start'", "LOST = None"),
    6: (
        "law_shop:replay",
        SHOP,
        "LINES, DECODE = r'\\n', whole",
        "LINES, DECODE = r'\\r\\n|\\r|\\n', whole",
    ),
}
"""Law → the adapter whose last line is the fault, that line, and the line that fixes it."""
TOLD = {
    1: "cut at byte * payload ? is {'say': 'H��llo'}; read as a whole it is {'say': 'Héllo'}",
    2: "*payload 0, start thinking, is not allowed in the state fresh*",
    6: "spelled as cr, payload 0 is *; spelled as recorded it is {'say': 'hm'}",
}
FEATURE = {1: "framing.split-reads", 2: "text.streaming", 6: "framing.line-ends"}


@pytest.mark.slow
@pytest.mark.parametrize("number", SHOWN)
def test_the_printed_case_is_red_until_the_fault_is_fixed(
    project: pytest.Pytester, number: int
) -> None:
    target, module, fault, mended = SHOWN[number]
    name = "shop: anthropic" if module is MODEL else "shop"
    project.makeini(f"[pytest]\nharness_adapters =\n    {name} = {target}\n")
    project.makepyfile(law_shop=f"{module}\n{fault}\n")
    nameless = Cassette((replace(EXCHANGE, request=None, provider=None),), Origin("written"))
    (project.path / "cassettes" / "hello.yaml").write_text(
        dumps(nameless), encoding="utf-8", newline="\n"
    )
    output = project.runpytest_inprocess(
        "cassettes", "--harness-laws", "-p", "no:cacheprovider", "-k", f"law-{number}- and shop"
    )
    output.assert_outcomes(failed=1)
    printed = output.stdout.str().partition("# specs/shrunk.yaml\n")[2]
    spec, _, rest = printed.partition("\n# cassettes/gemini-api/shrunk.yaml\n")
    cassette = rest[: re.search("^(=|_)", rest, re.MULTILINE).start()]  # type: ignore[union-attr]  # the next section of pytest's output
    for path, text in (("specs/shrunk.yaml", spec), ("cassettes/gemini-api/shrunk.yaml", cassette)):
        (project.path / path).parent.mkdir(exist_ok=True)
        (project.path / path).write_text(f"{text}\n", encoding="utf-8", newline="\n")
    assert f"features: [{FEATURE[number]}]\n" in spec
    output.stdout.fnmatch_lines([TOLD[number]])
    assert (
        number != 1
        or "requirement: The output is the same wherever the network cuts the bytes.\n" in spec
    )
    saved = ["specs", "-p", "no:cacheprovider", "--harness-dialect", "shop", "-W", "error"]
    project.runpytest_inprocess(*saved).assert_outcomes(failed=1)
    project.makepyfile(law_shop=f"{module}\n{mended}\n")
    project.runpytest_inprocess(*saved).assert_outcomes(passed=1)
