"""What holds where a person names the part that is to be summarised: up to a message, or from it on."""

from random import Random

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.context.histories import FaultyModel, History, history
from tests.context.sessions import (
    FakeModel,
    Outcome,
    attempted,
    fold_of,
    reported,
    turns,
)
from tests.context.test_strategies_properties import torn
from tests.meter.session import said
from tests.tiers import examples
from ullage.checkpoint.checkpoint import Checkpoints
from ullage.codec.repair import repair
from ullage.context.budget import aim_of
from ullage.context.exchanges import in_view
from ullage.context.keeping import must_stay
from ullage.context.lineage import explain
from ullage.context.policy import LEAST_SAVED_SHARE
from ullage.context.proof import prove
from ullage.context.situation import Situation
from ullage.context.strategies import Commit, Stuck
from ullage.context.strategy import Ask, SummaryAnswer
from ullage.events import (
    CompactionCommitted,
    Event,
    MessageAdded,
    Pruned,
    Rewound,
    Uncompacted,
)
from ullage.messages import Message, Request, TextPart
from ullage.meter.fold import Fold

seeds = st.integers(0, 2**32)


def part(number: int) -> History | None:
    """A random session in which a person names a part at random; ``None`` for one without messages."""
    random = Random(number)
    situation, model = history(number)
    if not situation.messages:
        return None
    chosen = random.choice(situation.messages).id
    is_from = random.random() < 0.6
    named = Situation(
        fold=situation.fold,
        trigger="asked",
        compaction="c1",
        pins=situation.pins,
        from_=chosen if is_from else "",
        up_to="" if is_from else chosen,
    )
    return History(named, model)


def content(fold: Fold) -> list[Message]:
    return [entry.message for entry in fold.view]


@pytest.mark.slow
@pytest.mark.parametrize("share", range(3))  # several processes share the work
def test_outside_of_the_part_all_stays_and_the_lineage_agrees_with_the_view(
    share: int,
) -> None:
    @seed(share)
    @settings(max_examples=examples(80, 1_300))
    @given(seeds)
    def holds(number: int) -> None:
        found = part(number)
        if found is not None:
            before = content(found.situation.fold)
            outcome = outside_stays(found.situation, found.model)
            lineage_agrees(before, outcome, Random(number))

    holds()


def outside_stays(situation: Situation, model: FaultyModel) -> Outcome:
    """Every message outside of the part stays as it is and in its place."""
    before, in_order = content(situation.fold), situation.messages
    stays, outside = must_stay(situation), situation.unnamed
    was_torn = torn(situation.fold)
    aim, named = aim_of(situation), situation.sizes.messages
    named -= situation.sizes.of(stays)
    outcome = attempted(situation, model)
    fold = outcome.fold
    match outcome.end:
        case Stuck():
            assert content(fold) == before
            return outcome
        case Commit(verdict=verdict):
            pass
    event = next(each for each in outcome.events if isinstance(each, CompactionCommitted))
    assert event.summary is not None or situation.is_urgent
    summary = [] if event.summary is None else [event.summary]
    after = list(in_view(content(fold)))
    gone = {*event.summarised, *(each.id for each in event.dropped)}
    assert not gone & outside and not gone & situation.pins
    kept = [message for message in in_order if message.id not in gone]
    assert gone == {each.id for each in in_order} - stays.keys()
    assert [each.id for each in after if each not in summary] == [
        each.id for each in kept
    ]
    if situation.from_:
        first = next(at for at, each in enumerate(in_order) if each.id in gone)
        assert not event.replaced
        assert after == [*in_order[:first], *summary, *kept[first:]]
    else:
        changed = {each.id for each in event.replaced}
        for old in kept:
            assert old in after or old.id in changed
    assert torn(fold) <= was_torn
    used = fold.forecast()
    assert (used.tokens, used.high) == (verdict.after, verdict.high)
    assert aim.limit is None or used.high <= aim.limit
    assert (
        verdict.before - verdict.after >= LEAST_SAVED_SHARE * named or situation.is_urgent
    )
    restored = Checkpoints().load(Checkpoints().save(fold), estimator="pretoken")
    assert [each.id for each in restored.view] == [each.id for each in fold.view]
    assert restored.forecast() == fold.forecast()
    return outcome


def lineage_agrees(before: list[Message], outcome: Outcome, random: Random) -> None:
    """Of every message, behind an undo too; the undo alone brings all of them back."""
    events: list[Event] = [MessageAdded(message=message) for message in before]
    events += outcome.events
    ids = [message.id for message in before]
    more = (
        Rewound(to=random.choice([*ids, ""])),
        MessageAdded(message=said("new", "And now?")),
        Uncompacted(compaction="c1"),
    )[random.choice((0, 1, 2, 2)) :]
    for event in more:
        outcome.fold.apply(event)
        events.append(event)
    if len(more) == 1:
        assert content(outcome.fold) == before
    holders = {each.id for each in outcome.fold.view}
    for name in ids:
        where = explain(name, events, holders)
        assert (name in holders) == (where.holder == name), (name, where)
        assert where.holder in holders | {""}


def named(*, from_: str = "", up_to: str = "") -> Situation:
    return Situation(
        fold=fold_of(*turns(20, size=200)),
        trigger="asked",
        compaction="c",
        from_=from_,
        up_to=up_to,
    )


def proposal(
    situation: Situation, behind: str, *replaced: Message
) -> CompactionCommitted:
    gone = [each.id for each in situation.messages if each.id not in must_stay(situation)]
    return CompactionCommitted(
        compaction="c",
        summary=said("c.summary", "what was said"),
        summarised=tuple(gone),
        behind=behind,
        replaced=replaced,
    )


def test_a_summary_in_another_place_is_no_proof() -> None:
    situation = named(from_="u10")
    assert prove(situation, proposal(situation, "b9")).is_proved
    for behind in ("", "b8", "gone"):
        verdict = prove(situation, proposal(situation, behind))
        assert (verdict.reason, "in its place" in verdict.note) == ("uncovered", True)
    up_to = named(up_to="u10")
    assert prove(up_to, proposal(up_to, "")).is_proved
    assert prove(up_to, proposal(up_to, "u10")).reason == "uncovered"


def test_nothing_outside_of_the_part_is_changed_or_cleared() -> None:
    situation = named(from_="u10")
    cut = proposal(situation, "b9", said("u3", "shorter"))
    assert prove(situation, cut).reason == "touched"
    result = next(part for each in turns(3) if each.id == "r2" for part in each.parts)
    assert prove(situation, Pruned(parts=(result.id,))).reason == "touched"


def test_only_what_stands_behind_the_place_is_written_to_the_cache_again() -> None:
    behind, front = named(from_="u18"), named(up_to="u4")
    assert prove(front, proposal(front, "")).rewritten == 0  # nothing was sent yet
    for situation in (behind, front):
        reported(situation.fold, "c1")
    assert prove(behind, proposal(behind, "b17")).rewritten < 100
    assert prove(front, proposal(front, "")).rewritten > 4_000


def test_the_model_is_told_which_messages_are_meant() -> None:
    asks: list[str] = []

    def model(ask: Ask) -> SummaryAnswer:
        asks.append(next(ask.messages[-1].of_type(TextPart)).text)
        assert [each.id for each in ask.messages[:-1]] == [each.id for each in turns(20)]
        return FakeModel(lambda _: "Twelve casks were looked at.")(ask)

    situation = named(from_="u18")
    attempted(situation, model)
    (text,) = asks
    assert "are the last 8." in text and "The first of the messages" in text
    assert text.splitlines()[-1].startswith("user: ")


def test_a_tool_loop_that_was_cut_goes_on_with_the_summary_as_its_next_request() -> None:
    situation = named(from_="b10")
    outcome = attempted(situation, FakeModel(lambda _: "It is whole."))
    assert isinstance(outcome.end, Commit)
    fold = outcome.fold
    assert [each.id for each in fold.view][-2:] == ["r10", "c.summary"]
    assert fold.user_turn
    request = Request(
        wire=fold.wire,
        model=fold.model,
        provider=fold.provider,
        messages=tuple(content(fold)),
    )
    assert not repair(request).repairs


def test_a_rewind_to_before_the_summary_leaves_nothing_to_bring_back() -> None:
    outcome = attempted(named(from_="u10"), FakeModel(lambda _: "They are whole."))
    fold = outcome.fold
    fold.apply(Rewound(to="b7"))
    before = content(fold)
    fold.apply(Uncompacted(compaction="c"))
    assert content(fold) == before == turns(8, size=200)


def test_a_rewind_to_the_message_in_front_of_the_summary_can_be_followed_by_an_undo() -> (
    None
):
    outcome = attempted(named(from_="u10"), FakeModel(lambda _: "They are whole."))
    fold = outcome.fold
    fold.apply(Rewound(to="b9"))
    fold.apply(MessageAdded(message=said("new", "And now?")))
    fold.apply(Uncompacted(compaction="c"))
    assert content(fold) == [*turns(20, size=200), said("new", "And now?")]
