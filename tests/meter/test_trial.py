from ullage.meter.trial import trial

CLAUDE = ("messages", "anthropic", "claude-haiku-4-5")
GPT = ("chat", "openai", "gpt-4o")


def test_the_same_code_gives_the_same_name() -> None:
    name = trial(*CLAUDE, "pretoken")
    trial.cache_clear()
    assert trial(*CLAUDE, "pretoken") == name


def test_what_counts_otherwise_gives_another_name() -> None:
    names = {trial(*model, estimator) for model in (CLAUDE, GPT) for estimator in ("pretoken", "quarter")}
    assert len(names) == 4


def test_a_function_of_ones_own_is_told_by_what_it_counts() -> None:
    assert trial(*GPT, len) != trial(*GPT, lambda text: len(text) / 3)
    assert trial(*GPT, len) == trial(*GPT, lambda text: float(len(text)))
