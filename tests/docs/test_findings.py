"""The script that writes docs/findings.md: which reds an entry of its YAML explains."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace

from harness.cassettes.load import load
from harness.facts import Finding, Place, call_value, error_finding
from harness.facts.finding import REASONS
from harness.judging.judge_results import JudgeResults, encode_results
from tests.support.aspect_samples import OTHER, SHOP, cell, error, with_findings

FOLDER = Path(__file__).parents[2] / "examples" / "adapters"
CASSETTES = Path(__file__).parents[2] / "cassettes"
FINDINGS = Path(__file__).parents[2] / "docs" / "findings"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return imported("findings")


def imported(name: str) -> ModuleType:
    sys.path.insert(0, str(FOLDER))  # a script imports its neighbours
    try:
        return imported_from_folder(name)
    finally:
        sys.path.remove(str(FOLDER))


def imported_from_folder(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{name}_of_peers", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks its module up
    spec.loader.exec_module(module)
    return module


def test_every_entry_of_the_yaml_is_read_and_names_reasons_of_the_table(
    script: ModuleType,
) -> None:
    findings, *others = script.read_findings()
    assert len(findings) > 50
    assert len(others) == 5
    assert {reason for finding in findings for reason in finding.reasons} <= {*REASONS}
    for finding in findings:
        assert all(text and isinstance(text, str) for text in finding.gives)


NEEDLESS = {"words": "KeyError: 'modelVersion'", "type": "KeyError"}
END = Finding("finish", "wrong", "finish", "BRAND_NEW", "stop")
REDS: list[tuple[str, bool, Finding, str]] = [
    ("litellm", False, END, "Unknown reasons, and known ones"),
    (
        "litellm",
        False,
        Finding("finish", "wrong", "only-stop", "MAX_TOKENS", "tool_calls"),
        "A call that was cut by MAX_TOKENS",
    ),
    (
        "llm-gemini",
        False,
        Finding("text", "raised", "needless", adapter=NEEDLESS),
        "An answer without modelVersion",
    ),
    (
        "google-genai-js",
        False,
        Finding("error", "wrong", "other-error", ["503"], "x", Place(cuts="whole")),
        "A bare error document is found only in a separate read",
    ),
    (
        "google-genai-js",
        False,
        Finding("error", "wrong", "other-error", ["503"], "Incomplete JSON segment at the end"),
        "A bare error document after events",
    ),
    (
        "litellm-anthropic",
        False,
        Finding("calls", "lost", "calls-missing", {"first": call_value("f", {})}),
        "Parallel calls are joined",
    ),
    (
        "ai-sdk",
        True,
        Finding("calls", "wrong", "call-sent-twice", adapter="code_execution"),
        "Code that Google ran",
    ),
    ("llm-gemini", True, Finding("text", "wrong", "text-beyond-call"), "Text after a call"),
    ("google-genai", False, Finding("urls", "lost", "values-missing", {}), "urlContextMetadata"),
]


@pytest.mark.parametrize(("adapter", "second_turn", "red", "symptom"), REDS)
def test_a_red_is_explained_by_reason_and_value(
    script: ModuleType, adapter: str, second_turn: bool, red: Finding, symptom: str
) -> None:
    findings, *_ = script.read_findings()
    fitting = [entry for entry in findings if entry.fits(adapter, cell(), red, second_turn)]
    assert fitting[0].symptom.startswith(symptom)


@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        ({}, True),
        ({"reasons": ["finish", "text"]}, True),
        ({"reasons": ["only-stop"]}, False),
        ({"gives": ["sto"]}, True),
        ({"gives": ["BRAND_NEW"]}, False),
        ({"cuts": True}, False),
        ({"second_turn": True}, False),
        ({"aspects": ["fin*"]}, True),
        ({"aspects": ["text"]}, False),
        ({"cells": ["a:1"]}, True),
        ({"cells": ["a:2"]}, False),
    ],
)
def test_each_condition_of_an_entry_is_asked(
    script: ModuleType, fields: dict[str, Any], fits: bool
) -> None:
    entry = script.Finding(["shop"], "It ends.", **fields)
    assert entry.fits("shop", cell(), END, False) == fits
    assert not entry.fits("other", cell(), END, False)


def test_the_page_has_each_finding_and_unexplained_reds_are_listed(
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ends = with_findings(cell(), END)
    unknown = with_findings(cell(exchange=2), Finding("text", "lost", "text"))
    shop = replace(OTHER, name="shop", cells=(ends, unknown, error("it hung"), SHOP.cells[4]))
    (tmp_path / "shop.json").write_bytes(encode_results(JudgeResults((shop,))))
    (tmp_path / "shop.key").write_text("0\nrecorded whole 100\n")
    (tmp_path / "findings").mkdir()
    (tmp_path / "findings" / "gone.md").write_text("# gone\n")
    entry = script.Finding(["shop"], "It ends as stop.", reasons=["finish"], thread="a/b#1")
    monkeypatch.setattr(script, "DOCS", tmp_path)
    named = {"shop": {"entry": "shop.sell", "program": "openai/reproduce.py"}}
    monkeypatch.setattr(script, "read_findings", lambda: [[entry], {"a": "b"}, {}, {}, {}, named])
    assert script.main([str(tmp_path / "shop.json")]) == 1
    listed = capsys.readouterr().out.splitlines()
    assert listed[0].startswith("shop gemini-api/a:2 text lost: at character ")
    assert listed[1] == "shop gemini-api/d:1 error: it hung"
    assert len(listed) == 3
    assert {path.name for path in (tmp_path / "findings").iterdir()} == {"shop.md", "threads.md"}
    index = (tmp_path / "findings.md").read_text(encoding="utf-8")
    assert "| [shop unknown](findings/shop.md) |  | 4 | 0 | 1 | It ends as stop. |" in index
    assert "| a | b |" in (tmp_path / "findings" / "threads.md").read_text(encoding="utf-8")
    page = (tmp_path / "findings" / "shop.md").read_text(encoding="utf-8")
    assert "**It ends as stop.** gemini-api/a:1. Thread: a/b#1. `shop.sell`, " in page
    assert ", 2026-11-23.\n" in page
    assert (
        "`examples/adapters/openai/reproduce.py`:\n\n    from openai import OpenAI\n\n    client"
        in page
    )
    assert "    finish wrong: the wire ends with BRAND_NEW; the adapter reports stop\n" in page
    assert "    harness judge other:replay --cassettes gemini-api/a:1\n" in page
    assert "4 answers judged, with three cuts of the reads; 0 second requests; 1 finding." in page
    assert "    reproduce.py, answer gemini-api/a:1\n" in page


def test_versions_without_results_stay_in_the_pages(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = replace(OTHER, cells=(with_findings(cell(), END),))
    entry = script.Finding(["agno", "openai"], "It ends as stop.", no_program="-")
    row = {"finish": {"red": ["agno", "openai"], "why": "mended"}}
    monkeypatch.setattr(script, "DOCS", tmp_path)
    monkeypatch.setattr(script, "read_findings", lambda: [[entry], {}, {}, {}, row, {}])

    def write(**versions: str) -> None:
        for name, version in versions.items():
            results = replace(ends, name=name.replace("_", "-"), version=version)
            (tmp_path / f"{name}.json").write_bytes(encode_results(JudgeResults((results,))))
        assert script.main([str(tmp_path / f"{name}.json") for name in versions]) == 0

    def headings(page: str) -> list[str]:
        text = (tmp_path / page).read_text(encoding="utf-8")
        return re.findall(r"(?m)^(?:## |\| \[)([\w-]+ [\d.]+)", text)

    write(agno="3.1.9", agno_2="2.9.0", openai="3.57.0")
    page = (tmp_path / "findings" / "agno.md").read_text(encoding="utf-8")
    threads = (tmp_path / "findings" / "threads.md").read_text(encoding="utf-8")
    assert "| finish | agno, openai | agno, openai | — |" in threads
    write(openai="3.58.0")
    assert (tmp_path / "findings" / "agno.md").read_text(encoding="utf-8") == page
    assert (tmp_path / "findings" / "threads.md").read_text(encoding="utf-8") == threads
    assert headings("findings.md") == ["agno 3.1.9", "agno 2.9.0", "openai 3.58.0"]
    assert headings("findings/openai.md") == ["openai 3.58.0"]
    write(agno="3.2.0")
    assert headings("findings/agno.md") == ["agno 3.2.0", "agno 2.9.0"]
    write(agno_2="2.9.1")
    assert headings("findings/agno.md") == ["agno 3.2.0", "agno 2.9.1"]
    write(agno="3.1.9", agno_2="2.9.0")
    assert (tmp_path / "findings" / "agno.md").read_text(encoding="utf-8") == page
    assert headings("findings.md") == ["agno 3.1.9", "agno 2.9.0", "openai 3.58.0"]


def test_a_refused_second_request_is_of_the_finding_of_another_red(
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    refused = Finding("accepted", "wrong", "refused", [{"rule": "content-empty", "message": "no"}])
    both = with_findings(cell(), Finding("text", "lost", "text"), refused)
    alone = with_findings(cell(exchange=2), refused)
    shop = replace(OTHER, name="shop", cells=(both,), second_turn=(both, alone))
    (tmp_path / "shop.json").write_bytes(encode_results(JudgeResults((shop,))))
    entries = [
        script.Finding(["shop"], "It is gone.", aspects=["text"], second_turn=turn, no_program="-")
        for turn in (False, True)
    ]
    monkeypatch.setattr(script, "DOCS", tmp_path)
    monkeypatch.setattr(script, "read_findings", lambda: [entries, {}, {}, {}, {}, {}])
    assert script.main([str(tmp_path / "shop.json")]) == 1
    listed = [line.partition(" wrong")[0] for line in capsys.readouterr().out.splitlines()[:-1]]
    assert listed == [
        "shop gemini-api/a:1 accepted",
        "shop gemini-api/a:2 second turn accepted",
    ]


def test_an_error_of_a_cell_is_explained_only_by_its_words(script: ModuleType) -> None:
    red = error_finding("it raised Error: input was missing")
    assert not script.Finding(["shop"], "Broken.").fits("shop", cell(), red, True)
    finding = script.Finding(["shop"], "Broken.", gives=["input was missing"], second_turn=True)
    assert finding.fits("shop", cell(), red, True)
    assert not finding.fits("shop", cell(), error_finding("it hung"), True)


def test_a_program_shows_a_whole_stream_if_there_is_one(script: ModuleType) -> None:
    cut, unary, whole = (
        replace(cell(), exchange=1, end="cut"),
        replace(cell(), exchange=2, end="complete", unary=True),
        replace(cell(), exchange=3, end="complete"),
    )
    finding = script.Finding(["shop"], "It ends.")
    assert script.reproduction(finding, [cut, unary, whole]) == ("program", whole.place)
    assert script.reproduction(finding, [unary, cut]) == ("program", cut.place)
    assert script.reproduction(finding, [unary]) == ("unary", unary.place)
    chosen = script.Finding(["shop"], "It ends.", answer="gemini-api/a:9")
    assert script.reproduction(chosen, [whole]) == ("program", "gemini-api/a:9")
    again = script.Finding(["shop"], "It ends.", second_turn=True)
    assert script.reproduction(again, [whole]) == ("again", whole.place)


def test_a_finding_without_a_program_has_a_reason(script: ModuleType) -> None:
    adapter = replace(OTHER, name="shop", version="1")
    ends = with_findings(cell(), END)

    def lines(entry: dict[str, Any], **fields: str) -> tuple[list[str], str]:
        finding = script.Finding(["shop"], "It ends.", shown=[(adapter, ends, END)], **fields)
        found = script.AdapterFindings(adapter, [finding], {"shop": entry}, "three cuts")
        return [*found.without_program()], found.section()

    assert lines({})[0] == ["no program: shop: a streamed answer: It ends."]
    assert lines({"program": "shop/reproduce.py"})[0] == []
    other = {"program": {"vertex-ai/*": "shop/reproduce.py"}}
    assert lines(other)[0] == lines({})[0]
    several = {"program": {"vertex-ai/* gemini-api/b:*": "a.py", "gemini-api/*": "shop/b.py"}}
    assert lines(several)[0] == []
    assert lines(several)[1].endswith("    b.py, answer gemini-api/a:1\n")
    two = {"program": {"gemini-api/a:1": "shop/b.py fast"}}
    page = lines(two, answer="gemini-api/a:1 gemini-api/b:2", prints="6")[1]
    assert page.endswith("    b.py fast, answers gemini-api/a:1 gemini-api/b:2 prints 6\n")
    again = {"again": "shop/reproduce_again.py"}
    assert lines(again)[0] == lines({})[0]
    assert lines(again, kind="again")[0] == []
    for unlisted, page in (lines({"no_program": "No."}), lines({}, no_program="No.")):
        assert unlisted == []
        assert page.endswith("\n\nNo program: No.\n")


def test_a_page_says_which_of_its_programs_are_longer(script: ModuleType) -> None:
    adapter = replace(OTHER, name="ag-ui-adk", version="1")

    def head(program: str) -> str:
        entries = {"ag-ui-adk": {"again": program}}
        text: str = script.head_of(script.AdapterFindings(adapter, [], entries, ""))
        return text

    longer = "adapter. A program with two runs has at most 20.\nThe server"
    again = head("ag-ui-adk/reproduce_again.py")
    assert "adapter. The server" in again
    assert longer not in again
    call = head("ag-ui-adk/reproduce_call.py chat")
    assert longer in call
    assert "\n`examples/adapters/ag-ui-adk/reproduce_call.py`:\n\n    import asyncio" in call


def test_a_pattern_of_the_newest_version_concerns_the_previous_one(script: ModuleType) -> None:
    finding = script.Finding(["pydantic-ai"], "It ends.")
    assert finding.concerns("pydantic-ai-1")
    assert not finding.concerns("pydantic-ai-ag-ui")
    assert not script.Finding(["pydantic-ai-1"], "It ends.").concerns("pydantic-ai")


def test_each_adapter_has_an_entry_point_and_programs_of_few_lines(script: ModuleType) -> None:
    *_, entries = script.read_findings()
    named = {
        FOLDER / program.partition(" ")[0]
        for entry in entries.values()
        for kind in script.KINDS
        for program in script.patterns_of(entry.get(kind, {})).values()
    }
    assert named == {*FOLDER.glob("*/reproduce*.*")}
    for path in named:
        text = path.read_text(encoding="utf-8")
        has_two_runs = text.count(" in adapter.run(") == 2
        assert len(text.splitlines()) <= (20 if has_two_runs else 10)
        is_given_an_address = path.stem in ("reproduce_live", "reproduce_cancelled")
        assert "127.0.0.1" in text or is_given_an_address or "reproduce_again" in path.name
    shims = {path.parent.name for path in FOLDER.glob("*/shim.*")}
    assert shims <= {*entries}


def test_the_readme_names_each_program() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    patterns = ("*/reproduce*.py", "*/reproduce*.mjs", "*/request*.py", "*/request*.mjs")
    programs = {path.name for pattern in patterns for path in FOLDER.glob(pattern)}
    assert len(programs) > 20
    assert [name for name in sorted(programs) if f"`{name}`" not in readme] == []


def test_answers_that_the_pages_name_are_recorded(script: ModuleType) -> None:
    served = imported("serve_answer")
    pages = [path.read_text(encoding="utf-8") for path in FINDINGS.glob("*.md")]
    programs = r"(?m)^    reproduce.*?, answers? ((?:[\w-]+/[\w-]+:\d+ ?)+)"
    places = {
        place for page in pages for each in re.findall(programs, page) for place in each.split()
    }
    findings, *_ = script.read_findings()
    places |= {place for finding in findings for place in finding.answer.split()}
    assert len(places) > 100
    for place in sorted(places):
        name, _, number = place.partition(":")
        exchange = load(CASSETTES / f"{name}.yaml").exchanges[int(number) - 1]
        status, kind, body, is_cut = served.read_answer(place)
        headers = {name.lower(): value for name, value in exchange.headers.items()}
        assert (status, kind) == (exchange.status, "".join(headers.get("content-type", ())))
        assert body.rstrip() == exchange.body.rstrip()
        assert is_cut == (exchange.end in ("cut", "reset", "aborted"))


def test_events_are_served_as_one_array() -> None:
    served = imported("serve_answer")
    events = b'data: {"a": 1}\r\n\r\ndata: {"b": 2}\r\n\r\n'
    assert json.loads(served.array_of(events)) == [{"a": 1}, {"b": 2}]


def test_each_request_gets_the_next_answer_and_then_the_last_one_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served = imported("serve_answer")
    answers = [(200, "text/event-stream", b"one", False), (503, "", b"two", False)]
    monkeypatch.setattr(served.Answer, "answers", answers)
    got = []
    with served.HTTPServer(("127.0.0.1", 0), served.Answer) as server:
        for number in range(3):
            thread = Thread(target=server.handle_request)
            thread.start()
            asking = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
            asking.request("POST", "/", body=f"request {number}")
            answer = asking.getresponse()
            got.append((answer.status, answer.getheader("content-type"), answer.read()))
            thread.join()
    assert got == [(200, "text/event-stream", b"one"), (503, None, b"two"), (503, None, b"two")]
    assert capsys.readouterr().out == "request 0\nrequest 1\nrequest 2\n"


def test_answers_to_serve_are_named_before_the_port(capsys: pytest.CaptureFixture[str]) -> None:
    served = imported("serve_answer")
    options = served.read_options(["--cut", "5", "gemini-api/text:1", "anthropic/ends:5", "8790"])
    assert options.answers == ["gemini-api/text:1", "anthropic/ends:5"]
    assert (options.port, options.cut, options.array) == (8790, 5, False)
    assert served.read_options(["gemini-api/text:1"]).port == 8080
    with pytest.raises(SystemExit):
        served.read_options(["8790"])
    assert "expected an answer before the port" in capsys.readouterr().err
