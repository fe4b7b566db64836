"""Which conversation a call belongs to, in a program that serves many."""

from pathlib import Path
from typing import Any

import pytest

from ullage.compactor.compactor import Compactor
from ullage.errors import SettingError
from ullage.plugins.conversations import Conversations, conversations_of


class Made:
    """Notes for which sessions a Compactor was made."""

    def __init__(self) -> None:
        self.sessions: list[str] = []

    def __call__(self, session: str) -> Compactor:
        self.sessions.append(session)
        return Compactor(window=1_000)


def test_a_thread_keeps_its_compactor_and_has_its_name_as_session() -> None:
    made = Made()
    conversations = Conversations(made)
    with conversations.entered("one", ["a"]) as first:
        pass
    with conversations.entered("two", ["a"]) as other:
        pass
    with conversations.entered("one", ["a", "b", "c"]) as again:
        pass
    assert again is first is not other
    assert made.sessions == ["one", "two"]


def test_a_thread_whose_history_was_edited_keeps_its_compactor() -> None:
    conversations = Conversations(Made())
    with conversations.entered("one", ["a", "b", "c"]) as first:
        pass
    with conversations.entered("one", ["another"]) as again:
        pass
    assert again is first


def test_two_runs_on_one_thread_at_a_time_get_a_compactor_each_and_keep_it() -> None:
    made = Made()
    conversations = Conversations(made)
    first = conversations.enter("one", ["a"])
    second = conversations.enter("one", ["b"])
    conversations.leave(first)
    conversations.leave(second)
    assert second.compactor is not first.compactor
    assert made.sessions == ["one", "one#2"]
    assert conversations.enter("one", ["b", "c"]) is second
    assert conversations.enter("one", ["a", "c"]) is first


def test_without_a_key_a_call_belongs_to_the_conversation_that_it_continues() -> None:
    conversations = Conversations(Made())
    first = conversations.enter("", ["hello", "hi", "the valve", "is closed"])
    conversations.leave(first)
    second = conversations.enter("", ["hello", "hi", "the pump", "leaks"])
    conversations.leave(second)
    longer = ["hello", "hi", "the pump", "leaks", "much"]
    assert conversations.enter("", longer) is second
    assert conversations.enter("", ["hello", "hi", "the valve"]) is first


def test_a_call_whose_history_begins_otherwise_is_another_conversation() -> None:
    conversations = Conversations(Made())
    with conversations.entered("", ["hello"]) as first:
        pass
    with conversations.entered("", ["good day"]) as other:
        pass
    assert other is not first


def test_a_call_that_continues_an_answer_is_in_that_answers_conversation() -> None:
    conversations = Conversations(Made())
    one = conversations.enter("", ["hello"])
    conversations.leave(one, "resp_1")
    two = conversations.enter("", ["hello", "hi", "and now?"])
    assert two is one
    conversations.leave(two, "resp_2")
    assert conversations.enter("", ["Go on."], continues="resp_2") is one
    other = conversations.enter("", ["Go on."], continues="resp_elsewhere")
    assert other is not one
    conversations.leave(one)
    conversations.leave(other)
    named = conversations.enter("", ["Go on."], continues="conv_1")
    conversations.leave(named)
    assert conversations.enter("", ["And now?"], continues="conv_1") is named
    assert named is not one


def test_a_conversation_without_a_key_has_the_same_session_after_a_restart() -> None:
    before, after = Made(), Made()
    for made, history in ((before, ["hello"]), (after, ["hello", "hi", "more"])):
        with Conversations(made).entered("", history):
            pass
    assert before.sessions == after.sessions


def test_the_conversation_of_the_oldest_call_is_let_go_first_but_none_in_use() -> None:
    conversations = Conversations(Made(), most=2)
    used = conversations.enter("one", ["a"])
    for key in ("two", "three", "four"):
        with conversations.entered(key, ["a"]):
            pass
    assert len(conversations) == 2
    assert conversations.latest("one") is used.compactor
    assert conversations.latest("two") is None
    assert conversations.latest() is conversations.latest("four")


def test_all_in_use_are_kept_even_above_the_bound() -> None:
    conversations = Conversations(Made(), most=1)
    held = [conversations.enter(key, ["a"]) for key in ("one", "two", "three")]
    assert len(conversations) == 3
    for each in held:
        conversations.leave(each)
    with conversations.entered("four", ["a"]):
        assert len(conversations) == 1


def test_closing_lets_all_go_and_they_may_be_entered_again() -> None:
    conversations = Conversations(Made())
    with conversations.entered("one", ["a"]):
        pass
    conversations.close()
    assert len(conversations) == 0
    with conversations.entered("one", ["a"]) as again:
        assert conversations.latest("one") is again


def test_one_whose_call_is_open_is_closed_when_that_has_ended() -> None:
    """Its Compactor would refuse: a run may be cancelled while it has its history compacted, and end later."""
    closed: list[str] = []

    class Closed(Compactor):
        def close(self) -> None:
            super().close()
            closed.append("closed")

    conversations = Conversations(lambda _: Closed(window=1_000))
    held = conversations.enter("one", ["a"])
    conversations.close()
    assert not closed
    assert conversations.enter("one", ["a"]).compactor is not held.compactor
    conversations.leave(held)
    assert closed == ["closed"]


def test_a_history_without_messages_is_a_conversation_too() -> None:
    conversations = Conversations(Made())
    with conversations.entered("", []) as first:
        pass
    assert conversations.latest() is first


def test_texts_that_no_encoding_has_are_taken() -> None:
    with Conversations(Made()).entered("", ["\ud800"]):
        pass


def test_each_conversation_is_stored_under_its_own_name(tmp_path: Path) -> None:
    stored = tmp_path / "s.db"
    for _ in range(2):
        conversations = conversations_of({"store": stored, "window": 9_000}, wire="chat")
        for key in ("one", "two"):
            with conversations.entered(key, ["a"]) as compactor:
                compactor.fit_sync({"model": "m", "messages": [said(key)]})
                compactor.after(None, outcome="failed")
        known = compactor.meter.messages
        conversations.close()
    assert [message.parts[0].text for message in known] == ["two"]  # type: ignore[union-attr]


def test_the_callers_compactor_serves_one_or_is_made_for_each() -> None:
    mine = Compactor(window=1_000)
    made = Made()
    for own, expected in ((mine, []), (made, ["one"])):
        with conversations_of({"compactor": own}).entered("one", ["a"]) as found:
            assert (found is mine) is (own is mine)
        assert made.sessions == expected


def test_a_wrong_setting_is_an_error_where_the_plug_in_is_made() -> None:
    with pytest.raises(SettingError, match="window"):
        conversations_of({"window": -1})
    with pytest.raises(TypeError, match="windoow"):
        conversations_of({"windoow": 1})  # type: ignore[typeddict-unknown-key]


def said(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"compactor": "x"}, "compactor is a Compactor, or a function"),
        ({"most": 0}, "most=0 is not possible"),
        ({"most": "all"}, "most='all' is not possible"),
    ],
)
def test_an_impossible_setting_is_an_error_at_once(settings: Any, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        conversations_of(settings)
