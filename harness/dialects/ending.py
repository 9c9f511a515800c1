"""The policy for the end of an answer: how it ended, and the message if that is an error.

Each dialect maps the kinds of ends to its own words. An answer in which nothing was understood (a
web page with the status 200, the stream of another provider, an empty body) ends as an error in
every dialect, never as an empty answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeVar

from harness.stream import events as ev
from harness.stream.printable import printable, short_json, shorten

EndKind = Literal[
    "nothing",
    "invalid_call",
    "blocked",
    "called",
    "unfinished",
    "stop",
    "length",
    "content_filter",
    "malformed",
    "continuation",
    "other",
    "empty",
    "failed",
]
"""The end of a stream that was not broken by an error or an interruption. ``nothing``: nothing was
understood. ``invalid_call``: the arguments of a call are not a JSON object. ``blocked``: the prompt
was refused. ``called``: a call waits for its result. ``unfinished``: there is no finish reason. The
others are the classes of the last finish reason; ``empty`` is ``other`` without content.
"""

QUOTED: Final = 200
"""The number of characters of an answer that the message of its error quotes."""

_ALWAYS: Final[frozenset[type[ev.Event]]] = frozenset(
    {ev.CallStart, ev.CallInvalid, ev.Finish, ev.Blocked}
)
_CONTENT: Final[frozenset[type[ev.Event]]] = frozenset({ev.CallStart}) | {
    *(ev.NamelessCall, ev.ToolResult, ev.Media, ev.Code, ev.CodeResult),
    *(ev.ServerCall, ev.ServerResult),
}
_UNDERSTOOD: Final[frozenset[type[ev.Event]]] = frozenset(
    {ev.Finish, ev.Blocked, ev.Error, ev.Notice, ev.Incomplete}
)
_ALL: Final = _ALWAYS | _CONTENT | _UNDERSTOOD | {ev.Text, ev.Reasoning, ev.Unknown}


class Ending:
    """Watches the events of one stream, for candidate 0, and decides how it ended."""

    def __init__(self) -> None:
        self.content = False
        """The answer has a text, a thought, a call, a result, media or code."""
        self.understood = False
        """It has content, a finish reason, a block, an error or a warning."""
        self.invalid = ""
        """A sentence about the first call whose arguments are not a JSON object."""
        self.finish: ev.Finish | None = None
        """The last finish reason."""
        self.blocked: ev.Blocked | None = None
        self._called = (0, "")  # number and name of the latest call of the answer
        self.watched = _ALL
        """The kinds of events that can still change a value. Other events need no `note`."""
        self._quoted = ""

    def note(self, event: ev.Event) -> None:
        """Look at the next event."""
        if isinstance(event, ev.Finish):
            if event.candidate <= 0:
                self.finish = event
        elif isinstance(event, ev.Blocked):
            self.blocked = event
        elif isinstance(event, ev.CallStart) and event.candidate == 0:
            self._called = event.call, event.name
        elif (
            isinstance(event, ev.CallInvalid) and event.call == self._called[0] and not self.invalid
        ):
            quoted, name = shorten(printable(event.text), QUOTED), self._called[1]
            call = f"the call {name}" if name else "a call"
            self.invalid = f"the arguments of {call} are not a JSON object: {quoted}"
        if self.content or getattr(event, "candidate", 0) > 0:
            return
        if isinstance(event, ev.Text):
            self.content = bool(event.text) and not event.role
        elif isinstance(event, ev.Reasoning):
            self.content = bool(event.text)
        elif type(event) in _CONTENT:
            self.content = True
        elif type(event) in _UNDERSTOOD:
            self.understood = True
        elif isinstance(event, ev.Unknown) and len(self._quoted) < QUOTED:
            raw = event.raw
            text = printable(raw) if isinstance(raw, str) else short_json(raw, QUOTED)
            self._quoted += f" {text}"
        if self.content:
            self.understood, self.watched = True, _ALWAYS

    def kind(self, *, called: bool = False) -> EndKind:
        """Return how the answer ended. ``called``: a call waits for its result, so the finish
        reason does not matter.
        """
        if self.invalid:
            return "invalid_call"
        if not self.understood:
            return "nothing"
        if called:
            return "called"
        if self.blocked is not None:
            return "blocked"
        if self.finish is None:
            return "unfinished"
        if self.finish.reason == "other" and not self.content:
            return "empty"
        return self.finish.reason

    @property
    def odd_reason(self) -> str | None:
        """The word of a finish reason of the class ``other``, which may be one that nobody knows.
        Each dialect shows it, so that the answer never looks like one that ended well.
        """
        finish = self.finish
        return finish.raw if finish is not None and finish.reason == "other" else None

    def message(self) -> str:
        """Return the message of an error that ends such an answer."""
        if self.invalid:
            return self.invalid
        if not self.understood:
            return self._nothing()
        return describe_failure(self.finish) if self.finish else "the answer gave no finish reason"

    def _nothing(self) -> str:
        """Quote the beginning of an answer in which nothing was understood."""
        if self._quoted:
            quoted = shorten(self._quoted.strip(), QUOTED)
            return f"nothing in the answer was understood; it begins with {quoted}"
        return "the answer has no content and no finish reason"


_ENDS: Final[Mapping[ev.End, str]] = {
    "cut": "the stream was cut before its end",
    "reset": "the connection was reset before the end of the stream",
    "aborted": "the client left before the end of the stream",
}


def describe_break(event: ev.Incomplete) -> str:
    """Return the message of the error that ends an answer whose stream stopped before its end."""
    message = _ENDS.get(event.end, "the stream stopped before its end")
    if event.rest:
        message += f", inside a message of which {len(event.rest)} characters had arrived"
    return message


def describe_failure(finish: ev.Finish) -> str:
    """Return the message of the error that ends an answer whose finish reason reports a failure:
    the reason, and the text beside it.
    """
    if finish.reason == "failed":
        return f"the run ended with the status {finish.raw!r}"
    return finish.raw if finish.message is None else f"{finish.raw}: {finish.message}"


Reaction = TypeVar("Reaction")


def every_kind(
    dialect: str, reactions: Mapping[type[ev.Event], Reaction]
) -> Mapping[type[ev.Event], Reaction]:
    """Return the same table, if it has a reaction to every kind of event. Raises `TypeError` for a
    missing kind: an event model that has no place for a kind declares that with a reaction of its
    own.
    """
    if missing := [kind for kind, event in ev.KINDS.items() if event not in reactions]:
        raise TypeError(
            f"the dialect {dialect} has no reaction to the events {', '.join(missing)}; add them to"
            " the table of its translator"
        )
    return reactions
