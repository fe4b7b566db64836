from __future__ import annotations

import pytest

from tests.context.sessions import fold_of
from tests.context.test_clear import heavy
from ullage.codec.blocks import CacheMarks
from ullage.context.clear import ClearToolResults
from ullage.context.cold_cache import cache_lifetime_s, is_cold
from ullage.context.proof import prove
from ullage.context.situation import Situation
from ullage.context.strategy import Candidate, Declined

LIFETIMES = [
    ("anthropic", CacheMarks(), {}, 300.0),
    ("anthropic", CacheMarks(ttl="1h"), {}, 3_600.0),
    ("anthropic", None, {}, 0.0),
    ("openai", CacheMarks(), {}, 86_400.0),
    ("openai", None, {"prompt_cache_retention": "in_memory"}, 3_600.0),
    ("openai", None, {"prompt_cache_retention": ["odd"]}, 86_400.0),
    ("google", CacheMarks(), {}, None),
    ("llama.cpp", CacheMarks(), {}, None),
]


@pytest.mark.parametrize(("provider", "marks", "params", "seconds"), LIFETIMES)
def test_each_provider_has_its_documented_lifetime_and_others_have_none(
    provider: str,
    marks: CacheMarks | None,
    params: dict[str, object],
    seconds: float | None,
) -> None:
    assert cache_lifetime_s(provider, marks, params) == seconds


def test_a_cache_is_cold_only_after_its_whole_lifetime_and_from_a_known_time_on() -> None:
    assert not is_cold(300.0, 1_000.0, 1_300.0)
    assert is_cold(300.0, 1_000.0, 1_300.1)
    assert not is_cold(None, 1_000.0, 1e12)
    assert not is_cold(300.0, 0.0, 1e12), "the log does not say when the call was"
    assert not is_cold(300.0, 5_000.0, 1_000.0), "a clock that was set back"


def test_with_an_expired_cache_less_is_enough_and_no_price_is_asked() -> None:
    fold = fold_of(*heavy(16))
    warm = ClearToolResults().propose(Situation(fold=fold), ())
    assert isinstance(warm, Declined)
    cold = Situation(fold=fold, trigger="cold", compaction="p")
    proposed = ClearToolResults().propose(cold, ())
    assert isinstance(proposed, Candidate)
    assert prove(cold, proposed.event).is_proved
    assert proposed.event.rewritten == 0  # type: ignore[union-attr]


def test_little_is_not_cleared_however_cold_the_cache() -> None:
    situation = Situation(fold=fold_of(*heavy(9)), trigger="cold")
    proposed = ClearToolResults().propose(situation, ())
    if isinstance(proposed, Candidate):
        assert not prove(situation, proposed.event).is_proved
