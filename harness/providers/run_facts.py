"""The common part of the readers of facts of programs: text, the exit, and lines that are no
messages.
"""

from __future__ import annotations

from abc import abstractmethod

from harness.stream.events import Error, Notice, Text, ToolResult, Unknown

from .event_facts import EventFacts, exit_facts
from .provider import Answer


class RunFacts(EventFacts):
    """One run: see `harness.providers.provider.FactsReader`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._is_success = False
        self._reads |= {Notice: self._notice, ToolResult: self._tool_result}

    def _ended_well(self) -> bool:
        return self._is_success

    @abstractmethod
    def _notice(self, event: Notice) -> None:
        """Note a warning."""

    @abstractmethod
    def _tool_result(self, event: ToolResult) -> None:
        """Note the result of a tool that the program ran."""

    def _text(self, event: Text) -> None:
        if not event.role:
            super()._text(event)

    def _error(self, event: Error) -> None:
        if isinstance(event.raw, dict) and "exit_code" in event.raw:
            self.facts += exit_facts(str(event.raw["exit_code"]), str(event.raw["stderr"]))
        else:
            super()._error(event)

    def _unknown(self, event: Unknown) -> None:
        if event.where not in ("frame", "rest"):
            super()._unknown(event)
        elif not self._is_text:  # a text is noted as a whole
            self._note_unreadable("null")
