from ullage_simulators.tokenizer import tokens


def test_tokens_are_those_of_o200k() -> None:
    assert [tokens(text) for text in ("", "hello", "hello world", "strawberry")] == [
        0,
        1,
        2,
        3,
    ]
