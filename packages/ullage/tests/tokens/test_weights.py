import pytest

from ullage.tokens.claude import VOCABULARIES
from ullage.tokens.families import family_rows
from ullage.tokens.weights import BPE, PRETOKEN


@pytest.mark.parametrize("tables", [PRETOKEN, BPE])
def test_every_table_says_what_an_unnamed_class_costs(
    tables: dict[str, dict[str, float]],
) -> None:
    assert all(table["?"] > 0 for table in tables.values())


@pytest.mark.parametrize("tables", [PRETOKEN, BPE])
def test_weights_are_tokens_of_one_piece(tables: dict[str, dict[str, float]]) -> None:
    assert all(0 < weight < 8 for table in tables.values() for weight in table.values())


def test_every_familys_vocabulary_can_be_counted_without_a_tokenizer() -> None:
    counted = {*PRETOKEN, *VOCABULARIES}
    assert {row.family.vocabulary for row in family_rows()} <= counted
