from ullage.models.gpt import has_new_cache


def test_the_new_cache_is_that_of_gpt_5_6_and_later() -> None:
    assert [
        has_new_cache(name) for name in ("gpt-5.6", "gpt-6-astra", "openai/gpt-5.10")
    ] == [True] * 3
    assert [has_new_cache(name) for name in ("gpt-5.5", "gpt-4.1", "claude-opus-5")] == [
        False
    ] * 3
