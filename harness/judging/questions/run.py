"""Asks an adapter the questions, and judges the requests that it sends."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec.structs import replace as replace_fields

from harness.adapters import Adapter, AdapterError, Asked, Reaction, SentRequest
from harness.adapters.at import Question as AskedExchange
from harness.adapters.neutral_words import with_addresses
from harness.facts import (
    REQUESTS,
    STORED,
    DeclaredLoss,
    Finding,
    Transcript,
    error_finding,
)
from harness.providers import PROVIDERS, Identity, detect_provider
from harness.stream.exchange import Cassette, Exchange
from harness.stream.generation import TranslationError
from harness.stream.json_codec import Json, decode_json
from harness.stream.printable import printable, shorten
from harness.stream.prompt import Message, Prompt, Reasoning, ServerTool, Text
from harness.stream.sample_media import WEB, address_of, medium_bytes

from ..accepted import judge_request
from ..aspect_run import JudgedExchange, LossUse, goes_on, judge_history, texts_of
from ..decide import decided, not_asked
from ..rows import QuestionRow
from ..run import Item
from .comparison import Comparison, SentPrompt, all_parts, found, functions_of
from .history import with_places
from .prompt_comparison import asked_aspects, compare_prompts
from .question import Question
from .wire_form import body_of, without_place

if TYPE_CHECKING:
    from harness.server.refusals import BrokenRule

_GUARDS: Final = ("127.0.0.1", "localhost", "loopback", "private")
"""Words in the errors of guards against addresses of this machine."""
_SHOWN: Final = 80
"""Characters of a body that can't be read."""


class AskedItem(Item[QuestionRow], Protocol):
    """One question about a request or a failing service, for one wire."""

    @property
    def recorded(self) -> JudgedExchange | None:
        """The recorded answer that it has."""

    @property
    def blank(self) -> QuestionRow:
        """Its row before it is asked: only its names."""


@dataclass(frozen=True, slots=True)
class QuestionItem:
    """One question for one wire, as a stream or unary."""

    question: Question
    provider: str
    streamed: bool
    number: int
    """The number of its row among those of the question and provider, from 1."""
    recorded: JudgedExchange | None = None
    """The answer that comes before the second request; None for one request."""

    @property
    def name(self) -> str:
        """The name of its row, such as ``settings-zero (unary)``."""
        if self.recorded:
            return f"{self.question.name} ({self.recorded.place})"
        return self.question.name + ("" if self.streamed else " (unary)")

    @property
    def asked(self) -> Asked:
        """The question for the adapter. With a recorded answer, the values that the question does
        not have are those of the recorded request.
        """
        question = self.question
        exchange = self.recorded.exchange if self.recorded else None
        model = PROVIDERS[self.provider].asked_model or question.prompt.model
        prompt = replace(question.prompt, model=model)
        if exchange:
            prompt = _continued(prompt, exchange)
        return Asked(question.name, prompt, self.provider, self.streamed, question.stored, exchange)

    @property
    def blank(self) -> QuestionRow:
        """Its row before it is asked: only its names."""
        question = self.question
        return QuestionRow(
            "error",
            provider=self.provider,
            case=self.name,
            cassette=f"questions/{self.provider}/{question.name}",
            exchange=self.number,
            question=question.name,
            requirement=question.asks,
            regression_of=question.threads,
            block="documented",
            unary=not self.streamed,
        )

    def judge(self, adapter: Adapter) -> QuestionRow:
        """Return its row."""
        blank = self.blank
        if adapter.ask is None:
            raise ValueError(f"{adapter.name} sends no requests")
        asked = self.asked
        try:
            reaction = adapter.ask(asked)
        except AdapterError as error:
            findings = [error_finding(str(error), error.group)]
        else:
            own: LossUse = {loss: False for loss in adapter.losses if loss.aspect in REQUESTS}
            judged = _judged(self, asked.prompt, reaction, adapter, own)
            losses = (*adapter.losses, *adapter.request_losses)
            findings = [declared(each, losses, own) for each in judged]
            blank = replace_fields(blank, log=reaction.log, declared=texts_of(own))
        return decided(blank, findings)


def plan_questions(
    questions: Iterable[Question],
    providers: Collection[str],
    load: Callable[[str], Cassette],
    adapter: Adapter,
) -> list[QuestionItem]:
    """Return the questions for the wires that have a place for them, as a stream and unary. With
    two turns, they are asked with each recorded answer after which the conversation continues.
    ``load`` gives the cassette with a name.
    """
    items: list[QuestionItem] = []
    for question in questions:
        for provider in providers:
            apis = PROVIDERS[provider].apis
            has_place = any(question.is_for(api.name) for api in apis)
            if not PROVIDERS[provider].reads_whole or not has_place:
                continue
            if question.turns == 1:
                items.append(QuestionItem(question, provider, True, 1))
                items.append(QuestionItem(question, provider, False, 2))
                continue
            recorded = _recorded(question, provider, load)
            # an adapter without a second turn gets one row, which says so
            converses = adapter.second_request or adapter.request
            answered = [*filter(goes_on, recorded)] if converses else recorded[:1]
            items += [
                QuestionItem(question, provider, item.exchange.streamed is True, number, item)
                for number, item in enumerate(answered, 1)
            ]
    return items


def _recorded(
    question: Question, provider: str, load: Callable[[str], Cassette]
) -> list[JudgedExchange]:
    """Return the answers to the first requests of conversations: the comparison takes the first
    message of the model in the second request as the answer.
    """
    return [
        JudgedExchange(name, number, exchange)
        for name in question.recordings
        if name.startswith(f"{provider}/")
        for number, exchange in enumerate(load(name).exchanges, 1)
        if exchange.provider == provider and _begins(exchange)
    ]


def _begins(exchange: Exchange) -> bool:
    """Return whether an exchange is the first of a conversation."""
    if exchange.request is None:
        return False
    prompt = PROVIDERS[exchange.provider or ""].read_request(exchange.request.body)
    return prompt is not None and all(each.role != "assistant" for each in prompt.messages)


def _continued(prompt: Prompt, exchange: Exchange) -> Prompt:
    """Return the prompt of a recorded request, with the values of a question."""
    assert exchange.request is not None  # see _recorded
    recorded = PROVIDERS[exchange.provider or ""].read_request(exchange.request.body)
    assert recorded is not None  # a wire with questions reads its requests
    given = {
        name: value
        for name in ("instructions", "tools", "choice", "format", "reasoning")
        if (value := getattr(prompt, name))
    }
    return replace(
        recorded,
        **given,
        settings={**recorded.settings, **prompt.settings},
        google={**recorded.google, **prompt.google},
        model=recorded.model or prompt.model,
    )


def declared(finding: Finding, losses: Sequence[DeclaredLoss], use: LossUse) -> Finding:
    """Return the finding as not carried, if its loss is declared."""
    for loss in losses:
        if finding.red and loss.aspect == finding.subject and loss.where in ("", finding.word):
            use[loss] = True
            return Finding(finding.subject, "not_carried", "declared", str(loss))
    return finding


def _judged(
    item: QuestionItem, prompt: Prompt, reaction: Reaction, adapter: Adapter, use: LossUse
) -> list[Finding]:
    question = item.question
    if reaction.skipped:
        return [not_asked("messages", reaction.skipped)]
    asked, unread = read_part(reaction.asked or prompt, reaction.read)
    reads_stored = reaction.read is None or "stored" in reaction.read
    if question.stored and not reads_stored:
        return [not_asked("messages", "stored: the adapter does not read it")]
    if not _asks_its_subject(question.prompt, asked):
        reason = "the adapter does not read it" if unread else "its wire has no place for it"
        words = ": ".join(filter(None, (", ".join(unread), reason)))
        return [not_asked("messages", words)]
    if not reaction.requests:
        return [_without_request(item, asked, reaction)]
    if item.recorded and not reaction.answered:
        return [
            not_asked("messages", "the first request is for another wire, or in the other mode")
        ]
    different, again = _different(reaction.requests)
    if item.recorded and len(different) < 2:
        return [*again, _missing("second request", reaction)]
    request = different[1 if item.recorded else 0]
    identity = detect_provider("POST", f"http://localhost{request.path}", request.body, b"")
    provider = PROVIDERS[identity.provider or item.provider]
    if not provider.reads_whole:
        return [not_asked("messages", f"requests of {provider.title} are not read")]
    body = _read_body(request.body)
    if isinstance(body, str):
        which = "second request" if item.recorded else "request"
        return [*again, found("messages", "wrong", f"the body of the {which} is {body}")]
    api = provider.api_of(body)
    if not question.is_for(api.name):
        return [not_asked("messages", f"{provider.title} has no place for it")]
    findings = [*again]
    if identity.streamed != item.streamed:
        modes = ["a stream" if each else "unary" for each in (item.streamed, identity.streamed)]
        sentence = f"the answer is asked for as {modes[1]}, not as {modes[0]}"
        findings.append(found("messages", "wrong", sentence))
    sent = SentPrompt(
        provider.prompt_of(body), body, request.headers, json_schema=provider.json_schema
    )
    both = Comparison(
        question,
        with_addresses(asked, reaction.base_url),
        sent,
        reaction.read if reaction.read is not None else frozenset(),
        _served(prompt, reaction.base_url),
    )
    if not item.recorded:
        findings += without_place(both, provider, api, compare_prompts(both))
        return [*findings, _accepted(request, identity, question, asked, adapter, sent.prompt)]
    both = _before_answer(both)
    findings += [
        replace_fields(each, remark=f"{each.remark}, in the second request") if each.red else each
        for each in without_place(both, provider, api, compare_prompts(both))
    ]
    return [*findings, *_judged_second(item, item.recorded, request, body, reaction, adapter, use)]


def _before_answer(both: Comparison) -> Comparison:
    """Return the comparison with the messages of a second request that come before the answer. An
    answer of the model to the system is before the text of the user.
    """
    messages = both.sent.prompt.messages
    texts = [part.text for part in all_parts(both.asked) if isinstance(part, Text)]
    begins = next((at for at, each in enumerate(messages) if _has_text(each, texts[-1:])), 0)
    answers = (at for at, each in enumerate(messages) if each.role == "assistant" and at > begins)
    answer = next(answers, 0)
    prompt = replace(both.sent.prompt, messages=messages[:answer])
    return replace(both, sent=replace(both.sent, prompt=prompt))


def _has_text(message: Message, texts: Sequence[str]) -> bool:
    said = [part.text for part in message.parts if isinstance(part, Text)]
    return message.role == "user" and any(text in each for text in texts for each in said)


def _different(requests: Sequence[SentRequest]) -> tuple[list[SentRequest], list[Finding]]:
    """Return the requests without repeated ones, and a finding for each that is repeated."""
    times = Counter(request.body for request in requests)
    first = {request.body: request for request in reversed(requests)}
    repeated = (
        found("invented", "wrong", f"the same request is sent {number} times", word="request")
        for number in times.values()
        if number > 1
    )
    return [first[body] for body in times], [*repeated]


def _read_body(data: bytes) -> dict[str, Json] | str:
    """Return the body of a request, or words for a body that is no JSON object."""
    if not data.strip():
        return "empty"
    shown = shorten(printable(data[:_SHOWN].decode("utf-8", "backslashreplace")), _SHOWN)
    try:
        body = decode_json(data)
    except ValueError as error:
        return f"not JSON ({error}): {shown}"
    return body if isinstance(body, dict) else f"no JSON object: {shown}"


def _judged_second(
    item: QuestionItem,
    recorded: JudgedExchange,
    request: SentRequest,
    body: dict[str, Json],
    reaction: Reaction,
    adapter: Adapter,
    use: LossUse,
) -> list[Finding]:
    """Return the findings about the answer in a second request, and whether the API accepts the
    request.
    """
    first = Transcript(asks_thoughts=reaction.asks_thoughts, doubles=reaction.doubles)
    reading = recorded.reading
    sent = reading.provider.prompt_of(body)
    findings = [
        with_places(finding, reading.facts, sent, body) if finding.red else finding
        for finding in judge_history(reading, adapter, body, first, use)
    ]
    if item.question.stored:
        findings = [replace_fields(each, word=each.word or STORED) for each in findings]
    asked = AskedExchange(recorded.exchange, recorded.reading.options, turn=2)
    accepted = judge_request(request, asked, adapter)
    if accepted.red:
        accepted = replace_fields(accepted, word=accepted.wire[0]["rule"])
    return [*findings, accepted]


def _without_request(item: QuestionItem, asked: Prompt, reaction: Reaction) -> Finding:
    """Return the finding for an adapter that sent no request for an answer. A question that the
    writer of the wire refuses too may be refused.
    """
    question, raised = item.question, reaction.raised
    if any(word in raised for word in _GUARDS):
        return not_asked("messages", f"it refuses addresses of this machine: {raised}")
    if raised and not reaction.crashed:
        may_refuse = question.either or question.conflict or _is_refused(item, asked)
        if may_refuse or "schema.recursive" in question.features:
            return Finding("messages", "kept", "asked", remark=f"it refuses the question: {raised}")
    return _missing("request for an answer", reaction)


def _missing(request: str, reaction: Reaction) -> Finding:
    """Return the finding for a request that an adapter did not send."""
    others = f", only {reaction.other}" if reaction.other else ""
    if reaction.crashed:
        sentence = f"no {request} is sent{others}; the adapter crashes with {reaction.raised}"
        return Finding("messages", "raised", "asked", remark=sentence)
    raises = f"; the adapter raises {reaction.raised}" if reaction.raised else ""
    return found("messages", "lost", f"no {request} is sent{others}{raises}")


def _is_refused(item: QuestionItem, asked: Prompt) -> bool:
    """Return whether the API has no such request, as its writer says. No writer has neutral tools
    of the provider.
    """
    provider = PROVIDERS[item.provider]
    if any(isinstance(tool, ServerTool) for tool in asked.tools):
        return False
    try:
        body_of(asked, provider, provider.apis[0])
    except TranslationError:
        return True
    return False


def read_part(prompt: Prompt, read: Collection[str] | None) -> tuple[Prompt, list[str]]:
    """Return the part of a prompt that an adapter has read, and the names of the rest. ``read``:
    None for an adapter that has read everything.
    """
    if read is None:
        return prompt, []

    def reads(name: str) -> bool:
        return name in read or name.partition(".")[0] in read

    values: dict[str, Any] = {
        **{f"settings.{name}": value for name, value in prompt.settings.items()},
        **{f"thinking.{name}": value for name, value in _thinking(prompt.reasoning).items()},
        **{f"google.{name}": value for name, value in prompt.google.items()},
        "system": prompt.instructions,
        "tools": functions_of(prompt),
        "server_tools": [tool for tool in prompt.tools if isinstance(tool, ServerTool)],
        "choice": prompt.choice,
        "output": prompt.format,
    }
    empty: tuple[Any, ...] = (None, (), [])
    unread = [name for name, value in values.items() if value not in empty and not reads(name)]
    messages = prompt.messages
    if "messages" not in read:
        if len(messages) > 1 or any(not isinstance(part, Text) for part in all_parts(prompt)):
            unread.append("messages")
        messages = tuple(message for message in messages if message.role == "user")[-1:]
        messages = tuple(
            Message(
                "user",
                tuple(part for part in message.parts if isinstance(part, Text)),
                place=message.place,
            )
            for message in messages
        )
    thinking = {name: value for name, value in _thinking(prompt.reasoning).items()
                if reads(f"thinking.{name}")}  # fmt: skip
    part = replace(
        prompt,
        messages=messages,
        instructions=prompt.instructions if reads("system") else (),
        tools=tuple(
            tool
            for tool in prompt.tools
            if reads("server_tools" if isinstance(tool, ServerTool) else "tools")
        ),
        choice=prompt.choice if reads("choice") else None,
        format=prompt.format if reads("output") else None,
        settings=_read_keys(prompt.settings, "settings", reads),
        reasoning=Reasoning(**thinking) if thinking else None,
        google=_read_keys(prompt.google, "google", reads),
    )
    return part, unread


def _read_keys(values: Mapping[str, Any], name: str, reads: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if reads(f"{name}.{key}")}


def _thinking(reasoning: Reasoning | None) -> dict[str, Any]:
    fields = ("effort", "budget", "mode", "shown") if reasoning else ()
    values = {name: getattr(reasoning, name) for name in fields}
    return {name: value for name, value in values.items() if value is not None}


def _asks_its_subject(whole: Prompt, part: Prompt) -> bool:
    """Return whether a part of a question asks for something beside the text of a message, if the
    whole does.
    """
    if len(whole.messages) > 1 and len(part.messages) < len(whole.messages):
        return False
    subjects = {*asked_aspects(whole)} - {"messages"}
    return not subjects or bool({*asked_aspects(part)} & subjects)


def _served(prompt: Prompt, base_url: str) -> dict[str, bytes]:
    """Return the media that are served for a prompt, by their addresses."""
    urls = (str(getattr(part, "url", "") or "") for part in all_parts(prompt))
    return {
        address_of(url, base_url): medium_bytes(url.removeprefix(WEB))
        for url in urls
        if url.startswith(WEB)
    }


def _accepted(
    request: SentRequest,
    identity: Identity,
    question: Question,
    asked: Prompt,
    adapter: Adapter,
    sent: Prompt,
) -> Finding:
    """Return whether the API accepts the request, whose prompt is ``sent``. A rule that the
    question itself breaks is passed on, unless the adapter is judged strictly.
    """
    broken = _broken_rules(request.body, identity, sent)
    passed_on = {question.conflict}
    if broken and identity.provider:
        provider = PROVIDERS[identity.provider]
        with suppress(TranslationError):
            written = body_of(asked, provider, provider.api_of(decode_json(request.body)))
            body = json.dumps(written).encode()
            passed_on |= {rule.rule.name for rule in _broken_rules(body, identity)}
    own = [rule for rule in broken if adapter.strict or rule.rule.name not in passed_on]
    if own:
        sentence, word = f"the API would refuse this: {own[0]}", own[0].rule.name
        return found("accepted", "wrong", sentence, str(own[0]), word=word)
    if broken:
        return Finding("accepted", "kept", "asked", remark=f"passed on: {broken[0]}")
    return Finding("accepted", "kept")


def _broken_rules(
    body: bytes, identity: Identity, prompt: Prompt | None = None
) -> list[BrokenRule]:
    from harness.server.refusals import find_broken_rules, given_by  # slow to import

    rules = find_broken_rules(body, identity, lambda: given_by(()), prompt)
    return [rule for rule in rules if rule.rule.level == "api"]
