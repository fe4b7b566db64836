from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.meter.session import said, usage
from ullage import Meter
from ullage.encoding import decode_event, encode
from ullage.events import (
    CallEnded,
    CallStarted,
    Event,
    FirstCall,
    MessageAdded,
    OverheadLearnt,
    RequestPart,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
)
from ullage.messages import SystemBlock, Tool
from ullage.meter.overhead import kept, learnt_overhead
from ullage.meter.policy import FIRST_CALLS_KEPT
from ullage.meter.reading import Reading, Row
from ullage.meter.shares import UNLOGGED

PROGRAM = "barrel-code 2.1.197"
SYSTEM = SystemChanged(system=(SystemBlock(text="Keep the rules of the cellar. " * 90),))
SKILLS = SystemChanged(
    system=(SystemBlock(text="- weigh: weighs a cask\n" * 80, kind="skills"),),
    is_part=True,
)
NAMES = ToolsChanged(tools=(Tool(name="look", deferred=True),), is_part=True)
TOOLS = ToolsChanged(tools=(Tool(name="weigh", description="Weighs a cask. " * 60),))


def begun(
    name: str,
    *,
    at: float,
    program: str = PROGRAM,
    model: str = "claude-sonnet-4-5",
    cwd: str = "/cellar",
    partial: bool = False,
    known: Sequence[Event] = (),
    words: str = "Which cask is full?",
    unlogged: tuple[RequestPart, ...] = ("system", "tools"),
) -> list[Event]:
    """The events of a session before its first call."""
    started = SessionStarted(
        session=name,
        at=at,
        model=model,
        wire="messages",
        provider="anthropic",
        program=program,
        cwd=cwd,
        partial=partial,
        unlogged=unlogged,
    )
    return [started, *known, MessageAdded(message=said(f"{name}-u", words), at=at)]


def called(events: list[Event], reported: int, name: str = "c1") -> list[Event]:
    """These events, and a first call whose input was reported."""
    at = events[0].at
    start = CallStarted(call=name, at=at + 1)
    return [*events, start, CallEnded(call=name, usage=usage(reported, 20), at=at + 2)]


def folded(events: Sequence[Event], overhead: Sequence[FirstCall] = ()) -> Meter:
    meter = Meter(overhead=overhead)
    for event in events:
        meter.apply(event)
    return meter


def taught(name: str, *, at: float, reported: int = 30_000, **about: Any) -> FirstCall:
    call = folded(called(begun(name, at=at, **about), reported)).first_call
    assert call is not None
    return call


def foretold(overhead: Sequence[FirstCall], **about: Any) -> Reading:
    return folded(begun("now", at=9_000, **about), overhead).reading()


def row_of(reading: Reading) -> Row:
    return next(row for row in reading.rows if row.name == UNLOGGED)


# -- a second session --


def test_a_second_session_of_a_program_is_expected_to_hold_what_the_first_held() -> None:
    words = "Describe at length what a cellar master does. " * 20
    before, reading = (
        foretold([], words=words),
        foretold([taught("a", at=1)], words=words),
    )
    new = before.used.tokens - foretold([]).used.tokens
    assert before.used.high < 2_500
    assert abs(reading.used.tokens - (30_000 + new)) < 0.003 * 30_000
    assert reading.used.low <= 30_000 + new <= reading.used.high
    assert row_of(reading).note == "as in 1 earlier session of barrel-code 2.1.197"
    assert not any("lower bound" in note for note in reading.notes)


def test_what_is_not_in_the_log_has_its_row_before_the_first_report() -> None:
    reading = foretold([taught("a", at=1), taught("b", at=2)])
    row = row_of(reading)
    assert row.note == "as in 2 earlier sessions of barrel-code 2.1.197"
    assert row.source == "estimated"
    assert 29_900 < row.tokens < 30_000
    assert sum(row.tokens for row in reading.rows if row.summed) == reading.used.tokens
    assert all(row.tokens >= 0 for row in reading.rows)


def test_messages_before_the_first_report_are_as_sure_as_their_content() -> None:
    reading = foretold([taught("a", at=1), taught("b", at=2)])
    messages = reading.rows[-1]
    assert (messages.high or 0) - (messages.low or 0) <= 12
    assert [row.name for row in messages.children] == ["You"]


def test_a_report_says_what_the_log_lacks_as_surely_as_the_content_is_known() -> None:
    row = row_of(folded(called(begun("now", at=9_000), 31_000)).reading())
    assert row.source == "by_difference"
    assert 30_900 < (row.low or 0) < row.tokens < (row.high or 0) < 31_100


def test_a_logged_system_prompt_is_not_named_among_what_the_log_lacks() -> None:
    events = called(begun("now", at=9_000, unlogged=("tools",)), 31_000)
    row = row_of(folded(events).reading())
    assert row.note == "tools and what else the first request held"


def test_the_report_of_the_first_call_takes_the_place_of_what_was_learnt() -> None:
    overhead = [taught("a", at=1)]
    events = called(begun("now", at=9_000), 31_000)
    with_it, without = folded(events, overhead), folded(events)
    assert with_it.reading().used == without.reading().used
    assert with_it.reading().rows == without.reading().rows
    assert with_it.first_call == without.first_call
    assert with_it.steps[0].estimated > 29_900


def test_what_was_learnt_enters_as_an_event_as_well() -> None:
    overhead = (taught("a", at=1), taught("b", at=2))
    events = begun("now", at=9_000)
    event = OverheadLearnt(calls=overhead)
    stored = decode_event(encode(event))
    assert stored == event
    meter = folded([events[0], stored, *events[1:]])
    assert meter.reading().used == foretold(overhead).used


# -- which sessions count --


def test_a_session_learns_neither_from_itself_nor_from_what_came_after_it() -> None:
    own = folded(called(begun("now", at=9_000), 30_000)).first_call
    assert own is not None
    later, copied = taught("b", at=9_500), msgspec.structs.replace(own, session="copy")
    assert foretold([own, later, copied]).used == foretold([]).used


def test_a_copy_of_a_log_is_the_same_first_call() -> None:
    def of(name: str, at: float) -> str:
        events = called(begun("a", at=at), 30_000)
        moved = [
            msgspec.structs.replace(event, session=name, at=min(at, event.at))
            for event in events
        ]
        call = folded(moved).first_call
        assert call is not None
        return call.id

    assert of("a", 5) == of("fork of a", 5)
    assert of("a", 0) != of("b", 0)  # without times the sessions tell them apart


@pytest.mark.parametrize(
    "about", [{"program": "codex 0.169.0"}, {"program": "barrel-code-like 1"}]
)
def test_another_program_teaches_nothing(about: dict[str, Any]) -> None:
    assert foretold([taught("a", at=1, **about)]).used == foretold([]).used


@pytest.mark.parametrize("known", [(SYSTEM,), (SKILLS,), (SKILLS, NAMES)])
def test_what_one_log_holds_and_another_lacks_is_taken_off(
    known: tuple[Event, ...],
) -> None:
    bare, listed = taught("a", at=1), taught("b", at=1, known=known)
    assert bare.unlogged == "system+tools"
    assert listed.tokens < bare.tokens - 400
    assert abs(foretold([listed]).used.tokens - 30_000) < 20
    assert abs(foretold([bare], known=known).used.tokens - 30_000) < 20
    row = row_of(foretold([bare], known=known))
    assert abs(row.tokens - listed.tokens) < 20


def test_what_a_log_lacks_is_said_and_not_told_from_what_it_holds() -> None:
    parts = folded(begun("now", at=1, known=(SKILLS, NAMES))).reading()
    assert "System prompt and tools are not in the log" in parts.notes[0]
    whole = folded(begun("now", at=1, known=(SKILLS, NAMES, SYSTEM, TOOLS))).reading()
    assert not any("not in the log" in note for note in whole.notes)
    agent = Meter()
    agent.apply(SessionStarted(session="own", model="claude-sonnet-4-5"))
    assert not any("not in the log" in note for note in agent.reading().notes)


def test_a_log_that_begins_in_the_middle_neither_teaches_nor_learns() -> None:
    events = called(begun("now", at=9_000, partial=True), 90_000)
    meter = folded(events, [taught("a", at=1)])
    assert meter.first_call is None
    assert meter.steps[0].estimated < 100


def test_another_version_directory_and_model_widen_the_interval_in_this_order() -> None:
    widths = []
    abouts: tuple[dict[str, Any], ...] = (
        {},
        {"program": "barrel-code 2.1.180"},
        {"cwd": "/press"},
        {"model": "claude-opus-4-6"},
    )
    for about in abouts:
        used = foretold([taught("a", at=1, **about)]).used
        assert used.low < 30_000 < used.high
        widths.append(used.tokens - used.low)
    assert widths == sorted(widths)
    assert len(set(widths)) == len(widths)


def test_a_log_without_a_model_is_taken_to_be_of_the_last_sessions_model() -> None:
    old = [taught(f"o{n}", at=n + 1.0, model="claude-opus-4-6") for n in range(3)]
    new = [taught(f"n{n}", at=n + 10.0, reported=36_000) for n in range(3)]
    reading = foretold([*old, *new], model="")
    assert abs(reading.used.tokens - 36_000) < 100
    assert row_of(reading).note == "as in 6 earlier sessions of barrel-code 2.1.197"
    assert reading.used.low <= 30_000


def test_the_nearest_sessions_are_asked_first() -> None:
    elsewhere = [taught(f"e{n}", at=n + 1.0, cwd="/press") for n in range(4)]
    here = taught("h", at=0.5, reported=34_000)
    reading = foretold([*elsewhere, here])
    assert abs(reading.used.tokens - 34_000) < 50
    assert "in another directory" not in row_of(reading).note
    assert "in another directory" in row_of(foretold(elsewhere)).note


def test_the_last_sessions_count_and_a_change_is_followed_after_two() -> None:
    old = [taught(f"o{n}", at=n + 1.0) for n in range(5)]
    new = [taught(f"n{n}", at=n + 10.0, reported=36_000) for n in range(2)]
    assert abs(foretold([*old, new[0]]).used.tokens - 30_000) < 50
    reading = foretold([*old, *new])
    assert abs(reading.used.tokens - 36_000) < 50
    assert (
        reading.used.low <= 30_000
    )  # what was usual until then is not out of the question


# -- reports that are not true --


def test_one_false_report_moves_nothing_once_three_sessions_are_known() -> None:
    honest = [taught(f"h{n}", at=n + 1.0) for n in range(2)]
    false = taught("f", at=5, reported=95_000)
    assert foretold([*honest, false]).used == foretold([*honest, taught("g", at=5)]).used


def test_a_first_false_report_is_not_believed_against_other_sessions() -> None:
    elsewhere = [taught(f"e{n}", at=n + 1.0, cwd="/press") for n in range(2)]
    false = taught("f", at=5, reported=95_000)
    assert abs(foretold([*elsewhere, false]).used.tokens - 30_000) < 50


@pytest.mark.parametrize("reported", [14_800_000, 190_000, 3])
def test_a_report_that_can_not_be_of_a_first_call_teaches_nothing(reported: int) -> None:
    words = "Describe at length what a cellar master does. " * 20
    meter = folded(called(begun("a", at=1, words=words), reported))
    assert meter.first_call is None


@given(st.lists(st.integers(0, 400_000), max_size=6))
def test_no_earlier_sessions_alone_start_a_compaction(reports: list[int]) -> None:
    known = [folded(called(begun(f"s{n}", at=n + 1), reported, f"c{n}")).first_call
             for n, reported in enumerate(reports)]  # fmt: skip
    reading = foretold([call for call in known if call is not None])
    assert 0 <= reading.used.low <= reading.used.tokens <= reading.used.high
    assert sum(row.tokens for row in reading.rows if row.summed) == reading.used.tokens
    assert reading.used.tokens <= 0.5 * 200_000 + 100


@pytest.mark.parametrize("logged", [10**400, 10**30, 400_000, -400_000])
def test_what_a_log_is_said_to_have_held_is_held_to_the_same_bounds(logged: int) -> None:
    honest = taught("a", at=1)
    mad = msgspec.structs.replace(
        honest, id="b", session="b", at=2, logged={"skills": logged}
    )
    assert foretold([mad, honest]).used == foretold([honest]).used


def test_an_event_that_somebody_else_wrote_is_held_to_the_same_bounds() -> None:
    honest = taught("a", at=1)
    mad = [
        msgspec.structs.replace(honest, id=f"{n}", session=f"{n}", tokens=tokens, at=n)
        for n, tokens in enumerate([10**15, -(10**15), 150_000] * 1_000, 2)
    ]
    events = begun("now", at=9_000)
    event = OverheadLearnt(calls=(*mad, honest))
    reading = folded([events[0], event, *events[1:]]).reading()
    assert reading.used == foretold([]).used
    event = OverheadLearnt(calls=(honest, *mad[:3]))
    reading = folded([events[0], event, *events[1:]]).reading()
    assert reading.used == foretold([honest]).used


# -- an agent whose system prompt and tools are known --


def test_an_agents_unchanged_content_costs_what_its_last_session_showed() -> None:
    known = (SYSTEM, TOOLS)
    bare = folded(begun("now", at=9_000, known=known)).reading()
    reported = round(0.82 * bare.used.tokens)
    first = folded(called(begun("a", at=1, known=known), reported)).first_call
    assert first is not None
    reading = folded(begun("now", at=9_000, known=known), [first]).reading()
    assert reading.used.tokens == reported
    by_name = {row.name: row.tokens for row in reading.rows}
    assert UNLOGGED not in by_name
    assert by_name["Messages"] > 0
    assert sum(by_name.values()) == reported
    assert "as in 1 earlier session of barrel-code" in reading.basis.label
    other = folded(begun("now", at=9_000, known=(SYSTEM,)), [first]).reading()
    assert other.used == folded(begun("now", at=9_000, known=(SYSTEM,))).reading().used


# -- what is kept --


def test_the_newest_few_of_a_kind_are_kept_and_each_once() -> None:
    calls = [taught(f"s{n}", at=n + 1.0, cwd=f"/{n % 2}") for n in range(30)]
    chosen = kept([*calls, *calls])
    assert len(chosen) == 2 * FIRST_CALLS_KEPT
    assert [call.at for call in chosen] == [
        30.0 + 1 - n for n in range(2 * FIRST_CALLS_KEPT)
    ]
    assert len(kept(calls, most=5)) == 5


@given(st.permutations([taught(f"s{n}", at=n + 1.0) for n in range(5)]))
def test_the_order_of_what_was_learnt_makes_no_difference(calls: list[FirstCall]) -> None:
    now = FirstCall(program=PROGRAM, provider="anthropic", unlogged="system+tools", at=99)
    assert learnt_overhead(calls, now) == learnt_overhead(sorted(calls, key=str), now)


# -- how far what was learnt may be off --


def test_from_the_third_session_that_agrees_on_the_interval_is_narrow() -> None:
    calls = [taught(f"s{n}", at=n + 1.0, reported=30_000 + 40 * n) for n in range(3)]
    two, three = foretold(calls[:2]).used, foretold(calls).used
    assert two.high - two.low > 0.2 * 30_000
    assert three.high - three.low < 0.08 * 30_000
    far = ((1.5, 33_000), (3.0, 36_000))
    apart = [calls[0], *(taught(f"f{at}", at=at, reported=sent) for at, sent in far)]
    assert foretold(apart).used.high > 33_000


def test_of_two_sessions_far_apart_the_likelier_one_is_taken() -> None:
    calls = [taught("a", at=1, reported=78_000), taught("b", at=2, reported=42_000)]
    elsewhere = taught("c", at=3, cwd="/press", reported=40_000)
    assert abs(foretold([*calls, elsewhere]).used.tokens - 42_000) < 20
    assert abs(foretold(calls).used.tokens - 60_000) < 20


def test_a_subagent_neither_teaches_nor_learns() -> None:
    def of(name: str, at: float) -> list[Event]:
        started, *rest = begun(name, at=at)
        return [msgspec.structs.replace(started, is_subagent=True), *rest]

    own = folded(called(of("a", 1), 9_000)).first_call
    assert own is not None and own.is_subagent
    assert folded(of("now", 9_000), [own]).reading().used.tokens < 100
    assert foretold([own]).used == foretold([]).used
