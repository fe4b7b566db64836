from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from ullage.turns.approving import (
    DENIED_BY_A_PERSON,
    NOBODY_COULD_BE_ASKED,
    REFUSED_BY_A_RULE,
    digest_of,
)

ANY_TEXT = st.text(st.characters(exclude_categories=[]))


def test_a_digest_is_of_the_names_length_the_name_and_the_argument_bytes() -> None:
    assert (
        digest_of("shell", '{"command": "ls"}')
        == sha256(b'5:shell{"command": "ls"}').hexdigest()
    )


@given(st.tuples(ANY_TEXT, ANY_TEXT), st.tuples(ANY_TEXT, ANY_TEXT))
def test_two_calls_have_the_same_digest_only_if_they_are_the_same(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert (digest_of(*one) == digest_of(*other)) is (one == other)


def test_the_model_is_told_apart_who_refused_a_call() -> None:
    assert len({DENIED_BY_A_PERSON, NOBODY_COULD_BE_ASKED, REFUSED_BY_A_RULE}) == 3
    assert "person did not allow" in DENIED_BY_A_PERSON
    assert "no person could be asked" in NOBODY_COULD_BE_ASKED
    assert "without asking a person" in REFUSED_BY_A_RULE
