"""Places that a person drops: what leaves, what it frees, what can't leave, and the exact way back."""

from __future__ import annotations

import pytest

from tests.context.sessions import fold_of, reported, turns, words
from tests.meter.session import answer, result, said
from ullage.context.costs import after, reading_after
from ullage.context.situation import Situation
from ullage.context.surgery import droppable, planned
from ullage.events import (
    CompactionCommitted,
    EpochChanged,
    MessageAdded,
    MessageReplaced,
    Uncompacted,
)
from ullage.messages import (
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolResultPart,
)
from ullage.meter.fold import Fold

PICTURE = Message(
    id="p",
    role="user",
    parts=(
        TextPart(id="p.text", text="Look at this."),
        ImagePart(id="p.image", mime="image/png", width=1000, height=1000),
    ),
)


def had(*more: Message) -> Fold:
    """Eight turns that the provider has billed, and these messages."""
    fold = fold_of(*turns(8, size=200))
    reported(fold, "c1")
    for message in more:
        fold.apply(MessageAdded(message=message))
    return fold


def situation(fold: Fold, **more: object) -> Situation:
    return Situation(fold=fold, trigger="asked", compaction="drop-1", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("place", "left"),
    [
        ("r3-result", []),
        ("r3", []),
        ("a3", ["a3", "r3"]),
        ("u2..b3", ["u2", "a2", "r2", "b2", "u3", "a3", "r3", "b3"]),
        ("r2..a3", ["a2", "r2", "b2", "u3", "a3", "r3"]),
        ("b4-text", []),
        ("p.image", []),
        ("p", ["p"]),
    ],
)
def test_a_drop_frees_what_it_says_and_is_undone_to_the_digest(
    place: str, left: list[str]
) -> None:
    fold = had(PICTURE, answer("b9", "I see it."), said("u9", "Thanks."))
    place = place.replace("r3-result", only_part(fold, "r3")).replace(
        "b4-text", only_part(fold, "b4")
    )
    surgery, events = planned(situation(fold), (place,))
    assert surgery.refused == ""
    branch = after(fold, events)
    assert surgery.freed == fold.forecast().tokens - branch.forecast().tokens > 0
    gone = [entry.id for entry in fold.view if entry.id not in branch.view.entries]
    assert gone == left
    back = after(fold, (*events, Uncompacted(compaction="drop-1")))
    assert back.view.digest == fold.view.digest
    assert sizes(back) == sizes(fold)


def sizes(fold: Fold) -> tuple[int, int, int]:
    then = fold.forecast()
    return then.tokens, then.low, then.high


def only_part(fold: Fold, message: str) -> str:
    return fold.view.entries[message].message.parts[-1].id


def test_a_result_leaves_a_notice_that_says_who_removed_it() -> None:
    fold = had()
    _, events = planned(situation(fold), (only_part(fold, "r3"),))
    change, epoch = events
    assert isinstance(change, CompactionCommitted)
    assert isinstance(epoch, EpochChanged)
    assert not change.dropped
    (part,) = after(fold, events).view.entries["r3"].message.of_type(ToolResultPart)
    assert "removed" in part.text


def test_several_places_are_one_change_with_one_way_back() -> None:
    fold = had(PICTURE, answer("b9", "I see it."), said("u9", "Thanks."))
    places = (only_part(fold, "r1"), "p.image", "u4..b4")
    surgery, events = planned(situation(fold), places)
    assert isinstance(events[0], CompactionCommitted)
    assert surgery.messages == ("r1", "u4", "a4", "r4", "b4", "p")
    alone = 0
    for place in places:
        alone += planned(situation(fold), (place,)).surgery.freed
    assert surgery.freed == pytest.approx(alone, abs=3)


def test_a_late_cut_loses_less_of_the_cache_than_an_early_one() -> None:
    fold = had()
    costs = []
    for n in range(8):
        surgery = planned(situation(fold), (only_part(fold, f"r{n}"),)).surgery
        assert surgery.usd is not None
        costs.append((surgery.cache_lost, surgery.usd))
    assert costs == sorted(costs, reverse=True)
    assert costs[0][0] > 5 * costs[-1][0]


def test_what_was_never_sent_costs_no_cache() -> None:
    fold = had(said("u9", words(300, 5)), answer("b9", "So it is."), said("u10", "And?"))
    surgery = planned(situation(fold), ("u9",)).surgery
    assert (surgery.cache_lost, surgery.usd) == (0, 0.0)
    assert surgery.freed > 250


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("u9", "newest request"),
        ("u9.text", "newest request"),
        ("u2", "pinned"),
        ("u1..b3", "pinned"),
        ("a9", "a call in it waits"),
        ("b3..u1", "Name the earlier message first: u1..b3"),
        ("u33", "Did you mean u3"),
        ("", "There is no message or part"),
        ("a3-1", "can't go alone. Drop its whole message: a3"),
        ("thought", "is reasoning, which can't go alone"),
    ],
)
def test_what_can_not_leave_is_refused_with_the_reason_and_what_can(
    place: str, why: str
) -> None:
    thinks = Message(
        id="t",
        role="assistant",
        parts=(ReasoningPart(id="thought", text="Hm."), TextPart(id="t.t", text="Yes.")),
    )
    fold = had(thinks, said("u9", "Now?"), answer("a9", "I look.", calls=1))
    place = place.replace("a3-1", only_part(fold, "a3"))
    surgery, events = planned(situation(fold, pins=frozenset({"u2"})), (place,))
    assert why in surgery.refused
    assert events == ()


def test_a_message_of_the_system_a_cleared_result_and_nothing_at_all_are_refused() -> (
    None
):
    system = Message(
        id="s", role="system", parts=(TextPart(id="s.t", text="You look after casks."),)
    )
    fold = fold_of(system, *turns(3))
    part = only_part(fold, "r1")
    _, events = planned(situation(fold), (part,))
    again = after(fold, events)
    assert "system prompt" in planned(situation(fold), ("s",)).surgery.refused
    assert "system prompt" in planned(situation(fold), ("s.t",)).surgery.refused
    assert (
        "has left the view already" in planned(situation(again), (part,)).surgery.refused
    )
    assert "No place is named" in planned(situation(fold), ()).surgery.refused


def test_a_result_smaller_than_its_notice_stays() -> None:
    fold = fold_of(
        said("u", "go"),
        answer("a", "", calls=1),
        result("r", "a-0", "ok"),
        said("v", "so"),
    )
    refused = planned(situation(fold), (only_part(fold, "r"),)).surgery.refused
    assert "would free nothing" in refused


def test_the_largest_parts_are_listed_with_their_price_and_why_some_must_stay() -> None:
    fold = had(said("u9", words(900, 3)))
    listed = droppable(situation(fold), 6)
    freed = [each.freed for each in listed]
    assert freed == sorted(freed, reverse=True)
    newest = next(each for each in listed if each.places == ("u9.text",))
    assert newest.label.startswith("user: ")
    assert "newest request" in newest.refused
    for each in listed:
        _, events = planned(situation(fold), each.places)
        if events:
            then = reading_after(fold, events).tokens
            assert each.freed == fold.forecast().tokens - then


def test_an_edit_of_another_message_is_no_part_of_a_drop() -> None:
    fold = had()
    fold.apply(MessageReplaced(message=said("u3", "Another wish.")))
    _, events = planned(situation(fold), (only_part(fold, "r5"),))
    assert after(fold, events).view.entries["u3"].message.text == "Another wish."
