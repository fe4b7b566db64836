from typing import Any

from tests.meter.calls import log_of, spent_call
from ullage.meter.distinct_calls import distinct_calls
from ullage.meter.spent_calls import CallsOfLog, SpentCall


def unlogged(tokens: int, **more: Any) -> SpentCall:
    return spent_call(
        purpose="other", input=tokens, output=0, cache_read=0, cache_write=0, **more
    )


def spent(*logs: CallsOfLog) -> int:
    return sum(each.call.total for each in distinct_calls(logs).calls)


MAIN = spent_call("msg_1", input=1_000, output=0)
CHILD = spent_call(
    "msg_2", input=500, output=0, cache_read=0, cache_write=0, purpose="child"
)


def test_a_fork_spends_not_again_what_subagents_and_summaries_did() -> None:
    origin = log_of(MAIN, CHILD, unlogged(70))
    fork = log_of(MAIN, unlogged(500 + 70), session="s-2")
    for logs in ([origin, fork], [fork, origin]):
        assert spent(*logs) == 1_000 + 500 + 70


def test_what_the_fork_spent_itself_stays() -> None:
    origin = log_of(MAIN, CHILD, unlogged(70))
    fork = log_of(MAIN, unlogged(500 + 70 + 30), session="s-2")
    assert spent(origin, fork) == 1_000 + 500 + 70 + 30


def test_a_fork_of_a_fork_inherits_once() -> None:
    origin = log_of(MAIN, CHILD, unlogged(70))
    fork = log_of(MAIN, unlogged(600), session="s-2")
    second = log_of(MAIN, unlogged(640), session="s-3")
    assert spent(origin, fork, second) == 1_000 + 500 + 70 + 30 + 40


def test_another_models_tokens_are_not_taken_away() -> None:
    origin = log_of(MAIN, unlogged(70))
    fork = log_of(MAIN, unlogged(90, model="claude-haiku-4-5"), session="s-2")
    assert spent(origin, fork) == 1_000 + 70 + 90


def test_sessions_without_a_call_in_common_keep_their_totals() -> None:
    one = log_of(MAIN, unlogged(70))
    other = log_of(
        spent_call("msg_9", input=1_000, output=0), unlogged(90), session="s-2"
    )
    assert spent(one, other) == 2_000 + 70 + 90
