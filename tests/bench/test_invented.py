from bench.invented import Writer, kinds


def test_the_same_seed_writes_the_same_text() -> None:
    assert [kind(500) for kind in kinds(Writer(3))] == [
        kind(500) for kind in kinds(Writer(3))
    ]
    assert Writer(3).prose(500) != Writer(4).prose(500)


def test_a_text_has_the_size_that_was_asked_for() -> None:
    writer = Writer(1)
    for size in (1, 77, 5_000):
        assert [len(kind(size)) for kind in kinds(writer)] == [size] * len(kinds(writer))


def test_the_vocabulary_is_about_as_rich_as_that_of_real_tool_output() -> None:
    """4.6 % of the pieces of a recorded session's text are new ones (n=166,395 pieces of 624,154 characters)."""
    from ullage.tokens.pretoken import pieces

    writer = Writer(1)
    found = pieces("".join(kind(20_000) for _ in range(5) for kind in kinds(writer)))
    assert 0.03 < len(set(found)) / len(found) < 0.1
