"""Sessions of models that bind thinking to what is in front of it, as their meter sees them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from tests.context.sessions import fold_of, turns, words
from tests.meter.session import answer, result, said
from ullage.context.server import CompactOnServer
from ullage.context.situation import Situation
from ullage.context.strategies import AskModel, Attempt, AttemptStep, Strategies
from ullage.context.strategy import SummaryAnswer
from ullage.events import (
    CallEnded,
    CallStarted,
    Event,
    Fingerprint,
    MessageAdded,
    ModelChanged,
)
from ullage.messages import COMPACTION, Message, ProviderData, ProviderItem, ReasoningPart
from ullage.meter.fold import Fold
from ullage.usage import Usage

BOUND = "claude-fable-5-2"
FREE = "claude-opus-4-6"
WINDOW = 32_000
SUMMARY = "Casks were looked at; none leaks."


def session(
    messages: Iterable[Message], *, model: str = BOUND, window: int = WINDOW
) -> Fold:
    """A session whose answers each came from a call of their own, with thinking."""
    fold = fold_of(window=window)
    fold.apply(ModelChanged(model=model, wire="messages", provider="anthropic"))
    go_on(fold, messages)
    return fold


def go_on(fold: Fold, messages: Iterable[Message]) -> None:
    """The session takes in these messages."""
    for message in messages:
        if message.role != "assistant":
            fold.apply(MessageAdded(message=message))
            continue
        call = f"call-{message.id}"
        fold.apply(CallStarted(call=call, fingerprint=Fingerprint()))
        fold.apply(MessageAdded(message=_thought(fold, message, call)))
        tokens = round(fold.view.tokens + fold.fixed.tokens)
        usage = Usage(input=tokens, output=90, reasoning=50, dialect="anthropic")
        fold.apply(CallEnded(call=call, usage=usage))


def _thought(fold: Fold, message: Message, call: str) -> Message:
    data = ProviderData(
        data=msgspec.Raw(b'{"signature":"x"}'),
        provider="anthropic",
        wire="messages",
        model=fold.model,
    )
    thinking = ReasoningPart(
        id=f"{message.id}.thinking", text=words(30, len(message.id)), provider=data
    )
    return replace(message, parts=(thinking, *message.parts), call=call)


REQUEST = said("u", "Look at all casks. Never move one.")


def loop(count: int, *, size: int = 200, start: int = 0) -> list[Message]:
    """Many calls of a tool for one request, which is in front of the first."""
    made = [REQUEST] if start == 0 else []
    for n in range(start, start + count):
        made += [
            answer(f"a{n}", calls=1),
            result(f"r{n}", f"a{n}-0", words(size, 100 + n)),
        ]
    return made


def asking(count: int, *, start: int = 0) -> list[Message]:
    """Turns of a request, a call, a result and an answer, and one request more."""
    last = said(f"last{start}", "And the last one?")
    return [*turns(count, size=200, start=start), last]


def block(text: str = SUMMARY) -> SummaryAnswer:
    """The provider's compaction."""
    data = ProviderData(
        data=msgspec.Raw(b'{"type":"compaction","signature":"s"}'),
        provider="anthropic",
        wire="messages",
        model=BOUND,
    )
    item = ProviderItem(id="i", kind=COMPACTION, text=text, provider=data)
    message = Message(id="answer", role="assistant", parts=(item,))
    return SummaryAnswer(message, "paused")


def compacted(
    situation: Situation, *answers: SummaryAnswer, strategies: Strategies | None = None
) -> tuple[AttemptStep, list[Event]]:
    """A compaction by the provider up to its end, and its events, which the fold has taken in."""
    tried = strategies or Strategies((CompactOnServer(),))
    events: list[Event] = []
    attempt, left = Attempt(), list(answers or [block()])
    while True:
        step = tried.next(situation, attempt)
        events += step.events
        if not isinstance(step, AskModel):
            for event in events:
                situation.fold.apply(event)
            return step, events
        attempt = step.attempt.answered(left.pop(0))


def thinking_sent(fold: Fold) -> set[str]:
    """Ids of the answers in view whose thinking goes out with the next request."""
    return set(fold.reasoning.tokens)


def answers_in_view(fold: Fold) -> set[str]:
    return {entry.id for entry in fold.view if entry.role == "assistant"}
