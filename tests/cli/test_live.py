"""Events in, lines out: what is shown of each, and what is not."""

import io

import pytest

from tests.cli.readings import reading
from tests.cli.test_scroll import FakePipe, FakeTerminal
from ullage.cli.live import Live
from ullage.cli.screen import Screen
from ullage.cli.screenplay import described
from ullage.events import (
    Amount,
    ApprovalAsked,
    CallEnded,
    Cancelled,
    DraftPiece,
    Event,
    LimitLearnt,
    MessageAdded,
    Queued,
    QueueLeft,
    ReadingTaken,
    ToolEnded,
    TurnEnded,
    TurnPaused,
    TurnStarted,
)
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart


def said(name: str, text: str) -> Message:
    return Message(id=name, role="user", parts=(TextPart(id=f"{name}.t", text=text),))


def calling(*names: str) -> MessageAdded:
    parts = tuple(
        ToolCallPart(id=f"p{at}", call_id=f"c{at}", name=name, arguments="{}")
        for at, name in enumerate(names)
    )
    return MessageAdded(message=Message(id="a", role="assistant", parts=parts))


def result(call: int, text: str, *, is_error: bool = False) -> MessageAdded:
    part = ToolResultPart(
        id=f"r{call}",
        call_id=f"c{call}",
        content=(TextPart(id=f"r{call}.t", text=text),),
        is_error=is_error,
    )
    return MessageAdded(message=Message(id=f"m{call}", role="tool", parts=(part,)))


def shown(*events: Event | DraftPiece, **how: bool) -> list[str]:
    stream = FakePipe()
    live = Live(Screen(stream), **how)
    for event in events:
        live.show(event, reading())
    live.end()
    return stream.getvalue().splitlines()


def test_one_line_for_each_tool_call_and_a_bracket_around_those_that_ran_together() -> (
    None
):
    assert shown(calling("read"), result(0, "first\nsecond")) == [
        "● read()  first second"
    ]
    lines = shown(
        calling("read", "weigh", "list"),
        result(1, "5 kg"),
        result(0, "x"),
        result(2, "y"),
    )
    assert lines == ["┌ weigh()  5 kg", "├ read()  x", "└ list()  y"]


def test_where_only_ascii_can_be_shown_lines_are_drawn_with_it_and_fit() -> None:
    stream = io.StringIO()
    live = Live(Screen(stream))
    for event in (calling("read", "list"), result(0, "word " * 200), result(1, "y")):
        live.show(event, reading())
    first, second = stream.getvalue().splitlines()
    assert first.startswith("/ read()") and first.endswith("...") and len(first) < 100
    assert second.startswith("\\ list()")


def test_a_line_says_how_a_call_ended_and_that_a_long_result_was_cut() -> None:
    ended = ToolEnded(call_id="c0", outcome="timed_out")
    assert shown(calling("read"), ended, result(0, "no answer")) == [
        "● read()  timed out  no answer"
    ]
    ended = ToolEnded(call_id="c0", handle="h", size_bytes=9_000)
    assert shown(calling("read"), ended, result(0, "begin")) == [
        "● read()  both ends of 9,000 bytes  begin"
    ]


def test_a_chat_is_told_what_it_can_do_next() -> None:
    (line,) = shown(
        TurnPaused(turn="t", reason="budget", note="Spent."), shows_hints=True
    )
    assert line == "  paused (budget): Spent. · /retry resumes with a new budget"


def test_a_message_sent_while_the_agent_works_is_shown_queued_and_then_delivered() -> (
    None
):
    lines = shown(
        Queued(message=said("u", "Begin."), kind="steer", position=1),
        TurnStarted(turn="t"),
        MessageAdded(message=said("u", "Begin.")),
        Queued(message=said("s", "Faster!"), kind="steer", position=1),
        MessageAdded(message=said("s", "Faster!")),
    )
    assert lines == ["> Begin.", "  queued (steer): Faster!", "> Faster!  (delivered)"]


def test_a_message_that_is_not_delivered_says_so() -> None:
    queued = Queued(message=said("s", "Faster!"), kind="follow_up", position=1)
    for how, words in (("returned", "returned, not sent"), ("withdrawn", "withdrawn")):
        lines = shown(TurnStarted(turn="t"), queued, QueueLeft(message_id="s", how=how))  # type: ignore[arg-type]
        assert lines == ["  queued (follow-up): Faster!", f"  {words}: Faster!"]


def test_what_streams_is_not_shown_twice_and_what_did_not_stream_is_shown() -> None:
    whole = Message(id="a", role="assistant", parts=(TextPart(id="t", text="All done."),))
    pieces = [
        DraftPiece("c", 0, "text", "t", "All "),
        DraftPiece("c", 1, "text", "t", "done."),
    ]
    assert shown(*pieces, MessageAdded(message=whole)) == ["All done."]
    assert shown(MessageAdded(message=whole)) == ["All done."]
    assert shown(*pieces, MessageAdded(message=whole), shows_text=False) == []


def test_reasoning_is_set_apart_or_left_out() -> None:
    piece = DraftPiece("c", 0, "reasoning", "t", "Let me see.")
    assert shown(piece) == ["  Let me see."]
    assert shown(piece, shows_reasoning=False) == []


def test_what_a_person_should_know_is_a_line() -> None:
    failed = CallEnded(call="c", outcome="failed", error="No network.")
    assert shown(failed) == ["  No network."]
    assert shown(ApprovalAsked(call_id="c")) == ["  needs your approval: c"]
    (line,) = shown(ApprovalAsked(call_id="c"), allows_all=True)
    assert line == "  allowed by --yes: c"


@pytest.mark.parametrize(
    "event",
    [
        TurnEnded(turn="t"),
        TurnPaused(turn="t", reason="approval"),
        ToolEnded(call_id="c"),
        LimitLearnt(model="m", source="provider", window=5),
    ],
)
def test_what_goes_without_saying_is_none(event: Event) -> None:
    assert shown(event) == []


def test_a_pipe_gets_the_gauge_after_each_call_and_the_alert_once() -> None:
    taken = [
        ReadingTaken(
            snapshot="x",
            used=Amount(tokens=used, low=used, high=used),
            grown=5,
            near_limit=used > 100,
        )
        for used in (50, 150, 160)
    ]
    ended = CallEnded(call="c")
    lines = shown(taken[0], ended, taken[1], taken[2])
    assert len(lines) == 2
    assert (
        "near the limit" in lines[0]
        and " 150 of 200,000" in lines[1]
        and lines[1].endswith("+5")
    )


def test_on_a_terminal_the_gauge_stays_below_and_is_left_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    terminal = FakeTerminal()
    live = Live(Screen(terminal, {"TERM": "xterm"}))
    live.show(
        ReadingTaken(snapshot="x", used=Amount(tokens=50, low=50, high=50)), reading()
    )
    for event in (
        DraftPiece("c", 0, "text", "t", "Half an ans"),
        Cancelled(persisted="partial_assistant"),
    ):
        live.show(event, reading())
    live.end()
    assert terminal.shown[:2] == [
        "Half an ans",
        "  cancelled: the partial answer is kept",
    ]
    assert " 50 of 200,000" in terminal.shown[2] and len(terminal.shown) == 3


def test_a_call_is_described_as_a_person_would_write_it() -> None:
    def call(arguments: str) -> str:
        return described("read", arguments)

    assert (
        call('{"path": "notes.md", "lines": [1, 2]}')
        == "read(path=notes.md, lines=[1, 2])"
    )
    assert call("") == "read()"
    assert call("{torn") == call("[]") == "read(…)"
    assert len(call('{"text": "' + "x" * 500 + '"}')) < 60
