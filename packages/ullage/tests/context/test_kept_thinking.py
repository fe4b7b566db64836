"""A compaction by the provider that keeps the thinking of what stays: the conditions of the API, and what they cost."""

from __future__ import annotations

import random
from typing import TypeVar

from tests.cases import case, filled
from tests.context.bound_sessions import (
    FREE,
    REQUEST,
    SUMMARY,
    answers_in_view,
    asking,
    block,
    compacted,
    go_on,
    loop,
    session,
    thinking_sent,
)
from tests.context.sessions import turns, words
from tests.context.test_attached_files import read
from tests.meter.session import answer, result, said
from ullage.context.attached_files import known_files
from ullage.context.choice import ordered
from ullage.context.kept_thinking import REPEATED, plan_with_thinking
from ullage.context.proof import prove
from ullage.context.server import CompactOnServer
from ullage.context.situation import Situation
from ullage.context.strategies import AskModel, Attempt, Commit, Strategies
from ullage.context.strategy import Candidate
from ullage.events import (
    CompactionCommitted,
    CompactionRolledBack,
    EpochChanged,
    Event,
    Uncompacted,
)
from ullage.messages import COMPACTION, Message, ProviderItem
from ullage.meter.fold import Fold

T = TypeVar("T")

RULE = "Never move a cask."


def compact(fold: Fold, **more: object) -> tuple[CompactionCommitted, EpochChanged]:
    """A compaction by the provider that has to be committed."""
    situation = Situation(fold=fold, **more)  # type: ignore[arg-type]
    step, events = compacted(situation)
    assert isinstance(step, Commit), events
    return one(events, CompactionCommitted), one(events, EpochChanged)


def one(events: list[Event], kind: type[T]) -> T:
    (found,) = [event for event in events if isinstance(event, kind)]
    return found


def test_the_front_leaves_in_one_piece_and_the_thinking_of_the_rest_is_sent_on() -> None:
    fold = session(asking(40))
    before = [entry.id for entry in fold.view]
    event, epoch = compact(fold)
    gone = list(event.summarised)
    assert before[: len(gone)] == gone
    assert event.summary is not None
    (only,) = event.summary.parts
    assert isinstance(only, ProviderItem) and only.kind == COMPACTION
    assert not event.replaced
    stays = before[len(gone) :]
    assert [entry.id for entry in fold.view][: len(stays) + 1] == [
        event.summary.id,
        *stays,
    ]
    assert answers_in_view(fold)
    assert thinking_sent(fold) == answers_in_view(fold)
    assert epoch.reasoning_lost == 0


def histories() -> list[tuple[int, list[Message]]]:
    """Histories in which messages of one speaker stand in a row, calls go in parallel, and notices come between."""
    found: list[tuple[int, list[Message]]] = []
    for seed in range(30):
        drawn = random.Random(seed)
        made: list[Message] = []
        for n in range(60):
            made.append(said(f"u{n}", words(drawn.randrange(5, 60), n)))
            if drawn.random() < 0.3:
                made.append(said(f"v{n}", words(20, n)))
            for step in range(drawn.randrange(3)):
                calls = drawn.randrange(1, 3)
                made.append(answer(f"a{n}{step}", calls=calls))
                for at in range(calls):
                    text = words(drawn.randrange(10, 200), at)
                    made.append(result(f"r{n}{step}{at}", f"a{n}{step}-{at}", text))
                if drawn.random() < 0.2:
                    made.append(said(f"w{n}{step}", "Go on."))
            made.append(answer(f"b{n}", words(drawn.randrange(5, 60), 900 + n)))
            if drawn.random() < 0.2:
                made.append(answer(f"c{n}", "One thing more."))
        found.append((seed, [*made, said("last", "And now?")]))
    return found


def test_what_stays_begins_with_another_speaker_and_with_a_whole_exchange() -> None:
    for seed, made in filled(histories()):
        with case(seed, made):
            fold = session(made, window=12_000 + 500 * seed)
            plan = plan_with_thinking(Situation(fold=fold))
            assert plan is not None
            ids = [message.id for message in made]
            left, first = made[len(plan.leaving) - 1], made[len(plan.leaving)]
            assert [message.id for message in plan.leaving] == ids[: len(plan.leaving)]
            assert (left.role == "assistant") != (first.role == "assistant")
            assert first.role != "tool"
            assert plan.verdict.lost == 0


def test_the_thinking_that_stays_outlives_one_compaction_after_another() -> None:
    fold = session(turns(40, size=200))
    for number in range(5):
        go_on(fold, [said(f"last{number}", "And the last one?")])
        was = thinking_sent(fold)
        compact(fold, compaction=f"k{number}")
        kept = thinking_sent(fold)
        assert kept
        assert kept == answers_in_view(fold) <= was
        go_on(fold, turns(2, size=100, start=100 * number + 100))
        compact(fold, compaction=f"again{number}", up_to=newest_request(fold))
        assert thinking_sent(fold) == answers_in_view(fold)
        go_on(fold, turns(30, size=200, start=100 * number + 200))


def newest_request(fold: Fold) -> str:
    return [entry.id for entry in fold.view if entry.id.startswith("u")][-1]


def test_models_that_bind_nothing_and_stripped_thinking_have_no_plan() -> None:
    assert plan_with_thinking(Situation(fold=session(asking(40), model=FREE))) is None
    fold = session(asking(40))
    fold.policy = type(fold.policy)(strip="all")
    assert plan_with_thinking(Situation(fold=fold)) is None


def test_a_pinned_message_in_front_costs_the_thinking() -> None:
    fold = session(asking(40))
    _, epoch = compact(fold, pins=frozenset({"u3"}))
    assert answers_in_view(fold)
    assert not thinking_sent(fold)
    assert epoch.reasoning_lost == 50 * len(answers_in_view(fold))


def test_a_request_far_back_leaves_and_is_repeated_at_the_end() -> None:
    fold = session(loop(60))
    event, _ = compact(fold)
    assert "u" in event.summarised
    notice, again = event.added
    assert notice.origin == "summary"
    assert notice.parts[0].text == REPEATED  # type: ignore[union-attr]
    assert again.parts == REQUEST.parts
    assert again.origin == "said"
    assert [entry.id for entry in fold.view][-2:] == [notice.id, again.id]
    assert thinking_sent(fold) == answers_in_view(fold)
    go_on(fold, loop(60, start=60))
    event, _ = compact(fold, compaction="second")
    assert again.id in event.summarised
    assert event.added[-1].parts == again.parts
    assert thinking_sent(fold) == answers_in_view(fold)


def test_a_request_that_was_answered_or_is_pinned_is_not_repeated() -> None:
    at_rest = session([*loop(60), answer("b", "All are whole.")])
    assert plan_with_thinking(Situation(fold=at_rest)) is None
    pinned = Situation(fold=session(loop(60)), pins=frozenset({"u"}))
    assert plan_with_thinking(pinned) is None


def test_another_text_in_the_place_of_the_request_is_no_proof() -> None:
    situation = Situation(fold=session(loop(60)))
    made = CompactOnServer().propose(situation, (block(),))
    assert isinstance(made, Candidate) and isinstance(made.event, CompactionCommitted)
    assert prove(situation, made.event).is_proved
    notice, _ = made.event.added
    other = type(made.event)(
        **{
            name: getattr(made.event, name)
            for name in ("compaction", "summary", "summarised", "rung")
        },
        added=(notice, said("compaction.request", "Look at one cask.")),
    )
    assert prove(situation, other).reason == "touched"


def test_words_of_the_user_that_the_summary_lacks_are_at_the_end_and_are_carried_on() -> (
    None
):
    fold = session([said("rule", RULE), *asking(40)])
    event, epoch = compact(fold)
    (notice,) = event.added
    assert f"\n- {RULE}\n" in notice.text
    assert fold.view.last is not None and fold.view.last.id == notice.id
    assert epoch.reasoning_lost == 0
    go_on(fold, asking(40, start=40))
    event, _ = compact(fold, compaction="second")
    assert f"\n- {RULE}\n" in event.added[0].text
    held = session([said("rule", RULE), *asking(40)])
    _, events = compacted(Situation(fold=held), block(f"{SUMMARY} {RULE}"))
    (added,) = one(events, CompactionCommitted).added
    assert RULE not in added.text


def test_files_are_attached_at_the_end() -> None:
    fold = session([*read("f", "b.py", words(100)), *asking(40)])
    event, epoch = compact(fold)
    (notice,) = event.added
    assert list(known_files([notice])) == ["b.py"]
    assert event.summary is not None and len(event.summary.parts) == 1
    assert epoch.reasoning_lost == 0
    assert thinking_sent(fold) == answers_in_view(fold)


def test_a_part_that_a_person_named_is_all_that_leaves() -> None:
    fold = session(turns(40, size=200))
    ids = [entry.id for entry in fold.view]
    event, epoch = compact(fold, up_to="u30", trigger="asked")
    assert list(event.summarised) == ids[: ids.index("u30")]
    assert epoch.reasoning_lost == 0
    assert thinking_sent(fold) == answers_in_view(fold)


def test_an_undone_compaction_takes_back_what_it_has_added() -> None:
    fold = session([said("rule", RULE), *loop(60)])
    before = [entry.id for entry in fold.view]
    event, _ = compact(fold)
    assert len(event.added) == 2
    go_on(fold, [answer("later", "Done.")])
    fold.apply(Uncompacted(compaction=event.compaction))
    assert [entry.id for entry in fold.view] == [*before, "later"]
    assert thinking_sent(fold) == answers_in_view(fold) - {"later"}
    assert fold.reasoning_lost == 50


def test_hybrid_asks_the_provider_first_only_where_thinking_would_stay_valid() -> None:
    hybrid = Strategies(ordered(("hybrid",)))
    step = hybrid.next(Situation(fold=session(asking(40))), Attempt())
    assert isinstance(step, AskModel) and step.ask.compaction is not None
    for other in (
        Situation(fold=session(asking(40), model=FREE)),
        Situation(fold=session(asking(40)), has_refused=True),
        Situation(fold=session(asking(40)), pins=frozenset({"u0"})),
    ):
        step = hybrid.next(other, Attempt())
        assert not isinstance(step, AskModel) or step.ask.compaction is None
        assert step.attempt.failures[0].name == "server"
        rolled = [e for e in step.events if isinstance(e, CompactionRolledBack)]
        assert "server" not in [each.rung for each in rolled]


def test_what_clearing_makes_unsendable_is_in_its_event() -> None:
    fold = session(asking(40))
    was = thinking_sent(fold)
    _, events = compacted(
        Situation(fold=fold), strategies=Strategies(ordered(("prune",)))
    )
    lost = was - thinking_sent(fold)
    assert lost
    assert one(events, EpochChanged).reasoning_lost == 50 * len(lost)
