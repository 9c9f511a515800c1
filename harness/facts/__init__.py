"""The public vocabulary of facts: the facts of an answer, and their comparison with those that
an adapter states.
"""

from .aspects import ACCEPTED, ASPECTS, judge_answer
from .calls import NamedArguments, arguments_of, in_doubles, take_call
from .conditions import Conditions
from .fact import (
    Call,
    Cancelled,
    Error,
    Fact,
    Finish,
    InputTranscript,
    Interrupted,
    NoFact,
    OutputTranscript,
    Raw,
    Restart,
    Text,
    Thought,
    Usage,
    check_fact,
    fact_of_json,
    json_of_fact,
)
from .finding import (
    REASONS,
    RED,
    RUN,
    Aspect,
    AspectVerdict,
    Finding,
    Place,
    call_value,
    error_finding,
)
from .finish import CONTINUATION, FinishClass, ends_in_call, finish_class, is_malformed
from .losses import (
    REQUESTS,
    STORED,
    DeclaredLoss,
    losses_of_model,
    read_losses,
)
from .native import NativeSearch, plain_base64
from .order import Run
from .slips import mended_calls
from .stated import merged_facts
from .transcript import Entry, Raised, Skipped, Transcript, skip
from .view import View, counts_of
from .wire_facts import WireFacts

__all__ = [
    "ACCEPTED",
    "ASPECTS",
    "CONTINUATION",
    "REASONS",
    "RED",
    "REQUESTS",
    "RUN",
    "STORED",
    "Aspect",
    "AspectVerdict",
    "Call",
    "Cancelled",
    "Conditions",
    "DeclaredLoss",
    "Entry",
    "Error",
    "Fact",
    "Finding",
    "Finish",
    "FinishClass",
    "InputTranscript",
    "Interrupted",
    "NamedArguments",
    "NativeSearch",
    "NoFact",
    "OutputTranscript",
    "Place",
    "Raised",
    "Raw",
    "Restart",
    "Run",
    "Skipped",
    "Text",
    "Thought",
    "Transcript",
    "Usage",
    "View",
    "WireFacts",
    "arguments_of",
    "call_value",
    "check_fact",
    "counts_of",
    "ends_in_call",
    "error_finding",
    "fact_of_json",
    "finish_class",
    "in_doubles",
    "is_malformed",
    "json_of_fact",
    "judge_answer",
    "losses_of_model",
    "mended_calls",
    "merged_facts",
    "plain_base64",
    "read_losses",
    "skip",
    "take_call",
]
