"""The walk over a corpus goes red for each fault that it checks. If HARNESS_CORPORA names a folder,
a sample of that corpus is walked too.
"""

from __future__ import annotations

import base64
import json
import os
import warnings
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.facts import View
from harness.judging.questions.comparison import found
from harness.providers.plain_events import gather_events
from tests.corpus import own_requests
from tests.corpus.own_requests import accusations
from tests.corpus.walk import (
    MAX_EXCEPTIONS,
    FileResult,
    Walk,
    excuse,
    main,
    read_manifest,
    refused_though_answered,
    summary,
    walk_all,
)
from tests.support.need import need

warnings.filterwarnings("ignore")
from tests.corpus.second_opinion import SecondOpinion, unseen  # noqa: E402  # its dependencies warn at import

SAMPLE = 40
"""The tests walk one of this many files of a real corpus."""

STREAM = (
    'data: {"candidates": [{"content": {"parts": [{"text": "Hi"}],"role": "model"},"index": 0}],'
    '"usageMetadata": {"promptTokenCount": 3}}\r\n\r\n'
    'data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f","args": {"a": 1}},"thoughtSignature": "QQ=="}]},'
    '"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 3,"candidatesTokenCount": 2}}\r\n\r\n'
)
URL = "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"


ASKED = '{"contents": [{"parts": [{"text": "Hi"}]}]}'


def cassette(url: str = URL, body: str = STREAM, asked: str = ASKED) -> str:
    """A stock vcrpy cassette of one call."""
    call = {
        "request": {"body": asked, "headers": {}, "method": "POST", "uri": url},
        "response": {
            "body": {"string": body},
            "headers": {},
            "status": {"code": 200, "message": "OK"},
        },
    }
    return json.dumps({"interactions": [call], "version": 1})


def corpus(folder: Path, *rows: dict[str, Any], text: str = "") -> Path:
    """A folder of one recording and a manifest of these lines."""
    given = {"path": "one.yaml", "format": "vcrpy-yaml", "n_generate": 1, "n_streamed": 1}
    (folder / "one.yaml").write_text(text or cassette(), encoding="utf-8")
    lines = (json.dumps({**given, **row}) for row in rows or ({},))
    (folder / "MANIFEST.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def walked(folder: Path, **how: Any) -> FileResult:
    (result,) = walk_all(Walk(folder, **how), read_manifest(folder), jobs=1)
    return result


@pytest.mark.slow
def test_a_good_corpus_is_green(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(corpus(tmp_path)), "--jobs", "1", "--json", str(tmp_path / "out.json")]) == 0
    assert "losses 0, crashes 0, red 0" in capsys.readouterr().out
    (result,) = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert (result["replayed"], result["second"]) == (1, {"read": 1})


def test_a_rule_that_refuses_an_answered_request_is_red(tmp_path: Path) -> None:
    (finding,) = walked(corpus(tmp_path, text=cassette(asked='{"contents": []}'))).red
    assert finding.startswith("exchange 1: the server would refuse what was answered: ")
    assert "(rule contents-missing, " in finding


def test_a_request_that_is_accused_though_it_asks_for_nothing_else_is_red(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = corpus(tmp_path)
    assert (walked(folder).requests, walked(folder).red) == (1, [])
    monkeypatch.setattr(own_requests, "compare_prompts", lambda both: [found("tools", "lost", "f")])
    assert walked(folder).red == ["exchange 1: asked for itself: tools lost: f"]


def without_the_call(exchange: harness.Exchange, **options: Any) -> list[dict[str, Any]]:
    payloads = harness.replay(exchange, **options)
    return [payload for payload in payloads if not str(payload.get("type")).startswith("TOOL_CALL")]


def test_one_call_less_in_the_payloads_is_red(tmp_path: Path) -> None:
    result = walked(corpus(tmp_path), replay=without_the_call)
    assert result.losses
    assert any("calls lost: 1 of 1 calls lost: f" in line for line in result.red)


def without_call_events(exchange: harness.Exchange, **options: Any) -> list[dict[str, Any]]:
    return [
        item
        for item in harness.replay(exchange, **options)
        if not str(item.get("kind")).startswith("call_")
    ]


def test_one_call_less_in_the_events_is_red_by_both_readers(tmp_path: Path) -> None:
    result = walked(corpus(tmp_path), replay=without_call_events)
    assert any("events: calls lost: 1 of 1 calls lost: f" in line for line in result.red)
    assert any("google-genai sees the call f" in line for line in result.red)


def nothing_from_code_assist(exchange: harness.Exchange, **options: Any) -> list[dict[str, Any]]:
    payloads = harness.replay(exchange, **options)
    is_lost = options.get("provider") == "code-assist" and options.get("layer") != "events"
    return [] if is_lost else payloads


def test_a_loss_under_the_name_of_another_provider_is_red(tmp_path: Path) -> None:
    result = walked(corpus(tmp_path), replay=nothing_from_code_assist)
    lost = 'calls lost: 1 of 1 calls lost: f({"a": 1})'
    assert any(line.endswith(lost) for line in result.red)
    assert all(line.startswith("exchange 1: as code-assist: ") for line in result.red)


def forgetful(exchange: harness.Exchange, **options: Any) -> list[dict[str, Any]]:
    return harness.replay(exchange, **{**options, "session": harness.Session()})


def test_a_signature_that_does_not_go_back_is_red(tmp_path: Path) -> None:
    result = walked(corpus(tmp_path), replay=forgetful)
    assert any("mind: " in line and "QQ==" in line for line in result.red), result.red


def crashing(exchange: harness.Exchange, **options: Any) -> list[dict[str, Any]]:
    raise IndexError("pop from an empty list")


def test_a_crash_is_red_and_the_walk_continues(tmp_path: Path) -> None:
    result = walked(corpus(tmp_path), replay=crashing)
    assert result.crashes == 1
    assert any("IndexError" in line for line in result.red)


@pytest.mark.parametrize("cuts", ["whole", "bytes", "random"])
def test_a_replay_that_depends_on_the_cuts_is_red(tmp_path: Path, cuts: str) -> None:
    def cut_dependent(exchange: harness.Exchange, **options: Any) -> list[dict[str, Any]]:
        items = harness.replay(exchange, **options)
        asked = options.get("cuts", "recorded")
        return items[:-1] if (asked if isinstance(asked, str) else "random") == cuts else items

    assert any(
        f"read {cuts}" in line for line in walked(corpus(tmp_path), replay=cut_dependent).red
    )


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"n_generate": 2}, "count: 1 generate calls, the manifest says 2"),
        ({"n_streamed": 0}, "count: 1 streamed calls, the manifest says 0"),
        ({"path": "gone.yaml"}, "not loaded"),
    ],
)
def test_a_wrong_count_and_a_missing_file_are_red(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: dict[str, Any], sentence: str
) -> None:
    assert main([str(corpus(tmp_path, row)), "--jobs", "1"]) == 1
    assert sentence in capsys.readouterr().out


def test_a_file_that_is_no_recording_is_red(tmp_path: Path) -> None:
    assert walked(corpus(tmp_path, text="just: yaml\n")).red


def test_an_exchange_that_is_not_replayed_has_a_reason(tmp_path: Path) -> None:
    url, why = "https://api.openai.com/v1/embeddings", "does not generate"
    folder = corpus(tmp_path, {"n_generate": 0, "n_streamed": 0}, text=cassette(url, "{}"))
    result = walked(folder)
    assert result.not_replayed == {why: 1}
    assert f"1 × {why}" in summary([result], [], [])
    assert result.red == []


def test_a_file_of_a_wire_without_a_reader_is_named_and_not_red(tmp_path: Path) -> None:
    body = '{"setup": {"model": "m"}}\n{"setupComplete": {}}\n'
    result = walked(corpus(tmp_path, {"n_generate": 0, "n_streamed": 0}, text=body))
    assert (result.not_replayed, result.red) == (
        {"a session of the Live API in another format: no reader": 1},
        [],
    )


def test_the_exchanges_of_openai_are_counted_together(tmp_path: Path) -> None:
    one = {"exchanges": 1, "streamed": 0, "with_calls": 0}
    row = {
        "n_generate": 0,
        "n_streamed": 0,
        "n_by_wire": {"openai-chat": one, "openai-responses": one},
    }
    body = '{"object": "chat.completion", "choices": []}'
    assert walked(corpus(tmp_path, row, text=body)).red == [
        "count: 1 openai calls, the manifest says 2"
    ]


RUN = """{"type":"init","session_id":"s","model":"m"}
{"type":"message","role":"assistant","content":"Hi","delta":true}
{"type":"result","status":"success"}
"""


def without_the_text(exchange: harness.Exchange, **options: Any) -> list[dict[str, Any]]:
    payloads = harness.replay(exchange, **options)
    return [payload for payload in payloads if payload.get("type") != "assistant"]


def test_a_loss_of_another_wire_is_red(tmp_path: Path) -> None:
    row = {"n_generate": 0, "n_streamed": 0}
    result = walked(corpus(tmp_path, row, text=RUN), replay=without_the_text)
    assert any("mind: text lost" in line for line in result.red)


def test_several_folders_are_walked_without_the_wires_of_plugins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / name for name in ("first", "second", "third")]
    rows: tuple[dict[str, Any], ...] = ({}, {"n_generate": 0, "n_streamed": 0}, {"wire": "agy"})
    for folder, row in zip(folders, rows, strict=True):
        folder.mkdir()
        corpus(folder, row, text=RUN if row else cassette())
    assert main([*map(str, folders), "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    assert "files 2, generate calls 1" in shown
    assert "1 × gemini-cli" in shown


def test_unknown_kinds_are_listed_by_name(tmp_path: Path) -> None:
    body = 'data: {"candidates": [{"content": {"parts": [{"hologram": 1}]}}]}\n\n'
    result = walked(corpus(tmp_path, text=cassette(body=body)))
    assert [name for name in result.unknown if "hologram" in name]
    assert result.red == []


def test_a_missing_folder_is_bad_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere")]) == 2
    assert "MANIFEST.jsonl" in capsys.readouterr().err


def test_exceptions_excuse_only_what_is_red_and_are_few() -> None:
    red = FileResult("a", "f", red=["count: 1"])
    green = FileResult("b", "f")
    assert excuse([red, green], {"a": "because"}) == ([], ["a: because"])
    assert excuse([red, green], {"a": "because", "b": "once"})[0] == [
        "b: green, take it off the list of exceptions"
    ]
    assert excuse(
        [FileResult("a", "f", red=["count: 1", "exchange 1: call lost"])], {"a": "because"}
    )[0] == ["a: exchange 1: call lost"]
    many = [FileResult(str(n), "f", red=["count: 1"]) for n in range(MAX_EXCEPTIONS + 1)]
    assert excuse(many, {result.path: "why" for result in many})[0] == [
        "21 exceptions; at most 20 are allowed"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "lacking"),
    [
        (STREAM.replace("Hi", "Ho"), "text"),
        (STREAM.replace('"Hi"', '"Hi","thought": true'), "thoughts 'Hi'"),
        (STREAM.replace('{"a": 1}', '{"a": 2}'), "call f"),
        (STREAM.replace("STOP", "MAX_TOKENS"), "finish"),
        (
            STREAM.replace('"candidatesTokenCount": 2', '"candidatesTokenCount": 3'),
            "candidatesTokenCount 3",
        ),
        (STREAM.replace("QQ==", base64.b64encode(b"long").decode()), "signature of 4 bytes"),
        (STREAM + '{"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}', "an error"),
        ('data: {"promptFeedback": {"blockReason": "SAFETY"}}\n\n', "block_reason"),
    ],
)
def test_google_genai_finds_facts_that_our_events_lack(body: str, lacking: str) -> None:
    findings = second_findings(body, STREAM)
    assert any(lacking in line for line in findings), findings


@pytest.mark.slow
@pytest.mark.parametrize("body", [STREAM, STREAM.replace('"index": 0', '"index": 1')])
def test_google_genai_finds_nothing_lacking_in_a_faithful_replay(body: str) -> None:
    assert second_findings(body, body) == []


def second_findings(theirs: str, ours: str) -> list[str]:
    """The facts that google-genai sees in one body and the events of another body lack."""

    def exchange(text: str) -> harness.Exchange:
        return harness.Exchange(
            None, 200, {}, ((None, text.encode()),), provider="gemini-api", generates=True
        )

    seen = SecondOpinion().read(exchange(theirs), streamed=True)
    assert not isinstance(seen, str)
    return unseen(
        seen,
        View(gather_events(harness.replay(exchange(ours), layer="events"))),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("[" + STREAM[6:90] + "]", "a JSON array instead of SSE"),
        (STREAM.replace("data: ", "data:"), "SSE beyond lines that begin with 'data: '"),
        (STREAM.replace('"STOP"', "1"), "AttributeError in the SDK"),
    ],
)
def test_content_that_google_genai_cannot_read_has_a_name(body: str, why: str) -> None:
    exchange = harness.Exchange(
        None, 200, {}, ((None, body.encode()),), provider="gemini-api", generates=True
    )
    assert str(SecondOpinion().read(exchange, streamed=True)).startswith(why)


def test_a_sample_of_the_real_corpus_is_green() -> None:
    folder = os.environ.get("HARNESS_CORPORA")
    need("corpus", folder, "HARNESS_CORPORA names no folder of recordings")
    assert folder
    rows = read_manifest(Path(folder))[::SAMPLE]
    results = walk_all(Walk(Path(folder)), rows, jobs=1)
    exceptions = harness_exceptions()
    assert (
        excuse(
            results,
            {
                result.path: exceptions[result.path]
                for result in results
                if result.path in exceptions
            },
        )[0]
        == []
    )


def test_no_request_that_was_answered_is_accused() -> None:
    folder = os.environ.get("HARNESS_CORPORA")
    need("corpus", folder, "HARNESS_CORPORA names no folder of recordings")
    assert folder
    answered, accused = 0, []
    for row in read_manifest(Path(folder)):
        try:
            exchanges = harness.load(Path(folder) / row["path"]).exchanges
        except harness.CassetteError:
            continue  # the walk says which files can't be loaded
        for number, exchange in enumerate(exchanges, 1):
            if exchange.generates and exchange.request and exchange.status == 200:
                answered += 1
                sentences = [*refused_though_answered(exchange), *(accusations(exchange) or ())]
                accused += [f"{row['path']}:{number}: {sentence}" for sentence in sentences]
    assert answered
    assert accused == []


def harness_exceptions() -> dict[str, str]:
    from tests.corpus.walk import read_exceptions

    return read_exceptions()
