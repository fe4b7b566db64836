from typing import Any

import pytest
from msgspec.structs import replace

from tests.loop.stories import (
    answered,
    begun,
    call,
    dropped,
    ended,
    failed,
    fold,
    queued,
    ran,
    result,
    started,
    step_after,
    text,
)
from ullage.context.choice import NOOP
from ullage.events import (
    ApprovalAsked,
    ApprovalGiven,
    CallEnded,
    CallStarted,
    CancelAsked,
    CompactAsked,
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    MessageAdded,
    ModelChanged,
    Pruned,
    QueueLeft,
    Rewound,
    SettingsChanged,
    ToolEnded,
    TurnPaused,
    TurnResumed,
    TurnStarted,
)
from ullage.messages import Message, Part
from ullage.turns.approving import DENIED_BY_A_PERSON, NOBODY_COULD_BE_ASKED, digest_of
from ullage.turns.closing import closed
from ullage_agent.loop.budgets import Budget, BudgetUse
from ullage_agent.loop.decide import MOST_CUTS, MOST_RECOVERIES, Headroom, LoopRules
from ullage_agent.loop.steps import (
    AskApproval,
    CallModel,
    CloseCalls,
    Compact,
    Deliver,
    DropAttempt,
    EndTurn,
    NextStep,
    Pause,
    Rest,
    RunTools,
    Settle,
)

HELLO = text("Hello.")


def names(step: NextStep) -> list[str]:
    """The calls that a step names."""
    assert isinstance(step, RunTools | AskApproval | CloseCalls)
    return [one.call_id for one in step.calls]


def reason(step: NextStep) -> str:
    assert isinstance(step, EndTurn), step
    return step.reason


# -- at rest --


def test_a_session_that_nothing_was_said_to_rests() -> None:
    assert step_after() == Rest()


def test_at_rest_one_message_begins_the_turn_and_steers_come_before_follow_ups() -> None:
    waiting = [queued("later", "follow_up"), queued("now"), queued("also")]
    assert step_after(waiting) == Deliver(("now",), begins_turn=True)
    delivered = [TurnStarted(turn="t"), QueueLeft(message_id="now", how="delivered")]
    assert step_after(waiting, delivered) == Deliver(("also",), begins_turn=False)


def test_a_follow_up_waits_for_the_end_of_the_turn_and_begins_the_next() -> None:
    turn = [begun(), queued("later", "follow_up")]
    assert step_after(turn) == CallModel()
    assert reason(step_after(turn, answered(HELLO))) == "finished"
    found = step_after(turn, answered(HELLO), ended())
    assert found == Deliver(("later",), begins_turn=True)


def test_a_compaction_that_was_asked_for_at_rest_comes_before_what_waits() -> None:
    found = step_after(queued("one"), CompactAsked(instructions="keep names"))
    assert found == Compact("asked", "keep names")


def test_a_compaction_from_a_message_on_waits_for_the_end_of_the_turn() -> None:
    asked = CompactAsked(from_="m")
    turn = [begun(), asked]
    assert step_after(turn) == CallModel()
    by_itself = [
        Pruned(parts=("p",)),
        CompactionStarted(compaction="x", trigger="point"),
        CompactionCommitted(compaction="x"),
    ]
    then = [*turn, *by_itself, answered(HELLO), ended()]
    assert step_after(then) == Compact("asked", from_="m")
    over = [
        CompactionStarted(compaction="y", trigger="asked"),
        CompactionRolledBack(compaction="y", reason="none"),
    ]
    assert step_after(then, over) == Rest()


@pytest.mark.parametrize(
    "over",
    [
        [
            CompactionStarted(compaction="x", trigger="asked"),
            CompactionRolledBack(compaction="x", reason="none"),
        ],
        [
            CompactionStarted(compaction="x", trigger="asked"),
            CompactionCommitted(compaction="x"),
        ],
        [Pruned(parts=("p",))],
    ],
)
def test_a_compaction_that_was_asked_for_is_tried_once(over: list[Event]) -> None:
    assert step_after(CompactAsked(), over) == Rest()


def test_what_was_rewound_at_rest_is_not_answered_again() -> None:
    assert step_after(begun(), answered(HELLO), ended(), Rewound(to="ask")) == Rest()


# -- the order of a turn --


def test_what_a_person_says_is_answered() -> None:
    assert step_after(begun()) == CallModel()


def test_the_calls_of_an_answer_run_at_the_same_time() -> None:
    assert names(
        step_after(begun(), answered(call("t1"), call("t2"), stop="tool_calls"))
    ) == ["t1", "t2"]


@pytest.mark.parametrize("stop", ["stop", "tool_calls", "paused", "other", ""])
def test_content_decides_whether_tools_run_whatever_the_stop_is_named(stop: str) -> None:
    assert names(step_after(begun(), answered(call("t1"), stop=stop))) == ["t1"]


@pytest.mark.parametrize("stop", ["stop", "tool_calls", "other", ""])
def test_an_answer_without_calls_ends_the_turn_whatever_the_stop(stop: str) -> None:
    assert step_after(begun(), answered(HELLO, stop=stop)) == EndTurn("finished")


def test_the_model_is_called_again_once_all_results_are_there() -> None:
    turn = [begun(), answered(call("t1"), call("t2")), ran("t2")]
    assert names(step_after(turn)) == ["t1"]
    assert step_after(turn, ran("t1")) == CallModel()


def test_steers_are_delivered_together_behind_results_and_before_the_call() -> None:
    turn = [
        begun(),
        answered(call("t1"), call("t2")),
        queued("a"),
        queued("b"),
        ran("t1"),
    ]
    assert names(step_after(turn)) == ["t2"]
    assert step_after(turn, ran("t2")) == Deliver(("a", "b"), begins_turn=False)


def test_a_steer_that_comes_with_the_last_answer_keeps_the_turn_going() -> None:
    turn = [begun(), answered(HELLO), queued("more")]
    assert step_after(turn) == Deliver(("more",), begins_turn=False)
    delivered = [
        QueueLeft(message_id="more", how="delivered"),
        MessageAdded(message=Message(id="more", role="user")),
    ]
    assert step_after(turn, delivered) == CallModel()


def test_an_empty_answer_ends_the_turn_and_says_so() -> None:
    assert step_after(begun(), answered()) == EndTurn("finished", "The answer was empty.")


def test_a_paused_answer_goes_back_before_anything_else_is_said() -> None:
    paused = [begun(), answered(HELLO, stop="paused"), queued("steer")]
    assert step_after(paused) == CallModel()
    found = step_after(paused, answered(HELLO, call="c2"))
    assert found == Deliver(("steer",), begins_turn=False)


# -- which calls run together --

THREE = answered(call("t1"), call("t2"), call("t3"))


@pytest.mark.parametrize(
    ("alone", "before", "expected"),
    [
        ((), [], ["t1", "t2", "t3"]),
        (("t1",), [], ["t1"]),
        (("t2",), [], ["t1"]),
        (("t2",), [ran("t1")], ["t2"]),
        (("t2",), [ran("t1"), ran("t2")], ["t3"]),
        (("t3",), [], ["t1", "t2"]),
    ],
)
def test_a_tool_that_runs_alone_waits_for_those_before_it(
    alone: tuple[str, ...], before: list[Any], expected: list[str]
) -> None:
    found = names(step_after(begun(), THREE, before, sequential=frozenset(alone)))
    assert found == expected


def test_an_agent_may_run_all_tools_one_after_the_other() -> None:
    one_by_one = LoopRules(sequential_tools=True)
    assert names(step_after(begun(), THREE, rules=one_by_one)) == ["t1"]
    assert names(step_after(begun(), THREE, ran("t1"), rules=one_by_one)) == ["t2"]


def test_in_order_means_that_what_waits_for_a_person_holds_the_calls_behind_it() -> None:
    asked = [begun(), THREE, ApprovalAsked(call_id="t1")]
    assert isinstance(step_after(asked, rules=LoopRules(sequential_tools=True)), Pause)
    assert names(step_after(asked)) == ["t2", "t3"]


# -- approvals --


def test_calls_that_need_approval_are_asked_for_and_the_others_run() -> None:
    turn = [begun(), THREE]
    need = frozenset({"t2"})
    assert names(step_after(turn, needs_approval=need)) == ["t2"]
    assert names(step_after(turn, ApprovalAsked(call_id="t2"))) == ["t1", "t3"]
    found = step_after(turn, ApprovalAsked(call_id="t2"), ran("t1"), ran("t3"))
    assert found == Pause("approval", "Needs a person's approval: read.")


DIGEST = digest_of("read", "{}")
YES = ApprovalGiven(call_id="t1", approved=True, digest=DIGEST)
ASKED: list[Any] = [
    begun(),
    answered(call("t1")),
    ApprovalAsked(call_id="t1", digest=DIGEST),
]
WAITING: list[Any] = [*ASKED, TurnPaused(turn="turn-1", reason="approval")]


def test_a_turn_that_waits_for_a_person_rests_and_so_do_its_messages() -> None:
    assert step_after(WAITING, queued("steer")) == Rest()


def test_an_approved_call_runs_and_needs_no_second_word() -> None:
    step = step_after(WAITING, YES, needs_approval=frozenset({"t1"}))
    assert names(step) == ["t1"]
    assert isinstance(step, RunTools)


def test_an_approval_of_another_digest_leaves_the_question_open() -> None:
    other = ApprovalGiven(
        call_id="t1", approved=True, digest=digest_of("read", '{"path": "b"}')
    )
    found = step_after(ASKED, other, needs_approval=frozenset({"t1"}))
    assert found == Pause("approval", "Needs a person's approval: read.")


def test_an_approval_without_a_digest_is_asked_for_again() -> None:
    old = [*WAITING, ApprovalGiven(call_id="t1", approved=True)]
    step = step_after(old, needs_approval=frozenset({"t1"}))
    assert isinstance(step, AskApproval)
    assert names(step_after(old)) == ["t1"], "where none is needed any more it runs"


def test_a_call_without_anybody_to_ask_differs_from_a_refused_one() -> None:
    turn: list[Any] = [begun(), answered(call("t1"), call("t2"))]
    asked: list[Any] = [ApprovalAsked(call_id="t1"), ApprovalAsked(call_id="t2")]
    no = ApprovalGiven(call_id="t1", approved=False, note="Too late.")
    nobody = ApprovalGiven(call_id="t2", approved=False, by="nobody")
    first = step_after(turn, asked, no, nobody)
    assert isinstance(first, CloseCalls)
    assert (names(first), first.why) == (["t1"], DENIED_BY_A_PERSON)
    second = step_after(
        turn, asked, no, nobody, closed(first.calls, first.outcome, first.why)
    )
    assert isinstance(second, CloseCalls)
    assert (names(second), second.why) == (["t2"], NOBODY_COULD_BE_ASKED)


def test_an_approved_idempotent_call_that_a_crash_cut_is_not_asked_again() -> None:
    cut = [WAITING, YES, started(idempotent=True)]
    settled = [ToolEnded(call_id="t1", outcome="unknown")]
    assert isinstance(
        step_after(cut, settled, needs_approval=frozenset({"t1"})), RunTools
    )


def test_a_denied_call_gets_a_result_that_says_so() -> None:
    step = step_after(
        WAITING, ApprovalGiven(call_id="t1", approved=False, note="Not there.")
    )
    assert isinstance(step, CloseCalls)
    assert (step.outcome, step.calls[0].note) == ("denied", "Not there.")


def test_an_approval_that_was_not_asked_for_changes_nothing() -> None:
    step = step_after(
        begun(),
        answered(call("t1")),
        ApprovalGiven(call_id="t1", approved=True),
        needs_approval={"t1"},
    )
    assert isinstance(step, AskApproval)


# -- answers that are not whole --


@pytest.mark.parametrize("stop", ["length", "context_full", "refused"])
def test_calls_of_an_answer_that_did_not_reach_its_end_are_not_run(stop: str) -> None:
    step = step_after(begun(), answered(call("t1"), stop=stop))
    assert isinstance(step, CloseCalls)
    assert (names(step), step.outcome) == (["t1"], "not_started")


def test_after_calls_that_were_cut_the_model_may_try_once_more() -> None:
    cut = [answered(call("t1"), stop="length"), result("t1")]
    assert step_after(begun(), cut) == CallModel()
    again = [answered(call("t2"), stop="length", call="c2"), result("t2")]
    assert reason(step_after(begun(), cut, again)) == "length"
    assert MOST_CUTS == 2


def test_calls_of_a_withheld_answer_end_the_turn_once_they_are_closed() -> None:
    withheld = [begun(), answered(call("t1"), stop="refused"), result("t1")]
    assert reason(step_after(withheld)) == "refused"
    steered = [withheld, queued("m2")]
    assert step_after(steered) == Deliver(("m2",), begins_turn=False)
    delivered = [
        QueueLeft(message_id="m2", how="delivered"),
        MessageAdded(message=Message(id="m2", role="user")),
    ]
    assert step_after(steered, delivered) == CallModel()


@pytest.mark.parametrize(
    ("stop", "expected"),
    [("length", "length"), ("context_full", "length"), ("refused", "refused")],
)
def test_a_cut_or_withheld_text_ends_the_turn(stop: str, expected: str) -> None:
    assert reason(step_after(begun(), answered(HELLO, stop=stop))) == expected


def test_an_answer_that_broke_off_is_taken_back_and_asked_for_again() -> None:
    assert step_after(begun(), dropped(HELLO)) == DropAttempt("c1.answer")
    assert step_after(begun(), dropped(HELLO), Rewound(to="ask")) == CallModel()


def test_an_answer_that_broke_off_before_it_began_is_asked_for_again_at_once() -> None:
    assert step_after(begun(), dropped()) == CallModel()


def test_the_answer_that_broke_off_last_stays_and_ends_the_turn() -> None:
    rules = LoopRules(drop_retries=1)
    twice = [begun(), dropped(HELLO), Rewound(to="ask"), dropped(HELLO, call="c2")]
    assert reason(step_after(twice, rules=rules)) == "dropped"
    assert step_after(twice) == DropAttempt("c2.answer")


@pytest.mark.parametrize("parts", [(HELLO,), ()])
def test_an_answer_stopped_at_a_limit_is_not_repeated(parts: tuple[Part, ...]) -> None:
    started, ended, *message = dropped(*parts)
    assert isinstance(ended, CallEnded)
    stopped = replace(ended, error="Too long.", error_kind="LimitExceeded")
    turn = [begun(), [started, stopped, *message]]
    assert step_after(*turn) == EndTurn("dropped", "Too long.")


def test_calls_of_the_last_broken_answer_are_closed_before_the_end() -> None:
    turn, none = [begun(), dropped(call("t1"))], LoopRules(drop_retries=0)
    assert isinstance(step_after(turn, rules=none), CloseCalls)
    assert reason(step_after(turn, result("t1"), rules=none)) == "dropped"


def test_the_retry_of_a_broken_answer_counts_for_limits_and_budget() -> None:
    turn = [begun(), dropped()]
    assert reason(step_after(turn, rules=LoopRules(max_steps=1))) == "max_steps"
    assert isinstance(step_after(turn, rules=LoopRules(budget=Budget(calls=1))), Pause)


# -- limits --


def test_at_the_limit_of_steps_open_calls_are_closed_and_the_turn_ends() -> None:
    turn, one = [begun(), answered(call("t1"))], LoopRules(max_steps=1)
    step = step_after(turn, rules=one)
    assert isinstance(step, CloseCalls)
    assert (step.outcome, "1 steps" in step.why) == ("not_started", True)
    found = step_after(turn, result("t1"), rules=one)
    assert found == EndTurn("max_steps", "1 steps were made.")


@pytest.mark.parametrize("also", [(), (queued("steer"),)], ids=["alone", "steered"])
def test_an_answer_by_a_tool_at_the_limit_of_steps_is_a_finished_turn(
    also: tuple[Event, ...],
) -> None:
    turn, one = [begun(), answered(call("t1"), call("t2"))], LoopRules(max_steps=1)
    given = frozenset({"t2"})
    closed = step_after(turn, rules=one, answers=given)
    assert isinstance(closed, CloseCalls)
    assert [each.call_id for each in closed.calls] == ["t1"]
    step = step_after(turn, result("t1"), rules=one, answers=given)
    assert isinstance(step, RunTools)
    assert [each.call_id for each in step.calls] == ["t2"]
    taken = [started("t2"), ToolEnded(call_id="t2", is_answer=True), result("t2")]
    assert reason(step_after(turn, result("t1"), taken, also, rules=one)) == "finished"


def test_a_text_at_the_limit_of_steps_is_a_finished_turn() -> None:
    found = reason(
        step_after(
            begun(), answered(HELLO), queued("steer"), rules=LoopRules(max_steps=1)
        )
    )
    assert found == "finished"


def repeated(times: int, arguments: str = "{}") -> list[Any]:
    """The same call so many times, each but the last with its result."""
    events: list[Any] = []
    for number in range(times):
        events += [
            answered(call(f"t{number}", arguments=arguments), call=f"c{number}"),
            ran(f"t{number}"),
        ]
    return [*events[:-1]]


def test_the_same_call_with_the_same_arguments_again_and_again_ends_the_turn() -> None:
    rules = LoopRules(max_repeats=3)
    assert isinstance(step_after(begun(), repeated(2), rules=rules), RunTools)
    assert isinstance(step_after(begun(), repeated(3), rules=rules), CloseCalls)
    assert reason(step_after(begun(), repeated(3), result("t2"), rules=rules)) == "loop"


def cycled(names: str) -> list[Any]:
    """Answers that call these tools one after the other, each but the last with its result."""
    events: list[Any] = []
    for number, name in enumerate(names):
        id = f"t{number}"
        events += [answered(call(id, tool=name), call=f"c{number}"), ran(id)]
    return events[:-1]


@pytest.mark.parametrize("cycle", ["AB", "ABC", "AAB"])
def test_two_or_three_calls_in_turns_again_and_again_end_the_turn(cycle: str) -> None:
    rules, names = LoopRules(max_repeats=3), cycle * 3
    assert isinstance(step_after(begun(), cycled(names[:-1]), rules=rules), RunTools)
    closed = step_after(begun(), cycled(names), rules=rules)
    assert isinstance(closed, CloseCalls)
    assert closed.why == (
        f"Not run: the same {len(cycle)} calls were made 3 times one after the other with the same arguments."
    )
    last = result(f"t{len(names) - 1}")
    assert reason(step_after(begun(), cycled(names), last, rules=rules)) == "loop"


@pytest.mark.parametrize("names", ["ABACABACABAC", "ABCDABCDABCD", "ABABCABABCABABC"])
def test_calls_between_which_another_is_made_are_no_loop(names: str) -> None:
    rules = LoopRules(max_repeats=3)
    assert isinstance(step_after(begun(), cycled(names), rules=rules), RunTools)


BUDGETS = [
    (Budget(calls=1), {}, "1 of 1 model calls are made."),
    (Budget(tokens=110), {"used": BudgetUse(tokens=110)}, "110 of 110 tokens are used."),
    (Budget(usd=0.5), {"used": BudgetUse(usd=0.75)}, "$0.75 of $0.50 are spent."),
    (Budget(seconds=60), {"elapsed_s": 61.0}, "61 of 60 seconds are over."),
]


@pytest.mark.parametrize(("budget", "more", "note"), BUDGETS)
def test_a_budget_that_is_used_up_pauses_before_the_next_call(
    budget: Budget, more: dict[str, Any], note: str
) -> None:
    turn = [begun(), answered(call("t1"))]
    assert isinstance(step_after(turn, rules=LoopRules(budget=budget), **more), RunTools)
    step = step_after(turn, ran(), rules=LoopRules(budget=budget), **more)
    assert isinstance(step, Pause) and step.reason == "budget"
    assert step.note.startswith(note) and "Resume the turn" in step.note


PAUSED: list[Any] = [
    begun(),
    answered(call("t1")),
    ran(),
    TurnPaused(turn="turn-1", reason="budget"),
]
ONE_CALL = LoopRules(budget=Budget(calls=1))


def test_a_turn_paused_by_its_budget_counts_anew_when_resumed() -> None:
    assert step_after(PAUSED, rules=ONE_CALL) == Rest()
    assert step_after(PAUSED, TurnResumed(turn="turn-1"), rules=ONE_CALL) == CallModel()


def test_more_budget_lets_the_turn_go_on_and_too_little_pauses_it_again() -> None:
    more = SettingsChanged(settings={"budget": {"calls": 2}})
    found = step_after(PAUSED, more, rules=LoopRules(budget=Budget(calls=2)))
    assert found == CallModel()
    assert isinstance(step_after(PAUSED, more, rules=ONE_CALL), Pause)
    assert (
        step_after(PAUSED, SettingsChanged(settings={"max_output": 9}), rules=ONE_CALL)
        == Rest()
    )


# -- failures --


@pytest.mark.parametrize(
    "kind",
    ["BadKey", "RateLimited", "ServerError", "RequestRejected", "ContentFiltered", ""],
)
def test_a_provider_that_fails_pauses_the_turn(kind: str) -> None:
    assert step_after(begun(), failed(kind)) == Pause("failed", "It failed.")


FAILED: list[Any] = [
    begun(),
    failed("BadKey"),
    TurnPaused(turn="turn-1", reason="failed"),
]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (TurnResumed(turn="turn-1"), CallModel()),
        (ModelChanged(model="other"), CallModel()),
        (queued("again"), Deliver(("again",), begins_turn=False)),
        (queued("later", "follow_up"), CallModel()),
        (SettingsChanged(settings={"session_budget": {"calls": 9}}), Rest()),
        (CompactAsked(), Rest()),
    ],
)
def test_what_lets_a_turn_go_on_whose_provider_failed(
    event: Event, expected: NextStep
) -> None:
    assert step_after(FAILED, event) == expected


# -- size --


def test_a_refusal_for_size_compacts_and_calls_again() -> None:
    turn = [begun(), failed("Overflow")]
    assert step_after(turn, may_compact=True) == Compact("overflow")
    committed = [
        CompactionStarted(compaction="x", trigger="overflow"),
        CompactionCommitted(compaction="x"),
    ]
    assert step_after(turn, committed) == CallModel()
    assert step_after(turn, Pruned(parts=("p",))) == CallModel()


@pytest.mark.parametrize("kind", ["Overflow", "BodyTooLarge"])
def test_a_refusal_for_size_without_cure_ends_the_turn_with_a_reason(kind: str) -> None:
    found = step_after(begun(), failed(kind), is_stuck="The request alone is 9.")
    assert found == EndTurn("too_large", "The request alone is 9.")
    assert step_after(begun(), failed(kind)) == EndTurn("too_large", "It failed.")


@pytest.mark.parametrize(
    ("kind", "limit", "most"),
    [
        ("Overflow", 1_000, 1),
        ("Overflow", None, MOST_RECOVERIES),
        ("BodyTooLarge", 1_000, MOST_RECOVERIES),
        ("TooManyImages", 1_000, MOST_RECOVERIES),
    ],
)
def test_refusals_for_size_in_a_row_end_the_turn_sooner_where_the_limit_is_known(
    kind: str, limit: int | None, most: int
) -> None:
    room = Headroom(input_limit=limit)
    once = failed(kind)
    cured = [
        CompactionStarted(compaction="x", trigger="overflow"),
        CompactionCommitted(compaction="x"),
    ]
    turn: list[Any] = [begun(), *[[once, cured]] * (most - 1), once]
    assert step_after(turn, room=room, may_compact=True) == Compact("overflow")
    found = reason(step_after(turn, cured, once, room=room, may_compact=True))
    assert found == "too_large"


def test_an_answer_in_between_forgets_the_refusals() -> None:
    cured = [
        CompactionStarted(compaction="x", trigger="overflow"),
        CompactionCommitted(compaction="x"),
    ]
    turn = [
        begun(),
        failed("Overflow"),
        cured,
        answered(call("t1"), call="c2"),
        ran(),
        failed("Overflow", "c3"),
    ]
    found = step_after(turn, room=Headroom(input_limit=9), may_compact=True)
    assert found == Compact("overflow")


ROOMS = [
    (Headroom(high=79, is_due=False, input_limit=100), True, CallModel()),
    (Headroom(high=80, is_due=True, input_limit=100), True, Compact("point")),
    (Headroom(high=80, is_due=True, input_limit=100), False, CallModel()),
    (Headroom(high=100, input_limit=100), True, CallModel()),
    (Headroom(high=101, input_limit=100), True, Compact("limit")),
    (Headroom(high=101, confirmed=100, input_limit=100), True, Compact("limit")),
    (Headroom(high=101, confirmed=100, input_limit=100), False, CallModel()),
    (Headroom(high=10**9), True, CallModel()),
    (Headroom(high=1, is_over_request=True), True, Compact("limit")),
    (Headroom(high=1, is_over_request=True), False, CallModel()),
    (Headroom(high=70, window=100, max_output=30), False, CallModel()),
    (Headroom(high=70, window=100, max_output=31), False, CallModel(30)),
    (Headroom(high=120, window=100, max_output=31), False, CallModel(1)),
    (
        Headroom(high=120, confirmed=70, window=100, input_limit=90, max_output=31),
        False,
        CallModel(30),
    ),
]


@pytest.mark.parametrize(("room", "may_compact", "expected"), ROOMS)
def test_before_each_call_the_reading_is_held_against_the_limits(
    room: Headroom, may_compact: bool, expected: NextStep
) -> None:
    assert step_after(begun(), room=room, may_compact=may_compact) == expected


def test_a_request_too_large_to_cure_ends_the_turn_with_the_numbers() -> None:
    room = Headroom(high=1_234, input_limit=1_000)
    step = step_after(begun(), room=room)
    assert isinstance(step, EndTurn)
    assert step.reason == "too_large"
    assert "1,234" in step.note
    assert "1,000" in step.note
    found = step_after(begun(), room=room, is_stuck="Too much.")
    assert found == EndTurn("too_large", "Too much.")


def test_without_a_strategy_the_end_says_that_nothing_is_compacted() -> None:
    """By our own count before the call, and where the provider refuses the request."""
    rules = LoopRules(has_strategies=False)
    room = Headroom(high=1_234, input_limit=1_000)
    own = step_after(begun(), room=room, rules=rules)
    refused = step_after(begun(), failed("Overflow"), rules=rules)
    for step in (own, refused):
        assert isinstance(step, EndTurn) and step.reason == "too_large"
        assert step.note.endswith(NOOP)
    assert isinstance(refused, EndTurn) and refused.note.startswith("It failed.")


def test_a_compaction_that_was_asked_for_in_a_turn_comes_before_its_next_call() -> None:
    asked = [
        begun(),
        answered(call("t1")),
        CompactAsked(instructions="short"),
        queued("steer"),
    ]
    assert isinstance(step_after(asked), RunTools)
    assert isinstance(step_after(asked, ran()), Deliver)
    delivered = [ran(), QueueLeft(message_id="steer", how="delivered")]
    assert step_after(asked, delivered) == Compact("asked", "short")
    over = [
        CompactionStarted(compaction="x", trigger="asked"),
        CompactionCommitted(compaction="x"),
    ]
    assert step_after(asked, delivered, over) == CallModel()


def test_a_compaction_asked_for_with_the_last_answer_waits_for_the_end() -> None:
    turn = [begun(), answered(HELLO), CompactAsked()]
    assert reason(step_after(turn)) == "finished"
    assert step_after(turn, ended()) == Compact("asked", "")


# -- cancels and crashes --

UNDER_WAY: dict[str, list[Any]] = {
    "a call": [begun(), CallStarted(call="c1")],
    "a tool": [begun(), answered(call("t1")), started()],
    "a compaction": [begun(), CompactionStarted(compaction="x", trigger="point")],
    "a compaction at rest": [CompactionStarted(compaction="x", trigger="asked")],
    "a summary": [CallStarted(call="s1", purpose="summary")],
    "a rung of a compaction": [
        CompactionStarted(compaction="x", trigger="point"),
        CompactionRolledBack(compaction="x", reason="failed", rung="summary"),
    ],
}


@pytest.mark.parametrize("events", UNDER_WAY.values(), ids=UNDER_WAY)
def test_what_a_dead_driver_left_under_way_is_settled_first(events: list[Any]) -> None:
    assert fold(events).is_abandoned
    assert step_after(events, queued("steer")) == Settle("crash")
    assert step_after(events, CancelAsked()) == Settle("cancel")


@pytest.mark.parametrize(
    "events",
    [
        [begun(), answered(call("t1"))],
        WAITING,
        PAUSED,
        FAILED,
        [begun(), CallStarted(call="child:c1", purpose="child")],
    ],
)
def test_waiting_turns_have_nothing_to_settle(events: list[Any]) -> None:
    assert not fold(events).is_abandoned


@pytest.mark.parametrize(
    "events", [[], [queued("one")], begun(), WAITING, PAUSED, FAILED]
)
def test_a_cancel_comes_before_everything(events: list[Any]) -> None:
    assert step_after(events, CancelAsked()) == Settle("cancel")


def test_a_cancel_at_the_end_of_a_turn_is_answered_before_deliveries() -> None:
    late = [
        begun(),
        answered(HELLO),
        queued("later", "follow_up"),
        CancelAsked(),
        ended(),
    ]
    assert step_after(late) == Settle("cancel")
