"""The common part of the readers of facts of programs: text, calls, the exit, and lines that are no
messages.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from harness.facts import Facts
from harness.stream.events import CallStart, Error, Event, Notice, Text, ToolResult, Unknown

from .event_facts import EventFacts, note_exit
from .provider import Answer


class RunFacts(EventFacts):
    """One run: see `harness.providers.provider.FactsReader`. The order of its text and its calls
    is none of its facts: a run tells each turn as a whole.
    """

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._ended_well = False
        self._reads |= {Notice: self._notice, ToolResult: self._tool_result}

    def close(self, events: Iterable[Event]) -> Facts:
        facts = super().close(events)
        facts.ended_well = self._ended_well
        return facts

    @abstractmethod
    def _notice(self, event: Notice) -> None:
        """Note a warning."""

    @abstractmethod
    def _tool_result(self, event: ToolResult) -> None:
        """Note the result of a tool that the program ran."""

    def _text(self, event: Text) -> None:
        if not event.role:
            self.facts.add_text(event.text)

    def _call_start(self, event: CallStart) -> None:
        self._open = event.call
        self.facts.calls.append((event.name, {}))
        self.facts.marks.append((event.id, None))

    def _error(self, event: Error) -> None:
        if isinstance(event.raw, dict) and "exit_code" in event.raw:
            note_exit(self.facts, str(event.raw["exit_code"]), str(event.raw["stderr"]))
        else:
            super()._error(event)

    def _unknown(self, event: Unknown) -> None:
        if event.where not in ("frame", "rest"):
            super()._unknown(event)
        elif not self._is_text:  # a text is noted as a whole
            self._note_unreadable("null")
