"""Sessions that need compacting, and models that summarise well, badly or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from tests.meter.session import answer, result, said, usage
from ullage.context.lineage import Whereabouts, explain
from ullage.context.situation import Situation
from ullage.context.strategies import AskModel, Attempt, Commit, Strategies, Stuck
from ullage.context.strategy import Ask, SummaryAnswer
from ullage.events import (
    CallEnded,
    CallStarted,
    Event,
    MessageAdded,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
)
from ullage.messages import Message, SystemBlock, TextPart
from ullage.meter.fold import Fold
from ullage.meter.window import Limit, Limits
from ullage.reasoning import ReasoningPolicy
from ullage.tokens.calibration import Calibration
from ullage.usage import Usage

NOUNS = (
    "water", "river", "island", "house", "village", "field", "market", "station", "table", "record", "light", "street",
    "track", "train", "land", "line", "road", "level", "season", "product", "school", "company", "report", "park",
)  # fmt: skip
"""Nouns of one token each, whichever the model."""


LONG = 4_096
"""Words that are made one by one; a longer text goes on with the same ones, each time from another place on."""


def words(count: int, seed: int = 0) -> str:
    """Words that don't repeat in long runs: a different text for each seed."""
    state = seed * 7919 + 12345
    made: list[str] = []
    for _ in range(min(count, LONG)):
        state = (state * 1103515245 + 12345) % 2**31
        made.append(NOUNS[state // 65536 % len(NOUNS)])
    first, place = tuple(made), 0
    while len(made) < count:
        place = (place + 611) % LONG
        made += first[place:] + first[:place]
    return " ".join(made[:count])


def fold_of(
    *messages: Message,
    window: int | None = 16_000,
    system: str = "You are an agent.",
    auto: bool = True,
) -> Fold:
    """A session that has just begun with these messages; nothing was reported yet."""
    limits = Limits(
        window=None if window is None else Limit(tokens=window, source="user"), auto=auto
    )
    fold = Fold(
        limits=limits,
        calibration=Calibration(),
        estimator="pretoken",
        policy=ReasoningPolicy(),
    )
    started = SessionStarted(
        session="s", model="claude-haiku-4-5", wire="messages", provider="anthropic"
    )
    events: list[Event] = [
        started,
        SystemChanged(system=(SystemBlock(text=system),)),
        ToolsChanged(tools=()),
    ]
    for event in (*events, *(MessageAdded(message=message) for message in messages)):
        fold.apply(event)
    return fold


def reported(fold: Fold, call: str, *, off: float = 1.0, output: int = 40) -> None:
    """A call that the provider answered: its input is ``off`` times what its content is estimated at."""
    fold.apply(CallStarted(call=call))
    size = fold.view.tokens + fold.fixed.tokens
    fold.apply(CallEnded(call=call, usage=usage(round(size * off), output)))


def turns(count: int, *, size: int = 60, start: int = 0) -> list[Message]:
    """Turns of a user's word, a call, its result and an answer."""
    made: list[Message] = []
    for n in range(start, start + count):
        made += [
            said(f"u{n}", f"Please look at number {n}. {words(size // 4, n)}"),
            answer(f"a{n}", f"I look at {n}.", calls=1),
            result(f"r{n}", f"a{n}-0", words(size, 1000 + n)),
            answer(f"b{n}", f"Number {n} is done. {words(size // 4, 2000 + n)}"),
        ]
    return made


class FakeModel:
    """Summarises what it is asked for. ``calls`` are the calls it got."""

    def __init__(
        self,
        text: Callable[[Ask], str] | None = None,
        *,
        stop: str = "stop",
        error: str = "",
    ) -> None:
        self.calls: list[Ask] = []
        self.text = text or (
            lambda ask: f"## Goal\nTo go on. {words(60, 9_000 + len(self.calls))}"
        )
        self.stop = stop
        self.error = error

    def __call__(self, ask: Ask) -> SummaryAnswer:
        self.calls.append(ask)
        if self.error:
            return SummaryAnswer(None, error=self.error)
        text = self.text(ask)
        message = Message(
            id="answer", role="assistant", parts=(TextPart(id="answer.text", text=text),)
        )
        return SummaryAnswer(
            message, stop=self.stop, usage=Usage(input=ask.tokens, output=len(text) // 5)
        )


class Outcome(NamedTuple):
    """How an attempt ended, all its events, and the fold after them."""

    end: Commit | Stuck
    events: tuple[Event, ...]
    fold: Fold


def attempted(
    situation: Situation,
    model: Callable[[Ask], SummaryAnswer],
    strategies: Strategies | None = None,
) -> Outcome:
    """Tries the strategies to the end and applies what is committed to the situation's own fold."""
    end, events = tried(situation, model, strategies)
    for event in events:
        situation.fold.apply(event)
    return Outcome(end, events, situation.fold)


def tried(
    situation: Situation,
    model: Callable[[Ask], SummaryAnswer],
    strategies: Strategies | None = None,
) -> tuple[Commit | Stuck, tuple[Event, ...]]:
    """Tries the strategies to the end; gives the end and all events."""
    strategies = strategies or Strategies()
    attempt = Attempt()
    events: list[Event] = []
    while True:
        step = strategies.next(situation, attempt)
        events += step.events
        match step:
            case AskModel():
                attempt = step.attempt.answered(model(step.ask))
            case Commit() | Stuck():
                return step, tuple(events)


def view_of(events: Iterable[Event]) -> set[str]:
    """Ids of the messages in view after these events."""
    fold = Fold(
        limits=Limits(),
        calibration=Calibration(),
        estimator="pretoken",
        policy=ReasoningPolicy(),
    )
    for event in events:
        fold.apply(event)
    return {entry.message.id for entry in fold.view}


def explained(name: str, events: Sequence[Event]) -> Whereabouts:
    """Where a message is after these events."""
    return explain(name, events, view_of(events))
