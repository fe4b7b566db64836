from tests.context.sessions import fold_of, turns, words
from tests.meter.session import said
from ullage.context.plan import committed, plan_for
from ullage.context.situation import Situation
from ullage.events import DroppedMessage


def test_a_plan_says_what_leaves_and_that_it_would_be_proved() -> None:
    situation = Situation(fold=fold_of(*turns(25, size=200)))
    plan = plan_for(situation)
    assert plan.verdict.is_proved
    assert {message.id for message in plan.leaving} | plan.kept.why.keys() == {
        each.id for each in situation.messages
    }
    assert plan_for(situation) is plan


def test_less_is_kept_until_the_proof_holds() -> None:
    roomy = plan_for(Situation(fold=fold_of(*turns(25, size=200))))
    tight = plan_for(Situation(fold=fold_of(*turns(25, size=200), system=words(7_400))))
    assert tight.verdict.is_proved
    assert len(tight.leaving) > len(roomy.leaving)


def test_a_plan_that_can_not_hold_says_why() -> None:
    plan = plan_for(Situation(fold=fold_of(said("u", "hi"))))
    assert not plan.verdict.is_proved and plan.verdict.reason


def test_what_is_dropped_is_not_said_to_be_summarised() -> None:
    situation = Situation(fold=fold_of(*turns(25, size=200)))
    plan = plan_for(situation)
    lost = [DroppedMessage(id="u0", reason="no room")]
    event = committed(situation, plan.kept, plan.leaving, text="so", dropped=lost)
    assert "u0" not in event.summarised and event.dropped == tuple(lost)
    assert len(event.summarised) + 1 == len(plan.leaving)
