from tests.meter.calls import NOON, log_of, spent_call
from ullage.meter.distinct_calls import distinct_calls, origins_missing


def test_a_message_that_a_resumed_session_repeats_is_counted_once() -> None:
    first = log_of(spent_call("msg_1"), spent_call("msg_2"))
    resumed = log_of(spent_call("msg_1"), spent_call("msg_3"), session="s-2")
    found = distinct_calls([first, resumed])
    assert [each.call.name for each in found.calls] == ["msg_1", "msg_2", "msg_3"]
    assert found.copies == 1


def test_ids_that_a_gateway_gives_again_in_another_session_are_other_calls() -> None:
    log = log_of(spent_call("msg_1", input=2_000), session="s-2")
    found = distinct_calls([log_of(spent_call("msg_1", input=1_000)), log])
    assert len(found.calls) == 2


def test_of_two_copies_the_one_with_the_whole_output_is_kept() -> None:
    cut = log_of(spent_call("msg_1", output=1))
    whole = log_of(spent_call("msg_1", output=100), session="s-2")
    for logs in ([cut, whole], [whole, cut]):
        assert [each.call.output for each in distinct_calls(logs).calls] == [100]


def test_a_parents_call_that_a_subagents_log_repeats_stays_the_parents() -> None:
    parent = log_of(spent_call("msg_1"))
    child = log_of(spent_call("msg_1"), spent_call("msg_2"), is_subagent=True)
    for logs in ([parent, child], [child, parent]):
        calls = distinct_calls(logs).calls
        expected = {"msg_1": False, "msg_2": True}
        assert {each.call.name: each.is_child for each in calls} == expected


def test_a_call_that_parent_and_child_session_both_list_is_the_subagents() -> None:
    mirrored = log_of(spent_call(purpose="child"), program="ullage")
    own = log_of(spent_call(), program="ullage", session="s-1/call-1")
    for logs in ([mirrored, own], [own, mirrored]):
        (only,) = distinct_calls(logs).calls
        assert only.is_child


def test_calls_without_ids_are_copies_only_at_the_same_moment() -> None:
    first = log_of(spent_call(), program="pi")
    copy = log_of(spent_call(), program="pi", session="s-2")
    later = log_of(spent_call(at=NOON + 1), program="pi", session="s-3")
    assert len(distinct_calls([first, copy, later]).calls) == 2
    timeless = log_of(spent_call(at=0), spent_call(at=0), program="pi")
    assert len(distinct_calls([timeless]).calls) == 2


def test_a_codex_fork_leaves_out_what_its_origin_spent_in_spite_of_new_times() -> None:
    origin = log_of(
        spent_call(input=10), spent_call(input=20), spent_call(input=30), program="codex"
    )
    fork = log_of(
        spent_call(input=10, at=NOON + 60),
        spent_call(input=20, at=NOON + 60),
        spent_call(input=25, at=NOON + 90),
        program="codex",
        session="s-2",
        origin="s-1",
    )
    of_fork = log_of(
        spent_call(input=10, at=NOON + 99),
        spent_call(input=20, at=NOON + 99),
        spent_call(input=25, at=NOON + 99),
        spent_call(input=27, at=NOON + 99),
        program="codex",
        session="s-3",
        origin="s-2",
    )
    found = distinct_calls([of_fork, fork, origin])
    inputs = sorted(each.call.input or 0 for each in found.calls)
    assert inputs == [10, 20, 25, 27, 30]


def test_a_fork_whose_origin_is_gone_counts_in_full_and_says_what_is_missing() -> None:
    fork = log_of(spent_call(input=10), program="codex", origin="s-0")
    assert origins_missing([fork]) == {"s-0"}
    assert len(distinct_calls([fork]).calls) == 1


def test_two_sessions_that_begin_alike_are_no_forks() -> None:
    one = log_of(spent_call(input=10), program="codex")
    other = log_of(spent_call(input=10, at=NOON + 9), program="codex", session="s-2")
    assert len(distinct_calls([one, other]).calls) == 2


def test_what_the_proxy_recorded_counts_instead_of_the_log_of_the_same_session() -> None:
    call = spent_call("msg_2", input=5_000, at=NOON + 3_600)
    log = log_of(spent_call("msg_1", output=2), call)
    proxied = log_of(spent_call(output=100), is_proxied=True)
    found = distinct_calls([log, proxied])
    assert found.also_proxied == 1
    expected = [(False, 5_000), (True, 1_000)]
    assert [(each.log.is_proxied, each.call.input) for each in found.calls] == expected


def test_a_session_that_the_proxy_calls_otherwise_is_known_by_tokens_and_time() -> None:
    log = log_of(spent_call(), program="gemini-cli", session="chat-1")
    near = log_of(spent_call(at=NOON - 20), is_proxied=True, session="s-abc")
    far = log_of(spent_call(at=NOON - 3_600), is_proxied=True, session="s-abc")
    assert distinct_calls([log, near]).also_proxied == 1
    assert distinct_calls([log, far]).also_proxied == 0


def test_a_count_that_one_of_them_leaves_out_is_the_others_zero() -> None:
    log = log_of(spent_call("msg_1", cache_read=None, cache_write=None))
    proxied = log_of(spent_call(cache_read=0, cache_write=0), is_proxied=True)
    assert distinct_calls([log, proxied]).also_proxied == 1


def test_one_proxied_call_stands_for_one_logged_call_only() -> None:
    log = log_of(spent_call("msg_1"), spent_call("msg_2"))
    proxied = log_of(spent_call(), is_proxied=True)
    assert len(distinct_calls([log, proxied]).calls) == 2


def test_differences_of_totals_do_not_count_beside_what_the_proxy_saw() -> None:
    log = log_of(spent_call(purpose="summary", input=9_000))
    proxied = log_of(spent_call(purpose="summary", input=8_000), is_proxied=True)
    assert len(distinct_calls([log]).calls) == 1
    (only,) = distinct_calls([log, proxied]).calls
    assert only.log.is_proxied
