"""A stranger's adapter with one fault: the terminal alone must tell the cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.cli.main import main
from tests.cli.project import write

SPLITTER = '''\
"""A client of the Gemini API that splits the stream at blank lines."""

import json

from harness.facts import Call, Error, Finish, Text, Thought, Usage


def facts_of(message):
    if "error" in message:
        yield Error(message["error"].get("code"), str(message["error"].get("message")))
    if reason := message.get("promptFeedback", {}).get("blockReason"):
        yield Error(None, f"blocked: {reason}")
    for candidate in message.get("candidates", [])[:1]:
        for part in candidate.get("content", {}).get("parts", []):
            if "text" in part:
                yield (Thought if part.get("thought") else Text)(part["text"])
            if call := part.get("functionCall"):
                yield Call(call.get("id"), call.get("name"), call.get("args", {}))
        if reason := candidate.get("finishReason"):
            yield Finish(reason)
    if counts := message.get("usageMetadata"):
        yield Usage(
            input=counts.get("promptTokenCount"),
            output=counts.get("candidatesTokenCount"),
            thoughts=counts.get("thoughtsTokenCount"),
            total=counts.get("totalTokenCount"),
        )


def replay(exchange):
    body = exchange.body.decode("utf-8", "replace")
    blocks = body.split("\\n\\n") if exchange.streamed else [body]
    for block in blocks:
        try:
            message = json.loads(block.removeprefix("data: "))
        except ValueError:
            continue
        yield message, list(facts_of(message))
'''


@pytest.mark.slow
@pytest.mark.parametrize("wires", ["", 'PROVIDERS = ("gemini-api", "vertex-ai")\n'])
def test_an_adapter_that_splits_at_blank_lines_is_told_so_by_the_terminal(
    here: Path, capsys: pytest.CaptureFixture[str], wires: str
) -> None:
    name = f"splitter_{len(wires)}"
    write(f"{name}.py", SPLITTER + wires)
    cassettes = ["--cassettes", "gemini-api", "vertex-ai"]
    assert main(["judge", f"shop = {name}:replay", *cassettes]) == 1
    out, err = capsys.readouterr()
    _, _, findings = out.partition("documented wire:\n")
    first, *_ = findings.strip().split("\n\n")
    sentence, *lines = first.splitlines()
    assert sentence.startswith("- nothing for all ")
    assert sentence.endswith("streams with CRLF line ends, something for the 1 with LF")
    wire, native, run = lines[-3:]
    assert wire.startswith('  wire    data: {"candidates"')
    assert wire.endswith(r"\r\n\r\n")
    assert native == "  native  no event"
    assert run.startswith("  run: harness judge 'shop = splitter")
    assert int(out.partition(" findings, documented wire:")[0].rsplit(None, 1)[-1]) < 8
    assert "PROVIDERS" not in err


NAIVE = '''\
"""A reader that has never seen a line end other than \\\\n."""

import json

from harness.facts import Call, Finish, Text

PROVIDERS = ("gemini-api",)


def replay(exchange):
    *events, rest = exchange.body.decode().split("\\n\\n")
    for event in events:
        if event.startswith("data: "):
            candidate = json.loads(event[6:])["candidates"][0]
            facts = [Finish(candidate["finishReason"])] if "finishReason" in candidate else []
            for part in candidate.get("content", {}).get("parts", []):
                if "functionCall" in part:
                    facts.append(Call(None, part["functionCall"]["name"], part["functionCall"]["args"]))
                elif "text" in part and not part.get("thought"):
                    facts.append(Text(part["text"]))
            yield candidate, facts
    yield {"type": "done"}, []
'''


def test_a_naive_reader_is_told_of_its_line_ends_first(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write("naive.py", NAIVE)
    names = ("text", "tool-calls", "mind-bad-ends", "unary", "error-bodies")
    cassettes = [f"gemini-api/{name}" for name in names]
    assert main(["judge", "naive:replay", "--cassettes", *cassettes]) == 1
    out = capsys.readouterr().out
    _, _, findings = out.partition("documented wire:\n\n- ")
    sentence, _, remedy, *_ = findings.replace("\n  also in", "").splitlines()
    assert sentence.startswith("nothing for all ")
    assert " streams with CRLF line ends, something for " in sentence
    assert sentence.endswith(" with LF")
    assert remedy.startswith(r"  remedy: take \r\n, \n and \r as line ends")
    assert "--losses" not in out


URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
PIECE = b'data: {"candidates": [{"content": {"parts": [{"text": "Oslo"}]}%s}]}'


def test_the_cause_is_found_among_few_answers(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write("few.py", SPLITTER)
    exchanges = []
    for end in (b"\r\n\r\n", b"\r\n\r\n", b"\r\n\r\n", b"\n\n"):
        body = b"".join(PIECE % more + end for more in (b"", b', "finishReason": "STOP"'))
        request = Request("POST", URL, {}, b"{}")
        exchanges.append(Exchange(request, 200, {}, ((1.0, body),), "complete"))
    write("few.yaml", dumps(Cassette(tuple(exchanges), Origin("written"))))
    assert main(["judge", "few:replay", "--cassettes", "few.yaml", "--report", "page"]) == 1
    out = capsys.readouterr().out
    sentence = "nothing for all 3 streams with CRLF line ends, something for the 1 with LF"
    assert f"1 finding, documented wire:\n\n- {sentence}\n" in out
    page = Path("page/index.html").read_text(encoding="utf-8")
    assert sentence in page
    assert 'href="#few.documented"' in page
