from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ullage.cli.chat.entries import AnswerEntry, Called, MessageEntry, Notice, Thought
from ullage.cli.chat.transcript import Transcript
from ullage.display.text import plain
from ullage.events import (
    ApprovalAsked,
    ApprovalGiven,
    CallEnded,
    CallStarted,
    Cancelled,
    CompactionCommitted,
    Event,
    MessageAdded,
    Pruned,
    Rewound,
    SettingsChanged,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnPaused,
    TurnStarted,
    Uncompacted,
)
from ullage.messages import ImagePart, Message, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from ullage.store.store import DraftPiece

ASKED = ToolCallPart(id="p2", call_id="t1", name="read", arguments='{"path": "a"}')


def said(text: str, name: str = "m1") -> MessageAdded:
    return MessageAdded(message=Message(id=name, role="user", parts=(TextPart(id=f"{name}.0", text=text),)))


def answered(*parts: TextPart | ReasoningPart | ToolCallPart, interrupted: str | None = None) -> MessageAdded:
    return MessageAdded(message=Message(id="a", role="assistant", parts=parts, interrupted=interrupted))


def result(text: str, call_id: str = "t1") -> MessageAdded:
    part = ToolResultPart(id="r", call_id=call_id, name="read", content=(TextPart(id="r.t", text=text),))
    return MessageAdded(message=Message(id="r.m", role="tool", parts=(part,)))


def notices(transcript: Transcript) -> list[str]:
    return [plain(entry.line) for entry in transcript.entries if isinstance(entry, Notice)]


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=20))
def test_what_streamed_and_what_was_stored_in_the_end_are_one_entry(pieces: list[str]) -> None:
    transcript = Transcript()
    for place, piece in enumerate(pieces):
        transcript.apply(DraftPiece("c", place, "text", "p1", piece))
    whole = "".join(pieces)
    assert transcript.entries == [AnswerEntry(text=whole, part="p1", is_open=True)]
    transcript.apply(DraftPiece("c", len(pieces), "done", "p1", "{}"))
    transcript.apply(answered(TextPart(id="p1", text=whole)))
    assert transcript.entries == [AnswerEntry(text=whole, part="p1")]


def test_a_transcript_read_from_the_ledger_is_the_one_that_was_watched() -> None:
    events: list[Event] = [
        said("look"),
        CallStarted(call="c"),
        answered(ReasoningPart(id="p0", text="hm"), TextPart(id="p1", text="I look."), ASKED),
        ToolStarted(call_id="t1", name="read"),
        ToolEnded(call_id="t1"),
        result("it says so"),
    ]
    watched, read = Transcript(), Transcript()
    read.apply_all(events)
    watched.apply_all(events[:2])
    watched.apply(DraftPiece("c", 0, "reasoning", "p0", "hm"))
    watched.apply(DraftPiece("c", 1, "text", "p1", "I look."))
    watched.apply(DraftPiece("c", 2, "call", "p2", '{"path": "a"}', "t1", "read"))
    watched.apply_all(events[2:])
    assert watched.entries == read.entries
    assert [type(entry) for entry in read.entries] == [MessageEntry, Thought, AnswerEntry, Called]


def test_a_call_that_a_grant_allowed_is_marked() -> None:
    transcript = Transcript()
    transcript.apply(answered(ASKED))
    transcript.apply(ToolStarted(call_id="t1", name="read", grant="g-1"))
    (called,) = transcript.entries
    assert isinstance(called, Called) and called.is_granted


class Counted(str):
    """A text that counts the characters of every text made of it by ``+`` or ``join``."""

    copied = 0

    def __add__(self, other: str) -> Counted:
        Counted.copied += len(self) + len(other)
        return Counted(str(self) + other)


def test_a_text_that_streams_in_small_pieces_is_not_copied_for_each_of_them() -> None:
    transcript, size, pieces = Transcript(), 5, 100_000
    transcript.apply(DraftPiece("c", 0, "text", "p1", "begin"))
    transcript.apply(DraftPiece("c", 1, "call", "p2", "begin", "t1", "write"))
    transcript.entries[:] = [
        AnswerEntry(text=Counted("begin"), part="p1", is_open=True),
        Called(name="write", arguments=Counted("begin"), call_id="t1", is_open=True),
    ]
    Counted.copied = 0
    for place in range(2, pieces, 2):
        transcript.apply(DraftPiece("c", place, "text", "p1", "-" * size))
        transcript.apply(DraftPiece("c", place + 1, "call", "p2", "-" * size, "t1", "write"))
    answer, call = transcript.entries
    assert isinstance(answer, AnswerEntry) and isinstance(call, Called)
    assert len(answer.text) == len(call.arguments) == pieces // 2 * size
    assert Counted.copied == pieces * size


def test_what_streamed_of_a_part_is_not_added_to_its_stored_text() -> None:
    transcript = Transcript()
    transcript.apply(DraftPiece("c", 0, "text", "p1", "one "))
    transcript.apply(DraftPiece("c", 1, "text", "p1", "two"))
    transcript.apply(answered(TextPart(id="p1", text="one two")))
    assert transcript.entries == [AnswerEntry(text="one two", part="p1")]


def test_apply_gives_the_first_entry_that_changed() -> None:
    transcript = Transcript()
    assert transcript.apply(said("look")) == 0
    assert transcript.apply(DraftPiece("c", 0, "text", "p1", "I")) == 1
    assert transcript.apply(DraftPiece("c", 1, "text", "p1", " look")) == 1
    assert transcript.apply(DraftPiece("c", 2, "call", "p2", "{}", "t1", "read")) == 2
    assert transcript.apply(answered(TextPart(id="p1", text="I look"), ASKED)) == 1
    assert transcript.apply(result("done")) == 2


def test_a_call_goes_from_written_over_asked_and_running_to_its_result() -> None:
    transcript = Transcript()
    transcript.apply(answered(ASKED))
    transcript.apply(ApprovalAsked(call_id="t1"))
    assert transcript.asked["t1"].name == "read"
    assert transcript.entries[0] == Called(name="read", arguments='{"path": "a"}', call_id="t1", asks=True)
    transcript.apply(ApprovalGiven(call_id="t1", approved=True))
    assert not transcript.asked
    transcript.apply(ToolStarted(call_id="t1", name="read"))
    entry = transcript.entries[0]
    assert isinstance(entry, Called) and entry.is_running and not entry.asks
    transcript.apply(ToolEnded(call_id="t1", size_bytes=9, outcome="failed"))
    transcript.apply(result("gone"))
    entry = transcript.entries[0]
    assert isinstance(entry, Called)
    assert (entry.result, entry.outcome, entry.size_bytes, entry.is_running) == ("gone", "failed", 9, False)


def test_an_attempt_that_failed_leaves_nothing_of_what_it_had_begun_to_say() -> None:
    transcript = Transcript()
    transcript.apply_all([said("look"), CallStarted(call="c")])
    transcript.apply(DraftPiece("c", 0, "text", "p1", "I"))
    transcript.apply(DraftPiece("c", 1, "reasoning", "p2", "hm"))
    first = transcript.apply(CallEnded(call="c", outcome="failed", error="The provider is overloaded."))
    assert first == 1
    assert [type(entry) for entry in transcript.entries] == [MessageEntry, Notice]
    transcript.apply(DraftPiece("d", 0, "text", "p3", "Again"))
    assert transcript.entries[-1] == AnswerEntry(text="Again", part="p3", is_open=True)


def test_a_failure_is_said_once_when_the_turn_waits_for_it() -> None:
    transcript = Transcript()
    transcript.apply(CallEnded(call="c", outcome="failed", error="No key."))
    transcript.apply(TurnPaused(turn="t", reason="failed", note="No key."))
    assert notices(transcript) == ["No key.", "paused (failed) · /retry tries again, /model takes another model"]


def test_a_cancel_is_shown_once_whether_or_not_something_was_under_way() -> None:
    transcript = Transcript()
    transcript.apply_all([TurnStarted(turn="t"), Cancelled(), TurnEnded(turn="t", reason="cancelled")])
    transcript.apply_all([TurnStarted(turn="u"), TurnEnded(turn="u", reason="cancelled")])
    assert notices(transcript) == ["cancelled: nothing was running", "cancelled"]


def test_a_rewind_in_a_turn_is_an_answer_that_broke_off_and_one_at_rest_is_a_persons() -> None:
    transcript = Transcript()
    transcript.apply_all([TurnStarted(turn="t"), Rewound(to="m"), TurnEnded(turn="t"), Rewound(to="m")])
    first, second = notices(transcript)
    assert "broke off" in first
    assert "rewound" in second


def test_compactions_and_prunes_can_be_undone_from_the_last_one_on() -> None:
    transcript = Transcript()
    transcript.apply_all([Pruned(parts=("a",), prune="p-1"), CompactionCommitted(compaction="c-1")])
    assert transcript.undoable == ["p-1", "c-1"]
    transcript.apply(Uncompacted(compaction="p-1"))
    assert transcript.undoable == []


def test_what_people_said_is_kept_for_the_history_and_summaries_are_not() -> None:
    transcript = Transcript()
    transcript.apply(said("one"))
    summary = Message(id="s", role="user", parts=(TextPart(id="s.0", text="## Goal"),), origin="summary")
    transcript.apply(MessageAdded(message=summary))
    image = Message(id="i", role="user", parts=(ImagePart(id="i.0"), TextPart(id="i.1", text="two")))
    transcript.apply(MessageAdded(message=image))
    assert transcript.prompts == ["one", "two"]
    last = transcript.entries[-1]
    assert isinstance(last, MessageEntry) and last.attached == 1


def test_settings_that_a_session_begins_with_are_no_news() -> None:
    transcript = Transcript()
    transcript.apply(SettingsChanged(settings={"model": "a:b"}))
    assert not transcript.entries
    transcript.apply_all([said("hi"), SettingsChanged(settings={"model": "a:c"})])
    assert notices(transcript) == ["set: model = a:c"]


def test_an_interrupted_answer_says_so() -> None:
    transcript = Transcript()
    transcript.apply(answered(TextPart(id="p1", text="I lo"), interrupted="cancelled"))
    assert transcript.entries == [AnswerEntry(text="I lo", part="p1", interrupted="cancelled")]


def test_a_result_whose_call_is_not_known_is_shown_all_the_same() -> None:
    transcript = Transcript()
    transcript.apply(result("late", call_id="elsewhere"))
    entry = transcript.entries[0]
    assert isinstance(entry, Called) and entry.result == "late"
