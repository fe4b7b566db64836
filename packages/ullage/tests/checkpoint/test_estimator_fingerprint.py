from ullage.checkpoint.estimator_fingerprint import estimator_fingerprint

CLAUDE = ("messages", "anthropic", "claude-haiku-4-5")
GPT = ("chat", "openai", "gpt-4o")


def test_the_same_code_gives_the_same_name() -> None:
    name = estimator_fingerprint(*CLAUDE, "pretoken")
    estimator_fingerprint.cache_clear()
    assert estimator_fingerprint(*CLAUDE, "pretoken") == name


def test_what_counts_otherwise_gives_another_name() -> None:
    names = {
        estimator_fingerprint(*model, estimator)
        for model in (CLAUDE, GPT)
        for estimator in ("pretoken", "quarter")
    }
    assert len(names) == 4


def test_a_function_of_ones_own_is_told_by_what_it_counts() -> None:
    assert estimator_fingerprint(*GPT, len) != estimator_fingerprint(
        *GPT, lambda text: len(text) / 3
    )
    assert estimator_fingerprint(*GPT, len) == estimator_fingerprint(
        *GPT, lambda text: float(len(text))
    )
