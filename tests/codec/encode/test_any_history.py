"""Whatever a history holds, what goes out is one JSON object of the wire, and the same each time."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.codec.histories import broken_request
from ullage.codec.encode import encode, encode_count
from ullage.codec.repair import repair
from ullage.messages import Request
from ullage.reasoning import ReasoningPolicy

POLICIES = st.builds(ReasoningPolicy, st.booleans(), st.sampled_from(["none", "all", "all_but_last"]))
SEEDS = st.integers(0, 10**6)


@given(SEEDS, POLICIES)
def test_a_repaired_history_is_encoded_without_a_doubt(seed: int, policy: ReasoningPolicy) -> None:
    repaired = repair(broken_request(seed)).request
    encoded = encode(repaired, policy=policy)
    assert isinstance(json.loads(encoded.content), dict)
    assert b"\\ud8" not in encoded.content
    assert encode(repaired, policy=policy).content == encoded.content
    counted = encode_count(repaired, policy=policy)
    assert counted is None or isinstance(json.loads(counted.content), dict)


@given(SEEDS)
def test_reasoning_is_sent_by_the_one_function_that_decides_it(seed: int) -> None:
    repaired: Request = repair(broken_request(seed)).request
    none = encode(repaired, policy=ReasoningPolicy(include_in_context=False)).content
    everything = encode(repaired).content
    assert len(none) <= len(everything)
