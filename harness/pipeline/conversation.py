"""Runs request cases and conversation cases: returns their requests as plain data.

A request is ``{"request": body}``, with the sorted ``"warnings"`` if something was left out, or
``{"error": text}`` for a prompt that can't be translated. A conversation case gives a list of
requests, one for each turn: the answer of a turn is replayed, and the dialect makes the next prompt
from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from harness.cassettes import CassetteError, Exchange
from harness.dialects.dialect import Payload, RequestTranslator
from harness.providers import PROVIDERS, Provider
from harness.specs.checks import RECORDED
from harness.specs.models import Case, Turn
from harness.stream.generation import ToolOutcome, TranslationError
from harness.stream.json_codec import decode_json, decode_object, same_json
from harness.stream.prompt_data import as_data
from harness.stream.session import Session

from .replay import choose_provider, replay
from .request import DEFAULT_PROVIDER, ask

SentBody = dict[str, Any]

_CHOSEN: Final = ("project", "user_prompt_id", "stream", "store", "previous_interaction_id")
"""The fields of an envelope or a body that no prompt of an event model has."""


def sent(
    prompt: Any,
    translator: RequestTranslator,
    provider: str,
    options: Mapping[str, Any],
    session: Session,
) -> SentBody:
    """Return the request of a prompt, or the reason why it can't be translated."""
    try:
        generate = ask(translator, prompt, provider, options, session)
    except TranslationError as error:
        return {"error": str(error)}
    warnings = {"warnings": sorted(generate.warnings)} if generate.warnings else {}
    return {"request": generate.body, **warnings}


def converse(
    case: Case, dialect: str, exchanges: Sequence[Exchange], translator: RequestTranslator
) -> list[SentBody]:
    """Return the request of every turn; ``exchanges`` are the recorded ones. Stops after a prompt
    that can't be translated.
    """
    session = Session(limit=case.remembers)
    requests: list[SentBody] = []
    prompt: Any = None
    payloads: list[Any] = []
    for turn, exchange in zip(case.turns, exchanges, strict=True):
        if turn.prompt:
            prompt = turn.prompt[dialect]
        else:
            try:
                prompt = next_prompt(translator, prompt, payloads, turn)
            except TranslationError as error:
                requests.append({"error": str(error)})
                break
        provider = choose_provider(exchange, case.provider)
        session.context = _context(exchange)
        requests.append(sent(prompt, translator, provider, case.options.get(dialect, {}), session))
        if "error" in requests[-1]:
            break
        payloads = replay(
            exchange, provider=provider, dialect=dialect, session=session, tool_code=case.tool_code
        )
    return requests


def expected_requests(case: Case, expected: Any, exchanges: Sequence[Exchange], made: Any) -> Any:
    """Return the expectation of a request or conversation for the requests that were ``made``: an
    expected request that is the same in another spelling is the one that was made.
    """
    if not exchanges:
        return _spelled_as(made, expected, PROVIDERS[case.provider or DEFAULT_PROVIDER])
    chosen = [PROVIDERS[choose_provider(exchange, case.provider)] for exchange in exchanges]
    if expected == RECORDED:
        expected = [{"request": RECORDED}] * len(exchanges)
    if not isinstance(expected, list):
        return _spelled_as(made, expected, chosen[0])
    requests = []
    for number, item in enumerate(expected):
        last = min(number, len(exchanges) - 1)
        if isinstance(item, dict) and item.get("request") == RECORDED:
            item = {**item, "request": _recorded(case, last, exchanges[last])}
        own = made[number] if isinstance(made, list) and number < len(made) else None
        requests.append(_spelled_as(own, item, chosen[last]))
    return requests


def _spelled_as(made: Any, expected: Any, provider: Provider) -> Any:
    """Return the expectation of one request, in the spelling of the request that was made if both
    have the same prompt.
    """
    if not isinstance(expected, dict) or "request" not in expected:
        return expected
    read = dict(expected)
    own = made.get("request") if isinstance(made, dict) else None
    if provider.reads_whole and isinstance(own, dict) and isinstance(expected["request"], dict):
        prompts = (provider.compared_prompt(body) for body in (own, expected["request"]))
        if same_json(*map(as_data, prompts)):
            read["request"] = own
    warnings = expected.get("warnings")
    if isinstance(warnings, list) and all(isinstance(warning, str) for warning in warnings):
        read["warnings"] = sorted(warnings)  # a set: their order has no meaning
    return read


def next_prompt(
    translator: RequestTranslator, prompt: Any, payloads: Sequence[Payload], turn: Turn
) -> Any:
    """Return the prompt of a later turn. Raises `TranslationError` if the turn names a model, and
    the prompt has no place for it.
    """
    following = translator.follow_up(prompt, payloads, follow_up_of(turn))
    if turn.model is None:
        return following
    if not isinstance(following, dict) or "model" not in following:
        raise TranslationError("turns", "a turn names a model, but the prompt has none")
    return {**following, "model": turn.model}


def follow_up_of(turn: Turn) -> str | list[ToolOutcome]:
    """Return the continuation after an answer: the user's next text, or the outcomes of the
    calls.
    """
    if turn.say is not None:
        return turn.say
    return [
        ToolOutcome(outcome.error, failed=True)
        if "error" in outcome.model_fields_set
        else ToolOutcome(outcome.result)
        for outcome in turn.results or ()
    ]


def _recorded(case: Case, number: int, exchange: Exchange) -> Any:
    try:
        return decode_json(exchange.request.body if exchange.request else b"")
    except ValueError:
        place = f"exchange {case.exchange + number} of cassette {case.cassette}"
        raise CassetteError(
            f"{place} has no JSON request to compare with; write the expected requests in the"
            " spec instead of `recorded`"
        ) from None


def _context(exchange: Exchange) -> Mapping[str, Any]:
    """Return the values in an envelope that the client chose freely; they are only in the recorded
    request.
    """
    body = decode_object(exchange.request.body if exchange.request else b"") or {}
    chosen = {name: body.get(name) for name in _CHOSEN}
    inner = body.get("request")
    if type(inner) is dict:
        chosen["session_id"] = inner.get("session_id")
    return {name: value for name, value in chosen.items() if value is not None}
