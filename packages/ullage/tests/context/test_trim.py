from tests.context.sessions import fold_of, turns, words
from tests.meter.session import answer, result, said
from ullage.context.proof import prove
from ullage.context.situation import Situation
from ullage.context.strategy import Candidate, Declined
from ullage.context.trim import Trim
from ullage.events import CompactionCommitted
from ullage.messages import ImagePart, Message


def proposed(situation: Situation) -> CompactionCommitted:
    proposal = Trim().propose(situation, ())
    assert isinstance(proposal, Candidate) and isinstance(
        proposal.event, CompactionCommitted
    )
    assert not proposal.event.summarised and not proposal.event.dropped
    return proposal.event


def pictures(count: int) -> list[Message]:
    return [
        Message(
            id=f"i{n}",
            role="user",
            parts=(ImagePart(id=f"i{n}.1", width=300, height=300, size_bytes=100_000),),
        )
        for n in range(count)
    ]


def test_a_result_too_large_by_itself_is_cut_wherever_it_stands() -> None:
    messages = (
        said("u", "go"),
        answer("a", calls=1),
        result("r", "a-0", words(40_000)),
        *turns(1),
    )
    situation = Situation(fold=fold_of(*messages), trigger="limit")
    event = proposed(situation)
    assert [message.id for message in event.replaced] == ["r"]
    assert prove(situation, event).is_proved


def test_a_request_too_large_by_itself_is_cut_where_nothing_else_may_leave() -> None:
    situation = Situation(fold=fold_of(said("u", words(40_000))), trigger="limit")
    assert [message.id for message in proposed(situation).replaced] == ["u"]


def test_old_images_leave_where_bytes_are_short_but_not_the_newest() -> None:
    situation = Situation(
        fold=fold_of(*pictures(20), window=1_000_000), bytes_limit=1_000_000
    )
    event = proposed(situation)
    gone = [message.id for message in event.replaced]
    assert gone == [f"i{n}" for n in range(len(gone))] and 13 <= len(gone) < 19
    assert prove(situation, event).is_proved


def test_pinned_messages_are_not_trimmed() -> None:
    messages = (said("u", "go"), answer("a", calls=1), result("r", "a-0", words(40_000)))
    proposal = Trim().propose(
        Situation(fold=fold_of(*messages), trigger="limit", pins=frozenset({"r"})), ()
    )
    assert isinstance(proposal, Declined)


def test_it_has_nothing_to_do_where_no_single_message_is_large() -> None:
    proposal = Trim().propose(
        Situation(fold=fold_of(*turns(60, size=200)), trigger="limit"), ()
    )
    assert isinstance(proposal, Declined) and proposal.reason == "nothing_to_do"


def test_a_request_with_more_images_than_are_taken_keeps_its_newest() -> None:
    request = Message(
        id="u",
        role="user",
        parts=tuple(ImagePart(id=f"u.{n}", width=100, height=100) for n in range(9)),
    )
    event = proposed(
        Situation(
            fold=fold_of(*pictures(3), request, window=200_000),
            image_limit=4,
            trigger="overflow",
        )
    )
    changed = {
        message.id: [part.id for part in message.of_type(ImagePart)]
        for message in event.replaced
    }
    assert changed["u"] == ["u.5", "u.6", "u.7", "u.8"]
    assert all(not left for name, left in changed.items() if name != "u")
