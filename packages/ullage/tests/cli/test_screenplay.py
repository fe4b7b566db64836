from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import case, filled
from ullage.cli.screenplay import (
    AnswerEntry,
    MessageEntry,
    Notice,
    ReasoningEntry,
    Screenplay,
    ToolCallEntry,
    as_markdown,
    notice,
    server_sentence,
)
from ullage.display.text import Span, plain
from ullage.events import (
    Amount,
    ApprovalAsked,
    ApprovalGiven,
    CallEnded,
    CallRetried,
    CallStarted,
    Cancelled,
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    DraftPiece,
    DroppedMessage,
    EpochChanged,
    Event,
    FellBack,
    FilesChanged,
    Forked,
    GrantGiven,
    GrantRevoked,
    HandedOver,
    Imported,
    LimitLearnt,
    MessageAdded,
    ModelChanged,
    Pinned,
    Pruned,
    Queued,
    QueueLeft,
    ReadingTaken,
    ReasoningRefused,
    RequestRepaired,
    Rewound,
    RuleFlipped,
    SettingsChanged,
    SizeStated,
    ToolEnded,
    ToolServerNoticed,
    ToolStarted,
    TurnEnded,
    TurnPaused,
    TurnResumed,
    TurnStarted,
    Uncompacted,
)
from ullage.messages import (
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

ASKED = ToolCallPart(id="p2", call_id="t1", name="read", arguments='{"path": "a"}')


def said(text: str, name: str = "m1") -> MessageAdded:
    return MessageAdded(
        message=Message(
            id=name, role="user", parts=(TextPart(id=f"{name}.0", text=text),)
        )
    )


def answered(
    *parts: TextPart | ReasoningPart | ToolCallPart, interrupted: str | None = None
) -> MessageAdded:
    return MessageAdded(
        message=Message(id="a", role="assistant", parts=parts, interrupted=interrupted)
    )


def result(text: str, call_id: str = "t1") -> MessageAdded:
    part = ToolResultPart(
        id="r", call_id=call_id, name="read", content=(TextPart(id="r.t", text=text),)
    )
    return MessageAdded(message=Message(id="r.m", role="tool", parts=(part,)))


def notices(screenplay: Screenplay) -> list[str]:
    return [
        plain(entry.hinted_line)
        for entry in screenplay.entries
        if isinstance(entry, Notice)
    ]


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=20))
def test_what_streamed_and_what_was_stored_are_one_entry(pieces: list[str]) -> None:
    screenplay = Screenplay()
    for place, piece in enumerate(pieces):
        screenplay.apply(DraftPiece("c", place, "text", "p1", piece))
    whole = "".join(pieces)
    assert screenplay.entries == [AnswerEntry(text=whole, part="p1", is_open=True)]
    screenplay.apply(DraftPiece("c", len(pieces), "done", "p1", "{}"))
    screenplay.apply(answered(TextPart(id="p1", text=whole)))
    assert screenplay.entries == [AnswerEntry(text=whole, part="p1")]


def test_a_screenplay_read_from_the_ledger_is_the_one_that_was_watched() -> None:
    events: list[Event] = [
        said("look"),
        CallStarted(call="c"),
        answered(
            ReasoningPart(id="p0", text="hm"), TextPart(id="p1", text="I look."), ASKED
        ),
        ToolStarted(call_id="t1", name="read"),
        ToolEnded(call_id="t1"),
        result("it says so"),
    ]
    watched, read = Screenplay(), Screenplay()
    read.apply_all(events)
    watched.apply_all(events[:2])
    watched.apply(DraftPiece("c", 0, "reasoning", "p0", "hm"))
    watched.apply(DraftPiece("c", 1, "text", "p1", "I look."))
    watched.apply(DraftPiece("c", 2, "call", "p2", '{"path": "a"}', "t1", "read"))
    watched.apply_all(events[2:])
    assert watched.entries == read.entries
    assert [type(entry) for entry in read.entries] == [
        MessageEntry,
        ReasoningEntry,
        AnswerEntry,
        ToolCallEntry,
    ]


def test_a_call_that_a_grant_allowed_is_marked() -> None:
    screenplay = Screenplay()
    screenplay.apply(answered(ASKED))
    screenplay.apply(ToolStarted(call_id="t1", name="read", grant="g-1"))
    (called,) = screenplay.entries
    assert isinstance(called, ToolCallEntry) and called.is_granted


class Counted(str):
    """A text that counts the characters of every text made of it by ``+`` or ``join``."""

    copied = 0

    def __add__(self, other: str) -> Counted:
        Counted.copied += len(self) + len(other)
        return Counted(str(self) + other)


def test_a_text_that_streams_in_small_pieces_is_not_copied_for_each_of_them() -> None:
    screenplay, size, pieces = Screenplay(), 5, 100_000
    screenplay.apply(DraftPiece("c", 0, "text", "p1", "begin"))
    screenplay.apply(DraftPiece("c", 1, "call", "p2", "begin", "t1", "write"))
    screenplay.entries[:] = [
        AnswerEntry(text=Counted("begin"), part="p1", is_open=True),
        ToolCallEntry(
            name="write", arguments=Counted("begin"), call_id="t1", is_open=True
        ),
    ]
    Counted.copied = 0
    for place in range(2, pieces, 2):
        screenplay.apply(DraftPiece("c", place, "text", "p1", "-" * size))
        screenplay.apply(
            DraftPiece("c", place + 1, "call", "p2", "-" * size, "t1", "write")
        )
    answer, call = screenplay.entries
    assert isinstance(answer, AnswerEntry) and isinstance(call, ToolCallEntry)
    assert len(answer.text) == len(call.arguments) == pieces // 2 * size
    assert Counted.copied == pieces * size


def test_apply_gives_the_first_entry_that_changed() -> None:
    screenplay = Screenplay()
    assert screenplay.apply(said("look")).first == 0
    assert screenplay.apply(DraftPiece("c", 0, "text", "p1", "I")).first == 1
    assert screenplay.apply(DraftPiece("c", 1, "text", "p1", " look")).first == 1
    assert (
        screenplay.apply(DraftPiece("c", 2, "call", "p2", "{}", "t1", "read")).first == 2
    )
    assert screenplay.apply(answered(TextPart(id="p1", text="I look"), ASKED)).first == 1
    assert screenplay.apply(result("done")).first == 2


def test_a_call_goes_from_written_over_asked_and_running_to_its_result() -> None:
    screenplay = Screenplay()
    screenplay.apply(answered(ASKED))
    screenplay.apply(ApprovalAsked(call_id="t1"))
    assert screenplay.entries[0] == ToolCallEntry(
        name="read", arguments='{"path": "a"}', call_id="t1", asks=True
    )
    screenplay.apply(ApprovalGiven(call_id="t1", approved=True))
    assert screenplay.call("t1") == ToolCallEntry(
        name="read", arguments='{"path": "a"}', call_id="t1"
    )
    screenplay.apply(ToolStarted(call_id="t1", name="read"))
    entry = screenplay.entries[0]
    assert isinstance(entry, ToolCallEntry) and entry.is_running and not entry.asks
    screenplay.apply(ToolEnded(call_id="t1", size_bytes=9, outcome="failed"))
    screenplay.apply(result("gone"))
    entry = screenplay.entries[0]
    assert isinstance(entry, ToolCallEntry)
    assert (entry.result, entry.outcome, entry.size_bytes, entry.is_running) == (
        "gone",
        "failed",
        9,
        False,
    )


def test_an_attempt_that_failed_leaves_nothing_of_what_it_had_begun_to_say() -> None:
    screenplay = Screenplay()
    screenplay.apply_all([said("look"), CallStarted(call="c")])
    screenplay.apply(DraftPiece("c", 0, "text", "p1", "I"))
    screenplay.apply(DraftPiece("c", 1, "reasoning", "p2", "hm"))
    change = screenplay.apply(
        CallEnded(call="c", outcome="failed", error="The provider is overloaded.")
    )
    assert change.first == 1
    assert [type(entry) for entry in screenplay.entries] == [MessageEntry, Notice]
    screenplay.apply(DraftPiece("d", 0, "text", "p3", "Again"))
    assert screenplay.entries[-1] == AnswerEntry(text="Again", part="p3", is_open=True)


def test_a_failure_is_said_once_when_the_turn_waits_for_it() -> None:
    screenplay = Screenplay()
    screenplay.apply(CallEnded(call="c", outcome="failed", error="No key."))
    screenplay.apply(TurnPaused(turn="t", reason="failed", note="No key."))
    assert notices(screenplay) == [
        "No key.",
        "paused (failed) · /retry tries again, /model takes another model",
    ]


def test_a_message_that_was_queued_is_named_when_it_is_not_sent() -> None:
    for how, words in (
        ("returned", "returned, not sent: faster"),
        ("withdrawn", "withdrawn: faster"),
    ):
        screenplay = Screenplay()
        screenplay.apply(TurnStarted(turn="t"))
        screenplay.apply(Queued(message=said("faster").message, kind="steer", position=1))
        assert screenplay.queued == {"m1": "faster"}
        screenplay.apply(QueueLeft(message_id="m1", how=how))  # type: ignore[arg-type]
        assert notices(screenplay) == [words] and not screenplay.queued


def test_a_cancel_is_shown_once_whether_or_not_something_was_under_way() -> None:
    screenplay = Screenplay()
    screenplay.apply_all(
        [TurnStarted(turn="t"), Cancelled(), TurnEnded(turn="t", reason="cancelled")]
    )
    screenplay.apply_all([TurnStarted(turn="u"), TurnEnded(turn="u", reason="cancelled")])
    assert notices(screenplay) == ["cancelled", "cancelled"]


def test_a_rewind_in_a_turn_is_the_programs_and_one_at_rest_a_persons() -> None:
    screenplay = Screenplay()
    screenplay.apply_all(
        [TurnStarted(turn="t"), Rewound(to="m"), TurnEnded(turn="t"), Rewound(to="m")]
    )
    first, second = notices(screenplay)
    assert "broke off" in first
    assert "rewound" in second


def test_compactions_and_prunes_can_be_undone_from_the_last_one_on() -> None:
    screenplay = Screenplay()
    screenplay.apply_all(
        [Pruned(parts=("a",), prune="p-1"), CompactionCommitted(compaction="c-1")]
    )
    assert screenplay.undoable == ["p-1", "c-1"]
    screenplay.apply(Uncompacted(compaction="p-1"))
    assert screenplay.undoable == []


def test_what_people_said_is_kept_for_the_history_and_summaries_are_not() -> None:
    screenplay = Screenplay()
    screenplay.apply(said("one"))
    summary = Message(
        id="s", role="user", parts=(TextPart(id="s.0", text="## Goal"),), origin="summary"
    )
    screenplay.apply(MessageAdded(message=summary))
    image = Message(
        id="i", role="user", parts=(ImagePart(id="i.0"), TextPart(id="i.1", text="two"))
    )
    screenplay.apply(MessageAdded(message=image))
    assert screenplay.prompts == ["one", "two"]
    last = screenplay.entries[-1]
    assert isinstance(last, MessageEntry) and last.attached == 1


def test_settings_that_a_session_begins_with_are_no_news() -> None:
    screenplay = Screenplay()
    screenplay.apply(SettingsChanged(settings={"model": "a:b"}))
    assert not screenplay.entries
    screenplay.apply_all([said("hi"), SettingsChanged(settings={"model": "a:c"})])
    assert notices(screenplay) == ["set: model = a:c"]


def test_an_interrupted_answer_says_so_where_no_line_about_a_cancel_does() -> None:
    for interrupted, told in (("dropped", "dropped"), ("cancelled", "")):
        screenplay = Screenplay()
        screenplay.apply(
            answered(TextPart(id="p1", text="I lo"), interrupted=interrupted)
        )
        assert screenplay.entries == [
            AnswerEntry(text="I lo", part="p1", interrupted=told)
        ]


def test_a_result_whose_call_is_not_known_is_shown_all_the_same() -> None:
    screenplay = Screenplay()
    screenplay.apply(result("late", call_id="elsewhere"))
    entry = screenplay.entries[0]
    assert isinstance(entry, ToolCallEntry) and entry.result == "late"


SHOWN: list[tuple[Event, str]] = [
    (CompactionStarted(compaction="c", trigger="point", high=16_100, limit=16_000),
        "compacting: the compaction threshold is reached, 16,100 of 16,000"),
    (CompactionStarted(compaction="c", trigger="asked"), "compacting: requested"),
    (CompactionStarted(compaction="c", trigger=""), "compacting"),
    (
        CompactionCommitted(compaction="c", dropped=(DroppedMessage(id="a", reason="r"),), rung="drop"),
        "compacted: 1 message became nothing: the oldest were left out · /uncompact undoes it",
    ),
    (CompactionCommitted(compaction="c", rung="trim"),
        "compacted: the kept messages became shorter ones · /uncompact undoes it"),
    (
        CompactionCommitted(
            compaction="c", summarised=("a", "b"), dropped=(DroppedMessage(id="d", reason="old"),), before=9_000,
            after=1_200, rung="summary",
        ),
        "compacted: 3 messages became a summary, 9,000 → 1,200 tokens · /uncompact undoes it",
    ),
    (CompactionRolledBack(compaction="c", reason="longer", note="It grew."), "compaction failed: It grew."),
    (Pruned(parts=("a", "b"), before=900, after=100, rewritten=100),
        "pruned: 2 old tool results cleared, 900 → 100 tokens, 100 written to the cache again · /uncompact undoes it"),
    (Pruned(parts=("a",)), "pruned: 1 old tool result cleared · /uncompact undoes it"),
    (Uncompacted(compaction="c-1"), "undone: the view is as it was before"),
    (FilesChanged(step="s", count=3, paths=("a\x1b[2J", "b")), "changed 3 files: a [2J, b …"),
    (FilesChanged(step="s", count=1, paths=("a",)), "changed 1 file: a"),
    (Rewound(to="m"), "rewound: later messages left the view and stay in the ledger"),
    (ModelChanged(model="m\x1b[2J"), "model: m [2J"),
    (FellBack(turn="t", model="b:n", error="a:m: it is full.", error_kind="RateLimited"),
        "b:n answers after a:m: rate limited"),
    (FellBack(turn="t", model="b:n", error="a:m: 9 tokens at most"), "b:n answers after a:m: 9 tokens at most"),
    (HandedOver(agent=""), "handed over to the agent that began the session"),
    (CallRetried(call="c", attempt=1, wait_s=2, error="Overloaded."),
        "Overloaded. Trying again in 2.0 s (attempt 2)"),
    (CallEnded(call="c", outcome="failed", error="No key."), "No key."),
    (CallEnded(call="c", outcome="failed", error="No.", purpose="summary"), "summary call: No."),
    (GrantGiven(grant="g", tool="shell", prefix=("git", "log")),
        "allowed in this session: shell: git log … · /permissions lists them"),
    (GrantRevoked(grant="g"), "a permission of this session was revoked"),
    (TurnPaused(turn="t", reason="budget", note="1.00 of 1.00 dollars"),
        "paused (budget): 1.00 of 1.00 dollars · /retry resumes with a new budget"),
    (TurnResumed(turn="t"), "resumed"),
    (TurnEnded(turn="t", reason="max_steps", note="100"), "ended, the limit of steps is reached: 100"),
    (LimitLearnt(model="m", source="error", window=8_000), "window: 8,000 tokens, learnt from an error"),
    (SizeStated(by="Codex", tokens=9_162), "Codex says: 9,162 tokens"),
    (SettingsChanged(settings={"tools": ["a", "b"], "effort": None}), "set: tools = a,b, effort = default"),
    (Pinned(messages=("m",)), "pinned: 1 message"),
    (Pinned(messages=("m",), pinned=False), "no longer pinned: 1 message"),
    (Forked(origin="s-1", through=12), "copied from s-1, up to its event 12"),
    (Imported(origin="s-1", dropped=("the setting base_url", "an unfinished turn")),
        "imported from s-1, without the setting base_url, an unfinished turn"),
    (ReasoningRefused(call="c", model="m"),
        "the provider did not take earlier reasoning, bound to another conversation; it is left out now"),
    (EpochChanged(epoch=2, reason="system", reasoning_lost=5_310),
        "5,310 tokens of earlier thinking are no longer sent (system)"),
    (RuleFlipped(model="m", rule="r", kept=False, residual=-300),
        "learnt: this model does not count earlier reasoning; the estimates now leave it out"),
]  # fmt: skip


def test_what_people_should_know_is_a_line_with_its_numbers() -> None:
    for event, line in filled(SHOWN):
        with case(event, line):
            told = notice(event)
            assert told is not None and plain(told.hinted_line) == line


@pytest.mark.parametrize(
    "event",
    [
        TurnStarted(turn="t"),
        TurnEnded(turn="t"),
        TurnEnded(turn="t", reason="cancelled"),
        TurnPaused(turn="t", reason="approval"),
        QueueLeft(message_id="m", how="delivered"),
        CallEnded(call="c"),
        RequestRepaired(call="c", repairs=("an id",)),
        SettingsChanged(settings={"a": 1}, source="resolved"),
        CompactionRolledBack(compaction="c", reason="longer", rung="summary"),
        LimitLearnt(model="m", source="user", window=32_000),
        ReadingTaken(snapshot="s", used=Amount(tokens=1, low=1, high=1)),
    ],
)
def test_what_means_nothing_to_people_is_no_line(event: Event) -> None:
    assert notice(event) is None


def test_foreign_text_in_a_line_moves_no_cursor() -> None:
    told = notice(CallEnded(call="c", outcome="failed", error="bad\x1b[2J\nkey"))
    assert told is not None and plain(told.line).isprintable()


def test_a_server_that_fails_is_told_with_its_reason() -> None:
    assert server_sentence(
        ToolServerNoticed(server="files", problem="no such file: /bin/x.")
    ) == (
        "MCP server files can't be used, so its tools are missing: no such file: /bin/x. It is tried again."
    )
    assert (
        server_sentence(ToolServerNoticed(server="files"))
        == "MCP server files: it can be used now"
    )


def test_other_tools_than_before_are_named_and_many_are_counted() -> None:
    event = ToolServerNoticed(
        server="s", added=("a",), removed=("b", "c"), changed=tuple("defghijk")
    )
    assert server_sentence(event) == (
        "MCP server s: its tools changed (new a; gone b, c; changed d, e, f, g, h, and 3 more)"
    )
    assert server_sentence(
        ToolServerNoticed(server="s", notes=("x is left out: y",))
    ) == ("MCP server s: x is left out: y")


def test_a_conversation_is_a_text_that_people_can_read() -> None:
    text = as_markdown(
        "Session s",
        [
            MessageEntry(text="Look.", message="m"),
            ReasoningEntry(text="Hm.", part="p"),
            AnswerEntry(text="I look.", part="q", interrupted="cancelled"),
            ToolCallEntry(
                name="read", arguments='{"path": "a"}', call_id="c", result="one"
            ),
            ToolCallEntry(name="read", arguments="{}", call_id="d"),
            MessageEntry(text="## Goal", message="s", origin="summary"),
            Notice(line=(Span("compacted"),)),
        ],
    )
    assert text.startswith("# Session s\n\n## You\n\nLook.")
    assert "## Model\n\nI look.\n\n*interrupted: cancelled*" in text
    assert '### Call of read\n\n```\n{"path": "a"}\n```\n\n```\none\n```' in text
    assert "## Summary\n\n## Goal" in text
    assert text.endswith("*compacted*\n")


def test_a_result_with_fences_of_its_own_stands_in_a_longer_one() -> None:
    text = as_markdown(
        "s",
        [ToolCallEntry(name="read", arguments="", call_id="c", result="```py\nx\n```")],
    )
    assert "````\n```py\nx\n```\n````" in text


def test_of_reports_in_a_row_that_are_not_used_the_first_is_told() -> None:
    used = Amount(tokens=5, low=4, high=6)
    play = Screenplay()
    told = [
        play.apply(ReadingTaken(snapshot=str(place), used=used, note=note)).notice
        for place, note in enumerate(("", "3 is no input", "4 is none", "", "5 is none"))
    ]
    assert [plain(each.line) if each else "" for each in told] == [
        "",
        "3 is no input",
        "",
        "",
        "5 is none",
    ]


def test_the_model_of_a_fallback_is_told_once_and_its_way_back_too() -> None:
    play = Screenplay()
    play.apply(
        FellBack(seq=1, turn="t", model="b:n", error="a:m: x", error_kind="Overloaded")
    )
    play.apply(ModelChanged(seq=2, model="n", provider="b"))
    play.apply(ModelChanged(seq=3, model="m", provider="a"))
    told = []
    for entry in play.entries:
        assert isinstance(entry, Notice)
        told.append("".join(span.text for span in entry.line))
    assert told == ["b:n answers after a:m: overloaded", "model: m"]


def test_a_cancel_of_a_call_that_needed_approval_says_that_it_was_not_run() -> None:
    screenplay = Screenplay()
    screenplay.apply_all(
        [TurnStarted(turn="t"), answered(ASKED), ApprovalAsked(call_id="t1"), Cancelled()]
    )
    assert notices(screenplay) == [
        "cancelled: the call that needed your approval was not run"
    ]
