"""Faults of clients that are asked questions, on Anthropic's wire, OpenAI's two and Interactions.
Clients without a fault are also of generateContent.

A client writes what it is asked for as the provider's writer does, with one change of its first or
of its second request. Each change is one that public adapters made.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness.adapters import Adapter, Asked, Output, Reaction, RunOptions, SentRequest
from harness.adapters.adapter import FACTS
from harness.adapters.at import Question as AskedExchange
from harness.adapters.at import at_of, question_words
from harness.adapters.gateway import GATEWAY_WIRES
from harness.adapters.neutral_words import NAMES, with_addresses, with_json_schemas
from harness.adapters.next_request import next_request
from harness.facts import Skipped, Transcript
from harness.judging.questions.question import own_questions
from harness.judging.questions.run import plan_questions
from harness.judging.rows import Row
from harness.judging.run import run_plan
from harness.pipeline.replay import frames_of
from harness.project.recordings import load_recording
from harness.project.suite import CASSETTES
from harness.stream.exchange import Exchange
from harness.stream.generation import TranslationError

from .faults import Fault

Body = dict[str, Any]
Change = Callable[[Body], object]
load = partial(load_recording, cassettes=CASSETTES)
BASE_URL = "http://127.0.0.1:1/asked"
WORDS = {
    "gemini": "gemini",
    "interactions": "interactions",
    "messages": "anthropic-messages",
    "responses": "openai-responses",
    "chat": "openai-chat",
}
"""The name of a wire → its word among those of gateways."""


@dataclass(frozen=True, slots=True)
class AskedFault(Fault):
    """A client of a wire (`dialect`) with one fault. ``turn``: the number of the request that
    has it. ``aspect``: that of its findings.
    """

    change: Change = lambda body: None
    turn: int = 1
    aspect: str = ""

    @property
    def provider(self) -> str:
        """The provider of the wire."""
        return GATEWAY_WIRES[WORDS[self.dialect]].provider

    @property
    def adapter(self) -> Adapter:
        """The fault as an adapter under test."""
        second = _silent_request
        return Adapter(
            name=self.name, model=FACTS, run=_silent, ask=self._ask, second_request=second
        )

    @property
    def red(self) -> set[str]:
        """The aspects of the red findings of all questions."""
        return {finding.subject for row in self.rows for finding in row.red_findings}

    @property
    def rows(self) -> list[Row]:
        """The rows of all questions, as streams; those of a client without a fault as all."""
        items = plan_questions(own_questions(), [self.provider], load, self.adapter)
        judged = [item for item in items if item.streamed or not self.aspect]
        return [*run_plan(judged, [self.adapter])]

    def _ask(self, asked: Asked) -> Reaction:
        word = WORDS[self.dialect]
        wire = GATEWAY_WIRES[word]
        prompt = with_addresses(with_json_schemas(asked.prompt), BASE_URL)
        try:
            path, body = wire.write(prompt, prompt.model or "", streamed=asked.streamed)
        except TranslationError as error:
            return Reaction(skipped=str(error))
        bodies = [body]
        if asked.exchange:
            request = asked.exchange.request
            assert request
            if asked.provider == "openai" and not request.url.endswith(path):
                return Reaction((SentRequest(path, b"{}"),), answered=False)
            question = AskedExchange(
                asked.exchange,
                RunOptions(provider=asked.provider),
                turn=2,
                prompt=prompt,
                words=question_words(asked, BASE_URL),
            )
            answer = [frame.json for frame in frames_of(asked.exchange)]
            try:
                bodies.append(next_request(word, body, answer, at_of(question)))
            except Skipped as skipped:
                return Reaction(skipped=str(skipped))
        if len(bodies) >= self.turn:
            bodies[self.turn - 1] = copy.deepcopy(bodies[self.turn - 1])
            self.change(bodies[self.turn - 1])
        return Reaction(
            tuple(SentRequest(path, json.dumps(each).encode()) for each in bodies),
            read=frozenset((*NAMES, "server_tools", "stored")),
            base_url=BASE_URL,
        )


def _silent(exchange: Exchange, options: RunOptions) -> Output:
    return Output.of_transcript(Transcript())


def _silent_request(exchange: Exchange, options: RunOptions) -> str:
    return "it is only asked questions"


def functions(body: Body) -> Iterator[Body]:
    """Yield each function, with its name and its schema as ``parameters`` or ``input_schema``."""
    for tool in body.get("tools", []):
        if inner := tool.get("function", tool):
            yield inner


def schemas(value: Any) -> Iterator[Body]:
    """Yield each object inside a value, at any depth."""
    if isinstance(value, dict):
        yield value
    for item in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from schemas(item)


def without_definitions(body: Body) -> None:
    for tool in functions(body):
        tool.get("input_schema", {}).pop("$defs", None)


def last_texts(body: Body) -> None:
    for message in body["messages"]:
        if isinstance(message["content"], list):
            texts = [block for block in message["content"] if block["type"] == "text"]
            for block in texts[:-1]:
                message["content"].remove(block)


def texts_in_enums(body: Body) -> None:
    for schema in schemas(body.get("tools", [])):
        if isinstance(schema.get("enum"), list):
            schema["enum"] = [
                str(value) if isinstance(value, float | int) else value for value in schema["enum"]
            ]


def sorted_names(body: Body) -> None:
    for schema in schemas(body.get("text", {})):
        if isinstance(schema.get("properties"), dict):
            schema["properties"] = dict(sorted(schema["properties"].items()))


def python_results(body: Body) -> None:
    for item in body["input"]:
        if item.get("type") == "function_call_output" and isinstance(item["output"], str):
            with suppress(ValueError):
                item["output"] = str(json.loads(item["output"]))


def first_stop(body: Body) -> None:
    if isinstance(body.get("stop"), list):
        body["stop"] = body["stop"][:1]


def images_are_png(body: Body) -> None:
    for part in schemas(body["messages"]):
        if str(part.get("url", "")).startswith("data:image/"):
            part["url"] = "data:image/png;base64," + part["url"].partition(",")[2]


def default_effort(body: Body) -> None:
    reasoning = body.setdefault("reasoning", {})
    reasoning.setdefault("effort", "medium")


def blocks_of_the_answer(body: Body) -> list[Body]:
    return next(each["content"] for each in body["messages"] if each["role"] == "assistant")


def without_thoughts(body: Body) -> None:
    blocks = blocks_of_the_answer(body)
    blocks[:] = [block for block in blocks if block["type"] != "thinking"]


def reasoning_unsigned(body: Body) -> None:
    for item in body["input"]:
        item.pop("encrypted_content", None)


def results_of_the_first(body: Body) -> None:
    results = [each for each in body["messages"] if each["role"] == "tool"]
    for result in results[1:]:
        result["content"] = results[0]["content"]


def last_content(body: Body) -> None:
    for step in body["input"]:
        if {part["type"] for part in step.get("content", [])} == {"text"}:
            del step["content"][:-1]


def contents_as_text(body: Body) -> None:
    for step in body["input"]:
        if isinstance(step.get("result"), list):
            step["result"] = json.dumps([part.get("text", part) for part in step["result"]])


def results_by_place(body: Body) -> None:
    ids = [step["id"] for step in body["input"] if step["type"] == "function_call"]
    results = [step for step in body["input"] if step["type"] == "function_result"]
    for call_id, result in zip(ids, results, strict=True):
        result["call_id"] = call_id


FAULTS: list[tuple[str, str, Change, int, str, str]] = [
    ("messages", "the definitions of a schema are lost", without_definitions, 1, "schema", "mozilla-ai/any-llm#1095"),
    ("messages", "only the last text of a message is sent", last_texts, 1, "messages", "router-for-me/CLIProxyAPI@68282c4aa"),
    ("messages", "stop sequences are lost", lambda body: body.pop("stop_sequences", None), 1, "settings", "langchain-ai/langchain-google#1471"),
    ("messages", "the system is sent once", lambda body: body.pop("system", None), 2, "system", "agno-agi/agno#7973"),
    ("messages", "signed thoughts are not sent back", without_thoughts, 2, "other_signatures", "0xPlaygrounds/rig#2052"),
    ("responses", "the names of the answer are sorted", sorted_names, 1, "output", "langchain4j/langchain4j#5839"),
    ("responses", "an effort that nobody asked for", default_effort, 1, "invented", "vercel/ai@61a315e"),
    ("responses", "results are texts of Python", python_results, 1, "results", "router-for-me/CLIProxyAPI@20f84e78c"),
    ("responses", "the tools are sent once", lambda body: body.pop("tools", None), 2, "tools", "agno-agi/agno#7973"),
    ("responses", "reasoning is sent back without its content", reasoning_unsigned, 2, "other_signatures", "mozilla-ai/any-llm#1317"),
    ("chat", "numbers of enums are texts", texts_in_enums, 1, "limits", "vercel/ai@da78d58"),
    ("chat", "only the first stop sequence is sent", first_stop, 1, "settings", "langchain-ai/langchain-google#1379"),
    ("chat", "each image is a PNG", images_are_png, 1, "media", "UKGovernmentBEIS/inspect_ai#671"),
    ("chat", "the temperature is sent once", lambda body: body.pop("temperature", None), 2, "settings", "agno-agi/agno#7973"),
    ("chat", "each result is that of the first call", results_of_the_first, 2, "results", "crmne/ruby_llm@edcbacff"),
    ("interactions", "only the last content of a step is sent", last_content, 1, "messages", "router-for-me/CLIProxyAPI@68282c4aa"),
    ("interactions", "thresholds are lost", lambda body: body.pop("safety_settings", None), 1, "google", "langchain-ai/langchain-google#1443"),
    ("interactions", "the tools are sent once", lambda body: body.pop("tools", None), 2, "tools", "agno-agi/agno#7973"),
    ("interactions", "a file of a result is a text of JSON", contents_as_text, 1, "media", "vercel/ai@17d66c5"),
    ("interactions", "results are paired by place", results_by_place, 1, "results", "crmne/ruby_llm@edcbacff"),
    ("interactions", "the system is sent once", lambda body: body.pop("system_instruction", None), 2, "system", "agno-agi/agno#7973"),
]  # fmt: skip
"""Wire, fault, change, number of the request, aspect, and a public bug of the same kind."""
ASKED_FAULTS = {
    f"{wire}: {name}": AskedFault(wire, name, f"{name} (as {thread})", change, turn, aspect)
    for wire, name, change, turn, aspect, thread in FAULTS
}
