from ullage.guessing import (
    SHORTEST,
    WRONG_AT_ONCE,
    WRONG_S,
    WrongTokens,
    guessable,
)

NOW = 1_790_000_000.0


def test_a_token_of_fewer_characters_can_be_guessed() -> None:
    assert "of 15 characters" in guessable("x" * (SHORTEST - 1))
    assert guessable("x" * SHORTEST) == guessable(b"x" * SHORTEST) == ""


def test_guesses_are_slowed_down_by_address() -> None:
    now = [NOW]
    wrong = WrongTokens(lambda: now[0])
    for _ in range(WRONG_AT_ONCE):
        assert wrong.wait_s("10.0.0.1") == 0
        wrong.note("10.0.0.1")
    assert 0 < wrong.wait_s("10.0.0.1") <= WRONG_S
    assert wrong.wait_s("10.0.0.2") == 0
    now[0] += WRONG_S
    assert wrong.wait_s("10.0.0.1") == 0
    for _ in range(WRONG_AT_ONCE):
        wrong.note("2001:db8:1:2:3::4")
    assert wrong.wait_s("2001:db8:1:2:ffff::1") > 0
    assert wrong.wait_s("2001:db8:1:3::1") == 0
