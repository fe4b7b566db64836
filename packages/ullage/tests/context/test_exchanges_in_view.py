import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.context.exchanges import in_view
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart


def user(name: str) -> Message:
    return Message(id=name, role="user", parts=(TextPart(id=f"{name}.1", text=name),))


def answer(name: str, *calls: str) -> Message:
    parts = tuple(
        ToolCallPart(id=f"{name}.{call}", call_id=call, name="read") for call in calls
    )
    return Message(id=name, role="assistant", parts=parts)


def result(*calls: str) -> Message:
    parts = tuple(ToolResultPart(id=f"{call}.result", call_id=call) for call in calls)
    return Message(id="+".join(calls), role="tool", parts=parts)


def ids(*messages: Message) -> list[str]:
    return [message.id for message in in_view(messages)]


@pytest.mark.parametrize("ended", list(itertools.permutations("abc")))
def test_results_go_out_in_the_order_of_their_calls(ended: tuple[str, ...]) -> None:
    results = [result(each) for each in ended]
    assert ids(user("ask"), answer("one", "a", "b", "c"), *results) == [
        "ask",
        "one",
        "a",
        "b",
        "c",
    ]


def test_what_was_said_between_results_goes_behind_them_in_its_order() -> None:
    found = ids(answer("one", "a", "b"), user("x"), result("b"), user("y"), result("a"))
    assert found == ["one", "a", "b", "x", "y"]


def test_each_answer_arranges_its_own_results() -> None:
    first = [answer("one", "a", "b"), result("b"), result("a")]
    second = [answer("two", "c", "d"), result("d"), result("c")]
    assert ids(*first, *second, user("end")) == ["one", "a", "b", "two", "c", "d", "end"]


def test_an_id_that_a_later_answer_uses_again_is_arranged_by_that_answer() -> None:
    found = ids(
        answer("one", "a"), result("a"), answer("two", "b", "a"), result("a"), result("b")
    )
    assert found == ["one", "a", "two", "b", "a"]


def test_results_that_answer_nothing_stay_behind_those_that_do() -> None:
    assert ids(answer("one", "a"), result("lost"), result("a")) == ["one", "a", "lost"]


def test_a_message_with_several_results_stands_at_the_first_call() -> None:
    assert ids(answer("one", "a", "b", "c"), result("c", "b"), result("a")) == [
        "one",
        "a",
        "c+b",
    ]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [user("ask")],
        [user("ask"), answer("one"), user("more"), answer("two")],
        [result("a"), user("ask")],
        [user("ask"), answer("one", "a", "b"), result("a")],
    ],
)
def test_what_is_in_order_or_has_none_stays_as_it_is(messages: list[Message]) -> None:
    assert in_view(messages) == tuple(messages)


calls = st.sampled_from("abcd")
anything = st.one_of(
    st.builds(user, st.sampled_from(["u", "v"])),
    st.lists(calls, unique=True, max_size=4).map(lambda found: answer("answer", *found)),
    st.lists(calls, min_size=1, max_size=2).map(lambda found: result(*found)),
    st.just(Message(id="empty", role="tool")),
)


@given(st.lists(anything, max_size=14))
def test_nothing_is_lost_and_a_second_time_is_the_same(messages: list[Message]) -> None:
    arranged = in_view(messages)
    assert sorted(map(id, arranged)) == sorted(map(id, messages))
    assert in_view(arranged) == arranged


@given(st.lists(anything, max_size=10), st.lists(anything, max_size=6))
def test_a_longer_history_extends(earlier: list[Message], later: list[Message]) -> None:
    before: Any = in_view([*earlier, answer("last")])
    assert in_view([*earlier, answer("last"), *later])[: len(before)] == before
