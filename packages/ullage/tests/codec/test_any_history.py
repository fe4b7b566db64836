"""Whatever a history holds, what goes out is one JSON object of the wire, and the same each time."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.codec.histories import broken_request
from ullage.codec.history import encode, encode_count
from ullage.codec.repair import repair
from ullage.codec.repair_parts import NO_REASONING
from ullage.messages import ReasoningPart
from ullage.reasoning import ReasoningPolicy, need_for

POLICIES = st.builds(
    ReasoningPolicy, st.booleans(), st.sampled_from(["none", "all", "all_but_last"])
)
SEEDS = st.integers(0, 10**6)


@given(SEEDS, POLICIES)
def test_a_repaired_history_is_encoded_without_a_doubt(
    seed: int, policy: ReasoningPolicy
) -> None:
    repaired = repair(broken_request(seed), policy=policy).request
    encoded = encode(repaired)
    assert isinstance(json.loads(encoded.content), dict)
    assert b"\\ud8" not in encoded.content
    assert encode(repaired).content == encoded.content
    counted = encode_count(repaired)
    assert counted is None or isinstance(json.loads(counted.content), dict)


@given(SEEDS)
def test_reasoning_that_the_policy_keeps_back_is_sent_only_where_the_wire_needs_it(
    seed: int,
) -> None:
    given = broken_request(seed)
    none = repair(given, policy=ReasoningPolicy(include_in_context=False)).request
    thoughts = [part for one in none.messages for part in one.of_type(ReasoningPart)]
    needed = need_for(given.wire, given.model) is not None
    assert needed or all(part.text == NO_REASONING for part in thoughts)
