from tests.context.sessions import fold_of, turns, words
from tests.meter.session import answer, result, said
from ullage.context.situation import Situation


def test_it_sees_the_messages_as_they_go_out() -> None:
    fold = fold_of(
        answer("a", calls=2), result("late", "a-1", "y"), result("first", "a-0", "x")
    )
    assert [message.id for message in Situation(fold=fold).messages] == [
        "a",
        "first",
        "late",
    ]


def test_it_is_urgent_when_the_request_can_not_go_out_as_it_is() -> None:
    assert not Situation(fold=fold_of(*turns(2))).is_urgent
    assert Situation(fold=fold_of(said("u", words(20_000)))).is_urgent
    assert Situation(fold=fold_of(*turns(2)), trigger="overflow").is_urgent
    assert Situation(fold=fold_of(*turns(2)), bytes_limit=10).is_urgent


def test_a_wish_is_only_a_wish_while_nothing_else_calls_for_it() -> None:
    assert Situation(fold=fold_of(*turns(2)), trigger="asked").is_only_asked
    assert not Situation(
        fold=fold_of(said("u", words(20_000))), trigger="asked"
    ).is_only_asked


def test_where_bytes_are_short_messages_weigh_by_their_bytes() -> None:
    fold = fold_of(said("u", "a" * 30_000), said("v", words(100)))
    assert Situation(fold=fold).weigh(("u",)) == Situation(fold=fold).sizes.each["u"]
    short = Situation(fold=fold, bytes_limit=5_000)
    assert short.is_over_bytes
    assert short.weigh(("u",)) > short.sizes.messages


def test_what_was_worked_out_is_kept() -> None:
    situation = Situation(fold=fold_of(*turns(1)))
    made: list[int] = []
    for _ in range(3):
        situation.once("key", lambda: made.append(1))
    assert made == [1]
