"""What holds for every compaction, whatever the session and however its model behaves."""

import pytest
from hypothesis import given, note, seed, settings
from hypothesis import strategies as st

from tests.context.histories import history
from tests.context.sessions import tried
from tests.tiers import examples
from ullage.codec.repair import repair
from ullage.context.budget import aim_of
from ullage.context.exchanges import in_view
from ullage.context.keeping import must_stay
from ullage.context.proof import PAIRING
from ullage.context.strategies import Commit, Strategies, Stuck
from ullage.events import (
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Pruned,
)
from ullage.messages import Message, Request, TextPart, ToolResultPart
from ullage.meter.fold import Fold

pytestmark = pytest.mark.slow

seeds = st.integers(0, 2**32)


class Run:
    """One attempt, and what was there before it."""

    def __init__(self, number: int) -> None:
        self.history = history(number)
        self.situation = self.history.situation
        self.fold = fold = self.situation.fold
        self.before = {entry.message.id: entry.message for entry in fold.view}
        self.aim = aim_of(self.situation)
        self.stays = must_stay(self.situation)
        self.torn = torn(fold)
        self.most = Strategies().calls_at_most(self.situation)
        at_first = fold.forecast(), fold.view.digest
        self.end, self.events = tried(self.situation, self.history.model)
        assert (fold.forecast(), fold.view.digest) == at_first, "looking changes nothing"
        for event in self.events:
            fold.apply(event)
        self.after = {entry.message.id: entry.message for entry in fold.view}
        note(f"{self.situation.trigger} {self.end}")


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


def every_message_is_kept_or_summarised_or_dropped_and_nothing_else_appears(
    run: Run,
) -> None:
    committed = [each for each in run.events if isinstance(each, CompactionCommitted)]
    if not committed:
        assert run.after.keys() == run.before.keys()
        return
    event = committed[0]
    gone = [*event.summarised, *(each.id for each in event.dropped)]
    assert len(gone) == len(set(gone))
    summary = {event.summary.id} if event.summary is not None else set()
    assert run.after.keys() == (run.before.keys() - set(gone)) | summary
    assert not summary & run.before.keys()
    assert [name for name in run.after if name in run.before] == [
        name for name in run.before if name in run.after
    ]


def a_change_fits_ends_below_the_bar_and_saves_enough(run: Run) -> None:
    end = run.end
    if not isinstance(end, Commit):
        return
    forecast = run.fold.forecast()
    assert end.verdict.after == forecast.tokens
    assert end.verdict.high == forecast.high
    assert run.aim.limit is None or forecast.high <= run.aim.limit
    assert forecast.tokens > 0
    if not run.situation.is_urgent:
        assert run.aim.bar is None or forecast.high < run.aim.bar
        assert end.verdict.before - forecast.tokens >= run.aim.least


def no_call_is_torn_from_its_result(run: Run) -> None:
    assert torn(run.fold) <= run.torn


def it_ends_within_the_calls_that_were_announced(run: Run) -> None:
    assert run.history.model.calls <= run.most


def what_must_stay_stays_and_pinned_messages_stay_as_they_are(run: Run) -> None:
    assert run.stays.keys() <= run.after.keys()
    for name in run.situation.pins & run.before.keys():
        assert run.after[name] == run.before[name]


def pruning_clears_tool_results_and_nothing_else(run: Run) -> None:
    if not any(isinstance(each, Pruned) for each in run.events):
        return
    for name, message in run.after.items():
        for old, new in zip(run.before[name].parts, message.parts, strict=True):
            assert old == new or (
                isinstance(old, ToolResultPart)
                and old.call_id == getattr(new, "call_id", None)
            )


def assistant_text_and_calls_and_user_text_change_only_where_a_message_alone_is_too_large(
    run: Run,
) -> None:
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


def it_is_unfixable_only_where_what_must_stay_is_too_large_by_itself(run: Run) -> None:
    end = run.end
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


def every_compaction_that_began_ends(run: Run) -> None:
    began = sum(isinstance(each, CompactionStarted) for each in run.events)
    ended = sum(isinstance(each, CompactionCommitted) for each in run.events)
    ended += sum(
        isinstance(each, CompactionRolledBack) and not each.rung for each in run.events
    )
    assert began == ended <= 1


PROPERTIES = (
    every_message_is_kept_or_summarised_or_dropped_and_nothing_else_appears,
    a_change_fits_ends_below_the_bar_and_saves_enough,
    no_call_is_torn_from_its_result,
    it_ends_within_the_calls_that_were_announced,
    what_must_stay_stays_and_pinned_messages_stay_as_they_are,
    pruning_clears_tool_results_and_nothing_else,
    assistant_text_and_calls_and_user_text_change_only_where_a_message_alone_is_too_large,
    it_is_unfixable_only_where_what_must_stay_is_too_large_by_itself,
    every_compaction_that_began_ends,
)


@pytest.mark.parametrize("part", range(3))  # several processes share the work
def test_what_holds_for_every_compaction(part: int) -> None:
    """One attempt shows all properties: it takes most of the time."""

    @seed(part)
    @settings(max_examples=examples(60))
    @given(seeds)
    def holds(number: int) -> None:
        run = Run(number)
        for each in PROPERTIES:
            each(run)

    holds()


@settings(max_examples=examples(30))
@given(seeds)
def test_the_same_situation_gives_the_same_plan(number: int) -> None:
    first, second = Run(number), Run(number)
    assert first.events == second.events
