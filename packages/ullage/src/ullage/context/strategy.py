"""The protocol of a strategy: one way to make a history smaller, as a pure function of the situation.

    class ForgetEverything:
        name = "forget"

        def calls_at_most(self, situation): return 0

        def propose(self, situation, answers): return Candidate(CompactionCommitted(...))

A strategy proposes a change; ``proof.prove`` checks that it fits, saves enough and accounts for every message. A
strategy asks for model calls by returning an ``Ask`` and is called again with all answers so far. It holds no state, so
it can be called repeatedly, also in another process after a crash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from ullage.context.situation import Situation
from ullage.events import CompactionCommitted, Pruned
from ullage.messages import Message, SystemBlock
from ullage.usage import Usage

Reason = Literal[
    "nothing_to_do",
    "not_worth_it",
    "does_not_fit",
    "not_offered",
    "too_large",
    "above_point",
    "no_progress",
    "uncovered",
    "touched",
    "invalid",
    "bytes",
    "images",
    "empty",
    "longer",
    "echo",
    "truncated",
    "refused",
    "reasoning_only",
    "tool_call",
    "failed",
]
"""Why a strategy was not used, as a word that programs can count.

Before any call: ``nothing_to_do``; ``not_worth_it`` (the cache costs more than is saved); ``does_not_fit`` (no summary
request of that kind fits into the window); ``not_offered``
(the endpoint has no compaction of its own). Of the result: ``too_large`` (over the input limit), ``above_point``,
``no_progress``, ``uncovered`` (messages unaccounted for), ``touched`` (something that must stay), ``invalid`` (the wire
would reject it), ``bytes``, ``images``. Of a summary: ``empty``, ``longer``, ``echo``, ``truncated``, ``refused``,
``reasoning_only``, ``tool_call``, ``failed`` (the call itself, or a strategy that raised).
"""


class Ask(NamedTuple):
    """A model call that a strategy needs, with its bounds.

    With ``extends`` the call is the session's next request and one message more: same system prompt, same tools, so
    that the provider's cache holds; then ``system`` is empty. Without, it stands alone, with ``system`` and no tools.
    ``tokens`` is the most its input may be, ``max_output`` what it may ask for; both together fit into the window.
    ``covers`` are the ids of the messages it shows in full or in excerpts. With ``compaction`` the provider compacts
    these messages itself, by these instructions or its own (``codec.blocks.Options``).
    """

    messages: tuple[Message, ...]
    covers: tuple[str, ...]
    tokens: int
    max_output: int
    extends: bool = False
    system: tuple[SystemBlock, ...] = ()
    compaction: str | None = None


class SummaryAnswer(NamedTuple):
    """The answer of a model call. ``stop`` is ``ullage.codec.stream.Stop``; ``error`` is the kind of a call that
    failed."""

    message: Message | None
    stop: str = "stop"
    usage: Usage | None = None
    error: str = ""


class Candidate(NamedTuple):
    """A proposed change of the view, committed after the proof."""

    event: Pruned | CompactionCommitted
    note: str = ""


class Declined(NamedTuple):
    """The strategy has no proposal. ``note`` is a sentence with the numbers."""

    reason: Reason
    note: str = ""


Proposal = Ask | Candidate | Declined


class Strategy(Protocol):
    """One way to make a history smaller."""

    @property
    def name(self) -> str:
        """The name of the strategy in events, such as ``clear`` or ``summary``."""
        ...

    def calls_at_most(self, situation: Situation) -> int:
        """An upper bound on the model calls it will ask for, known before the first.

        Args:
            situation: The conversation that is to be compacted.
        """
        return 0

    def propose(self, situation: Situation, answers: Sequence[SummaryAnswer]) -> Proposal:
        """The next call it needs, or what it would commit.

        One that raises is skipped, with the exception in its ``CompactionRolledBack``.

        Args:
            situation: The conversation that is to be compacted.
            answers: Those to all its calls so far.
        """
        ...
