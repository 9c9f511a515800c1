"""Hostile input, danger by danger: what is broken, hostile or unknown is refused or told, and
nothing hangs, executes, escapes or is lost.

Each test here also shows, where that can be done safely, what careless code would do with the same
input. What a part's own tests show is not repeated; they stand at:

=========================================
============================================================================ secrets in every place
and writing         test_scan, test_redaction, test_recording_taking (`a_secret_in_an_answer_…`)
aliases that multiply                      test_importing (`aliases_that_multiply_…`),
test_strict_yaml damage anywhere in a file                  test_cassette, test_importing, test_spec
(`no_text_raises_anything_else`), fuzz names of cassettes in specs                test_spec
(`names_that_lead_elsewhere_are_refused`) a cassette that is a link out              test_plugin
(`a_cassette_reached_by_a_link_out_of_its_folder_is_refused`) a report or import through a link
test_report_command, test_plugin, test_cli (`…does_not_write_through_a_link`) pipes and devices
test_cli (`a_pipe_or_device_is_not_read`) provider names that are paths              test_report
(`a_provider_that_cannot_name_a_page_is_an_error`) markup in every field of a page
test_report (`text_that_tries_to_break_out_stays_text`), browser/ a program that hangs, floods,
crashes      test_user_adapters results that lie about their shape         test_report,
test_report_document =========================================
============================================================================
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
import tracemalloc
import xml.etree.ElementTree as ET
import zlib
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness import load, replay
from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request, dumps, loads
from harness.cassettes.importers import read
from harness.cassettes.load import read_recording
from harness.cassettes.redaction.secrets import guard
from harness.cli.main import main
from harness.conformance.adapters.named import make_adapter, read_line
from harness.conformance.judge import AdapterError
from harness.conformance.laws.replayer import plain
from harness.conformance.project import Project, yaml_files
from harness.dialects import DIALECTS
from harness.providers import PROVIDERS, with_provider
from harness.recording.staging import Unfinished, save
from harness.report import Header, Named, Run, render
from harness.specs import Case, SpecError, read_spec
from harness.stream.decompression import CODINGS, unpack
from tests.support.report_samples import HEADER, HOSTILE, HOSTILE_HEADER, hostile, result

pytest_plugins = ["pytester"]

URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
TEXT = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}\n\n'
)


def exchange(body: bytes, **headers: str) -> Exchange:
    named = {name.replace("_", "-"): [value] for name, value in headers.items()}
    return with_provider(
        Exchange(Request("POST", URL, {}, b"{}"), 200, named, ((None, body),), "complete")
    )


def spec(text: str) -> list[Case]:
    return read_spec(
        text,
        "s.yaml",
        dialects=DIALECTS,
        providers=PROVIDERS,
        features={"text.streaming"},
        losses={},
    )


# ---------------------------------------------------------------- YAML

DEEP = 200_000
NESTINGS = {
    "flow lists": "  " + "[" * DEEP,
    "flow mappings": "  " + "{a: " * DEEP,
    "flow keys": "  " + "{? " * DEEP,
    "lists in lists": "- " * DEEP,
    "keys in keys": "? " * DEEP,
    "indented": "".join(f"\n{' ' * level}a:" for level in range(1, 2000)),
    "indented lists": "".join(f"\n{' ' * level}-" for level in range(1, 2000)),
}
READERS: dict[str, tuple[Any, type[Exception], str]] = {
    "cassette": (
        lambda text: loads(text.encode()),
        CassetteError,
        "version: 1\nmetadata: {harness: 1, origin: written}\ninteractions:\n",
    ),
    "spec": (spec, SpecError, "harness: 1\ncases:\n"),
    "recording": (lambda text: read(text.encode()), CassetteError, "interactions:\n"),
}


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize("reader", READERS)
def test_nesting_is_refused_by_every_reader_of_yaml(reader: str, nesting: str) -> None:
    run, fault, head = READERS[reader]
    with pytest.raises(fault, match=r"nested deeper than 100 levels|a key must be a word"):
        run(head + NESTINGS[nesting])


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"log":{"entries":['])
def test_nesting_is_refused_by_the_readers_of_json(opening: str) -> None:
    with pytest.raises(CassetteError):
        read((opening * DEEP).encode())
    events = replay(exchange(b"data: " + opening.encode() * DEEP + b"\n\n" + TEXT), layer="events")
    assert [
        event["kind"] for event in events if event["kind"] in ("unknown", "text", "finish")
    ] == ["unknown", "text", "finish"]


def test_the_library_alone_would_not_survive_it() -> None:
    careless = (
        "import yaml; yaml.load('[' * 200000, Loader=getattr(yaml, 'CSafeLoader', yaml.SafeLoader))"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", careless], capture_output=True, check=False
        ).returncode
        != 0
    )


OWNED = "!!python/object/apply:os.mkdir [owned]"


@pytest.mark.parametrize("reader", READERS)
def test_a_tag_runs_nothing(reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run, fault, head = READERS[reader]
    with pytest.raises(
        fault,
        match="no exchange|interactions|not" if reader == "recording" else "tag .* is not allowed",
    ):
        run(f"{head}- {OWNED}\n")
    assert not Path("owned").exists()
    yaml.unsafe_load(OWNED)  # what a careless loader does with the same words
    assert Path("owned").exists()


@pytest.mark.parametrize("reader", ["cassette", "spec"])
def test_our_own_files_have_no_aliases(reader: str) -> None:
    run, fault, head = READERS[reader]
    with pytest.raises(fault, match="anchor &a is not allowed"):
        run(f"{head}- &a [x, x]\n- [*a, *a]\n")


def test_binary_that_aliases_repeat_is_weighed_before_it_is_copied() -> None:
    megabyte = base64.b64encode(bytes(1 << 20)).decode()
    bomb = f"x: &a !!binary {megabyte}\ny: &b [{'*a, ' * 20}*a]\ninteractions:\n- request: {{method: POST, uri: u}}\n"
    with pytest.raises(CassetteError, match="aliases that multiply"):
        read(
            f"{bomb}  response: {{status: {{code: 200}}, parsed_body: [{'*b, ' * 20}*b]}}\n".encode()
        )


# ---------------------------------------------------------------- bombs


def packed(size: int, coding: str = "gzip") -> bytes:
    """So many MiB of blanks behind the beginning of a message."""
    packer = zlib.compressobj(wbits=15 if coding == "deflate" else 31)
    start = packer.compress(b'data: {"candidates": "')
    return start + b"".join(packer.compress(b" " * (1 << 20)) for _ in range(size)) + packer.flush()


def peak(run: Any) -> int:
    """The most MiB that Python held while this ran."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1] >> 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("coding", sorted(CODINGS))
def test_a_bomb_is_told_by_the_stream_and_stays_small(coding: str) -> None:
    bomb = exchange(packed(100, coding), content_encoding=coding)
    payloads: list[Any] = []
    assert peak(lambda: payloads.extend(replay(bomb))) < 60
    assert payloads[-1]["error"]["type"] == "StreamError"
    assert any("longer than" in str(event.get("raw")) for event in replay(bomb, layer="events"))
    assert peak(lambda: plain(bomb)) < 60  # the laws look at the same bytes
    assert (
        peak(
            lambda: guard().scanner.scan_cassette(
                Cassette((bomb,), Origin("written")), redacted=True
            )
        )
        < 60
    )
    assert len(zlib.decompress(bomb.body, 47)) > 100 << 20  # careless


def test_a_bomb_of_many_members_costs_no_square() -> None:
    members = gzip.compress(b"") * 200_000
    began = time.process_time()
    assert unpack(members + gzip.compress(TEXT), "gzip") == TEXT
    assert time.process_time() - began < 20  # copying what is left for each would take minutes


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 258, 3_000_000])
def test_what_is_no_bomb_comes_whole(size: int) -> None:
    body = bytes(size)
    assert unpack(gzip.compress(body) + gzip.compress(TEXT), "gzip") == body + TEXT
    assert unpack(zlib.compress(body), "deflate") == body


BOMB = packed(40)
BOMB64 = base64.b64encode(BOMB).decode()
TOLD = {"content-encoding": "gzip", "content-type": "text/event-stream"}
FORMATS: dict[str, Any] = {
    "ours": dumps(
        Cassette(
            (exchange(BOMB, **{name.replace("-", "_"): value for name, value in TOLD.items()}),),
            Origin("written"),
        )
    ),
    "vcrpy": "version: 1\ninteractions:\n"
    f"- request: {{method: POST, uri: '{URL}', body: null, headers: {{}}}}\n  response: {{status: {{code: 200, message: OK}}, "
    f"headers: {{content-encoding: [gzip]}}, body: {{string: !!binary {BOMB64}}}}}\n",
    "ruby": f"http_interactions:\n- request: {{method: post, uri: '{URL}', headers: {{}}}}\n  response: {{status: {{code: 200}}, "
    f"headers: {{Content-Encoding: [gzip]}}, body: {{base64_string: {BOMB64}}}}}\n",
    "har": {
        "log": {
            "version": "1.2",
            "entries": [
                {
                    "startedDateTime": "2026-11-21T10:00:01.000Z",
                    "request": {"method": "POST", "url": URL, "headers": []},
                    "response": {
                        "status": 200,
                        "statusText": "OK",
                        "headers": [{"name": "content-encoding", "value": "gzip"}],
                        "content": {"text": BOMB64, "encoding": "base64"},
                    },
                }
            ],
        }
    },
    "nock": [
        {
            "scope": "https://generativelanguage.googleapis.com:443",
            "method": "POST",
            "path": "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
            "status": 200,
            "response": [BOMB.hex()],
            "rawHeaders": {"content-encoding": "gzip"},
        }
    ],
    "req_llm": {
        "captured_at": "2026-11-21T10:00:00Z",
        "model_spec": "google:m-1",
        "provider": "google",
        "request": {"method": "POST", "url": URL, "headers": {}, "canonical_json": {}},
        "response": {"status": 200, "headers": [["content-encoding", "gzip"]], "body": None},
        "chunks": [{"b64": BOMB64, "decoded": ""}],
    },
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_bomb_inside_a_recording_is_told_by_the_stream(name: str) -> None:
    written = FORMATS[name]
    data = (written if isinstance(written, str) else json.dumps(written)).encode()
    (loaded,) = read_recording(data, name).exchanges
    assert loaded.body == BOMB  # an importer has no reason to unpack it
    payloads: list[Any] = []
    assert peak(lambda: payloads.extend(replay(loaded))) < 60
    assert payloads[-1]["error"]["type"] == "StreamError"


def test_the_importer_that_must_unpack_stops_at_the_ratio() -> None:
    recording = f"http_interactions:\n- request: {{method: GET, uri: u}}\n  response: {{status: 200, body: {{raw_gzip: {BOMB64}}}}}\n"

    def run() -> None:
        with pytest.raises(
            CassetteError, match=r"raw_gzip: cut short, or more than 16777216 bytes"
        ):
            read(recording.encode())

    assert peak(run) < 60


# ---------------------------------------------------------------- paths and links


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that holds a cassette, and a file beside it that is none of its own."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(pytester.path)
    (pytester.path / "cassettes/gemini-api").mkdir(parents=True)
    (pytester.path / "specs").mkdir()
    text = dumps(Cassette((exchange(TEXT),), Origin("written", date="2026-11-21")))
    Path("cassettes/gemini-api/hello.yaml").write_text(text, encoding="utf-8")
    Path("outside.yaml").write_text(text, encoding="utf-8")
    Path("specs/hello.yaml").write_text(SPEC, encoding="utf-8")
    return pytester.path


SPEC = """\
harness: 1
cases:
- case: hello
  requirement: The text arrives.
  features: [text.streaming]
  source: https://ai.google.dev/api/generate-content
  cassette: gemini-api/hello
  expect:
    mind: {$contains: [{type: result}]}
"""

NOWHERE = [
    "../outside",
    "gemini-api/../../outside",
    "/etc/passwd",
    "loop",
    "one",
    "\0",
    "x" * 5000,
    "\ud800",
    "folder/outside",
    "link",
]


@pytest.mark.parametrize("name", NOWHERE, ids=lambda name: ascii(name)[1:20])
def test_no_name_of_a_cassette_leaves_its_folder(name: str, project: Path) -> None:
    (project / "cassettes/loop.yaml").symlink_to("loop.yaml")
    (project / "cassettes/one.yaml").symlink_to("two.yaml")
    (project / "cassettes/two.yaml").symlink_to("one.yaml")
    (project / "cassettes/folder").symlink_to(project)
    (project / "cassettes/link.yaml").symlink_to(project / "outside.yaml")
    assert load("cassettes/link.yaml").exchanges  # careless
    with pytest.raises(CassetteError, match=r"leads out of|leads nowhere"):
        Project([Path("specs")], Path("cassettes")).cassette(name)


@pytest.mark.parametrize(
    "name", ["../outside", "a/b", "/etc/passwd", "..", ".", "a\\\\b", "a\\0", "a%2fb", "-"]
)
def test_no_name_of_a_case_is_a_path(name: str) -> None:
    assert spec(SPEC)
    with pytest.raises(SpecError, match="case"):
        spec(SPEC.replace("case: hello", f'case: "{name}"'))


@pytest.mark.parametrize("number", ["0", "-1", "2", "9" * 30])
@pytest.mark.parametrize("command", ["replay", "show", "mutate"])
def test_an_exchange_that_is_not_there_is_an_error(
    command: str, number: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "outside.yaml", f"--exchange={number}"]) == 2
    assert "there is no exchange" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["import", "export", "mutate"])
@pytest.mark.parametrize("target", ["there.yaml", "dangling.yaml"])
def test_nothing_is_written_over_or_through(command: str, target: str, project: Path) -> None:
    Path("there.yaml").write_text("precious", encoding="utf-8")
    Path("dangling.yaml").symlink_to("made.yaml")
    assert main([command, "outside.yaml", "-o", target]) == 2
    assert Path("there.yaml").read_text(encoding="utf-8") == "precious"
    assert not Path("made.yaml").exists()


def test_a_recording_is_not_written_through_a_link(project: Path) -> None:
    precious, cassette = project / "precious", project / "new.yaml"
    for name in ("new.yaml", "new.yaml.part"):
        precious.write_text("precious", encoding="utf-8")
        (project / name).symlink_to(precious)
    with Unfinished(cassette, lambda request: (Origin("recorded"), guard())) as unfinished:
        unfinished.asked(0, None)
        unfinished.answered(0, 200, "OK", {})
    assert not (project / "new.yaml.part").is_symlink()
    save(cassette, "text\n")
    assert not cassette.is_symlink()
    assert cassette.read_text(encoding="utf-8") == "text\n"
    assert precious.read_text(encoding="utf-8") == "precious"


def test_a_folder_that_holds_itself_is_walked_once(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "specs/self").symlink_to(".")
    (project / "specs/up").symlink_to("..")
    assert [path.name for path in yaml_files(project / "specs")] == ["hello.yaml"]
    assert main(["check"]) == 0
    assert "1 spec, 1 cassette in order" in capsys.readouterr().out
    assert main(["scan", "specs"]) == 0
    assert "1 file scanned" in capsys.readouterr().err


def test_names_of_adapters_and_providers_stay_in_the_reports_folder() -> None:
    header = Header(
        tools=(),
        providers=HEADER.providers,
        adapters=(Named("../../evil", "x", 0), Named("/etc/a\0b", "y", 1)),
        features=HEADER.features,
    )
    files = render(Run(header, [result(adapter="../../evil"), result(adapter="/etc/a\0b")]))
    in_place = re.compile(
        r"(badges/)?[a-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9._-]+)?\.(html|json|xml|md|svg)"
    )
    assert len(files) > 4
    assert [name for name in files if not in_place.fullmatch(name)] == []


# ---------------------------------------------------------------- terminals

ODD = "\x1b[2J\x1b]0;own\x07\x9b31m\x7f\x85\u2028\u202egnp\u2066\u200f\u061c"
COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
QUOTED = json.dumps(ODD)  # as YAML reads it, too


def hostile_body() -> bytes:
    call = {"functionCall": {"name": ODD, "id": ODD, "args": {ODD: ODD}}}
    first = {
        "candidates": [
            {
                "content": {
                    "parts": [{"text": ODD}, call, {ODD: ODD}, {"text": ODD, "thought": True}]
                },
                "finishReason": ODD,
            }
        ],
        "modelVersion": ODD,
        "responseId": ODD,
        "usageMetadata": {ODD: 1},
    }
    error = {"error": {"code": 400, "message": ODD, "status": ODD}}
    lines = [
        json.dumps(first, ensure_ascii=False),
        ODD.replace("\x85", "").replace("\u2028", ""),
        json.dumps(error, ensure_ascii=False),
    ]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


HOSTILE_SPEC = f"""\
harness: 1
cases:
- case: marked
  requirement: {QUOTED}
  features: [text.streaming]
  source: "https://ai.google.dev/\\e[2J\\u202e"
  cassette: gemini-api/bad
  known_failing: {{unified-llm: {{reason: {QUOTED}, link: "https://x/\\e[2J\\u202e"}}}}
  expect:
    unified-llm: [{QUOTED}]
    anthropic: [{{{QUOTED}: 1}}]
    events: [{{kind: {QUOTED}}}]
    frames: []
    mind:
- case: wished
  requirement: {QUOTED}
  level: should
  features: [text.streaming]
  source: "https://ai.google.dev/\\e[2J\\u202e"
  cassette: gemini-api/bad
  expect:
    unified-llm: [{QUOTED}]
"""


@pytest.fixture
def trap(project: Path) -> Path:
    """A project whose cassette, spec, prompt and files of others hold what commands a terminal,
    wherever they can.
    """
    request = Request(
        "POST",
        URL,
        {"x": [ODD]},
        json.dumps({"tools": [{"functionDeclarations": [{"name": ODD}]}]}).encode(),
    )
    bad = Exchange(
        request,
        200,
        {"content-type": ["text/event-stream"], "x": [ODD]},
        ((None, hostile_body()),),
        "complete",
        ODD,
    )
    origin = Origin(
        "imported",
        date="2026-01-01",
        client=ODD,
        model=ODD,
        source=ODD,
        commit=ODD,
        licence=ODD,
        note=ODD,
    )
    text = dumps(Cassette((bad,), origin))
    Path("cassettes/gemini-api/bad.yaml").write_text(text, encoding="utf-8")
    Path("broken.yaml").write_text(f"{text}{QUOTED}: {QUOTED}\n", encoding="utf-8")
    Path("specs/hello.yaml").write_text(HOSTILE_SPEC, encoding="utf-8")
    Path("broken_spec.yaml").write_text(
        HOSTILE_SPEC.replace("level:", f"{QUOTED}: x\n  level:"), encoding="utf-8"
    )
    Path("bare.txt").write_bytes(hostile_body())
    Path("odd.json").write_text(json.dumps({"log": ODD}, ensure_ascii=False), encoding="utf-8")
    schema = {
        "type": "object",
        "properties": {ODD: {"type": "string", ODD: 1, "pattern": ODD, "format": ODD}},
    }
    tool = {"name": "f", "description": ODD, "parameters": schema}
    said = {
        "model": "m",
        "messages": [{"role": "user", "content": [{"kind": "text", "text": ODD}]}],
        "tools": [tool],
    }
    Path("prompt.json").write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")
    return project


RECORDED = "cassettes/gemini-api/bad.yaml"
COMMANDS = [
    *(["replay", RECORDED, "--dialect", dialect] for dialect in DIALECTS),
    ["replay", RECORDED, "--layer", "events"],
    ["replay", RECORDED, "--layer", "frames"],
    ["replay", "bare.txt"],
    ["replay", "odd.json"],
    ["replay", "broken.yaml"],
    ["replay", ODD],
    ["show", RECORDED],
    ["show", RECORDED, "--list"],
    ["show", ODD],
    ["check"],
    ["check", "broken.yaml", "broken_spec.yaml", ODD],
    ["scan", "."],
    ["scan", "broken.yaml", ODD],
    ["prove", "--survivors"],
    ["prove", "--specs", ODD],
    ["import", "odd.json"],
    ["import", ODD],
    ["export", "broken.yaml"],
    ["mutate", RECORDED],
    ["mutate", ODD],
    ["request", "prompt.json", "--dialect", "unified-llm"],
    ["request", "prompt.json", "--dialect", "anthropic"],
    ["record", "marked"],
    ["record", ODD],
    ["record", f"gemini-api/{ODD}", "--prompt", "hi"],
    ["compare", ODD, ODD],
    ["report", ODD, "-o", "out"],
]


@pytest.mark.parametrize(
    "arguments",
    COMMANDS,
    ids=lambda arguments: f"{arguments[0]} {ascii(' '.join(arguments[1:]))[1:40]}",
)
def test_no_command_lets_a_text_command_the_terminal(
    arguments: list[str], trap: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(arguments)
    told = capsys.readouterr()
    assert COMMANDING.findall(told.out + told.err) == []
    assert told.out + told.err


def test_what_a_terminal_would_have_been_told_is_there_to_be_told(trap: Path) -> None:
    assert ODD in "".join(
        str(payload.get("delta")) for payload in replay(load(RECORDED).exchanges[0])
    )
    assert {"\x1b", "\x9b", "\u202e"} <= set(
        COMMANDING.findall(Path("bare.txt").read_text(encoding="utf-8") + "\x1b")
    )


@pytest.mark.parametrize("command", ["import", "export"])
def test_a_file_printed_on_a_terminal_commands_nothing_and_on_its_way_to_a_file_is_itself(
    command: str, trap: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([command, RECORDED]) == 0
    assert "\u202e" in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main([command, RECORDED]) == 0
    assert COMMANDING.findall(capsys.readouterr().out) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["specs", "-rA", "-W", "default", "--harness-report", "out"],
        ["specs", "-rA", "--harness-strict"],
        ["broken_spec.yaml"],
        ["cassettes", "--harness-laws", "-rA"],
    ],
    ids=" ".join,
)
def test_no_run_of_pytest_lets_a_text_command_the_terminal(
    arguments: list[str], trap: Path, pytester: pytest.Pytester
) -> None:
    if "--harness-laws" in arguments:
        Path("broken.yaml").replace("cassettes/broken.yaml")
    ran = pytester.runpytest_inprocess(*arguments, "-p", "no:cacheprovider", "--color=no")
    told = ran.stdout.str() + ran.stderr.str()
    assert COMMANDING.findall(told) == []
    assert "2J" in told
    if "out" in arguments:
        assert ran.parseoutcomes()["xfailed"] == 1
        assert ran.parseoutcomes()["warnings"] == 1
        results = Path("out/results.json").read_text(encoding="utf-8")
        Path("before.json").write_text(results.replace('"failed"', '"passed"'), encoding="utf-8")
        compared = pytester.run(
            sys.executable,
            "-c",
            "from harness.cli.main import main; main()",
            "compare",
            "before.json",
            "out/results.json",
        )
        assert COMMANDING.findall(compared.stdout.str() + compared.stderr.str()) == []
        assert "broken" in compared.stdout.str()


# ---------------------------------------------------------------- pages, summaries, JUnit

MARKUP = "</script><img src=x onerror=alert(1)>`'\"&amp;{{7*7}}{% x %}"


class Tags(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_markup_in_every_field_of_a_spec_and_a_cassette_is_text_in_the_report(
    project: Path, pytester: pytest.Pytester
) -> None:
    said = json.dumps(MARKUP)
    prompt = {
        "model": MARKUP,
        "messages": [{"role": "user", "content": [{"kind": "text", "text": MARKUP}]}],
    }
    head = f"  requirement: {said}\n  features: [text.evil]\n  source: 'https://x/\"onclick=alert(1)><img/src=x>'\n"
    Path("specs/hello.yaml").write_text(
        f"harness: 1\ncases:\n- case: stream\n{head}  cassette: gemini-api/bad\n  context: {{{said}: {said}}}\n"
        f"  known_failing: {{mind: {{reason: {said}, link: 'https://x/\"onclick=alert(1)><img/src=x>'}}}}\n"
        f"  expect: {{mind: [{said}], unified-llm: [{{{said}: {said}}}], own: [{said}]}}\n"
        f"- case: prompt\n{head}  prompt: {{unified-llm: {json.dumps(prompt)}}}\n"
        f"  expect: {{unified-llm: {{request: {{{said}: {said}}}}}}}\n",
        encoding="utf-8",
    )
    Path("specs/features.yaml").write_text(
        f"harness: 1\nfeatures:\n- {{id: text.evil, title: {said}, meaning: {said}, link: 'https://x/\"onclick=alert(1)><img/src=x>'}}\n",
        encoding="utf-8",
    )
    body = f"data: {json.dumps({'candidates': [{'content': {'parts': [{'text': MARKUP}]}, 'finishReason': MARKUP}]})}\n\n".encode()
    origin = Origin(
        "imported",
        client=MARKUP,
        model=MARKUP,
        source=MARKUP,
        commit=MARKUP,
        licence=MARKUP,
        note=MARKUP,
    )
    Path("cassettes/gemini-api/bad.yaml").write_text(
        dumps(Cassette((exchange(body, x=MARKUP),), origin)), encoding="utf-8"
    )
    Path("markup_adapter.py").write_text(
        f"def run(exchange):\n    raise ValueError({MARKUP!r})\n", encoding="utf-8"
    )
    pytester.makeini("[pytest]\nharness_adapters =\n    own = markup_adapter:run\n")
    ran = pytester.runpytest_inprocess("specs", "-p", "no:cacheprovider", "--harness-report", "out")
    assert sum(ran.parseoutcomes().values()) >= 4
    seen = 0
    for page in Path("out").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        tags = Tags(text).found
        seen += "alert(1)" in text
        assert not [tag for tag, _ in tags if tag in ("img", "iframe", "object", "svg:script")]
        assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]
        assert all(
            re.match(r"https?://|#|[\w.-]+(#|$)", attributes.get("href") or "#")
            for _, attributes in tags
        )
        assert sum(tag == "script" for tag, _ in tags) <= 2
    assert seen == 2  # the index and the page of the provider


@pytest.mark.parametrize(
    "link",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        " https://x",
        "//x",
        "file:///etc/passwd",
        "HTTPS:x",
    ],
)
@pytest.mark.parametrize("field", ["source", "link"])
def test_a_link_of_a_spec_is_http_or_an_error(field: str, link: str) -> None:
    marked = SPEC.replace(
        "  expect", "  known_failing: {mind: {reason: r, link: 'https://x.example'}}\n  expect"
    )
    old = (
        "https://ai.google.dev/api/generate-content" if field == "source" else "'https://x.example'"
    )
    assert spec(marked)
    with pytest.raises(SpecError, match="must be a link that begins with http"):
        spec(marked.replace(old, json.dumps(link)))


def test_nothing_injects_a_case_into_junit() -> None:
    cell = hostile("failed")
    told = render(Run(HOSTILE_HEADER, [cell]))["junit.xml"]
    parsed = ET.fromstring(told)
    assert len(parsed.findall(".//testcase")) == len(parsed.findall(".//failure")) == 1
    allowed = {
        "testsuites",
        "testsuite",
        "testcase",
        "failure",
        "error",
        "skipped",
        "properties",
        "property",
    }
    assert {one.tag for one in parsed.iter()} <= allowed
    assert COMMANDING.findall(told.replace("\r", "")) == []


def test_nothing_becomes_markup_in_the_summary() -> None:
    lined = f"a\n# b\n\n| c |\n```\n<!-- {HOSTILE} [x](javascript:y) @everyone https://evil.example ![i](x)"
    cell = result(
        "failed", "two", requirement=lined, reason=lined, cassette=lined, provider="gemini-api"
    )
    told = render(Run(HEADER, [result(), cell]))["summary.md"]
    calm = render(Run(HEADER, [result(), result("failed", "two")]))["summary.md"]
    assert len(told.splitlines()) == len(calm.splitlines())
    assert not re.search(r"(?<!\\)<(?!br>)|(?<!\\)\]\(|(?<!\\)`|(?<!\\)!\[|(?<!\\)@", told)


# ---------------------------------------------------------------- adapters

MINE = Case(
    case="c",
    requirement="r",
    features=("f",),
    source="https://s.example",
    cassette="x",
    expect={"own": None},
)
SWALLOWS = """
def run(exchange):
    while True:
        try:
            while True: pass
        except Exception: pass
"""


def test_a_function_that_swallows_exceptions_is_stopped_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "swallowing_adapter.py").write_text(SWALLOWS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(AdapterError, match=r"did not return within 0\.2 s"):
        make_adapter(read_line("mine = swallowing_adapter:run"), tmp_path, timeout=0.2)(
            exchange(TEXT), MINE
        )


FORKS = """
import os, warnings
def run(exchange):
    open('calls', 'a').write('x')
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        os.fork()
    return [{'type': 'result'}]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_the_child_of_a_function_that_forks_does_not_go_on_with_the_tests(
    project: Path, pytester: pytest.Pytester
) -> None:
    Path("forking_adapter.py").write_text(FORKS, encoding="utf-8")
    pytester.makeini("[pytest]\nharness_adapters =\n    own: mind = forking_adapter:run\n")
    Path("specs/test_after.py").write_text(
        "def test_after() -> None:\n    open('after', 'a').write('x')\n", encoding="utf-8"
    )
    ran = pytester.runpytest_subprocess(
        "specs", "--harness-dialect", "own", "-p", "no:cacheprovider"
    )
    ran.assert_outcomes(passed=2)
    assert (
        Path("calls").read_text(encoding="utf-8")
        == Path("after").read_text(encoding="utf-8")
        == "x"
    )


PROGRAMS = {
    "leaves its session": "import os, time\nif os.fork() == 0:\n os.setsid(); open('child', 'w').write(str(os.getpid())); time.sleep(8)",
    "does not listen to signals": "import signal, time\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(60)",
    "floods its errors": "import sys\nwhile True: sys.stderr.write('x' * 65536)",
    "closes its output and stays": "import os, time\nos.close(1); os.close(2); time.sleep(60)",
}


LEAVERS = {
    "and closes its output": "os.setsid()",
    "twice": "os.setsid()\n if os.fork(): os._exit(0)",
    "as another program": "os.setsid(); os.execvp('sleep', ['sleep', '60'])",
}
LEAVES = """
import os, time
if os.fork() == 0:
 for n in (0, 1, 2): os.close(n)
 {leave}
 time.sleep(60)
time.sleep(0.5)
print('{{}}')
"""


@pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="what left its session is found by /proc"
)
@pytest.mark.parametrize("leave", LEAVERS.values(), ids=list(LEAVERS))
def test_what_a_program_leaves_behind_ends_with_it_also_in_another_session(
    leave: str, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(LEAVES.format(leave=leave), encoding="utf-8")

    def left() -> list[str]:
        """What runs in this folder: the program's children do, and nothing else."""
        found = []
        for one in Path("/proc").glob("[0-9]*/cwd"):
            with suppress(OSError):  # it has ended, or is somebody else's
                found += [one.parent.name] if one.readlink() == tmp_path.resolve() else []
        return found

    careless = subprocess.Popen(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    careless.wait(20)
    with suppress(ProcessLookupError):
        os.killpg(careless.pid, signal.SIGKILL)  # the session alone
    (child,) = left()
    os.kill(int(child), signal.SIGKILL)
    gave = make_adapter(
        read_line(f"mine = run: {sys.executable} program.py"), tmp_path, timeout=20.0
    )(exchange(TEXT), MINE)
    assert gave == [{}]
    until = time.monotonic() + 5
    while left() and time.monotonic() < until:  # the kernel takes them away in its own time
        time.sleep(0.05)
    assert left() == []


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_a_program_gets_its_verdict_in_time(program: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    began = time.monotonic()
    with pytest.raises(AdapterError, match="did not end within 1 s"):
        make_adapter(read_line(f"mine = run: {sys.executable} program.py"), tmp_path, timeout=1.0)(
            exchange(TEXT), MINE
        )
    assert time.monotonic() - began < 7
