from tests.context.sessions import fold_of, turns, words
from tests.meter.session import said
from ullage.context.drop import OLDEST, DropOldest, least
from ullage.context.proof import prove
from ullage.context.situation import Situation
from ullage.context.strategy import Candidate, Declined
from ullage.events import CompactionCommitted
from ullage.messages import TextPart


def proposed(situation: Situation) -> CompactionCommitted:
    proposal = DropOldest().propose(situation, ())
    assert isinstance(proposal, Candidate) and isinstance(
        proposal.event, CompactionCommitted
    )
    return proposal.event


def test_the_oldest_leave_each_with_its_reason_and_a_line_says_so() -> None:
    situation = Situation(fold=fold_of(*turns(60, size=200)), trigger="limit")
    event = proposed(situation)
    assert event.dropped[0].id == "u0" and {each.reason for each in event.dropped} == {
        OLDEST
    }
    assert "b59" not in {each.id for each in event.dropped}
    assert event.summary is not None
    assert "earlier messages were left out" in "".join(
        part.text for part in event.summary.of_type(TextPart)
    )
    assert prove(situation, event).is_proved


def test_the_users_rules_stay_though_everything_is_dropped() -> None:
    event = proposed(
        Situation(
            fold=fold_of(said("u", "Never push."), *turns(60, size=200)), trigger="limit"
        )
    )
    assert event.summary is not None
    assert "- Never push." in "".join(
        part.text for part in event.summary.of_type(TextPart)
    )


def test_the_least_that_can_stay_is_what_must_with_a_huge_request_cut() -> None:
    situation = Situation(
        fold=fold_of(*turns(3), said("huge", words(30_000))), trigger="limit"
    )
    stays = least(situation)
    assert set(stays.why) == {"huge"}
    assert stays.tokens < 12_800


def test_nothing_is_dropped_for_a_wish_nor_where_everything_must_stay() -> None:
    assert isinstance(
        DropOldest().propose(Situation(fold=fold_of(*turns(9)), trigger="asked"), ()),
        Declined,
    )
    assert isinstance(
        DropOldest().propose(
            Situation(fold=fold_of(said("u", "hi")), trigger="limit"), ()
        ),
        Declined,
    )
