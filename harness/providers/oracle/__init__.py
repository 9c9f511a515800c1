"""The oracle: an independent, plain reader of a raw wire.

The readers return `Facts`; law 3 (nothing lost, nothing invented) compares these. From this
package it imports only the vocabulary of facts.
"""

from .gemini_cli import gather_cli
from .interactions import count_interactions, gather_interactions
from .openai import gather_openai
from .openai_compat import count_chat, gather_compat
from .openai_responses import count_responses
from .reader import note_error

__all__ = [
    "count_chat",
    "count_interactions",
    "count_responses",
    "gather_cli",
    "gather_compat",
    "gather_interactions",
    "gather_openai",
    "note_error",
]
