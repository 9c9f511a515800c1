"""Builds the requests for a recording: from the cases of a cassette, from its recorded requests, or
from prompts on the command line.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable

from harness.cassettes import Cassette, CassetteError, Exchange
from harness.dialects import DEFAULT_DIALECT
from harness.pipeline.conversation import next_prompt
from harness.pipeline.replay import replay
from harness.pipeline.request import ask, request_translator
from harness.providers import PROVIDERS, detect_provider
from harness.specs.models import Case
from harness.stream.generation import TranslationError
from harness.stream.json_codec import decode_json, decode_object
from harness.stream.prompt import Message, Prompt, Text
from harness.stream.session import Session
from harness.stream.websocket import SWITCHED, MessageFramer, read_messages

from .settings import GenerateAsk


class NotRecordable(CassetteError):
    """The requests for a cassette are unknown; the message has the reason and a solution."""


def ask_turns(
    cases: Iterable[Case], provider: str, *, streamed: bool = True
) -> Generator[GenerateAsk, Exchange, None]:
    """Return the requests of the conversation cases on one cassette. Each request depends on the
    previous answer, which the caller sends into this generator.

    Raises `NotRecordable` if no case has the prompt of one of the exchanges, because the cassette
    would have a gap.
    """
    chosen: list[Case] = []
    count = 0
    for case in sorted(cases, key=lambda case: case.exchange):
        if case.exchange <= count:
            continue  # a case of another dialect on the same exchanges
        if case.exchange != count + 1:
            raise NotRecordable(
                f"no case has the prompt of exchange {count + 1} of {case.cassette}; {case.case}"
                f" begins at {case.exchange}"
            )
        chosen.append(case)
        count += len(case.turns)
    return _ask_cases(chosen, provider, streamed)


def _ask_cases(
    cases: Iterable[Case], provider: str, streamed: bool
) -> Generator[GenerateAsk, Exchange, None]:
    for case in cases:
        yield from _ask_case(case, provider, streamed)


def _ask_case(case: Case, provider: str, streamed: bool) -> Generator[GenerateAsk, Exchange, None]:
    first = case.turns[0].prompt
    assert first is not None, "the spec reader gives every first turn a prompt"
    dialect = next(iter(first))
    translator, session = request_translator(dialect), Session()
    prompt = first[dialect]
    payloads: list[dict[str, object]] = []
    for number, turn in enumerate(case.turns):
        if number:
            prompt = next_prompt(translator, prompt, payloads, turn)
        request = ask(translator, prompt, provider, case.options.get(dialect, {}), session)
        exchange = yield GenerateAsk(request.body, request.model, streamed)
        payloads = replay(
            exchange, provider=provider, dialect=dialect, session=session, tool_code=case.tool_code
        )


def _is_program(provider: str) -> bool:
    """Return whether a provider is a program, which gets prompts instead of requests."""
    return provider in PROVIDERS and PROVIDERS[provider].program


def _holds_sessions(provider: str) -> bool:
    """Return whether the exchanges of a provider are sessions, which get messages."""
    return provider in PROVIDERS and PROVIDERS[provider].framer is MessageFramer


def ask_request(case: Case, provider: str, *, streamed: bool = True) -> list[GenerateAsk]:
    """Return the request of a request case, translated by the first dialect that can express the
    prompt. Raises `TranslationError` if none can.
    """
    failed: TranslationError | None = None
    for dialect, prompt in case.prompt.items():
        session = Session()
        try:
            translator, options = request_translator(dialect), case.options.get(dialect, {})
            if _is_program(provider):
                neutral = translator.translate(prompt, options, session)
                return [GenerateAsk(_program_prompt(neutral), neutral.model, streamed)]
            request = ask(translator, prompt, provider, options, session)
            return [GenerateAsk(request.body, request.model, streamed)]
        except TranslationError as error:
            failed = error
    assert failed is not None, "a request case has a prompt"
    raise failed


def _program_prompt(prompt: Prompt) -> dict[str, object]:
    """Return the body of a request to a program; raises `TranslationError` unless it is a single
    text.
    """
    match prompt:
        case Prompt(
            messages=(Message(parts=(Text(text=text),)),),
            instructions=(),
            tools=(),
            format=None,
            reasoning=None,
        ) if not prompt.settings and not prompt.options:
            return {"prompt": text}
    raise TranslationError(
        "", "a program gets one text, on its command line; this prompt has more than one"
    )


def ask_again(cassette: Cassette, name: str) -> list[GenerateAsk]:
    """Return the recorded requests of a cassette. Raises `NotRecordable` for an exchange without a
    request, or with a request that does not generate.
    """
    asks: list[GenerateAsk] = []
    for number, exchange in enumerate(cassette.exchanges, 1):
        request = exchange.request
        if exchange.status == SWITCHED:
            sent = [
                decode_object(message.data)
                for message in read_messages(exchange.body, cut=True)
                if message.side == "client" and message.kind != "close"
            ]
            asks.append(GenerateAsk({"messages": [message for message in sent if message]}))
            continue
        if request is not None and request.method == "GET" and exchange.generates and asks:
            continue  # the driver polls an answer in the background
        identity = (
            detect_provider(request.method, request.url, request.body, b"") if request else None
        )
        if request is None or identity is None or not identity.generates:
            raise NotRecordable(
                f"exchange {number} of {name} has no request that can be sent again; name the"
                f" prompt: `harness record {name} --prompt …`"
            )
        try:
            asks.append(GenerateAsk(decode_json(request.body), identity.model, identity.streamed))
        except ValueError:
            raise NotRecordable(
                f"the request of exchange {number} of {name} is not JSON; name the prompt: `harness"
                f" record {name} --prompt …`"
            ) from None
    return asks


def ask_runs(cassette: Cassette, name: str, provider: str) -> list[GenerateAsk]:
    """Return the prompts that a program's output repeats, one for each new run. Raises
    `NotRecordable` for a run whose output has no prompt.
    """
    asks = []
    for number, exchange in enumerate(cassette.exchanges, 1):
        events = replay(exchange, provider=provider, layer="events")
        prompt = next(
            (event["raw"].get("content") for event in events if event.get("name") == "echo"), None
        )
        if not isinstance(prompt, str):
            raise NotRecordable(
                f"run {number} of {name} does not contain its prompt, which only the stream-json"
                " output of the Gemini CLI does; give it with --prompt"
            )
        model = next((event.get("model") for event in events if event["kind"] == "start"), None)
        asks.append(GenerateAsk({"prompt": prompt}, model))
    return asks


def ask_prompts(
    prompts: Iterable[str], provider: str, *, streamed: bool = True
) -> Generator[GenerateAsk, Exchange, None]:
    """Yield the requests for the prompts of one conversation. Each request depends on the previous
    answer, which the caller sends into this generator. A program runs once for each prompt. The
    prompts of a session are its turns.
    """
    if _holds_sessions(provider):
        yield GenerateAsk({"prompts": [*prompts]})
        return
    translator, session = request_translator(DEFAULT_DIALECT), Session()
    prompt = None
    payloads: list[dict[str, object]] = []
    for text in prompts:
        if _is_program(provider):
            yield GenerateAsk({"prompt": text}, None, streamed)
            continue
        prompt = (
            translator.follow_up(prompt, payloads, text)
            if prompt
            else {"messages": [{"role": "user", "content": text}]}
        )
        # the driver of Code Assist adds the envelope, with the model that it knows
        bare = "gemini-api" if provider == "code-assist" else provider
        request = ask(translator, prompt, bare, {}, session)
        exchange = yield GenerateAsk(request.body, request.model, streamed)
        payloads = replay(exchange, provider=provider, dialect=DEFAULT_DIALECT, session=session)
