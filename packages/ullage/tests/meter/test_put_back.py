"""What a program puts back after a compaction: expected, learnt, and shown as a row of its own."""

from collections.abc import Sequence

import msgspec
import pytest

from tests.meter.session import said, usage
from ullage import Meter
from ullage.encoding import decode_event, encode
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    Event,
    FirstCall,
    MessageAdded,
    SentUnlogged,
    SessionStarted,
    Uncompacted,
)
from ullage.meter.overhead import LearntOverhead, kept, typical_overhead
from ullage.meter.reading import Reading, Row
from ullage.meter.shares import PUT_BACK, UNLOGGED


def usual(situation: SentUnlogged) -> LearntOverhead:
    now = FirstCall(situation=situation)
    found = typical_overhead("claude-code 2.1.49", now, lambda _: 1.0)
    assert found is not None
    return found


USUAL, LATER = usual("after a compaction"), usual("the call after that").above

FIXED = 40_000
LOGGED = "The cellar is dry. " * 12_000


class Session:
    """A session of Claude Code whose requests hold ``FIXED`` tokens that the log does not show."""

    def __init__(
        self,
        name: str = "s",
        *,
        at: float = 1_000,
        cwd: str = "/cellar",
        program: str = "claude-code 2.1.49",
        earlier: Sequence[FirstCall] = (),
        partial: bool = False,
    ) -> None:
        self.name, self.at = name, at
        self.meter = Meter(overhead=earlier)
        self.calls = self.compactions = 0
        self.apply(
            SessionStarted(
                session=name,
                at=at,
                model="claude-opus-4-6",
                wire="messages",
                provider="anthropic",
                program=program,
                cwd=cwd,
                partial=partial,
                unlogged=("system", "tools"),
            )
        )
        self.say("Which cask is full?")
        self.call(FIXED)
        self.say(LOGGED)
        self.call(FIXED + 60_000)

    def apply(self, event: Event) -> None:
        stored = decode_event(encode(event))
        assert stored == event
        self.meter.apply(stored)

    def say(self, words: str) -> None:
        message = said(f"{self.name}-{self.calls}", words)
        self.apply(MessageAdded(message=message, at=self.at))

    def call(self, reported: int) -> None:
        self.calls += 1
        name = f"{self.name}-c{self.calls}"
        self.at += 1
        self.apply(CallStarted(call=name, at=self.at))
        self.apply(CallEnded(call=name, usage=usage(reported, 20), at=self.at))

    def compact(self, *, puts_back: bool = True) -> None:
        self.compactions += 1
        name = f"{self.name}-k{self.compactions}"
        summary = msgspec.structs.replace(
            said(name, "All casks were looked at."), origin="summary"
        )
        gone = tuple(message.id for message in self.meter.messages)
        self.apply(
            CompactionCommitted(
                compaction=name,
                summary=summary,
                summarised=gone,
                puts_back=puts_back,
                at=self.at,
            )
        )

    @property
    def reading(self) -> Reading:
        return self.meter.reading()

    def row(self, name: str) -> Row | None:
        return next((row for row in self.reading.rows if row.name == name), None)


def test_what_every_request_holds_stays_and_what_comes_back_has_an_interval() -> None:
    session = Session()
    session.compact()
    used, row = session.reading.used, session.row(PUT_BACK)
    assert used.tokens == pytest.approx(FIXED + USUAL.tokens, abs=100)
    assert used.high == pytest.approx(used.tokens + USUAL.above, rel=0.1)
    assert used.low == pytest.approx(used.tokens - USUAL.below, rel=0.1)
    assert row is not None
    assert (row.tokens, row.note) == (USUAL.tokens, USUAL.source)
    assert row.high is not None
    assert row.high - row.tokens >= USUAL.above


def test_the_row_then_shows_what_came_and_the_rest_is_as_before() -> None:
    session = Session()
    session.compact()
    session.call(FIXED + 12_000)
    put_back, unlogged = session.row(PUT_BACK), session.row(UNLOGGED)
    assert put_back is not None
    assert unlogged is not None
    assert put_back.tokens == pytest.approx(12_000, abs=100)
    assert unlogged.tokens == pytest.approx(FIXED, abs=100)
    assert put_back.source == "by_difference"
    rows = session.reading.rows
    assert sum(row.tokens for row in rows if row.summed) == session.reading.used.tokens


def test_the_call_after_that_may_hold_the_list_of_skills() -> None:
    session = Session()
    session.compact()
    session.call(FIXED + 2_000)
    used = session.reading.used
    assert used.tokens == pytest.approx(FIXED + 2_020, abs=50)
    assert used.low > used.tokens - 100
    assert used.tokens + LATER <= used.high < used.tokens + LATER + 200
    session.call(FIXED + 5_000)
    assert session.reading.used.tokens == pytest.approx(FIXED + 5_020, abs=50)
    row = session.row(PUT_BACK)
    assert row is not None
    assert row.tokens == pytest.approx(5_000, abs=100)


def test_each_compaction_of_the_session_narrows_the_next() -> None:
    session = Session()
    widths: list[int] = []
    for _ in range(4):
        session.compact()
        used = session.reading.used
        widths.append(used.high - used.low)
        assert used.low <= FIXED + 15_000 <= used.high
        session.call(FIXED + 15_000)
        session.call(FIXED + 17_600)
        session.say(LOGGED)
        session.call(FIXED + 77_600)
    session.compact()
    assert session.reading.used.tokens == pytest.approx(FIXED + 12_400, abs=1_500)
    assert widths[3] < 0.75 * widths[0]
    assert len(session.meter.overhead) == 3


def taught(name: str, tokens: int, *, at: float, cwd: str = "/cellar") -> list[FirstCall]:
    session = Session(name, at=at, cwd=cwd)
    session.compact()
    session.call(FIXED + tokens)
    return list(session.meter.overhead)


def test_earlier_sessions_of_the_project_are_learnt_from_and_no_other() -> None:
    known = [
        call
        for number in range(4)
        for call in taught(f"a{number}", 15_000, at=number * 100 + 1)
    ]
    near = Session("now", at=5_000, earlier=known)
    near.compact()
    far = Session("now", at=5_000, cwd="/attic", earlier=known)
    far.compact()
    row = near.row(PUT_BACK)
    assert row is not None
    assert row.note == "as 4 times before in this project"
    assert near.reading.used.tokens == pytest.approx(FIXED + 12_400, abs=500)
    assert far.reading.used.tokens == pytest.approx(FIXED + USUAL.tokens, abs=100)
    before = Session("now", at=0.5, earlier=known)
    before.compact()
    assert before.reading.used.tokens == far.reading.used.tokens


def test_a_first_call_and_a_call_after_a_compaction_teach_nothing_of_each_other() -> None:
    known = kept(taught("a", 15_000, at=1))
    assert {call.situation for call in known} == {"first call", "after a compaction"}
    begun = Meter(overhead=[call for call in known if call.situation != "first call"])
    started = SessionStarted(
        session="b",
        at=9,
        model="claude-opus-4-6",
        wire="messages",
        provider="anthropic",
        program="claude-code 2.1.49",
        cwd="/cellar",
        unlogged=("system", "tools"),
    )
    untaught = Meter()
    for meter in (begun, untaught):
        meter.apply(started)
        meter.apply(MessageAdded(message=said("b", "Which cask is full?")))
    assert begun.reading().used == untaught.reading().used


def test_a_compaction_that_is_undone_leaves_no_trace() -> None:
    session, untouched = Session(), Session()
    session.say("And the next?")
    untouched.say("And the next?")
    before = session.reading.used
    session.compact()
    session.apply(Uncompacted(compaction="s-k1"))
    assert session.reading.used.tokens == before.tokens
    assert session.row(PUT_BACK) is None
    session.call(FIXED + 61_000)
    untouched.call(FIXED + 61_000)
    assert session.reading.used.tokens == untouched.reading.used.tokens
    assert len(session.meter.overhead) == 1


@pytest.mark.parametrize(
    ("program", "puts_back"), [("claude-code 2.1.197", False), ("pi 0.50", True)]
)
def test_nothing_is_expected_where_the_log_shows_it_or_the_program_is_not_known_to(
    program: str, puts_back: bool
) -> None:
    session = Session(program=program)
    session.compact(puts_back=puts_back)
    assert session.row(PUT_BACK) is None
    assert session.reading.used.tokens == pytest.approx(FIXED, rel=0.15)


def test_the_first_compaction_of_a_log_that_begins_in_the_middle_is_read_as_before() -> (
    None
):
    session = Session(partial=True)
    session.compact()
    assert session.row(PUT_BACK) is None
    session.call(FIXED + 9_000)
    session.compact()
    assert session.row(PUT_BACK) is not None


def test_history_from_before_the_log_leaves_with_the_first_compaction_alone() -> None:
    session = Session(partial=True, program="other 1.0")
    session.compact(puts_back=False)
    before = session.reading.used
    session.compact(puts_back=False)
    after = session.reading.used
    assert after.low == pytest.approx(before.low, abs=100)
    assert after.high == pytest.approx(before.high, abs=100)


def test_an_impossible_amount_is_not_learnt() -> None:
    call = taught("a", 15_000, at=1)[1]
    false = msgspec.structs.replace(call, tokens=5_000_000)
    session = Session("now", at=5_000, earlier=[false])
    session.compact()
    assert session.reading.used.tokens == pytest.approx(FIXED + USUAL.tokens, abs=100)
