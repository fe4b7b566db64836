"""What is decided after a story, as rows: the story, what else is known, and the step in short."""

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
    user,
)
from ullage import events as said
from ullage.context.choice import NOOP
from ullage.turns.approving import DENIED_BY_A_PERSON, NOBODY_COULD_BE_ASKED, digest_of
from ullage.turns.closing import closed
from ullage.usage import Usage
from ullage_agent.loop import steps
from ullage_agent.loop.budgets import Budget, BudgetUse
from ullage_agent.loop.decide import MOST_CUTS, MOST_RECOVERIES, Headroom, LoopRules

Row = tuple[Any, dict[str, Any], str]

HELLO = text("Hello.")
DONE = answered(HELLO)
TURN = begun()
ONE = [TURN, answered(call("t1"))]
TWO = [TURN, answered(call("t1"), call("t2"))]
THREE = [TURN, answered(call("t1"), call("t2"), call("t3"))]


def short(step: steps.NextStep) -> str:
    """A step in one line, without its notes."""
    kind = type(step).__name__
    match step:
        case steps.RunTools() | steps.AskApproval() | steps.CloseCalls():
            return " ".join([kind, *(one.call_id for one in step.calls)])
        case steps.Deliver():
            return " ".join([kind, *step.messages, *["begins"] * step.begins_turn])
        case steps.Compact():
            wishes = step.wishes
            said = (wishes.instructions, wishes.up_to, wishes.from_)
            return " ".join([kind, step.trigger, *filter(None, said)])
        case steps.CallModel() | steps.Settle() | steps.DropAttempt():
            return f"{kind} {step[0]}".removesuffix(" None")
        case steps.EndTurn() | steps.Pause():
            return f"{kind} {step.reason}"
        case _:
            return kind


def delivered(name: str) -> list[said.Event]:
    left = said.QueueLeft(message_id=name, how="delivered")
    return [left, said.MessageAdded(message=user(name))]


def compacted(trigger: Any = "asked") -> list[said.Event]:
    begin = said.CompactionStarted(compaction="x", trigger=trigger)
    return [begin, said.CompactionCommitted(compaction="x")]


def rolled_back(rung: str = "") -> list[said.Event]:
    begin = said.CompactionStarted(compaction="y", trigger="asked")
    return [begin, said.CompactionRolledBack(compaction="y", reason="none", rung=rung)]


PRUNED = said.Pruned(parts=("p",))
ASKS_COMPACTION = said.CompactAsked(instructions="short")
ASKS_FROM = said.CompactAsked(from_="m")
LATER = queued("later", "follow_up")
CANCEL = said.CancelAsked()

AT_REST: dict[str, Row] = {
    "nothing was said": ([], {}, "Rest"),
    "steers come first, one by one": (
        [LATER, queued("now"), queued("also")],
        {},
        "Deliver now begins",
    ),
    "the next steer joins": (
        [LATER, queued("also"), said.TurnStarted(turn="t")],
        {},
        "Deliver also",
    ),
    "a follow-up waits": ([TURN, LATER], {}, "CallModel"),
    "to the end": ([TURN, LATER, DONE], {}, "EndTurn finished"),
    "and begins a turn": ([TURN, LATER, DONE, ended()], {}, "Deliver later begins"),
    "a compaction precedes": ([queued("m"), ASKS_COMPACTION], {}, "Compact asked short"),
    "one from a message waits": ([TURN, ASKS_FROM], {}, "CallModel"),
    "others don't answer it": (
        [TURN, ASKS_FROM, PRUNED, compacted("point"), DONE, ended()],
        {},
        "Compact asked m",
    ),
    "its own does": (
        [TURN, ASKS_FROM, DONE, ended(), rolled_back()],
        {},
        "Rest",
    ),
    "tried once: rolled back": ([ASKS_COMPACTION, rolled_back()], {}, "Rest"),
    "tried once: committed": ([ASKS_COMPACTION, compacted()], {}, "Rest"),
    "tried once: pruned": ([ASKS_COMPACTION, PRUNED], {}, "Rest"),
    "it starts no call": ([TURN, DONE, ended(), compacted()], {}, "Rest"),
    "nor does a rewind": ([TURN, DONE, ended(), said.Rewound(to="ask")], {}, "Rest"),
}

ORDER: dict[str, Row] = {
    "what is said is answered": (TURN, {}, "CallModel"),
    "calls run at once": (TWO, {}, "RunTools t1 t2"),
    "until all results are there": ([TWO, ran("t2")], {}, "RunTools t1"),
    "then the model": ([TWO, ran("t2"), ran("t1")], {}, "CallModel"),
    "steers wait for results": (
        [TWO, queued("a"), queued("b"), ran("t1")],
        {},
        "RunTools t2",
    ),
    "and go together": (
        [TWO, queued("a"), queued("b"), ran("t1"), ran("t2")],
        {},
        "Deliver a b",
    ),
    "a steer with the last answer": ([TURN, DONE, queued("m")], {}, "Deliver m"),
    "keeps the turn": ([TURN, DONE, queued("m"), delivered("m")], {}, "CallModel"),
    "empty after tools": ([ONE, ran(), answered(call="c2")], {}, "EndTurn finished"),
    "a paused answer goes back first": (
        [TURN, answered(HELLO, stop="paused"), queued("m")],
        {},
        "CallModel",
    ),
    "then steers": (
        [TURN, answered(HELLO, stop="paused"), queued("m"), answered(HELLO, call="c2")],
        {},
        "Deliver m",
    ),
    "a pause without content": ([TURN, answered(stop="paused")], {}, "EndTurn finished"),
    **{
        f"calls run at {stop}": ([TURN, answered(call(), stop=stop)], {}, "RunTools t1")
        for stop in ("stop", "tool_calls", "paused", "other", "")
    },
    **{
        f"a text ends at {stop}": (
            [TURN, answered(HELLO, stop=stop)],
            {},
            f"EndTurn {why}",
        )
        for stop, why in (
            ("stop", "finished"),
            ("tool_calls", "finished"),
            ("other", "finished"),
            ("", "finished"),
            ("length", "length"),
            ("context_full", "length"),
            ("refused", "refused"),
        )
    },
    "alone: none": (THREE, {}, "RunTools t1 t2 t3"),
    "alone: the first": (THREE, {"sequential": {"t1"}}, "RunTools t1"),
    "alone: the second": (THREE, {"sequential": {"t2"}}, "RunTools t1"),
    "alone: its turn": ([THREE, ran("t1")], {"sequential": {"t2"}}, "RunTools t2"),
    "alone: over": (
        [THREE, ran("t1"), ran("t2")],
        {"sequential": {"t2"}},
        "RunTools t3",
    ),
    "alone: the third": (THREE, {"sequential": {"t3"}}, "RunTools t1 t2"),
}

IN_ORDER = LoopRules(sequential_tools=True)
DIGEST = digest_of("read", "{}")
NEEDS = {"needs_approval": frozenset({"t1"})}
ASKED = [ONE, said.ApprovalAsked(call_id="t1", digest=DIGEST)]
WAITING = [ASKED, said.TurnPaused(turn="turn-1", reason="approval")]
YES = said.ApprovalGiven(call_id="t1", approved=True, digest=DIGEST)
OTHER = said.ApprovalGiven(
    call_id="t1", approved=True, digest=digest_of("read", '{"path": "b"}')
)
BARE = said.ApprovalGiven(call_id="t1", approved=True)
ASKS_T1 = said.ApprovalAsked(call_id="t1")
ASKS_T2 = said.ApprovalAsked(call_id="t2")
CUT = [WAITING, YES, started(idempotent=True)]

APPROVALS: dict[str, Row] = {
    "one after the other": (THREE, {"rules": IN_ORDER}, "RunTools t1"),
    "and the next": ([THREE, ran("t1")], {"rules": IN_ORDER}, "RunTools t2"),
    "a question holds the others": (
        [THREE, ASKS_T1],
        {"rules": IN_ORDER},
        "Pause approval",
    ),
    "where they have an order": ([THREE, ASKS_T1], {}, "RunTools t2 t3"),
    "asked for": (THREE, {"needs_approval": {"t2"}}, "AskApproval t2"),
    "others meanwhile": ([THREE, ASKS_T2], {}, "RunTools t1 t3"),
    "then a pause": ([THREE, ASKS_T2, ran("t1"), ran("t3")], {}, "Pause approval"),
    "a waiting turn rests": ([WAITING, queued("m")], {}, "Rest"),
    "a yes": ([WAITING, YES], NEEDS, "RunTools t1"),
    "of another digest": ([ASKED, OTHER], NEEDS, "Pause approval"),
    "without a digest": ([WAITING, BARE], NEEDS, "AskApproval t1"),
    "that needs none any more": ([WAITING, BARE], {}, "RunTools t1"),
    "that was not asked for": ([ONE, BARE], NEEDS, "AskApproval t1"),
    "resumed": ([WAITING, said.TurnResumed(turn="turn-1")], {}, "Pause approval"),
    "cut by a crash, may run twice": (
        [CUT, said.ToolEnded(call_id="t1", outcome="unknown")],
        NEEDS,
        "RunTools t1",
    ),
}

NONE = {"rules": LoopRules(drop_retries=0)}
ONCE = {"rules": LoopRules(drop_retries=1)}
LAST = {"rules": LoopRules(max_steps=1)}
BROKEN = [TURN, dropped(HELLO)]
TWICE = [BROKEN, said.Rewound(to="ask"), dropped(HELLO, call="c2")]
CUT_ONCE = [TURN, answered(call("t1"), stop="length"), result("t1")]
CUT_TWICE = [CUT_ONCE, answered(call("t2"), stop="length", call="c2"), result("t2")]
WITHHELD = [TURN, answered(call("t1"), stop="refused"), result("t1")]
BROKEN_CALL = [TURN, dropped(call("t1"))]
NEXT_TURN = [BROKEN, ended("dropped"), begun("next", "turn-2")]

NOT_WHOLE: dict[str, Row] = {
    **{
        f"calls at {stop}": ([TURN, answered(call(), stop=stop)], {}, "CloseCalls t1")
        for stop in ("length", "context_full", "refused")
    },
    "cut calls: once more": (CUT_ONCE, {}, "CallModel"),
    "cut calls: and no more": (CUT_TWICE, {}, "EndTurn length"),
    "withheld": (WITHHELD, {}, "EndTurn refused"),
    "withheld, steered": ([WITHHELD, queued("m")], {}, "Deliver m"),
    "withheld, delivered": ([WITHHELD, queued("m"), delivered("m")], {}, "CallModel"),
    "broken off": (BROKEN, {}, "DropAttempt c1.answer"),
    "taken back": ([BROKEN, said.Rewound(to="ask")], {}, "CallModel"),
    "with its calls": (BROKEN_CALL, {}, "DropAttempt c1.answer"),
    "and back": ([BROKEN_CALL, said.Rewound(to="ask")], {}, "CallModel"),
    "before it began": ([TURN, dropped()], {}, "CallModel"),
    "too often": (TWICE, ONCE, "EndTurn dropped"),
    "often enough": (TWICE, {}, "DropAttempt c2.answer"),
    "its calls are closed": (BROKEN_CALL, NONE, "CloseCalls t1"),
    "before the end": ([BROKEN_CALL, result("t1")], NONE, "EndTurn dropped"),
    "the next turn": (NEXT_TURN, NONE, "CallModel"),
    "a retry is a step": ([TURN, dropped()], LAST, "EndTurn max_steps"),
    "and a call": (
        [TURN, dropped()],
        {"rules": LoopRules(budget=Budget(calls=1))},
        "Pause budget",
    ),
    "at the last step": (BROKEN_CALL, LAST, "CloseCalls t1"),
    "it stays": ([BROKEN_CALL, result("t1")], LAST, "EndTurn max_steps"),
}


def repeated(times: int, arguments: str = "{}") -> list[Any]:
    """The same call so many times, each but the last with its result."""
    found: list[Any] = []
    for number in range(times):
        one = call(f"t{number}", arguments=arguments)
        found += [answered(one, call=f"c{number}"), ran(f"t{number}")]
    return found[:-1]


def cycled(names: str) -> list[Any]:
    """Answers that call these tools one after the other, each but the last with its result."""
    found: list[Any] = []
    for number, name in enumerate(names):
        id = f"t{number}"
        found += [answered(call(id, tool=name), call=f"c{number}"), ran(id)]
    return found[:-1]


THRICE = {"rules": LoopRules(max_repeats=3)}
REPEATS = {"rules": LoopRules(max_repeats=2)}
ELSE = answered(call("x", arguments='{"page":2}'), call="cx")
LOOPED = [TURN, repeated(2), result("t1"), ended("loop"), begun("go on", "turn-2")]
DROPPED_CALL = [BROKEN_CALL, said.Rewound(to="ask"), answered(call("t2"), call="c2")]
ONE_CALL = {"rules": LoopRules(budget=Budget(calls=1))}
TWO_CALLS = {"rules": LoopRules(budget=Budget(calls=2))}
CHILD = said.CallEnded(call="child:c1", purpose="child", usage=Usage(input=500))
PAUSED = [ONE, ran(), said.TurnPaused(turn="turn-1", reason="budget")]
MORE = said.SettingsChanged(settings={"budget": {"calls": 2}})
FAILED = [
    TURN,
    failed("BadKey"),
    said.TurnPaused(turn="turn-1", reason="failed"),
]

LIMITS: dict[str, Row] = {
    "text at the last step": ([TURN, DONE, queued("m")], LAST, "EndTurn finished"),
    "twice the same": ([TURN, repeated(2)], THRICE, "RunTools t1"),
    "three times": ([TURN, repeated(3)], THRICE, "CloseCalls t2"),
    "end of a loop": ([TURN, repeated(3), result("t2")], THRICE, "EndTurn loop"),
    **{
        f"almost {cycle}": (
            [TURN, cycled((cycle * 3)[:-1])],
            THRICE,
            f"RunTools t{3 * len(cycle) - 2}",
        )
        for cycle in ("AB", "ABC", "AAB")
    },
    **{
        f"no loop {names}": ([TURN, cycled(names)], THRICE, f"RunTools t{len(names) - 1}")
        for names in ("ABACABACABAC", "ABCDABCDABCD", "ABABCABABCABABC")
    },
    "other arguments": ([TURN, repeated(1), result("t0"), ELSE], REPEATS, "RunTools x"),
    "a turn after a loop": (
        [LOOPED, answered(call("x"), call="cx")],
        REPEATS,
        "RunTools x",
    ),
    "a broken answer between": (DROPPED_CALL, REPEATS, "RunTools t2"),
    "a child's call counts": (
        [ONE, started(), CHILD, result("t1")],
        TWO_CALLS,
        "Pause budget",
    ),
    "budget left": ([ONE, ran()], TWO_CALLS, "CallModel"),
    "paused": (PAUSED, ONE_CALL, "Rest"),
    "and steered": ([PAUSED, queued("m")], ONE_CALL, "Rest"),
    "resumed": ([PAUSED, said.TurnResumed(turn="turn-1")], ONE_CALL, "CallModel"),
    "another turn resumed": ([PAUSED, said.TurnResumed(turn="turn-0")], {}, "Rest"),
    "more budget": ([PAUSED, MORE], TWO_CALLS, "CallModel"),
    "too little": ([PAUSED, MORE], ONE_CALL, "Pause budget"),
    "another setting": (
        [PAUSED, said.SettingsChanged(settings={"max_output": 9})],
        ONE_CALL,
        "Rest",
    ),
    **{
        f"failed by {kind}": ([TURN, failed(kind)], {}, "Pause failed")
        for kind in ("BadKey", "RateLimited", "ServerError", "RequestRejected", "")
    },
    "failed beside a steer": (
        [TURN, queued("m"), failed("ServerError")],
        {},
        "Pause failed",
    ),
    "resumed after a failure": (
        [FAILED, said.TurnResumed(turn="turn-1")],
        {},
        "CallModel",
    ),
    "another model": ([FAILED, said.ModelChanged(model="other")], {}, "CallModel"),
    "a steer": ([FAILED, queued("m")], {}, "Deliver m"),
    "a follow-up": ([FAILED, LATER], {}, "CallModel"),
    "a session's budget": (
        [FAILED, said.SettingsChanged(settings={"session_budget": {"calls": 9}})],
        {},
        "Rest",
    ),
    "a compaction": ([FAILED, said.CompactAsked()], {}, "Rest"),
}

MAY = {"may_compact": True}
TOO_LARGE = [TURN, failed("Overflow")]
CURED = compacted("overflow")


def roomed(may: bool, **room: Any) -> dict[str, Any]:
    return {"room": Headroom(**room), "may_compact": may}


SIZE: dict[str, Row] = {
    "refused for size": (TOO_LARGE, MAY, "Compact overflow"),
    "cured by a compaction": ([TOO_LARGE, CURED], {}, "CallModel"),
    "cured by a prune": ([TOO_LARGE, PRUNED], {}, "CallModel"),
    "an answer forgets refusals": (
        [TOO_LARGE, CURED, answered(call(), call="c2"), ran(), failed("Overflow", "c3")],
        roomed(True, input_limit=9),
        "Compact overflow",
    ),
    **{
        f"room {number}": (TURN, situation, step)
        for number, (situation, step) in enumerate(
            (
                (roomed(True, high=79, input_limit=100), "CallModel"),
                (roomed(True, high=80, is_due=True, input_limit=100), "Compact point"),
                (roomed(False, high=80, is_due=True, input_limit=100), "CallModel"),
                (roomed(True, high=100, input_limit=100), "CallModel"),
                (roomed(True, high=101, input_limit=100), "Compact limit"),
                (roomed(True, high=101, confirmed=100, input_limit=100), "Compact limit"),
                (roomed(False, high=101, confirmed=100, input_limit=100), "CallModel"),
                (roomed(True, high=10**9), "CallModel"),
                (roomed(True, high=1, is_over_request=True), "Compact limit"),
                (roomed(False, high=1, is_over_request=True), "CallModel"),
                (roomed(False, high=70, window=100, max_output=30), "CallModel"),
                (roomed(False, high=70, window=100, max_output=31), "CallModel 30"),
                (roomed(False, high=120, window=100, max_output=31), "CallModel 1"),
                (
                    roomed(
                        False,
                        high=120,
                        confirmed=70,
                        window=100,
                        input_limit=90,
                        max_output=31,
                    ),
                    "CallModel 30",
                ),
            )
        )
    },
    "asked for in a turn": ([ONE, ASKS_COMPACTION, queued("m")], {}, "RunTools t1"),
    "behind steers": ([ONE, ASKS_COMPACTION, queued("m"), ran()], {}, "Deliver m"),
    "before the next call": (
        [ONE, ASKS_COMPACTION, queued("m"), ran(), delivered("m")],
        {},
        "Compact asked short",
    ),
    "once": (
        [ONE, ASKS_COMPACTION, queued("m"), ran(), delivered("m"), compacted()],
        {},
        "CallModel",
    ),
    "with the last answer": ([TURN, DONE, ASKS_COMPACTION], {}, "EndTurn finished"),
    "after the end": ([TURN, DONE, ASKS_COMPACTION, ended()], {}, "Compact asked short"),
}

UNDER_WAY: dict[str, list[Any]] = {
    "a call": [TURN, said.CallStarted(call="c1")],
    "a tool": [ONE, started()],
    "a compaction": [TURN, said.CompactionStarted(compaction="x", trigger="point")],
    "a compaction at rest": [said.CompactionStarted(compaction="x", trigger="asked")],
    "a summary": [said.CallStarted(call="s1", purpose="summary")],
    "a rung of a compaction": rolled_back("summary"),
}
AT_PEACE: tuple[list[Any], ...] = ([], [queued("one")], TURN, WAITING, PAUSED, FAILED)
STOPPED = [CANCEL, said.Cancelled()]

SETTLED: dict[str, Row] = {
    **{
        f"{n} crashed": ([e, queued("m")], {}, "Settle crash")
        for n, e in UNDER_WAY.items()
    },
    **{
        f"{n} cancelled": ([e, CANCEL], {}, "Settle cancel") for n, e in UNDER_WAY.items()
    },
    **{
        f"{n}, cancel": ([e, CANCEL], {}, "Settle cancel") for n, e in enumerate(AT_PEACE)
    },
    "answered at rest": (STOPPED, {}, "Rest"),
    "what it leaves": (
        [TURN, LATER, STOPPED, ended("cancelled")],
        {},
        "Deliver later begins",
    ),
    "as the turn ends": ([TURN, DONE, LATER, CANCEL, ended()], {}, "Settle cancel"),
}


@pytest.mark.parametrize(
    "rows",
    [AT_REST, ORDER, APPROVALS, NOT_WHOLE, LIMITS, SIZE, SETTLED],
    ids=list("ABCDEFG"),
)
def test_a_story_leads_to_its_step(rows: dict[str, Row]) -> None:
    for name, (story, situation, expected) in rows.items():
        assert short(step_after(story, **situation)) == expected, name


@pytest.mark.parametrize("events", [ONE, WAITING, PAUSED, FAILED, [TURN, CHILD]])
def test_waiting_turns_have_nothing_to_settle(events: list[Any]) -> None:
    assert not fold(events).is_abandoned


# -- notes --


def ends(step: steps.NextStep) -> steps.EndTurn:
    assert isinstance(step, steps.EndTurn), step
    return step


def closes(step: steps.NextStep) -> steps.CloseCalls:
    assert isinstance(step, steps.CloseCalls), step
    return step


def test_notes_say_why_a_turn_ends_or_pauses() -> None:
    assert ends(step_after(TURN, answered())).note == "The answer was empty."
    assert step_after(TURN, failed("")) == steps.Pause("failed", "It failed.")
    asked = step_after(THREE, ASKS_T2, ran("t1"), ran("t3"))
    assert asked == steps.Pause("approval", "Needs a person's approval: read.")
    last = ends(step_after(ONE, result("t1"), **LAST))
    assert last == steps.EndTurn("max_steps", "1 steps were made.")
    stuck = step_after(TURN, room=Headroom(high=9, input_limit=8), is_stuck="Too much.")
    assert stuck == steps.EndTurn("too_large", "Too much.")
    own = ends(step_after(TURN, room=Headroom(high=1_234, input_limit=1_000)))
    assert own.reason == "too_large" and "1,234" in own.note and "1,000" in own.note
    assert MOST_CUTS == 2


@pytest.mark.parametrize("kind", ["Overflow", "BodyTooLarge"])
def test_a_refusal_for_size_without_cure_ends_the_turn_with_a_reason(kind: str) -> None:
    stuck = step_after(TURN, failed(kind), is_stuck="The request alone is 9.")
    assert stuck == steps.EndTurn("too_large", "The request alone is 9.")
    assert step_after(TURN, failed(kind)) == steps.EndTurn("too_large", "It failed.")


def test_without_a_strategy_the_end_says_that_nothing_is_compacted() -> None:
    """By our own count before the call, and where the provider refuses the request."""
    rules = LoopRules(has_strategies=False)
    room = Headroom(high=1_234, input_limit=1_000)
    own = ends(step_after(TURN, room=room, rules=rules))
    refused = ends(step_after(TOO_LARGE, rules=rules))
    for step in (own, refused):
        assert step.reason == "too_large" and step.note.endswith(NOOP)
    assert refused.note.startswith("It failed.")


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
    known = roomed(True, input_limit=limit)
    turn = [TURN, *[[failed(kind), CURED]] * (most - 1), failed(kind)]
    assert step_after(turn, **known) == steps.Compact("overflow")
    assert ends(step_after(turn, CURED, failed(kind), **known)).reason == "too_large"


def test_a_call_without_anybody_to_ask_differs_from_a_refused_one() -> None:
    no = said.ApprovalGiven(call_id="t1", approved=False, note="Too late.")
    nobody = said.ApprovalGiven(call_id="t2", approved=False, by="nobody")
    story = [TWO, ASKS_T1, ASKS_T2, no, nobody]
    first = closes(step_after(story))
    assert (short(first), first.why) == ("CloseCalls t1", DENIED_BY_A_PERSON)
    assert (first.outcome, first.calls[0].note) == ("denied", "Too late.")
    second = closes(step_after(story, closed(first.calls, first.outcome, first.why)))
    assert (short(second), second.why) == ("CloseCalls t2", NOBODY_COULD_BE_ASKED)


@pytest.mark.parametrize("parts", [(HELLO,), ()])
def test_an_answer_stopped_at_a_limit_is_not_repeated(parts: Any) -> None:
    begin, end, *message = dropped(*parts)
    assert isinstance(end, said.CallEnded)
    stopped = replace(end, error="Too long.", error_kind="LimitExceeded")
    found = step_after(TURN, [begin, stopped, *message])
    assert found == steps.EndTurn("dropped", "Too long.")


def test_calls_that_are_not_run_are_told_why() -> None:
    last = closes(step_after(ONE, **LAST))
    assert last.outcome == "not_started" and "1 steps" in last.why
    assert (
        closes(step_after(TURN, answered(call(), stop="length"))).outcome == "not_started"
    )
    for cycle in ("AB", "ABC", "AAB"):
        why = closes(step_after(TURN, cycled(cycle * 3), **THRICE)).why
        assert why == (
            f"Not run: the same {len(cycle)} calls were made 3 times one after the other with the same arguments."
        )
        last_result = result(f"t{3 * len(cycle) - 1}")
        over = step_after(TURN, cycled(cycle * 3), last_result, **THRICE)
        assert short(over) == "EndTurn loop"


def test_models_follow_each_other_in_their_order_and_then_the_turn_waits() -> None:
    rules = LoopRules(fallback=("one", "two"))
    story: list[Any] = [TURN, failed("Overloaded")]
    for model in rules.fallback:
        step = step_after(story, rules=rules)
        assert step == steps.FallBack(model, "It failed.")
        story += [said.FellBack(turn="t", model=model), failed("Overloaded")]
    assert short(step_after(story, rules=rules)) == "Pause failed"


@pytest.mark.parametrize("also", [(), (queued("steer"),)], ids=["alone", "steered"])
def test_an_answer_by_a_tool_at_the_limit_of_steps_is_a_finished_turn(also: Any) -> None:
    given = {**LAST, "answers": frozenset({"t2"})}
    assert short(step_after(TWO, answers=given["answers"])) == "RunTools t2"
    assert short(step_after(TWO, **given)) == "CloseCalls t1"
    assert short(step_after(TWO, result("t1"), **given)) == "RunTools t2"
    end = said.ToolEnded(call_id="t2", is_answer=True)
    taken = [started("t2"), end, result("t2")]
    assert ends(step_after(TWO, result("t1"), taken, also, **LAST)).reason == "finished"


@pytest.mark.parametrize(
    ("budget", "more", "note"),
    [
        (Budget(calls=1), {}, "1 of 1 model calls are made."),
        (
            Budget(tokens=110),
            {"used": BudgetUse(tokens=110)},
            "110 of 110 tokens are used.",
        ),
        (Budget(usd=0.5), {"used": BudgetUse(usd=0.75)}, "$0.75 of $0.50 are spent."),
        (Budget(seconds=60), {"elapsed_s": 61.0}, "61 of 60 seconds are over."),
    ],
)
def test_a_budget_that_is_used_up_pauses_before_the_next_call(
    budget: Budget, more: dict[str, Any], note: str
) -> None:
    rules = LoopRules(budget=budget)
    assert short(step_after(ONE, rules=rules, **more)) == "RunTools t1"
    step = step_after(ONE, ran(), rules=rules, **more)
    assert isinstance(step, steps.Pause) and step.reason == "budget"
    assert step.note.startswith(note) and "Resume the turn" in step.note
