from tests.meter.session import answer, result, said
from ullage.codec.bodies import read_body
from ullage.context.exchanges import exchanges, is_request, latest_request
from ullage.messages import Message, ReasoningPart, TextPart


def ids(*messages: Message) -> list[tuple[str, ...]]:
    return [block.ids for block in exchanges(messages)]


def test_an_answer_and_its_results_are_one_block() -> None:
    messages = (
        said("u", "hi"),
        answer("a", calls=2),
        result("r0", "a-0", "x"),
        result("r1", "a-1", "y"),
    )
    assert ids(*messages, said("u2", "more")) == [("u",), ("a", "r0", "r1"), ("u2",)]


def test_a_late_result_takes_along_what_stands_between_it_and_its_call() -> None:
    messages = (
        answer("a", calls=1),
        said("u", "hurry"),
        said("n", "note"),
        result("r", "a-0", "x"),
        said("v", "end"),
    )
    assert ids(*messages) == [("a", "u", "n", "r"), ("v",)]


def test_a_call_id_used_twice_is_answered_in_its_own_block() -> None:
    first, second = answer("a", calls=1), answer("a", calls=1)
    second = Message(id="b", role="assistant", parts=second.parts)
    messages = (first, result("r", "a-0", "x"), second, result("s", "a-0", "y"))
    assert ids(*messages) == [("a", "r"), ("b", "s")]


def test_open_calls_are_named() -> None:
    block = exchanges((answer("a", calls=2), result("r", "a-0", "x")))[0]
    assert block.open == {"a-1"}


def test_reasoning_that_stands_alone_stays_with_its_follower() -> None:
    alone = Message(id="t", role="assistant", parts=(ReasoningPart(id="t.1", text="hm"),))
    assert ids(said("u", "hi"), alone, said("b", "so", role="assistant")) == [
        ("u",),
        ("t", "b"),
    ]


def test_a_result_without_a_call_stays_with_what_it_follows_or_stands_alone() -> None:
    assert ids(said("u", "hi"), result("r", "nobody", "x")) == [("u",), ("r",)]
    assert ids(answer("a", "yes"), result("r", "nobody", "x")) == [("a", "r")]


def test_a_request_is_a_persons_word_and_no_notice_summary_or_result() -> None:
    text = (TextPart(id="t", text="hi"),)
    assert is_request(said("u", "hi"))
    assert not is_request(Message(id="s", role="user", origin="summary", parts=text))
    assert not is_request(Message(id="n", role="user", origin="injected", parts=text))
    assert not is_request(
        Message(id="r", role="user", parts=result("r", "a-0", "x").parts)
    )


def test_the_latest_request_is_the_newest_one() -> None:
    assert latest_request(
        (said("u", "hi"), said("v", "and"), answer("a", "yes"))
    ) == said("v", "and")
    assert latest_request((answer("a", "yes"),)) is None


def test_gemini_s_calls_without_ids_stay_with_their_results() -> None:
    call = {"functionCall": {"name": "look", "args": {}}}
    found = {"functionResponse": {"name": "look", "response": {"output": "dry"}}}
    contents = [
        {"role": "user", "parts": [{"text": "Look at both."}]},
        {"role": "model", "parts": [call, call]},
        {"role": "user", "parts": [found, found]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [found]},
        {"role": "model", "parts": [{"text": "Dry."}]},
        {"role": "model", "parts": [call]},
    ]
    made = exchanges(read_body({"contents": contents}, model="small").messages)
    roles = [[message.role for message in each.messages] for each in made]
    assert [each[0] for each in roles] == ["user"] + ["assistant"] * 4
    assert all(set(each[1:]) <= {"tool"} for each in roles)
    assert [bool(each.open) for each in made] == [False, False, False, False, True]
    assert roles[1].count("tool") >= 1
    assert roles[2].count("tool") == 1


def test_a_system_message_belongs_to_what_it_stands_behind() -> None:
    messages = (
        said("first", "x", role="system"),
        said("q", "x"),
        said("n1", "x", role="system"),
        said("n2", "x", role="system"),
        said("a", "x", role="assistant"),
        said("n3", "x", role="system"),
    )
    assert ids(*messages) == [("first",), ("q", "n1", "n2"), ("a",), ("n3",)]
