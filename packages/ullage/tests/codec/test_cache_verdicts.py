"""What a provider says of its cache is read as it is documented, and nothing else is."""

from typing import Any

import pytest

from ullage.codec.cache_verdicts import read_verdict
from ullage.usage import CacheVerdict


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (
            {"diagnostics": {"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 41_735}}},
            CacheVerdict(reason="tools_changed", tokens=41_735),
        ),
        (
            {"diagnostics": {"cache_miss_reason": {"type": "unavailable"}}},
            CacheVerdict(reason="unavailable"),
        ),
        (
            {"prompt_cache_diagnostics": {"type": "cache_miss", "reason": "input_changed", "cache_missed_tokens": 9}},
            CacheVerdict(reason="input_changed", tokens=9),
        ),
        ({"prompt_cache_diagnostics": {"type": "cache_hit"}}, None),
        ({"diagnostics": {"cache_miss_reason": None}}, None),
        ({"diagnostics": None}, None),
        ({"diagnostics": [1], "prompt_cache_diagnostics": "x"}, None),
        (
            {"diagnostics": {"cache_miss_reason": {"type": "x" * 9_999, "cache_missed_input_tokens": -1}}},
            CacheVerdict(reason="x" * 100),
        ),
    ],
)  # fmt: skip
def test_a_verdict_is_read(answer: dict[str, Any], verdict: CacheVerdict | None) -> None:
    found = read_verdict(answer)
    if found is not None:
        found = CacheVerdict(reason=found.reason[:100], tokens=found.tokens)
    assert found == verdict
