"""The request that the writer of a wire makes of a question: the wire has no place for what it
lacks, and requires what it adds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from harness.adapters.neutral_words import with_json_schemas
from harness.facts import Finding
from harness.providers import Api, Provider
from harness.stream.generation import TranslationError
from harness.stream.json_codec import Json
from harness.stream.prompt import Message, Prompt, Text
from harness.stream.session import Session

from .comparison import Comparison, SentPrompt
from .prompt_comparison import asked_aspects, compare_prompts

_HELLO = (Message("user", (Text("Hello."),)),)


def body_of(prompt: Prompt, provider: Provider, api: Api) -> Json:
    """Return the body of a prompt for an API of a provider. Raises `TranslationError` for a prompt
    that the API refuses.
    """
    options = {**prompt.options, **({api.option: {}} if api.option else {})}
    written = provider.request(with_json_schemas(replace(prompt, options=options)), Session())
    return json.loads(json.dumps(written.body))


def without_place(
    both: Comparison, provider: Provider, api: Api, findings: Sequence[Finding]
) -> list[Finding]:
    """Return the findings of a request, in which a difference that the body of `body_of` has too is
    *not asked*. Nothing that the API requires is invented. If the API refuses the question, it has
    a place for all of it.
    """
    present = asked_aspects(both.asked)
    try:
        body = body_of(both.asked, provider, api)
        sent = SentPrompt(provider.prompt_of(body), body, json_schema=provider.json_schema)
        own = compare_prompts(replace(both, sent=sent))
        present = asked_aspects(sent.prompt)
    except TranslationError:
        asked = replace(both.asked, messages=_HELLO, instructions=(), tools=(), choice=None)
        bare = Prompt(messages=_HELLO, model=both.asked.model)
        body = body_of(bare, provider, api)
        sent = SentPrompt(provider.prompt_of(body), body, json_schema=provider.json_schema)
        compared = compare_prompts(replace(both, asked=asked, sent=sent))
        own = [finding for finding in compared if finding.subject == "invented"]
    excused = {_key(finding) for finding in own if finding.red}
    left = [finding for finding in findings if _key(finding) not in excused]
    dropped = [finding for finding in findings if _key(finding) in excused]
    subjects = {finding.subject for finding in left}
    for finding in dropped:
        if finding.subject in present and finding.subject not in subjects:
            subjects.add(finding.subject)
            left.append(Finding(finding.subject, "kept"))
    title = f"{provider.title} has no place for it"
    return left + [
        Finding(finding.subject, "not_asked", "skipped", adapter=f"{title}: {finding.note}")
        for finding in dropped
        if finding.subject != "invented"
    ]


def _key(finding: Finding) -> tuple[str, str, str, str]:
    return (finding.subject, finding.verdict, finding.word, finding.place.asked)
