"""Where the provider's copy of a conversation ends."""

from ullage.events import CallEnded, CallStarted, MessageAdded, Outcome
from ullage.messages import Message, TextPart
from ullage.meter.held_answers import HeldAnswers
from ullage.meter.policy import MOST_ANSWERS


def message(name: str, call: str | None = None) -> Message:
    text = TextPart(id=f"{name}/0", text=name)
    return Message(id=name, role="assistant", parts=(text,), call=call)


class Session:
    """A session's messages, and what is known of the provider's copy of them."""

    def __init__(self) -> None:
        self.held = HeldAnswers()
        self.messages: list[Message] = []

    def add(self, name: str, call: str | None = None) -> None:
        added = message(name, call)
        self.messages.append(added)
        self.held.note(MessageAdded(message=added), name)

    def call(
        self, name: str, asked: str, *, outcome: Outcome = "finished", id: str = ""
    ) -> None:
        self.add(asked)
        self.held.note(CallStarted(call=name), asked)
        self.held.note(CallEnded(call=name, outcome=outcome, continued_as=id), asked)
        if outcome == "finished":
            self.add(f"{name}.answer", name)

    def front(self, name: str) -> list[str]:
        return [each.id for each in self.held.front(name, self.messages)]


def test_an_answer_is_behind_all_that_was_sent_for_it() -> None:
    session = Session()
    session.call("c1", "u1", id="resp_1")
    session.call("c2", "u2", id="resp_2")
    assert session.front("resp_1") == ["u1", "c1.answer"]
    assert session.front("resp_2") == ["u1", "c1.answer", "u2", "c2.answer"]
    assert session.front("resp_elsewhere") == []


def test_the_last_answers_name_is_learnt_from_the_request_that_continues_it() -> None:
    session = Session()
    session.call("c1", "u1")
    assert session.front("resp_1") == ["u1", "c1.answer"]
    session.call("c2", "u2")
    assert session.front("resp_1") == ["u1", "c1.answer"]
    assert session.front("resp_2") == ["u1", "c1.answer", "u2", "c2.answer"]


def test_a_call_that_failed_left_nothing_with_the_provider() -> None:
    session = Session()
    session.call("c1", "u1", id="conv_1")
    session.call("c2", "u2", outcome="failed")
    assert session.front("conv_1") == ["u1", "c1.answer"]
    assert session.front("other") == []


def test_a_conversation_grows_behind_its_one_name() -> None:
    session = Session()
    session.call("c1", "u1", id="conv_1")
    session.call("c2", "u2", id="conv_1")
    assert session.front("conv_1") == ["u1", "c1.answer", "u2", "c2.answer"]


def test_calls_beside_the_conversation_are_no_part_of_it() -> None:
    session = Session()
    session.call("c1", "u1", id="resp_1")
    session.held.note(CallStarted(call="s", purpose="summary"), "c1.answer")
    beside = CallEnded(call="s", purpose="summary", continued_as="resp_s")
    session.held.note(beside, "c1.answer")
    assert session.front("resp_s") == []
    assert session.front("resp_1") == ["u1", "c1.answer"]


def test_what_has_left_the_session_is_unknown() -> None:
    session = Session()
    session.call("c1", "u1", id="resp_1")
    session.call("c2", "u2", id="resp_2")
    del session.messages[2:]
    assert session.front("resp_2") == []


def test_the_oldest_answers_are_forgotten_first() -> None:
    session = Session()
    for number in range(MOST_ANSWERS + 1):
        name = f"c{number}"
        session.held.note(CallStarted(call=name), "")
        session.held.note(CallEnded(call=name, continued_as=f"resp_{number}"), "")
    assert len(session.held._places) == MOST_ANSWERS


def test_a_session_that_goes_on_may_continue_its_last_answer() -> None:
    held = HeldAnswers("a1")
    assert held.front("resp_1", [message("u1"), message("a1")])[-1].id == "a1"
