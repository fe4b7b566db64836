"""What holds for every compaction, whatever the session and however its model behaves."""

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests.context.histories import history
from tests.context.sessions import Outcome, attempted
from tests.tiers import examples
from ullage.codec.repair import repair
from ullage.context.budget import aim_of
from ullage.context.exchanges import in_view
from ullage.context.keeping import must_stay
from ullage.context.proof import PAIRING
from ullage.context.strategies import AskModel, Attempt, Commit, Strategies, Stuck
from ullage.events import (
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Pruned,
)
from ullage.messages import Message, Request, TextPart, ToolResultPart
from ullage.meter.fold import Fold

seeds = st.integers(0, 2**32)
FEW = examples(60)


class Run:
    """One attempt, and what was there before it."""

    def __init__(self, seed: int) -> None:
        self.history = history(seed)
        self.situation = self.history.situation
        self.before = {
            entry.message.id: entry.message for entry in self.situation.fold.view
        }
        self.high = self.situation.sizes.high
        self.aim = aim_of(self.situation)
        self.stays = must_stay(self.situation)
        self.torn = torn(self.situation.fold)
        self.most = Strategies().calls_at_most(self.situation)
        self.outcome: Outcome = attempted(self.situation, self.history.model)
        self.after = {entry.message.id: entry.message for entry in self.outcome.fold.view}
        note(f"{self.situation.trigger} {self.outcome.end}")

    @property
    def committed(self) -> CompactionCommitted | None:
        return next(
            (
                each
                for each in self.outcome.events
                if isinstance(each, CompactionCommitted)
            ),
            None,
        )


def torn(fold: Fold) -> set[tuple[str, str]]:
    messages = in_view(entry.message for entry in fold.view)
    request = Request(
        wire=fold.wire, model=fold.model, provider=fold.provider, messages=messages
    )
    return {
        (each.kind, each.message)
        for each in repair(request).repairs
        if each.kind in PAIRING
    }


@pytest.mark.slow
@given(seeds)
def test_every_message_is_kept_or_summarised_or_dropped_and_nothing_else_appears(
    seed: int,
) -> None:
    run = Run(seed)
    event = run.committed
    if event is None:
        assert run.after.keys() == run.before.keys()
        return
    gone = [*event.summarised, *(each.id for each in event.dropped)]
    assert len(gone) == len(set(gone))
    summary = {event.summary.id} if event.summary is not None else set()
    assert run.after.keys() == (run.before.keys() - set(gone)) | summary
    assert not summary & run.before.keys()
    assert [name for name in run.after if name in run.before] == [
        name for name in run.before if name in run.after
    ]


@pytest.mark.slow
@settings(max_examples=FEW)
@given(seeds)
def test_a_change_fits_ends_below_the_bar_and_saves_enough(seed: int) -> None:
    run = Run(seed)
    end = run.outcome.end
    if not isinstance(end, Commit):
        return
    forecast = run.outcome.fold.forecast()
    assert end.verdict.after == forecast.tokens
    assert end.verdict.high == forecast.high
    assert run.aim.limit is None or forecast.high <= run.aim.limit
    assert forecast.tokens > 0
    if not run.situation.is_urgent:
        assert run.aim.bar is None or forecast.high < run.aim.bar
        assert end.verdict.before - forecast.tokens >= run.aim.least


@given(seeds)
def test_no_call_is_torn_from_its_result(seed: int) -> None:
    run = Run(seed)
    assert torn(run.outcome.fold) <= run.torn


@given(seeds)
def test_it_ends_within_the_calls_that_were_announced(seed: int) -> None:
    run = Run(seed)
    assert run.history.model.calls <= run.most


@pytest.mark.slow
@given(seeds)
def test_what_must_stay_stays_and_pinned_messages_stay_as_they_are(seed: int) -> None:
    run = Run(seed)
    assert run.stays.keys() <= run.after.keys()
    for name in run.situation.pins & run.before.keys():
        assert run.after[name] == run.before[name]


@pytest.mark.slow
@settings(max_examples=FEW)
@given(seeds)
def test_pruning_clears_tool_results_and_nothing_else(seed: int) -> None:
    run = Run(seed)
    if not any(isinstance(each, Pruned) for each in run.outcome.events):
        return
    for name, message in run.after.items():
        for old, new in zip(run.before[name].parts, message.parts, strict=True):
            assert old == new or (
                isinstance(old, ToolResultPart)
                and old.call_id == getattr(new, "call_id", None)
            )


@pytest.mark.slow
@given(seeds)
def test_assistant_text_and_calls_and_user_text_change_only_where_a_message_alone_is_too_large(
    seed: int,
) -> None:
    run = Run(seed)
    request = run.situation.request
    for name, message in run.after.items():
        old = run.before.get(name)
        if old is None or old == message:
            continue
        assert message.revision > old.revision
        assert (
            message.role == "tool"
            or (request is not None and name == request.id)
            or has_media(old)
        )
        if message.role == "assistant":
            assert texts(old) == texts(message)


def has_media(message: Message) -> bool:
    return any(part.__class__.__name__ == "ImagePart" for part in message.parts)


def texts(message: Message) -> list[str]:
    return [part.text for part in message.of_type(TextPart)]


@settings(max_examples=FEW)
@given(seeds)
def test_it_is_unfixable_only_where_what_must_stay_is_too_large_by_itself(
    seed: int,
) -> None:
    run = Run(seed)
    end = run.outcome.end
    if not (isinstance(end, Stuck) and end.error is not None):
        return
    situation = run.situation
    limit = run.aim.limit
    if (
        limit is None
        or run.situation.trigger == "overflow"
        or situation.is_over_bytes
        or situation.is_over_images
    ):
        return
    request = situation.request
    others = [name for name in run.stays if request is None or name != request.id]
    # The request itself could be cut to a few hundred characters, so it is not counted here.
    assert run.situation.sizes.fixed + situation.sizes.of(others) > 0.7 * limit


@settings(max_examples=FEW)
@given(seeds)
def test_every_compaction_that_began_ends(seed: int) -> None:
    events = Run(seed).outcome.events
    began = sum(isinstance(each, CompactionStarted) for each in events)
    ended = sum(isinstance(each, CompactionCommitted) for each in events)
    ended += sum(
        isinstance(each, CompactionRolledBack) and not each.rung for each in events
    )
    assert began == ended <= 1


@pytest.mark.slow
@settings(max_examples=FEW)
@given(seeds)
def test_the_same_situation_gives_the_same_plan(seed: int) -> None:
    first, second = Run(seed), Run(seed)
    assert first.outcome.events == second.outcome.events


@given(seeds)
def test_looking_changes_nothing(seed: int) -> None:
    run = history(seed)
    fold = run.situation.fold
    before = fold.forecast(), fold.view.digest
    attempt = Attempt()
    while isinstance(step := Strategies().next(run.situation, attempt), AskModel):
        attempt = step.attempt.answered(run.model(step.ask))
    assert (fold.forecast(), fold.view.digest) == before
