import pytest

from tests.context.sessions import fold_of, turns, words
from tests.meter.session import said
from ullage.context.situation import Situation
from ullage.context.summary_message import (
    PREFIX,
    earlier_text,
    summary_message,
)
from ullage.messages import TextPart
from ullage.usage import Usage


def situation() -> Situation:
    return Situation(fold=fold_of(*turns(2)), compaction="c7")


def test_a_summary_is_the_users_with_its_prefix_and_is_marked() -> None:
    message = summary_message(situation(), "the text", (), window=16_000).message
    assert (message.id, message.role, message.origin) == ("c7.summary", "user", "summary")
    assert [part.text for part in message.of_type(TextPart)] == [PREFIX, "the text"]
    assert PREFIX.startswith("Previous context summary:\n")


def test_the_users_words_stand_in_a_part_of_their_own() -> None:
    message = summary_message(
        situation(), "the text", (said("u", "Never push."),), window=16_000
    ).message
    assert "- Never push." in [part.text for part in message.of_type(TextPart)][1]


def test_its_length_is_what_the_call_reported_and_what_stands_around_it() -> None:
    text = words(100)
    whole = summary_message(
        situation(),
        text,
        (),
        window=16_000,
        usage=Usage(input=9, output=150, reasoning=20),
    )
    around = situation().count(PREFIX)
    assert whole.tokens == round(130 + around)


@pytest.mark.parametrize(
    "usage", [Usage(input=9, output=90_000), Usage(input=9), None], ids=str
)
def test_a_length_that_cannot_be_is_not_believed(usage: Usage | None) -> None:
    made = summary_message(situation(), words(100), (), window=16_000, usage=usage)
    assert made.tokens is None


def test_the_earlier_text_is_that_of_the_summaries_alone() -> None:
    message = summary_message(
        situation(), "the text", (said("u", "Never push."),), window=16_000
    ).message
    assert earlier_text((said("u", "hi"), message)) == "the text"
