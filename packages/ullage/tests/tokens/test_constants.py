from dataclasses import asdict

from ullage.tokens import constants
from ullage.tokens.constants import Answering, Framing


def test_nothing_costs_nothing() -> None:
    assert not any(asdict(constants.NOTHING).values())
    assert not any(asdict(constants.BARE).values())


def test_constants_are_of_the_size_of_a_message_not_of_a_text() -> None:
    named = [value for value in vars(constants).values() if isinstance(value, Framing)]
    assert len(named) > 20
    assert all(
        -20 <= each.user <= 20 and -5 <= each.result <= 30 and -20 <= each.pair <= 140
        for each in named
    )


def test_an_answer_is_never_cheaper_than_its_text() -> None:
    named = [value for value in vars(constants).values() if isinstance(value, Answering)]
    assert all(2 * each.call + each.several >= 0 for each in named)
