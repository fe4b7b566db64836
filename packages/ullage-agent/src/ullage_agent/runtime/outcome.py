"""Return values of a session's methods: its result, the answer of a cancel, a queued message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, cast

import msgspec

from ullage import errors
from ullage.display.text import quoted
from ullage.encoding import encode
from ullage.errors import (
    AnswerInvalid,
    ContextUnfixable,
    InternalError,
    Overflow,
    ProviderError,
    UllageError,
)
from ullage.messages import Message, TextPart, ToolCallPart
from ullage.meter.reading import Reading
from ullage.meter.spend import Spend
from ullage.store.store import QueueKind
from ullage.usage import KINDS, Usage, UsageSum
from ullage_agent.tools.other_names import RESULTS, lacks
from ullage_agent.tools.type_variables import OutputT

INTERRUPTED: Final = "interrupted"
"""The reason of a result whose turn has no driver: the process that worked on it ended."""

INTERRUPTED_NOTE: Final = "The program that worked on this turn ended before the turn did. Resume it to continue."


class WaitingMessage(NamedTuple):
    """A queued message. ``position`` counts from 1 in the order of delivery."""

    id: str
    position: int
    at: float
    kind: QueueKind
    message: Message


class CancelAnswer(NamedTuple):
    """The effect of a cancel. ``persisted`` is what was kept; ``returned`` are messages given back from the queue."""

    cancelled: bool
    persisted: (
        Literal["partial_assistant", "tools_in_progress", "compaction_rolled_back"] | None
    )
    returned: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Result(Generic[OutputT]):
    """How a turn came to rest: the answer, what it cost, and the messages that it added. ``str()`` gives the text.

    The turn begins with the newest question, and holds all calls for it: tools' steps, fallback models, summaries,
    subagents, answers that did not fit, also after a pause and in other processes.

    Attributes:
        text: The last answer's text.
        reason: Why it ended: an ``events.EndReason``, an ``events.PauseReason``, or ``interrupted`` if the turn has no
            driver.
        note: What a paused turn waits for, or what the limit or error was. For a person.
        is_paused: Whether the turn is not over: it waits for a person or for ``resume``.
        reading: How full the window is, with what the whole session has cost.
        error: The error of a failed or too large turn.
        usage: Tokens of the turn, summed over its calls. A kind that some call did not report is ``None``:
            ``reading.spend`` has lower bounds. ``verified`` is False where a part is an estimate.
        cost: US dollars of the turn by list price. ``None`` where the price of a call is unknown.
        messages: The turn's messages, from the question on, as the ledger has them: no compaction takes any away.
    """

    text: str
    reason: str
    reading: Reading
    note: str = ""
    is_paused: bool = False
    error: UllageError | None = None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    messages: tuple[Message, ...] = ()
    read_output: tuple[OutputT] | None = field(default=None, repr=False)
    """The answer as the type that was asked for, once it is read."""
    missing: str = field(default="", repr=False)
    """The name of that type, where the turn ended without an answer of it."""

    if not TYPE_CHECKING:  # a type checker finds the name itself

        def __getattr__(self, name: str) -> object:
            raise lacks(self, "A Result", name, RESULTS)

    def __str__(self) -> str:
        """The text, or the reason of a turn that has none."""
        return self.text or self.note or f"({self.reason}, without text)"

    def __repr__(self) -> str:
        """One line: the answer's beginning, how the turn ended, what it cost, how full the window is."""
        told = f"text={quoted(self.text)}"
        if self.read_output:
            told = f"output={quoted(self.read_output[0])}"
        told += f", reason={self.reason!r}"
        if self.error is not None:
            told += f", error={type(self.error).__name__}"
        if self.cost is not None:
            told += f", cost={self.cost:.6f}"
        return f"Result({told}, used='{self.reading.used.tokens:,} tokens', session={self.session!r})"

    @property
    def session(self) -> str:
        """The session's id: ``agent.session(result.session)`` continues it."""
        return self.reading.session

    @property
    def output(self) -> OutputT:
        """The answer as the ``output_type`` that was asked for; its text without one.

        Raises the turn's ``error``, or ``AnswerInvalid`` where the turn is paused or was cancelled.
        """
        if self.read_output:
            return self.read_output[0]
        if self.missing:
            raise self.error or AnswerInvalid(
                f"There is no {self.missing} yet: {self.note or self.reason}",
                text=self.text,
            )
        return cast(OutputT, self.text)

    def or_raise(self) -> Result[OutputT]:
        """The result, if the turn did not fail. Raises its ``error`` otherwise."""
        if self.error is not None:
            raise self.error
        return self

    def to_json(self) -> bytes:
        """The result as one JSON object: ``error`` by its class's name, ``output`` if it was asked for."""
        named: dict[str, object] = {"type": "result"}
        for name in _IN_JSON:
            named[name] = getattr(self, name)
        named["error"] = None if self.error is None else type(self.error).__name__
        if self.read_output:
            named["output"] = self.read_output[0]
        named["messages"] = [msgspec.Raw(encode(message)) for message in self.messages]
        return msgspec.json.encode(named, enc_hook=_plain)


_IN_JSON: Final = (
    "session",
    "text",
    "reason",
    "note",
    "is_paused",
    "usage",
    "cost",
    "reading",
)


def _plain(value: Any) -> object:
    """What msgspec can write of a value of a type of the program's own: a pydantic model as a table."""
    dumped = getattr(value, "model_dump", None)
    return str(value) if dumped is None else dumped(mode="json")


def usage_between(before: Spend, after: Spend) -> Usage:
    """What the calls between two sums reported together. A call that failed without a report used nothing."""
    sums, earlier = after.all, before.all
    estimated = sums.estimated - earlier.estimated
    tokens: dict[str, Any] = {
        kind: getattr(sums, kind) - getattr(earlier, kind)
        for kind in KINDS
        if _unsaid(after, kind) <= _unsaid(before, kind)
    }
    if estimated:
        tokens["input"] = sums.input - earlier.input + estimated
    return Usage(**tokens, verified=not estimated)


def cost_between(before: Spend, after: Spend) -> float | None:
    """US dollars of the calls between two sums; ``None`` where one has no known price."""
    unpriced = after.money.unpriced - before.money.unpriced
    failed = _unsaid_failed(after, "input") - _unsaid_failed(before, "input")
    return None if unpriced > failed else after.money.usd - before.money.usd


def _unsaid(spend: Spend, kind: str) -> int:
    return spend.all.unsaid.get(kind, 0) - _unsaid_failed(spend, kind)


def _unsaid_failed(spend: Spend, kind: str) -> int:
    return spend.by_purpose.get("failed", UsageSum()).unsaid.get(kind, 0)


def error_of(
    reason: str, kind: str, note: str, stuck: ContextUnfixable | None
) -> UllageError | None:
    """The error of a turn's end; ``None`` if it did not fail."""
    if reason == "too_large":
        return stuck or Overflow(note)
    if reason != "failed":
        return None
    named = getattr(errors, kind, ProviderError)
    return (named if issubclass(named, ProviderError | InternalError) else ProviderError)(
        note
    )


def last_words(messages: Sequence[Message], answer_call: str = "") -> str:
    """The text of the answer to the last message of a person; empty before the answer.

    ``answer_call`` is the tool call that gave the answer: its arguments are the text.
    """
    for message in reversed(messages):
        if message.role == "assistant":
            for call in message.of_type(ToolCallPart):
                if answer_call and call.call_id == answer_call:
                    return call.arguments
            return "".join(part.text for part in message.of_type(TextPart))
        if message.role == "user" and message.origin == "said":
            return ""
    return ""
