"""Whatever a history holds, what goes out is one JSON object of the wire, and the same each time."""

from hypothesis import given
from hypothesis import strategies as st

from tests.codec.histories import broken_request
from ullage.codec.repair import repair
from ullage.codec.repair_parts import NO_REASONING
from ullage.messages import ReasoningPart
from ullage.reasoning import ReasoningPolicy, need_for

SEEDS = st.integers(0, 10**6)


@given(SEEDS)
def test_reasoning_that_the_policy_keeps_back_is_sent_only_where_the_wire_needs_it(
    seed: int,
) -> None:
    given = broken_request(seed)
    none = repair(given, policy=ReasoningPolicy(include_in_context=False)).request
    thoughts = [part for one in none.messages for part in one.of_type(ReasoningPart)]
    needed = need_for(given.wire, given.model) is not None
    assert needed or all(part.text == NO_REASONING for part in thoughts)
