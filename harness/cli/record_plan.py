"""What of a project can be recorded, and how: its cases say what to ask, and a cassette what it was
asked before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.cassettes import CassetteError
from harness.conformance.project import Project, kind_of, yaml_files
from harness.pipeline.replay import DEFAULT_PROVIDER
from harness.providers import PROVIDERS
from harness.specs import Case

if TYPE_CHECKING:
    from harness.recording.run import Asks


@dataclass(frozen=True, slots=True)
class Plan:
    """One cassette to record; ``asks`` makes what to ask, anew for each try; ``anew``: the same as
    for the cassette that is there.
    """

    name: str
    provider: str
    asks: Callable[[], Asks]
    anew: bool = True


@dataclass(frozen=True, slots=True)
class RecordingSources:
    """What the specs say: ``conversations``, cassette → the cases that say what it is asked;
    ``requests``, name of a request case → each case of that name and its place,
    ``FILE.yaml::CASE``, by which it is found as well; ``cassettes``, all that a case names."""

    conversations: dict[str, list[Case]]
    requests: dict[str, list[tuple[str, Case]]]
    cassettes: set[str]

    def provider(self, name: str, request: Case | None = None) -> str:
        """Whom a cassette is asked of: its case says so, else its folder."""
        cases = [*self.conversations.get(name, ()), *([request] if request else ())]
        return next((case.provider for case in cases if case.provider), None) or name_provider(name)

    def request(self, name: str) -> Case | None:
        """The request case that a cassette is of: called by a provider and the name of the one case
        of that name.
        """
        folder, _, word = name.partition("/")
        found = self.requests.get(word, ()) if folder in PROVIDERS else ()
        return found[0][1] if len(found) == 1 else None


def read_spoken(project: Project) -> RecordingSources:
    """What all specs of a project say; raises `SpecError`."""
    said = RecordingSources({}, {}, set())
    for root in project.specs:
        for file in yaml_files(root) if root.exists() else ():
            for case in project.cases(file) if kind_of(file) == "spec" else ():
                if case.kind == "request":
                    found = (f"{project.name_of(file)}::{case.case}", case)
                    said.requests.setdefault(case.case, []).append(found)
                    said.requests[found[0]] = [found]
                    continue
                said.cassettes.add(case.cassette)
                if case.kind == "conversation":
                    said.conversations.setdefault(case.cassette, []).append(case)
    return said


def find_names(
    what: Sequence[str], spoken: RecordingSources, project: Project, provider: str | None = None
) -> dict[str, Case | None]:
    """The cassettes that names of cases or cassettes mean, each with the request case that it is
    of.

    A request case has no cassette of its own: what is recorded of it is called by its provider
    (``provider``, or the case's own) and its name. Raises `CassetteError` for a name of nothing, or
    of several cases.
    """
    by_case = {case.case: name for name, cases in spoken.conversations.items() for case in cases}
    found: dict[str, Case | None] = {}
    for word in what:
        name = by_case.get(word, word)
        if name in spoken.conversations or project.cassette_path(name).exists():
            found[name] = spoken.request(name)
            continue
        cases = spoken.requests.get(word, [])
        if len(cases) > 1:
            raise CassetteError(
                f"{word} is the name of {len(cases)} request cases; say which:"
                f" {', '.join(place for place, _ in cases)}"
            )
        for _, case in cases:
            found[f"{provider or case.provider or DEFAULT_PROVIDER}/{case.case}"] = case
        if not cases and word in spoken.cassettes:
            found[word] = None
        elif not cases:
            raise CassetteError(
                f"{word} is no case and no cassette; `harness record {word} --prompt …` says what"
                " to ask for a new one"
            )
    return found


def plan_cassette(
    name: str,
    provider: str,
    request: Case | None,
    spoken: RecordingSources,
    project: Project,
    *,
    streamed: bool,
    named: bool = True,
) -> Plan:
    """How a cassette is asked for: as its cases say, or what it was asked before, again. ``named``:
    somebody wants this very one.
    """
    from harness.recording.asks import NotRecordable, ask_again, ask_request, ask_runs, ask_turns

    def asks() -> Asks:
        if cases := spoken.conversations.get(name):
            return ask_turns(cases, provider, streamed=streamed)
        if request:
            return ask_request(request, provider, streamed=streamed)
        if not project.cassette_path(name).exists():
            raise NotRecordable(
                "no conversation case says what to ask; write one, or say it to `harness record`"
                " with --prompt"
            )
        if not PROVIDERS[provider].program:
            return ask_again(project.cassette(name), name)
        if not named:
            raise NotRecordable(
                "what a program prints does not say how it was set up; record it by its name, set"
                " up as it shall be"
            )
        return ask_runs(project.cassette(name), name, provider)

    return Plan(name, provider, asks)


def name_provider(name: str) -> str:
    """A cassette's folder is its provider's name."""
    folder = name.partition("/")[0]
    return folder if folder in PROVIDERS else DEFAULT_PROVIDER
