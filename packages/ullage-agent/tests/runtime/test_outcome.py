from ullage.errors import UllageError
from ullage.messages import Message, Role, TextPart
from ullage.meter.meter import Meter
from ullage_agent.runtime.outcome import Result, last_words


def said(role: Role, text: str, origin: str = "said") -> Message:
    part = TextPart(id=f"{text}.0", text=text)
    return Message(
        id=text,
        role=role,
        parts=(part,),
        origin="injected" if origin == "injected" else "said",
    )


def test_the_last_words_are_those_of_the_last_answer() -> None:
    found = last_words(
        [
            said("user", "q"),
            said("assistant", "one"),
            said("user", "again"),
            said("assistant", "two"),
        ]
    )
    assert found == "two"


def test_a_turn_without_answer_has_no_last_words_whatever_came_before() -> None:
    assert (
        last_words([said("user", "q"), said("assistant", "one"), said("user", "again")])
        == ""
    )


def test_a_note_of_the_program_behind_an_answer_hides_nothing_of_it() -> None:
    found = last_words(
        [said("user", "q"), said("assistant", "one"), said("user", "note", "injected")]
    )
    assert found == "one"


def test_a_result_prints_as_its_text_and_shows_as_one_short_line() -> None:
    reading = Meter("claude-haiku-4-5", wire="messages").reading()
    said = Result("One\ntwo. " * 200, "finished", "", False, reading)
    assert str(said) == said.text
    shown = repr(said)
    assert shown.startswith("Result(text='One\\ntwo. ")
    assert shown.endswith("reason='finished', used='4 tokens')")
    assert "\n" not in shown
    assert len(shown) < 200
    silent = Result("", "too_large", "It is too large.", False, reading, UllageError("x"))
    assert str(silent) == "It is too large."
    assert repr(silent).endswith("used='4 tokens', error=UllageError)")
    cancelled = Result("", "cancelled", "", False, reading)
    assert str(cancelled) == "(cancelled, without text)"
