from ullage_programs.codex.facts import FACTS
from ullage_programs.facts import Circumstances, ClientLimit, ClientSetting


def known(model: str = "gpt-5.5", **settings: object) -> Circumstances:
    return Circumstances(
        model=model,
        settings={name: ClientSetting(value, name) for name, value in settings.items()},
    )


def test_it_compacts_at_90_percent_of_the_models_window() -> None:
    threshold = FACTS.threshold(known(), 258_400)
    assert threshold is not None
    assert (threshold.tokens, threshold.source) == (244_800, "documented")


def test_a_limit_that_is_set_lowers_the_threshold_and_never_raises_it() -> None:
    lower = known(model_auto_compact_token_limit=15_000)
    assert FACTS.threshold(lower, 258_400) == ClientLimit(
        15_000, "settings", "model_auto_compact_token_limit"
    )
    higher = FACTS.threshold(known(model_auto_compact_token_limit=10**6), 258_400)
    assert higher is not None and higher.tokens == 244_800


def test_a_limit_for_a_part_of_the_request_is_not_known() -> None:
    part = known(model_auto_compact_token_limit_scope="body_after_prefix")
    assert FACTS.threshold(part, 258_400) is None
    whole = FACTS.threshold(known(model_auto_compact_token_limit_scope="total"), 258_400)
    assert whole is not None and whole.tokens == 244_800


def test_95_percent_of_the_window_that_is_set_are_used() -> None:
    window = FACTS.window(known("any", model_context_window=100_000))
    assert window is not None
    assert (window.tokens, window.source) == (95_000, "settings")


def test_the_models_of_openai_have_a_default_window_and_others_have_none() -> None:
    window = FACTS.window(known("gpt-5"))
    assert window is not None and window.tokens == 258_400
    assert FACTS.window(known("qwen3")) is None
