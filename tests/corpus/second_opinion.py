"""Google's own SDK as a second reader: google-genai parses the recorded bytes, and our events must
have every fact that it sees.

Its client gets a transport that answers every call with one recorded body, so the SDK's own stream
parser and models read the body. Content that the SDK cannot read is reported by name, and the walk
counts it. There is no second opinion on such content.
"""

from __future__ import annotations

import base64
import warnings
from collections import Counter
from collections.abc import Iterable
from typing import Any

import httpx2
from google import genai
from google.genai import errors, types

from harness import Exchange
from harness.facts import View
from harness.judging.metamorphic.reads import plain
from harness.stream.json_codec import same_json
from tests.readers.account import Facts

_COUNTS = {
    "prompt_token_count": "promptTokenCount",
    "candidates_token_count": "candidatesTokenCount",
    "thoughts_token_count": "thoughtsTokenCount",
    "cached_content_token_count": "cachedContentTokenCount",
    "tool_use_prompt_token_count": "toolUsePromptTokenCount",
    "total_token_count": "totalTokenCount",
}
_ALONE = types.GenerateContentConfig(
    automatic_continuation=False,
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)


class _Answers(httpx2.BaseTransport):
    """Answers every request with the current exchange."""

    exchange: Exchange

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        status = self.exchange.status
        streams = "stream" in str(request.url)
        return httpx2.Response(
            status,
            headers={
                "content-type": "text/event-stream"
                if streams and status < 400
                else "application/json"
            },
            content=self.exchange.body,
        )


class SecondOpinion:
    """A google-genai client for the Gemini API or Vertex AI, connected to a recording instead of a
    server.
    """

    def __init__(self) -> None:
        self._answers = _Answers()
        options = types.HttpOptions(httpx_client=httpx2.Client(transport=self._answers))
        self._clients = {
            "gemini-api": genai.Client(api_key="none", vertexai=False, http_options=options),
            "vertex-ai": genai.Client(api_key="none", vertexai=True, http_options=options),
        }

    def read(self, exchange: Exchange, streamed: bool) -> Facts | str:
        """The facts that the SDK sees in an exchange, or the reason why it can't read it."""
        client = self._clients.get(exchange.provider or "gemini-api")
        if client is None:
            return f"no SDK reads {exchange.provider}"
        self._answers.exchange = plain(exchange)
        facts = Facts()
        try:
            with warnings.catch_warnings(action="ignore"):
                for response in _responses(client, streamed):
                    _read_response(facts, response)
        except errors.APIError as error:
            facts.add_error(error.code, error.message or "")
        except errors.UnknownApiResponseError:
            return _why_unreadable(self._answers.exchange.body)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return f"{type(error).__name__} in the SDK: {str(error).splitlines()[0][:60]}"
        return facts


def _responses(client: genai.Client, streamed: bool) -> Iterable[types.GenerateContentResponse]:
    if streamed:
        return client.models.generate_content_stream(model="m", contents="?", config=_ALONE)
    return [client.models.generate_content(model="m", contents="?", config=_ALONE)]


def _why_unreadable(body: bytes) -> str:
    head = body.lstrip()[:7]
    if head.startswith(b"["):
        return "a JSON array instead of SSE"
    if head.startswith(b"{"):
        return "a JSON document instead of SSE"
    return "SSE beyond lines that begin with 'data: '"


def _read_response(facts: Facts, response: types.GenerateContentResponse) -> None:
    feedback, usage = response.prompt_feedback, response.usage_metadata
    if feedback is not None and feedback.block_reason is not None:
        facts.block_reason = feedback.block_reason.value
    for name, wire in _COUNTS.items():
        count = getattr(usage, name, None)
        if count is not None:
            facts.usage[wire] = count
    for candidate in (response.candidates or [])[:1]:
        if candidate.index:
            continue
        for part in (candidate.content.parts if candidate.content else None) or []:
            _read_part(facts, part)
        if candidate.finish_reason is not None:
            facts.finish = candidate.finish_reason.value


def _read_part(facts: Facts, part: types.Part) -> None:
    if part.text is not None and part.thought:
        facts.thoughts += part.text
    elif part.text is not None:
        facts.text += part.text
    call = part.function_call
    if call is not None and (call.partial_args is not None or call.will_continue):
        facts.others.add("partialArgs")
    elif call is not None and call.name:
        facts.calls.append((call.name, call.args or {}))
    if part.thought_signature is not None:
        facts.signatures.append(("", base64.b64encode(part.thought_signature).decode()))


def unseen(theirs: Facts, ours: View) -> list[str]:
    """The facts that the SDK sees and our events lack, one sentence each."""
    sentences = []
    for name in ("text", "thoughts", "finish", "block_reason"):
        seen, have = getattr(theirs, name), getattr(ours, name)
        if seen and seen != have:
            sentences.append(
                f"google-genai sees {name} {seen[:60]!r}, our events have {str(have)[:60]!r}"
            )
    free = list(ours.calls)
    for name, arguments in theirs.calls:
        twin = next(
            (call for call in free if call[0] == name and same_json(call[1], arguments)), None
        )
        if twin is None:
            sentences.append(
                f"google-genai sees the call {name}({str(arguments)[:60]}), our events don't"
            )
        else:
            free.remove(twin)
    had = ours.usage
    sentences += [
        f"google-genai sees {name} {n}, our events {had.get(name)}"
        for name, n in theirs.usage.items()
        if had.get(name) != n
    ]
    lacking = Counter(_signature_bytes(theirs)) - Counter(_signature_bytes(ours))
    sentences += [
        f"google-genai sees a signature of {len(signature)} bytes that our events lack"
        for signature in lacking
    ]
    if theirs.errors and not ours.errors:
        sentences.append(f"google-genai sees an error {theirs.errors[0]}, our events none")
    return sentences


def _signature_bytes(facts: Facts | View) -> list[bytes]:
    """Accepts both base64 alphabets, with or without padding: equal bytes are equal signatures."""
    plain_alphabet = (
        signature.replace("-", "+").replace("_", "/").rstrip("=")
        for _, signature in facts.signatures
    )
    return [_decoded(text) for text in plain_alphabet]


def _decoded(text: str) -> Any:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return text.encode()
