from ullage.importers.plain import PlainReader


def test_an_answer_alone_is_nothing_to_go_by() -> None:
    reader = PlainReader()
    reader.feed(
        [b'{"object":"chat.completion","choices":[],"usage":{"prompt_tokens":3}}']
    )
    reader.settle()
    assert dict(reader.skips.reasons) == {"an answer without a request before it": 1}
