from ullage.tokens.claude import VOCABULARIES
from ullage.tokens.families import family_rows
from ullage.tokens.weights import PRETOKEN


def test_every_table_says_what_an_unnamed_class_costs() -> None:
    assert all(table["?"] > 0 for table in PRETOKEN.values())


def test_weights_are_tokens_of_one_piece() -> None:
    for table in PRETOKEN.values():
        assert all(0 < weight < 8 for weight in table.values())


def test_every_familys_vocabulary_can_be_counted_without_a_tokenizer() -> None:
    counted = {*PRETOKEN, *VOCABULARIES}
    assert {row.family.vocabulary for row in family_rows()} <= counted
