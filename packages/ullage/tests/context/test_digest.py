from tests.context.sessions import fold_of, turns, words
from tests.meter.session import answer, said
from ullage.context.digest import NO_ROOM, Digests, digest
from ullage.context.situation import Situation
from ullage.context.strategy import Candidate
from ullage.events import CompactionCommitted
from ullage.messages import Message, TextPart


def test_it_has_a_line_a_message() -> None:
    messages = [said("u", "Please fix the gauge."), answer("a", "I look.", calls=1)]
    text = digest(Situation(fold=fold_of(*messages)), messages, most=500).text
    assert "user: Please fix the gauge." in text
    assert "assistant: I look. [read a.py]" in text


def test_it_is_never_longer_than_allowed_and_leaves_the_oldest_out_first() -> None:
    messages = turns(300)
    situation = Situation(fold=fold_of(*messages))
    made = digest(situation, messages, most=800)
    assert situation.count(made.text) <= 900
    assert "b299" in made.ids and "a0" not in made.ids


def test_an_earlier_summary_is_in_it() -> None:
    summary = Message(
        id="s",
        role="user",
        origin="summary",
        parts=(TextPart(id="s.text", text="The cask leaked."),),
    )
    made = digest(
        Situation(fold=fold_of(summary)), [summary, said("u", words(30))], most=500
    )
    assert "The cask leaked." in made.text and "s" in made.ids


def test_messages_without_room_are_dropped_with_that_reason() -> None:
    proposal = Digests().propose(
        Situation(fold=fold_of(*turns(300)), trigger="limit"), ()
    )
    assert isinstance(proposal, Candidate) and isinstance(
        proposal.event, CompactionCommitted
    )
    assert {each.reason for each in proposal.event.dropped} == {NO_ROOM}
    assert not {each.id for each in proposal.event.dropped} & set(
        proposal.event.summarised
    )
