from ullage.messages import Message, Role, TextPart
from ullage.runtime.outcome import last_words


def said(role: Role, text: str, origin: str = "said") -> Message:
    part = TextPart(id=f"{text}.0", text=text)
    return Message(
        id=text,
        role=role,
        parts=(part,),
        origin="injected" if origin == "injected" else "said",
    )


def test_the_last_words_are_those_of_the_last_answer() -> None:
    assert (
        last_words(
            [
                said("user", "q"),
                said("assistant", "one"),
                said("user", "again"),
                said("assistant", "two"),
            ]
        )
        == "two"
    )


def test_a_turn_without_an_answer_has_no_last_words_whatever_was_answered_before() -> (
    None
):
    assert (
        last_words([said("user", "q"), said("assistant", "one"), said("user", "again")])
        == ""
    )


def test_a_note_of_the_program_behind_an_answer_hides_nothing_of_it() -> None:
    assert (
        last_words(
            [
                said("user", "q"),
                said("assistant", "one"),
                said("user", "note", "injected"),
            ]
        )
        == "one"
    )
