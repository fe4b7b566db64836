from tests.context.sessions import fold_of, turns, words
from tests.meter.session import answer, result, said
from ullage.context.keeping import keep, must_stay
from ullage.context.situation import Situation
from ullage.messages import ImagePart, Message, TextPart


def situation(*messages: Message, **more: object) -> Situation:
    return Situation(fold=fold_of(*messages), **more)  # type: ignore[arg-type]


def test_the_latest_request_the_pins_and_a_leading_system_message_must_stay() -> None:
    of = situation(
        said("sys", "Be kind.", role="system"), *turns(3), pins=frozenset({"u0"})
    )
    assert must_stay(of) == {
        "sys": "system prompt",
        "u0": "pinned",
        "u2": "latest request",
    }


def pictures(name: str, count: int) -> Message:
    parts = tuple(
        ImagePart(id=f"{name}.{n}", width=300, height=300) for n in range(count)
    )
    return Message(id=name, role="user", parts=parts)


def test_where_images_are_short_the_oldest_that_are_not_pinned_leave() -> None:
    of = situation(
        pictures("pin", 2),
        pictures("old", 5),
        pictures("new", 5),
        pins=frozenset({"pin"}),
        image_limit=6,
    )
    kept = keep(of, room=100_000, tail=100_000)
    left = {
        message.id: len(list(message.of_type(ImagePart))) for message in kept.replaced
    }
    assert left == {"old": 0, "new": 4}


def test_images_are_left_alone_where_as_many_are_taken() -> None:
    of = situation(pictures("old", 3), pictures("new", 3), image_limit=6)
    assert keep(of, room=100_000, tail=100_000).replaced == ()


def test_a_pinned_result_keeps_its_call_and_the_other_results() -> None:
    of = situation(
        answer("a", calls=2),
        result("r", "a-0", "x"),
        result("s", "a-1", "y"),
        pins=frozenset({"r"}),
    )
    assert must_stay(of).keys() == {"a", "r", "s"}


def test_calls_without_a_result_or_waiting_for_a_person_must_stay() -> None:
    assert must_stay(situation(answer("a", calls=1)))["a"] == "open call"
    done = (
        answer("a", calls=1),
        result("r", "a-0", "x"),
        said("b", "ok", role="assistant"),
    )
    assert must_stay(situation(*done)) == {}
    assert must_stay(situation(*done, waiting=frozenset({"a-0"}))).keys() == {"a", "r"}


def test_the_newest_exchanges_stay_as_far_as_the_tail_goes() -> None:
    of = situation(*turns(10))
    size = of.sizes.of(message.id for message in turns(1))
    kept = keep(of, room=100 * size, tail=2.2 * size)
    assert kept.why["a9"] == "last turn"
    assert kept.why["u9"] == "latest request"
    assert {"u8", "a8", "r8", "b8"} <= kept.why.keys()
    assert "a7" not in kept.why


def test_of_a_long_turn_the_newest_steps_stay() -> None:
    steps = [
        (answer(f"a{n}", words(20, n), calls=1), result(f"r{n}", f"a{n}-0", words(50, n)))
        for n in range(30)
    ]
    of = situation(
        said("u", "do it"),
        *(message for step in steps for message in step),
        said("b", "x", role="assistant"),
    )
    kept = keep(of, room=100_000, tail=600)
    assert {"u", "a29", "r29", "b"} <= kept.why.keys() and "a0" not in kept.why
    assert of.sizes.of(kept.why.keys() - {"u"}) <= 600


def test_results_that_were_not_seen_are_the_newest_of_the_tail() -> None:
    last = (answer("a", calls=1), result("r", "a-0", words(900)))
    of = situation(*turns(10), said("v", "go"), *last)
    size = of.sizes.of(("a", "r"))
    alone, more = keep(of, room=100_000, tail=size), keep(of, room=100_000, tail=3 * size)
    assert alone.why.keys() == {"v", "a", "r"}
    assert "b9" in more.why and more.tokens <= of.sizes.of("v") + 3 * size


def test_a_turn_without_end_is_cut_between_steps() -> None:
    endless = [said("u", "do it")]
    for n in range(30):
        endless += [
            answer(f"a{n}", words(20, n), calls=1),
            result(f"r{n}", f"a{n}-0", words(50, n)),
        ]
    kept = keep(situation(*endless), room=600, tail=0)
    assert "u" in kept.why and "r29" in kept.why
    assert "a0" not in kept.why
    assert all((f"a{n}" in kept.why) == (f"r{n}" in kept.why) for n in range(30))
    assert kept.tokens <= 600


def test_results_the_model_has_not_seen_are_cut_to_fit_rather_than_lost() -> None:
    of = situation(
        said("u", "go"),
        answer("a", calls=2),
        result("r", "a-0", words(9_000)),
        result("s", "a-1", "small"),
    )
    kept = keep(of, room=1_000, tail=0)
    assert kept.why["r"] == "results not seen yet"
    assert [message.id for message in kept.replaced] == ["r"]
    assert kept.tokens <= 1_000


def test_unseen_results_stay_where_a_person_has_spoken_behind_them() -> None:
    last = (answer("a", calls=1), result("r", "a-0", words(900)), said("w", "hurry"))
    kept = keep(situation(*turns(10), said("v", "go"), *last), room=100_000, tail=0)
    assert kept.why["r"] == "results not seen yet"
    seen = (*last, said("b", "ok", role="assistant"), said("x", "and now"))
    assert "r" not in keep(situation(*turns(10), *seen), room=100_000, tail=0).why


def test_requests_of_the_unfinished_task_stay_within_their_share() -> None:
    of = situation(*turns(12), task_start="u4")
    kept = keep(of, room=500, tail=0)
    named = [
        name for name, why in kept.why.items() if why == "request of the unfinished task"
    ]
    assert named and all(int(name[1:]) >= 4 for name in named)
    assert "u10" in named


def test_a_request_too_large_by_itself_becomes_head_and_tail() -> None:
    of = situation(*turns(2), said("huge", words(20_000)))
    kept = keep(of, room=5_000, tail=0, request_room=2_000)
    assert [message.id for message in kept.replaced] == ["huge"]
    assert kept.tokens < 2_100


def test_an_earlier_summary_is_never_part_of_the_tail() -> None:
    text = (TextPart(id="s.1", text="earlier"),)
    of = situation(Message(id="s", role="user", origin="summary", parts=text), *turns(1))
    assert "s" not in keep(of, room=10_000, tail=10_000).why
