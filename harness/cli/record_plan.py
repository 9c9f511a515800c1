"""Plans the recording of cassettes: from a project's cases, or from the cassettes themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.cassettes import CassetteError
from harness.pipeline.request import DEFAULT_PROVIDER
from harness.project.folders import yaml_files
from harness.project.project import Project, kind_of
from harness.providers import PROVIDERS
from harness.recording.asks import NotRecordable, ask_again, ask_request, ask_runs, ask_turns
from harness.recording.run import Asks
from harness.specs.models import Case
from harness.specs.spec_error import SpecError

from .output import note


@dataclass(frozen=True, slots=True)
class RecordingPlan:
    """One cassette to record."""

    name: str
    provider: str
    asks: Callable[[], Asks]
    """Makes the requests."""
    new: bool = False
    """Whether the requests differ from those of an existing cassette."""


@dataclass(frozen=True, slots=True)
class RecordingSources:
    """The cases of all specs of a project."""

    project: Project
    conversations: dict[str, list[Case]]
    """Cassette → its conversation cases."""
    requests: dict[str, list[tuple[str, Case]]]
    """The name of a request case, or its place ``FILE.yaml::CASE`` → places and cases."""
    cassettes: set[str]
    """All cassettes that a case names."""

    def provider(self, name: str, request: Case | None = None) -> str:
        """Return the provider to record from: the case's, else the folder's."""
        cases = [*self.conversations.get(name, ()), *([request] if request else ())]
        return next((case.provider for case in cases if case.provider), None) or name_provider(name)

    def request(self, name: str) -> Case | None:
        """Return the request case of a cassette with the name PROVIDER/CASE; None if there is not
        exactly one.
        """
        folder, _, case_name = name.partition("/")
        cases = self.requests.get(case_name, ()) if folder in PROVIDERS else ()
        return cases[0][1] if len(cases) == 1 else None

    def find(self, names: Sequence[str], provider: str | None = None) -> dict[str, Case | None]:
        """Return the cassettes that names of cases or cassettes name, each with its request case if
        it has one.

        A request case does not name a cassette. Its recording has the name PROVIDER/CASE, with
        ``provider`` or the case's provider. Raises `CassetteError` for an unknown name, and for a
        name of several cases.
        """
        by_case = {case.case: name for name, cases in self.conversations.items() for case in cases}
        cassettes: dict[str, Case | None] = {}
        for wanted in names:
            name = by_case.get(wanted, wanted)
            if name in self.conversations or self.project.cassette_path(name).exists():
                cassettes[name] = self.request(name)
                continue
            cases = self.requests.get(wanted, [])
            if len(cases) > 1:
                raise CassetteError(
                    f"{wanted} is the name of {len(cases)} request cases; name one:"
                    f" {', '.join(place for place, _ in cases)}"
                )
            for _, case in cases:
                cassettes[f"{provider or case.provider or DEFAULT_PROVIDER}/{case.case}"] = case
            if not cases and wanted in self.cassettes:
                cassettes[wanted] = None
            elif not cases:
                raise CassetteError(
                    f"{wanted} is not a case and not a cassette; to record a new one, use `harness"
                    f" record {wanted} --prompt …`"
                )
        return cassettes

    def plan(
        self,
        name: str,
        request: Case | None,
        provider: str | None = None,
        *,
        streamed: bool,
        named: bool = True,
    ) -> RecordingPlan:
        """Return the plan of a cassette. Its requests are made from its cases, or else from the
        cassette. They are sent to ``provider``, by default the cassette's provider. ``named``: the
        user has named the cassette.
        """
        asked = provider or self.provider(name, request)

        def asks() -> Asks:
            if cases := self.conversations.get(name):
                return ask_turns(cases, asked, streamed=streamed)
            if request:
                return ask_request(request, asked, streamed=streamed)
            if not self.project.cassette_path(name).exists():
                raise NotRecordable(
                    "no conversation case has its prompts; write one, or use `harness record` with"
                    " --prompt"
                )
            if not PROVIDERS[asked].program:
                return ask_again(self.project.cassette(name), name)
            if not named:
                raise NotRecordable(
                    "the output of a program does not contain its configuration; configure it, and"
                    " record the cassette by its name"
                )
            return ask_runs(self.project.cassette(name), name, asked)

        return RecordingPlan(name, asked, asks)


def read_sources(project: Project, names: Sequence[str] = ()) -> RecordingSources:
    """Return the cases of all specs of a project. A spec that can't be read is only noted if
    ``names`` are given and it contains none of them. Raises `SpecError`.
    """
    sources = RecordingSources(project, {}, {}, set())
    for root in project.specs:
        for file in yaml_files(root) if root.exists() else ():
            try:
                cases = project.cases(file) if kind_of(file) == "spec" else []
            except SpecError as error:
                text = file.read_text("utf-8", "replace")
                if not names or any(name.rpartition("::")[2] in text for name in names):
                    raise
                note(f"{str(error).splitlines()[0]}; this spec is not used")
                continue
            for case in cases:
                if case.kind == "request":
                    placed = (f"{project.name_of(file)}::{case.case}", case)
                    sources.requests.setdefault(case.case, []).append(placed)
                    sources.requests[placed[0]] = [placed]
                    continue
                sources.cassettes.add(case.cassette)
                if case.kind == "conversation":
                    sources.conversations.setdefault(case.cassette, []).append(case)
    return sources


def name_provider(name: str) -> str:
    """Return the provider of a cassette, from its folder."""
    folder = name.partition("/")[0]
    return folder if folder in PROVIDERS else DEFAULT_PROVIDER
