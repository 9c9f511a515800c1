"""What to ask for a cassette: what its case says, in one prompt or turn by turn, or what it was
asked before, anew.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable

from harness.cassettes import Cassette, CassetteError, Exchange
from harness.pipeline.replay import replay
from harness.pipeline.request import request_translator, wrap
from harness.providers import detect_provider
from harness.specs import Case, Turn
from harness.stream.generation import GenerateRequest, ToolOutcome, TranslationError
from harness.stream.json_codec import decode_json
from harness.stream.session import Session

from .run import GenerateAsk


class NotRecordable(CassetteError):
    """Nobody says what to ask for a cassette; the message says why, and who could."""


def ask_turns(
    cases: Iterable[Case], provider: str, *, streamed: bool = True
) -> Generator[GenerateAsk, Exchange, None]:
    """The turns of conversation cases on one cassette, each sent what the event model makes of the
    live answer before.

    Raises `NotRecordable` where the cases leave out an exchange; the cassette would have a gap.
    """
    said: list[Case] = []
    asked = 0
    for case in sorted(cases, key=lambda case: case.exchange):
        if case.exchange <= asked:
            continue  # another event model's case on the same exchanges
        if case.exchange != asked + 1:
            raise NotRecordable(
                f"no case says what exchange {asked + 1} of {case.cassette} asks; {case.case}"
                f" begins at {case.exchange}"
            )
        said.append(case)
        asked += len(case.turns)
    return _ask_cases(said, provider, streamed)


def _ask_cases(
    cases: Iterable[Case], provider: str, streamed: bool
) -> Generator[GenerateAsk, Exchange, None]:
    for case in cases:
        yield from _ask_case(case, provider, streamed)


def _ask_case(case: Case, provider: str, streamed: bool) -> Generator[GenerateAsk, Exchange, None]:
    first = case.turns[0].prompt
    assert first is not None, "the spec reader gives every first turn a prompt"
    dialect = next(iter(first))
    half, session = request_translator(dialect), Session()
    prompt = first[dialect]
    payloads: list[dict[str, object]] = []
    for number, turn in enumerate(case.turns):
        if number:
            prompt = half.follow_up(prompt, payloads, _then(turn))
        asked = half.translate(prompt, case.options.get(dialect, {}), session)
        body = wrap(asked, provider, session)
        exchange = yield GenerateAsk(body, asked.model, streamed)
        payloads = replay(
            exchange, provider=provider, dialect=dialect, session=session, tool_code=case.tool_code
        )


def _then(turn: Turn) -> str | list[ToolOutcome]:
    if turn.say is not None:
        return turn.say
    return [
        (
            ToolOutcome(one.error, failed=True)
            if "error" in one.model_fields_set
            else ToolOutcome(one.result)
        )
        for one in turn.results or ()
    ]


def ask_request(case: Case, provider: str, *, streamed: bool = True) -> list[GenerateAsk]:
    """The prompt of a request case, by the first event model that has a word for all of it; raises
    `TranslationError` if none has.
    """
    failed: TranslationError | None = None
    for dialect, prompt in case.prompt.items():
        session = Session()
        try:
            asked = request_translator(dialect).translate(
                prompt, case.options.get(dialect, {}), session
            )
            body = _words(asked) if provider == "gemini-cli" else wrap(asked, provider, session)
            return [GenerateAsk(body, asked.model, streamed)]
        except TranslationError as error:
            failed = error
    assert failed is not None, "a request case has a prompt"
    raise failed


def _words(asked: GenerateRequest) -> dict[str, object]:
    """A request as a program is given it, on its command line; raises `TranslationError` for more
    than one text.
    """
    told = {key: value for key, value in asked.body.items() if value}
    match told:
        case {"contents": [{"parts": [{"text": str(text)}]}]} if len(told) == 1:
            return {"prompt": text}
    raise TranslationError(
        "", "gemini-cli is given one text, on its command line; this prompt says more"
    )


def ask_again(cassette: Cassette, name: str) -> list[GenerateAsk]:
    """The requests of a cassette; raises `NotRecordable` for an exchange that has none, or one that
    does not generate.
    """
    asks = []
    for number, exchange in enumerate(cassette.exchanges, 1):
        request = exchange.request
        told = detect_provider(request.method, request.url, request.body, b"") if request else None
        if request is None or told is None or not told.generates:
            raise NotRecordable(
                f"exchange {number} of {name} holds no request that can be asked again; `harness"
                f" record {name} --prompt …` says what to ask"
            )
        try:
            asks.append(GenerateAsk(decode_json(request.body), told.model, told.streamed))
        except ValueError:
            raise NotRecordable(
                f"the request of exchange {number} of {name} is no JSON; `harness record {name}"
                " --prompt …` says what to ask"
            ) from None
    return asks


def ask_runs(cassette: Cassette, name: str) -> list[GenerateAsk]:
    """The prompts that the Gemini CLI said it was given, each run again; raises `NotRecordable` for
    a run that does not say.
    """
    asks = []
    for number, exchange in enumerate(cassette.exchanges, 1):
        events = replay(exchange, provider="gemini-cli", layer="events")
        said = next(
            (event["raw"].get("content") for event in events if event.get("name") == "echo"), None
        )
        if not isinstance(said, str):
            raise NotRecordable(
                f"run {number} of {name} does not say what it was asked, as only stream-json does;"
                " say it with --prompt"
            )
        asks.append(
            GenerateAsk(
                {"prompt": said},
                next((event.get("model") for event in events if event["kind"] == "start"), None),
            )
        )
    return asks


def ask_prompts(
    prompts: Iterable[str], provider: str, *, streamed: bool = True
) -> Generator[GenerateAsk, Exchange, None]:
    """Prompts of one conversation, each after the answer to the one before; for a program, one run
    each.
    """
    half, session = request_translator("unified-llm"), Session()
    prompt = None
    payloads: list[dict[str, object]] = []
    for text in prompts:
        if provider == "gemini-cli":
            yield GenerateAsk({"prompt": text}, None, streamed)
            continue
        prompt = (
            half.follow_up(prompt, payloads, text)
            if prompt
            else {"messages": [{"role": "user", "content": text}]}
        )
        asked = half.translate(prompt, {}, session)
        exchange = yield GenerateAsk(asked.body, asked.model, streamed)
        payloads = replay(exchange, provider=provider, dialect="unified-llm", session=session)
