"""The oracle: an independent, plain reader of each raw wire and of canonical events.

The readers return `Facts`; law 3 (nothing lost, nothing invented) compares these. From this
package it imports only the vocabulary of facts.
"""

from .events import gather_events
from .gemini import gather_body, read_messages
from .gemini_cli import gather_cli
from .interactions import count_interactions, gather_interactions
from .openai import gather_openai
from .openai_compat import count_chat, gather_compat
from .openai_responses import count_responses
from .raw import read_raw
from .reader import note_error

__all__ = [
    "count_chat",
    "count_interactions",
    "count_responses",
    "gather_body",
    "gather_cli",
    "gather_compat",
    "gather_events",
    "gather_interactions",
    "gather_openai",
    "note_error",
    "read_messages",
    "read_raw",
]
