from dataclasses import asdict

from ullage.tokens import constants
from ullage.tokens.families import family_rows


def test_nothing_costs_nothing() -> None:
    assert not any(asdict(constants.NOTHING).values())
    assert not any(asdict(constants.BARE).values())


def test_constants_are_of_the_size_of_a_message_not_of_a_text() -> None:
    families = [row.family for row in family_rows()]
    assert len(families) > 20
    for family in families:
        framing, answering = family.framing, family.answering
        assert -20 <= framing.user <= 20
        assert -5 <= framing.result <= 30
        assert -20 <= framing.pair <= 140
        assert 2 * answering.call + answering.several >= 0
