"""The page of the rules, docs/what-is-judged.md, is correct: the judge gives each example the
verdict and the sentence that the page shows, and the tables of words have those of the code.
"""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, get_args

import pytest

from harness.adapters import EVENTS, FACTS, Adapter, Output, SentRequest
from harness.adapters.crash import CRASHES, is_crash, is_crash_by_name
from harness.cassettes.yaml import parse
from harness.facts import (
    ASPECTS,
    REASONS,
    RED,
    AspectVerdict,
    Entry,
    Finding,
    Raised,
    Transcript,
    fact_of_json,
)
from harness.judging.aspect_run import JudgedExchange, plan_second_turns
from harness.judging.aspects import judge_output
from harness.judging.reading import Reading
from harness.judging.run import run_plan
from harness.providers.second_turn import SecondTurnAspect
from harness.stream.exchange import Exchange, Request
from harness.stream.json_codec import Json

PAGE: Final = Path(__file__).parents[2] / "docs" / "what-is-judged.md"
TEXT: Final = PAGE.read_text(encoding="utf-8")
FIRST: Final = ASPECTS.index("media")
TURNS: Final[Mapping[str, tuple[str, ...]]] = {
    "Aspects": ASPECTS[:FIRST],
    "Other aspects": ASPECTS[FIRST:],
    "The second turn": get_args(SecondTurnAspect),
}
"""The parts of the page with a section for each aspect, and these aspects."""
VERDICTS: Final[Mapping[str, AspectVerdict]] = {
    "kept": "kept",
    "lost": "lost",
    "wrong": "wrong",
    "raised": "raised",
    "not asked": "not_asked",
}
"""The keys of an example that have the facts of an adapter, and their verdicts."""
KEYS: Final = {*VERDICTS, "wire", "chat", "end", "model", "reason", "sentence"}
OF_MESSAGE: Final = {"usageMetadata", "promptFeedback", "error"}
"""The keys of a message in an example that do not belong to its candidate."""
CRASH: Final = "A crash is no report"
"""The heading above the tables of crashes."""
INVENTED: Final = {"needless_error", "accepted"}
"""The aspects that no wire has: one that an adapter does not invent has no verdict."""
TOOLS: Final[list[Json]] = [
    {"functionDeclarations": [{"name": "clock"}, {"name": "alarm"}]},
    {"googleSearch": {}},
]
"""The tools that the requests of every example declare."""

_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """A value of a block below a verdict: the facts of an adapter, or what it sends back."""

    part: str
    aspect: str
    block: dict[str, Any]
    key: str

    def __str__(self) -> str:
        return f"{self.part}: {self.aspect} {self.key} {json.dumps(self.block[self.key])[:40]}"


def part_of(title: str) -> str:
    """The text below a heading, with the headings of lower levels in it."""
    [heading] = re.finditer(rf"^(##+) {re.escape(title)}\n", TEXT, re.MULTILINE)
    rest = TEXT[heading.end() :]
    return re.split(rf"^#{{2,{len(heading[1])}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def sections(part: str) -> dict[str, str]:
    """The sections of the aspects in a part of the page, by their aspect."""
    _, *parts = re.split(r"^### `(\w+)`\n", part_of(part), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def blocks_of(section: str) -> list[dict[str, Any]]:
    return [parse(body) for language, body in _FENCE.findall(section) if language == "yaml"]


EXAMPLES: Final = [
    Example(part, aspect, block, key)
    for part in TURNS
    for aspect, section in sections(part).items()
    for block in blocks_of(section)
    for key in block
    if key in VERDICTS
]


def message(shown: dict[str, Json]) -> Json:
    """A message of Gemini's wire: an example leaves out the candidate around its parts."""
    whole = {key: value for key, value in shown.items() if key in OF_MESSAGE}
    candidate = {key: value for key, value in shown.items() if key not in OF_MESSAGE}
    if "parts" in candidate:
        candidate["content"] = {"role": "model", "parts": candidate.pop("parts")}
    return {"candidates": [candidate], **whole} if candidate else whole


def chunk(shown: dict[str, Json]) -> Json:
    """A chunk of Chat Completions: an example leaves out the choice around its delta."""
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {}, **shown}],
    }


def exchange_of(block: dict[str, Any]) -> Exchange:
    """The answer of an example as a stream."""
    host = "https://generativelanguage.googleapis.com/v1beta"
    if "chat" in block:
        messages = [chunk(shown) for shown in block["chat"]]
        provider, url = "openai-compat", f"{host}/openai/chat/completions"
    else:
        messages = [message(shown) for shown in block["wire"]]
        provider, url = "gemini-api", f"{host}/models/m:streamGenerateContent?alt=sse"
    body = "".join(f"data: {json.dumps(message)}\r\n\r\n" for message in messages)
    return Exchange(
        Request("POST", url, body=json.dumps({"contents": [], "tools": TOOLS}).encode()),
        200,
        {"Content-Type": ["text/event-stream"]},
        ((None, body.encode()),),
        block.get("end", "complete"),
        provider=provider,
        generates=True,
        streamed=True,
    )


def transcript_of(stated: list[dict[str, Any]]) -> Transcript:
    """The transcript of an adapter that gives one event for each fact. ``native`` is an event,
    ``raises`` an exception.
    """
    entries: list[Entry] = []
    raised = None
    for number, given in enumerate(stated):
        fact = dict(given)
        if exception := fact.pop("raises", None):
            kind, _, text = exception.partition(": ")
            raised = Raised(kind, text, crash=is_crash_by_name(kind, "python"))
        native = fact.pop("native", {f"event {number}": None})
        entries.append(Entry(native, (fact_of_json(fact),) if fact else ()))
    return Transcript(tuple(entries), raised)


def request_of(body: Json) -> SentRequest:
    """The request of an adapter in an example."""
    return SentRequest("/v1beta/models/m:streamGenerateContent", json.dumps(body).encode())


def judged(example: Example) -> tuple[Mapping[str, AspectVerdict], Mapping[str, Finding]]:
    """The verdict of each aspect of an example, and the findings; the second turn has none that is
    kept.
    """
    block, given = example.block, example.block[example.key]
    exchange = exchange_of(block)
    stated = Adapter(name="example", model=FACTS, run=lambda exchange, options: Output([]))
    if example.part == "The second turn":
        body = json.dumps({"contents": given, "tools": TOOLS}).encode()
        adapter = replace(stated, second_request=lambda exchange, options: body)
        [result] = run_plan(plan_second_turns([JudgedExchange("page", 1, exchange)]), [adapter])
        return result.aspects, {finding.subject: finding for finding in result.findings}
    if "model" in block:
        assert block["model"] == EVENTS.name
        aspects = judge_output(Reading(exchange), EVENTS, Output(given)).aspects
    else:
        sent = [request_of(fact["sent"]) for fact in given if "sent" in fact]
        output = Output.of_transcript(transcript_of([fact for fact in given if "sent" not in fact]))
        output = replace(output, request=sent[0] if sent else None)
        aspects = judge_output(Reading(exchange), stated, output).aspects
    return {aspect: finding.verdict for aspect, finding in aspects.items()}, aspects


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_the_judge_gives_an_example_its_verdict(example: Example) -> None:
    verdicts, findings = judged(example)
    if example.key == "kept":
        assert example.aspect in INVENTED or verdicts[example.aspect] == "kept"
        assert not RED & {*verdicts.values()}, [finding.sentence for finding in findings.values()]
        return
    assert verdicts[example.aspect] == VERDICTS[example.key]
    finding = findings[example.aspect]
    assert example.block["reason"] in REASONS
    assert (finding.reason, finding.sentence) == (
        example.block["reason"],
        example.block["sentence"],
    )


@pytest.mark.parametrize("part", TURNS)
def test_every_aspect_has_a_section_with_examples(part: str) -> None:
    assert tuple(sections(part)) == TURNS[part]
    shown = {
        (example.aspect, VERDICTS[example.key]) for example in EXAMPLES if example.part == part
    }
    for aspect in TURNS[part]:
        assert (aspect, "kept") in shown, f"{aspect} has no example that is kept"
        assert any((aspect, verdict) in shown for verdict in RED), f"{aspect} has no red example"


def test_the_blocks_have_only_known_keys_and_one_sentence() -> None:
    all_blocks = blocks_of(TEXT)
    assert len(all_blocks) >= sum(map(len, TURNS.values()))
    for block in all_blocks:
        assert block.keys() <= KEYS, block
        assert ("wire" in block) != ("chat" in block), block
        assert len([key for key in block if key in VERDICTS and key != "kept"]) <= 1, block
    assert sum(len(VERDICTS.keys() & block.keys()) for block in all_blocks) == len(EXAMPLES)


def words_in(cell: str) -> set[str]:
    return {*re.findall(r"`([^`]+)`", cell)}


def rows(title: str) -> list[tuple[str, str]]:
    """The first two cells of each row of the tables below a heading."""
    cells = re.findall(r"^\| (.+?) \| (.+?) \|$", part_of(title), re.MULTILINE)
    assert cells, f"no table below {title}"
    return cells


def test_the_table_of_crashes_has_the_types_of_each_language() -> None:
    table = rows(CRASH)
    shown = {kind[1:-1]: words_in(types) for kind, types in table if re.fullmatch(r"`\w+`", kind)}
    shown["python"] |= words_in(" ".join(types for types, verdict in table if verdict == "always"))
    assert shown == CRASHES


def raised_here(kind: type[BaseException]) -> BaseException | None:
    """An exception of a type, raised on purpose; None if it needs arguments."""
    try:
        raise kind
    except TypeError as error:
        return error if type(error) is kind else None
    except BaseException as error:  # noqa: BLE001  # the page names the type, which may be any
        return error


def test_the_table_of_crashes_has_the_types_that_nobody_raises_on_purpose() -> None:
    [row] = [types for types, _ in rows(CRASH) if types.startswith("exactly ")]
    kinds = [kind for kind in vars(builtins).values() if isinstance(kind, type)]
    raised = [raised_here(kind) for kind in kinds if issubclass(kind, Exception)]
    crashes = {type(error).__name__ for error in raised if error and is_crash(error)}
    assert words_in(row) == crashes - {"UnicodeError"}
